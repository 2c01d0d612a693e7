#include "pcap_writer.hpp"

#include <gnstor/host/error.hpp>

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <ctime>
#include <utility>

namespace gnstor::host {

pcap_writer::pcap_writer(std::string path) : path_(std::move(path)) {
  file_.reset(std::fopen(path_.c_str(), "wbe"));
  // Nanoseconds, version 2.4, no time zone, no accuracy, longest record, Ethernet.
  constexpr std::uint32_t head[] = {0xa1b23c4d, 2 | 4 << 16, 0, 0, 262'144, 1};
  if (!file_ || std::fwrite(head, 1, sizeof head, file_.get()) != sizeof head || !flush())
    throw error(fmt::format("capture={}: {}", path_, std::strerror(errno)));
}

bool pcap_writer::add(const unsigned char* frame, std::uint32_t bytes) {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  const std::uint32_t head[] = {static_cast<std::uint32_t>(now.tv_sec),
                                static_cast<std::uint32_t>(now.tv_nsec), bytes, bytes};
  if (has_failed_) return false;
  has_failed_ = std::fwrite(head, 1, sizeof head, file_.get()) != sizeof head ||
                std::fwrite(frame, 1, bytes, file_.get()) != bytes;
  return !has_failed_;
}

bool pcap_writer::flush() {
  if (std::fflush(file_.get()) != 0) has_failed_ = true;
  return !has_failed_;
}

}  // namespace gnstor::host

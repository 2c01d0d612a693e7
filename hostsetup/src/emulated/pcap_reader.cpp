#include "pcap_reader.hpp"

#include <gnstor/host/error.hpp>

#include <byteswap.h>
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace gnstor::host {
namespace {

// The format: IETF draft-ietf-opsawg-pcap, sections 4 and 5.
constexpr std::uint32_t with_microseconds = 0xa1b2c3d4;
constexpr std::uint32_t with_nanoseconds = 0xa1b23c4d;
constexpr std::uint32_t next_generation = 0x0a0d0d0a;  // pcapng, in either order
constexpr std::uint32_t link_ethernet = 1;
constexpr std::uint32_t longest_record = 262'144;  // of tcpdump
constexpr std::uint32_t head_words = 6;
constexpr std::uint32_t record_words = 4;

}  // namespace

pcap_reader::pcap_reader(std::string path) : path_(std::move(path)), frame_(longest_record) {
  file_.reset(std::fopen(path_.c_str(), "rbe"));
  if (!file_) complain(std::strerror(errno));
  read_head();
  while (next()) longest_ = std::max(longest_, bytes_);
  frames_ = record_;
  if (frames_ == cut_) {
    complain(frames_ == 0 ? "there is no frame in it"
                          : "all frames in it are cut; capture whole ones: tcpdump -s 0");
  }
  rewind();
}

void pcap_reader::complain(const std::string& what) const {
  throw error(fmt::format("pcap:{}: {}", path_, what));
}

std::uint32_t pcap_reader::ordered(std::uint32_t word) const {
  return is_swapped_ ? bswap_32(word) : word;
}

void pcap_reader::read_head() {
  std::uint32_t head[head_words];
  const std::size_t had = std::fread(head, 1, sizeof head, file_.get());
  if (had >= sizeof head[0] && head[0] == next_generation) {
    complain(fmt::format(
        "this is pcapng; convert it: editcap -F pcap {} NEW.pcap, or tcpdump -r {} -w NEW.pcap",
        path_, path_));
  }
  is_swapped_ = had == sizeof head &&
                (bswap_32(head[0]) == with_microseconds || bswap_32(head[0]) == with_nanoseconds);
  if (had != sizeof head ||
      (ordered(head[0]) != with_microseconds && ordered(head[0]) != with_nanoseconds)) {
    complain("this is no capture file: expected pcap, as tcpdump -w FILE writes it");
  }
  const std::uint32_t link = ordered(head[5]) & 0xffff;
  if (link != link_ethernet) {
    complain(
        fmt::format("its frames are of link layer {}, and not Ethernet (1): capture at an "
                    "Ethernet interface, not at \"any\"",
                    link));
  }
}

bool pcap_reader::read_record(std::uint32_t& captured, std::uint32_t& whole) {
  std::uint32_t head[record_words];
  const std::size_t had = std::fread(head, 1, sizeof head, file_.get());
  if (had == 0 && std::feof(file_.get()) != 0) return false;
  ++record_;
  captured = ordered(head[2]);
  whole = ordered(head[3]);
  if (had != sizeof head || captured > longest_record || captured > whole) {
    complain(
        fmt::format("record {} is damaged: what is before it can be saved by tcpdump -r {} "
                    "-w NEW.pcap",
                    record_, path_));
  }
  return true;
}

bool pcap_reader::next() {
  std::uint32_t captured = 0;
  std::uint32_t whole = 0;
  while (read_record(captured, whole)) {
    if (std::fread(frame_.data(), 1, captured, file_.get()) != captured) {
      complain(
          fmt::format("record {} ends early: was the capture stopped by force? tcpdump -r {} "
                      "-w NEW.pcap keeps the others",
                      record_, path_));
    }
    bytes_ = captured;
    if (captured == whole && captured != 0) return true;
    if (frames_ == 0) ++cut_;  // in the first pass
  }
  return false;
}

void pcap_reader::rewind() {
  record_ = 0;
  if (std::fseek(file_.get(), head_words * sizeof(std::uint32_t), SEEK_SET) != 0)
    complain(std::strerror(errno));
}

}  // namespace gnstor::host

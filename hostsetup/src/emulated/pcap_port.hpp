#pragma once

#include "pcap_reader.hpp"
#include "pcap_writer.hpp"
#include <gnstor/host/error.hpp>
#include <gnstor/simt/clock.hpp>

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>

namespace gnstor::host {

/// The capture files of one port: what it receives, if anything, and where what it sends goes, if
/// anywhere. One thread at a time, but for `problem`.
class pcap_port {
 public:
  /// @param from "-": it receives nothing
  /// @param to empty: what it sends is counted alone
  /// @param repeat how often the file is played
  pcap_port(const std::string& from, const std::string& to, std::uint64_t repeat)
      : rounds_(from == "-" ? 0 : repeat) {
    if (rounds_ != 0) from_.emplace(from);
    if (!to.empty()) to_.emplace(to);
  }

  const std::optional<pcap_reader>& source() const { return from_; }
  const std::optional<pcap_writer>& target() const { return to_; }

  /// True if a frame waits, until `drop_waiting`.
  bool look() {
    while (!waits_ && rounds_ != 0) {
      waits_ = reads();
      if (waits_) break;
      --rounds_;
    }
    return waits_;
  }
  const unsigned char* data() const { return from_->data(); }
  std::uint32_t bytes() const { return from_->bytes(); }
  void drop_waiting() { waits_ = false; }
  bool is_through() const { return !waits_ && rounds_ == 0; }

  /// False if it could not be written.
  bool capture(const unsigned char* frame, std::uint32_t bytes) {
    return !to_ || to_->add(frame, bytes);
  }
  bool flush() { return !to_ || to_->flush(); }

  /// What went wrong with a file since it was opened; empty: nothing. Any thread may call it.
  std::string problem() {
    if (is_spoiled_.load(std::memory_order_acquire)) return spoiled_;
    return flush() ? "" : "capture=" + to_->path() + ": cannot be written: is the disk full?";
  }

  void note_busy() { busy_ns_ = simt::now_ns(); }
  std::uint64_t busy_ns() const { return busy_ns_; }

 private:
  /// False at the end of the file, and where somebody has changed it: what is there is not played.
  bool reads() {
    try {
      if (from_->next()) return true;
      from_->rewind();
      return false;
    } catch (const error& e) {
      spoiled_ = e.what();
      rounds_ = 1;  // the last
      is_spoiled_.store(true, std::memory_order_release);
      return false;
    }
  }

  std::optional<pcap_reader> from_;
  std::optional<pcap_writer> to_;
  std::uint64_t rounds_;
  bool waits_ = false;
  std::string spoiled_;  ///< what the reader said, once `is_spoiled_`
  std::atomic<bool> is_spoiled_ = false;
  std::uint64_t busy_ns_ = simt::now_ns();
};

}  // namespace gnstor::host

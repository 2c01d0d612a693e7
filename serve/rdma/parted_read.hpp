#pragma once

#include <hca/chunk_tracker.hpp>

#include <algorithm>
#include <vector>

namespace gnstor::serve {

/// What of a read's data has come, part by part and in any order, and what of it has left: complete
/// parts in a row. gmblock, 4.
class parted_read {
 public:
  static constexpr std::uint32_t part_bytes = 65536;

  static constexpr std::uint32_t parts_of(std::uint32_t bytes) {
    return (bytes + part_bytes - 1) / part_bytes;
  }
  /// Nothing has come of so many bytes.
  void begin(std::uint32_t bytes) {
    bytes_ = bytes;
    sent_ = 0;
    words_.assign(tracker::words_for(parts_of(bytes)), 0);
    tracked().clear();
  }
  std::uint32_t bytes_of(std::uint32_t part) const {
    return std::min(part_bytes, bytes_ - part * part_bytes);
  }
  void arrived(std::uint32_t part) { tracked().arrived(part * part_bytes, bytes_of(part)); }
  /// Bytes that may leave now, behind those that have.
  std::uint32_t ready() { return tracked().valid(sent_); }
  std::uint32_t sent() const { return sent_; }
  void send(std::uint32_t bytes) { sent_ += bytes; }

 private:
  using tracker = fw::chunk_tracker<thread_scope_system>;
  tracker tracked() { return {words_.data(), bytes_, part_bytes}; }

  std::uint32_t bytes_ = 0;
  std::uint32_t sent_ = 0;
  std::vector<std::uint32_t> words_;
};

}  // namespace gnstor::serve

#pragma once

#include "block_array.hpp"
#include "block_error.hpp"

#include <atomic>
#include <chrono>
#include <cstddef>
#include <span>
#include <vector>

namespace gnstor::serve {

/// A volume as a block device, for callers that wait: each call holds its thread, and copies once
/// between the caller's memory and registered buffers. Offsets and sizes are multiples of 4096,
/// and lie within the device.
///
/// Any thread may call any member, any number at once. A call ends within the array's `timeout`.
class block_device {
 public:
  /// @param array outlives it
  block_device(block_array& array, const volume_info& volume);
  /// Gives back the right to write.
  ~block_device();
  block_device(const block_device&) = delete;
  block_device& operator=(const block_device&) = delete;

  std::uint64_t bytes() const { return volume_.capacity_blocks * block_bytes; }
  /// False also once the right has been lost.
  bool writable() const { return writable_.load(std::memory_order_relaxed); }
  const volume_info& volume() const { return volume_; }
  /// The right was lost, and is granted anew by now: others may have written meanwhile, and who
  /// uses this device does not know.
  void lose_right() { writable_ = false; }
  /// The volume is gone, and another one has its id: every call ends with `gone`.
  void retire() { is_gone_ = true; }

  block_error read(std::uint64_t offset, std::span<std::byte> to);
  block_error write(std::uint64_t offset, std::span<const std::byte> from);
  /// Makes a range read as zeroes: its blocks go back to the SSDs.
  block_error write_zeroes(std::uint64_t offset, std::uint64_t size);
  /// What was acknowledged before survives a power cut, where the array lies in files.
  block_error flush();
  /// A run of bytes that are all data, or were never written and read as zeroes.
  struct extent {
    std::uint64_t bytes = 0;
    bool is_data = true;
  };
  /// What the range from `offset` on is made of, in order; the runs may end before it does, and
  /// cover at least one block. What SSDs in sync do not say for sure is data.
  /// @param one only the first run is wanted
  std::vector<extent> extents(std::uint64_t offset, std::uint64_t size, bool one = false);

 private:
  using clock = std::chrono::steady_clock;
  class request;
  class part;
  class gathering;
  template <class Call>
  block_error counted(volume_traffic::kind what, std::uint64_t size, Call call);
  block_error move(block_request::kind what, std::uint64_t offset, std::byte* memory,
                   std::uint64_t size);
  block_error simple(block_request::kind what, std::uint64_t offset, std::uint64_t size);
  status read_one_by_one(part& p, std::uint64_t offset, std::byte* to);
  bool add_allocated(std::uint64_t first, std::uint32_t blocks, std::vector<bool>& to);
  status ask_allocated(std::uint32_t ssd, std::uint32_t epoch, std::uint64_t first,
                       std::uint32_t blocks, std::vector<bool>& to);
  block_error judge(status s, block_request::kind what, std::uint64_t offset);

  block_array* array_;
  const volume_info volume_;
  std::atomic<bool> writable_;
  std::atomic<bool> is_gone_{false};
  /// Until when no SSD is asked what it has: one did not answer.
  std::atomic<clock::time_point> unsure_until_{clock::time_point{}};
};

}  // namespace gnstor::serve

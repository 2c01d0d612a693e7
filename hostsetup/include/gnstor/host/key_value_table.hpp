#pragma once

#include <gnstor/core/duration.hpp>
#include <gnstor/host/memory_block.hpp>
#include <gnstor/host/nic.hpp>
#include <gnstor/packet/key_value_table.hpp>

#include <chrono>
#include <cstdint>

namespace gnstor::host {

/// How much a table holds.
struct key_value_options {
  std::uint64_t slots = 65536;       ///< items at most: a power of two, 8 or more
  std::uint32_t value_bytes = 1024;  ///< of the longest value, 1 to 1152: each slot has so many
  /// How long a request waits for others at the same bucket or item, before it is answered with an
  /// error.
  duration patience = std::chrono::milliseconds(100);
  std::uint64_t seed = 0;  ///< of the hash; 0: drawn, so that nobody knows which keys meet
};

/// Owns keys and values where kernels reach them, on a GPU in its own memory. Move-only; the
/// kernels that have its `ref` must end before it.
class key_value_table {
 public:
  /// An empty table.
  /// @param where whose machine the kernels run on
  /// Throws `input_error` for numbers that do not fit, `error` where there is not so much memory.
  explicit key_value_table(const nic& where, const key_value_options& options = {});

  /// For kernels: of all flows, as many as there are.
  gnstor::key_value_table ref() const { return ref_; }

  /// Sets the time by which items expire, also while kernels run; once a second is as exact as it
  /// gets. Until the first call there is no clock: requests with an expiry are refused.
  /// @par Callers one thread at a time
  void set_clock(std::chrono::system_clock::time_point now = std::chrono::system_clock::now());

  /// What kernels have counted so far; each number by itself.
  key_value_counts counts() const;
  std::size_t bytes() const { return memory_.bytes(); }

 private:
  std::size_t control_at_ = 0;  ///< in memory
  memory_block memory_;
  gnstor::key_value_table ref_;
};

}  // namespace gnstor::host

#pragma once

#include "queue_fixture.hpp"
#include <gnstor/core/assert.hpp>

#include <cstddef>

namespace gnstor::test {

/// Memory that a test fills on the host and its kernels use: the same memory, or a GPU's, to which
/// it is copied when it is full.
class memory_image {
 public:
  /// @param target where kernels find the memory; null if here
  explicit memory_image(std::size_t bytes, void* target = nullptr) : here_(bytes), bytes_(bytes) {
    target_ = target != nullptr ? static_cast<unsigned char*>(target) : here_.data();
  }
  memory_image(const memory_image&) = delete;
  memory_image& operator=(const memory_image&) = delete;

  /// Takes zeroed memory for `count` objects, where kernels find it.
  template <class T>
  T* take(std::size_t count = 1, std::size_t alignment = 128) {
    used_ = (used_ + alignment - 1) / alignment * alignment;
    const std::size_t at = used_;
    used_ += count * sizeof(T);
    GNSTOR_VERIFY(used_ <= bytes_);
    return reinterpret_cast<T*>(target_ + at);
  }
  /// Where the host finds what kernels find at `there`.
  template <class T>
  T* here(T* there) {
    const auto at =
        reinterpret_cast<std::uintptr_t>(there) - reinterpret_cast<std::uintptr_t>(target_);
    return reinterpret_cast<T*>(here_.data() + at);
  }

  void* host() { return here_.data(); }
  void* target() { return target_; }
  std::size_t bytes() const { return bytes_; }

 private:
  aligned_memory here_;
  unsigned char* target_;
  std::size_t bytes_;
  std::size_t used_ = 0;
};

}  // namespace gnstor::test

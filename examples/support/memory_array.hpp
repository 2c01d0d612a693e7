#pragma once

#include <gnstor/host/mapped_array.hpp>

#include <cstdint>

namespace support {

/// An array on new host memory of its own, which kernels reach without an array node.
template <class T>
class memory_array {
 public:
  memory_array(std::uint64_t count, const gnstor::host::array_options& paging)
      : paging_(paging),
        array_(gnstor::host::mapped_pages::fresh(count * sizeof(T)), count, paging) {}

  gnstor::host::mapped_array<T>& array() { return array_; }
  gnstor::mapped_array<T> view() const { return array_.view(); }
  std::uint32_t page_bytes() const { return paging_.page_bytes; }

 private:
  gnstor::host::array_options paging_;
  gnstor::host::mapped_array<T> array_;
};

/// Where an example's arrays lie: host memory that kernels reach themselves.
class on_memory {
 public:
  template <class T>
  using array = memory_array<T>;

  template <class T>
  memory_array<T> make(std::uint64_t count, const gnstor::host::array_options& paging) {
    return memory_array<T>(count, paging);
  }
  /// Memory for what kernels share besides.
  gnstor::host::memory_block allocate(std::size_t bytes) {
    using gnstor::host::place;
    const bool gpu = gnstor::host::this_machine == gnstor::host::machine::gpu;
    return gnstor::host::memory_block(gpu ? place::device : place::host, bytes);
  }
  void attach(gnstor::host::executor&) const {}
};

}  // namespace support

#pragma once

#include <gnstor/host/mapped_array.hpp>

#include <cstdint>
#include <memory>
#include <vector>

namespace support {

/// An array on host memory, which kernels reach without an array node: new memory of its own, or
/// the caller's.
template <class T>
class memory_array {
 public:
  memory_array(std::uint64_t count, const gnstor::host::array_options& paging)
      : paging_(paging),
        array_(gnstor::host::mapped_pages::fresh(count * sizeof(T)), count, paging) {}

  /// On the caller's own memory, which outlives it.
  memory_array(T* data, std::uint64_t count, const gnstor::host::array_options& paging)
      : paging_(paging),
        adopted_(std::make_unique<gnstor::host::mapped_memory>(
            gnstor::host::mapped_memory::adopt(data, count * sizeof(T)))),
        array_(*adopted_, count, paging) {}

  gnstor::host::mapped_array<T>& array() { return array_; }
  gnstor::mapped_array<T> view() const { return array_.view(); }
  std::uint32_t page_bytes() const { return paging_.page_bytes; }

 private:
  gnstor::host::array_options paging_;
  std::unique_ptr<gnstor::host::mapped_memory> adopted_;
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
  /// True if arrays can lie on memory of so many bytes that is there already. A GPU's driver pins a
  /// page for one owner, and smaller pieces of the heap share pages.
  static constexpr bool adopts(std::uint64_t bytes) {
    constexpr bool gpu = gnstor::host::this_machine == gnstor::host::machine::gpu;
    return bytes >= (gpu ? std::uint64_t{32} << 20 : 1);
  }
  /// An array of what is there, where it is: nothing is copied. `data` outlives it.
  template <class T>
  memory_array<T> adopt(std::vector<T>& data, const gnstor::host::array_options& paging) {
    return memory_array<T>(data.data(), data.size(), paging);
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

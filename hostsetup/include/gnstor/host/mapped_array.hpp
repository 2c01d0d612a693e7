#pragma once

#include <gnstor/array/mapped_array.hpp>
#include <gnstor/host/array.hpp>
#include <gnstor/host/mapped_memory.hpp>

#include <memory>

namespace gnstor::host {

/// Host memory or a file as what an `array` lies on. Memory of the caller's must outlive it, and
/// stay where it is.
class mapped_pages {
 public:
  using store_type = mapped_store;

  mapped_pages(mapped_memory& memory) : memory_(&memory) {}  // NOLINT: it stands for the memory
  /// New zero-filled host memory, which ends with the array. Throws what `mapped_memory` throws.
  static mapped_pages fresh(std::uint64_t bytes, const mapped_options& options = {});

  detail::array_ground ground() const;
  store_type store(std::uint32_t page_bytes) const {
    return store_type(memory_->data(), memory_->bytes(), page_bytes);
  }
  void attach(executor&) const {}
  static constexpr std::uint32_t pager_warps = 256;  ///< they copy, too
  void changed() const { memory_->save(); }
  /// Copies bytes of the memory's. Throws `input_error` where it was opened by `write=no`.
  void read(std::uint64_t offset, void* to, std::uint64_t bytes) const;
  void write(std::uint64_t offset, const void* from, std::uint64_t bytes) const;

 private:
  mapped_memory* memory_;
  std::shared_ptr<mapped_memory> own_;  ///< of `fresh`
};

/// An array of `T` on host memory or a file, from its first byte on: `array` says the rest.
///
///     host::mapped_memory memory("file:/dev/shm/edges.bin");
///     host::mapped_array<std::uint32_t> edges(memory, memory.bytes() / 4);
///     kernel<<<grid, block>>>(edges.view());
///     edges.close();
template <class T>
using mapped_array = array<T, mapped_pages>;

}  // namespace gnstor::host

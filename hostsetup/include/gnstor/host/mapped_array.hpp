#pragma once

#include <gnstor/array/mapped_array.hpp>
#include <gnstor/host/array.hpp>
#include <gnstor/host/mapped_memory.hpp>

namespace gnstor::host {

/// Host memory or a file as what an `array` lies on. The memory must outlive it, and stay where it
/// is.
class mapped_pages {
 public:
  using store_type = mapped_store;

  mapped_pages(mapped_memory& memory) : memory_(&memory) {}  // NOLINT: it stands for the memory

  detail::array_ground ground() const;
  store_type store(std::uint32_t page_bytes) const {
    return store_type(memory_->data(), memory_->bytes(), page_bytes);
  }
  void attach(executor&) const {}
  static constexpr std::uint32_t pager_warps = 256;  ///< they copy, too
  void changed() const { memory_->save(); }
  session* registrar() const { return nullptr; }

 private:
  mapped_memory* memory_;
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

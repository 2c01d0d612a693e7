#pragma once

#include <gnstor/array/memory_array.hpp>
#include <gnstor/host/array.hpp>
#include <gnstor/host/remote_memory.hpp>

namespace gnstor::host {

/// Remote memory as what an `array` lies on. The memory must outlive it, and stay where it is.
class memory_pages {
 public:
  using store_type = rdma_memory_store<remote_memory_channel>;

  memory_pages(remote_memory& memory) : memory_(&memory) {}  // NOLINT: it stands for the memory

  detail::array_ground ground() const;
  store_type store(std::uint32_t page_bytes) const {
    return store_type(memory_->channels(), memory_->region(), page_bytes);
  }
  void attach(executor& run) const { memory_->attach(run); }
  static constexpr std::uint32_t pager_warps = 64;  ///< of a GPU, unless the user says otherwise
  void changed() const {}
  void read(std::uint64_t offset, void* to, std::uint64_t bytes) const {
    memory_->read(offset, to, bytes);
  }
  void write(std::uint64_t offset, const void* from, std::uint64_t bytes) const {
    memory_->write(offset, from, bytes);
  }

 private:
  remote_memory* memory_;
};

/// An array of `T` on memory of a peer, from its first byte on: `array` says the rest. Pages of 512
/// bytes to 2 MiB; the last one ends where the memory ends.
///
///     host::remote_memory memory("memory://10.0.0.2/edges");
///     host::memory_array<std::uint32_t> edges(memory, memory.bytes() / 4);
///     run.spawn(grid, block, kernel{}, edges.view());
///     memory.attach(run);
///     run.run();
///     edges.close();
template <class T>
using memory_array = array<T, memory_pages>;

}  // namespace gnstor::host

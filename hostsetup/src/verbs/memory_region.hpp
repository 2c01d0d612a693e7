#pragma once

#include "protection_domain.hpp"
#include <gnstor/memory/io_buffer.hpp>

namespace gnstor::host::verbs {

/// What peers may do with registered memory. Local reads and writes are always allowed.
struct region_access {
  bool remote_read = false;
  bool remote_write = false;
};

/// A part of exported GPU memory: what `cuMemGetHandleForAddressRange` gives.
struct dmabuf_range {
  int fd = -1;
  std::uint64_t offset = 0;  ///< of the range within the exported buffer
};

/// Owns the registration of a piece of memory with a device. Move-only; the memory outlives it.
class memory_region {
 public:
  memory_region() = default;
  /// Host memory, or GPU memory where a peer-memory module is loaded. Throws `connect_error` that
  /// names the limit of pinned memory if that is the cause.
  memory_region(const protection_domain& domain, void* address, std::uint64_t bytes,
                region_access access);
  /// GPU memory through a dma-buf; `address` is the GPU's address of the range.
  memory_region(const protection_domain& domain, dmabuf_range range, std::uint64_t address,
                std::uint64_t bytes, region_access access);
  memory_region(memory_region&& other) noexcept;
  memory_region& operator=(memory_region&& other) noexcept;
  ~memory_region();

  explicit operator bool() const { return mr_ != nullptr; }
  std::uint32_t lkey() const { return mr_->lkey; }
  std::uint32_t rkey() const { return mr_->rkey; }
  /// The whole region, as channels take it.
  io_buffer buffer() const { return io_buffer{address_, bytes_, lkey(), rkey()}; }

 private:
  ibv_mr* mr_ = nullptr;
  std::uint64_t address_ = 0;
  std::uint64_t bytes_ = 0;
};

}  // namespace gnstor::host::verbs

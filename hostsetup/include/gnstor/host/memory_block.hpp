#pragma once

#include <cstddef>
#include <functional>

namespace gnstor::host {

/// Where memory lies, and so who can reach it.
enum class place {
  host,    ///< this CPU only
  pinned,  ///< host memory that every GPU reaches over its link
  device,  ///< a GPU's own memory
};

/// Owns a piece of memory, zero-filled, aligned to 4096 bytes. Move-only.
///
/// Its own device memory is taken from and given back to the stream-ordered allocator, because
/// `cudaMalloc` and `cudaFree` may wait for a kernel that never ends: the array node's.
class memory_block {
 public:
  memory_block() = default;
  /// Throws `error` naming the size and the place.
  memory_block(place where, std::size_t bytes, int device = 0);
  /// Takes over memory of somebody else, zero-filled and aligned to 4096 bytes.
  /// @param release frees it; must not throw
  memory_block(place where, void* data, std::size_t bytes, int device,
               std::function<void(void*)> release);
  memory_block(memory_block&& other) noexcept;
  memory_block& operator=(memory_block&& other) noexcept;
  ~memory_block();

  void* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }
  place where() const { return where_; }

  /// Copies between this block and this CPU's memory; returns when it is done. Safe while kernels
  /// run.
  void write(std::size_t offset, const void* from, std::size_t bytes) const;
  void read(std::size_t offset, void* to, std::size_t bytes) const;

 private:
  void free() noexcept;

  void* data_ = nullptr;
  std::size_t bytes_ = 0;
  place where_ = place::host;
  int device_ = 0;
  std::function<void(void*)> release_;  ///< of memory taken over
};

/// Copies bytes to or from any place; returns when it is done. Safe while kernels run.
void copy_in(place where, int device, void* to, const void* from, std::size_t bytes);
void copy_out(place where, int device, void* to, const void* from, std::size_t bytes);

}  // namespace gnstor::host

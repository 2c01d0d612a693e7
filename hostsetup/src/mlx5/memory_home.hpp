#pragma once

#include <gnstor/host/file_descriptor.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace gnstor::host::mlx5 {

/// Where the lanes of a queue pair run, and so where its memory lies: what setting up a ConnectX
/// queue needs of a GPU or of this CPU.
///
/// The calls that need CUDA are behind this seam; what stands on it is built and tested without.
class memory_home {
 public:
  virtual ~memory_home() = default;

  /// "GPU 0", "host memory".
  virtual std::string name() const = 0;
  /// Zero-filled memory at a multiple of 65,536 bytes. Throws `error`.
  virtual void* allocate(std::size_t bytes) = 0;
  virtual void release(void* memory) noexcept = 0;
  /// Copies from this CPU into memory of the home; returns when it is done.
  virtual void write(void* to, const void* from, std::size_t bytes) = 0;
  /// A dma-buf of [address, address + bytes), or nothing where the home has none.
  virtual std::optional<file_descriptor> export_dmabuf(void* address, std::size_t bytes) = 0;
  /// Opens a NIC's doorbell register to the home's lanes; the pointer they use. Throws `error` with
  /// the remedy. Each register may be mapped several times and is unmapped as often.
  virtual std::uint64_t* map_register(void* reg, std::size_t bytes) = 0;
  virtual void unmap_register(void* reg) noexcept = 0;
};

/// Memory and doorbells for this CPU's threads.
std::shared_ptr<memory_home> host_home();

/// Memory of a GPU and doorbells for its kernels. Throws `error` in a build without CUDA, and where
/// the GPU is not there or cannot share its memory with a NIC.
std::shared_ptr<memory_home> gpu_home(int device);

/// Owns a piece of a home's memory. Move-only.
class home_memory {
 public:
  home_memory(std::shared_ptr<memory_home> home, std::size_t bytes);
  home_memory(home_memory&& other) noexcept;
  home_memory& operator=(home_memory&& other) noexcept;
  ~home_memory();

  unsigned char* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }
  memory_home& home() const { return *home_; }

 private:
  std::shared_ptr<memory_home> home_;
  unsigned char* data_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace gnstor::host::mlx5

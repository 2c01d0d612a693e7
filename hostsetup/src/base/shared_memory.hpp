#pragma once

#include <gnstor/host/file_descriptor.hpp>

#include <cstddef>
#include <cstdint>

namespace gnstor::host {

/// Memory that several processes have mapped, by a file that has no name. Move-only owner of this
/// process's mapping and of the open file.
class shared_memory {
 public:
  shared_memory() = default;
  /// New memory, zero-filled. It cannot be made smaller afterwards: nobody who has it mapped meets
  /// its end. Throws `error`.
  explicit shared_memory(std::size_t bytes);
  /// Maps `bytes` of a file that somebody else has made, from `offset` on, a multiple of a page.
  /// Throws `input_error` for memory that could be made smaller, or is.
  static shared_memory received(file_descriptor file, std::size_t bytes);
  /// Maps registers of a device, or doorbells: whatever the file is.
  static shared_memory mapped(file_descriptor file, std::uint64_t offset, std::size_t bytes);
  shared_memory(shared_memory&& other) noexcept;
  shared_memory& operator=(shared_memory&& other) noexcept;
  ~shared_memory();

  unsigned char* data() const { return static_cast<unsigned char*>(data_); }
  std::size_t bytes() const { return bytes_; }
  int file() const { return file_.get(); }

 private:
  void map(std::uint64_t offset);

  file_descriptor file_;
  void* data_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace gnstor::host

#pragma once

#include <gnstor/host/memory_block.hpp>
#include <gnstor/memory/io_buffer.hpp>

namespace gnstor::host {

class array_link;
class session;
class session_pool;

/// Memory that kernels of a session and the array's SSDs read and write, registered for as long as
/// it lives. Move-only owner.
///
/// `buffer()` is what kernels give to a volume. The session must outlive it; it may be moved
/// meanwhile. The destructor ends the registration before it frees the memory: an SSD that is still
/// to write it then kills its channel. So bring that channel back first (`session::reset_channel`)
/// where a request has ended with `left_behind()`.
class registered_memory {
 public:
  /// No memory: `data()` is null, `buffer()` is no buffer.
  registered_memory() = default;
  /// Allocates `bytes` bytes, zero-filled and aligned to 4096, and registers them. Throws `error`
  /// naming the limit that was hit; nothing is left behind then. May wait for running kernels.
  registered_memory(session& s, std::size_t bytes);
  registered_memory(registered_memory&& other) noexcept;
  registered_memory& operator=(registered_memory&& other) noexcept;
  ~registered_memory();

  /// All of it, with its keys; `buffer().slice(offset, bytes)` is a part.
  const io_buffer& buffer() const { return buffer_; }
  /// Where kernels find it. This CPU does, too, unless they run on a GPU: see `read` and `write`.
  void* data() const { return memory_.data(); }
  /// The same as an array of `T`.
  template <class T>
  T* as() const {
    return static_cast<T*>(memory_.data());
  }
  /// As many as were asked for.
  std::size_t bytes() const { return buffer_.bytes; }

  /// Copies between this memory and this CPU's; returns when it is done. Safe while kernels run.
  void write(std::size_t offset, const void* from, std::size_t bytes) const {
    memory_.write(offset, from, bytes);
  }
  void read(std::size_t offset, void* to, std::size_t bytes) const {
    memory_.read(offset, to, bytes);
  }

 private:
  friend class session_pool;
  registered_memory(array_link& link, std::size_t bytes);
  void release() noexcept;

  array_link* link_ = nullptr;  ///< of the session, where it stays also when that is moved
  memory_block memory_;
  io_buffer buffer_{};
};

}  // namespace gnstor::host

#pragma once

#include <gnstor/host/pool_expander.hpp>

#include <memory>

namespace gnstor::host {

class session;

/// How large a session's pool is at first, and how large it may become: multiples of the largest
/// block, 1 MiB.
struct session_pool_options {
  std::uint64_t initial_bytes = std::uint64_t{8} << 20;
  std::uint64_t max_bytes = std::uint64_t{1} << 30;
};

/// Registered memory from which kernels of a session take I/O buffers and give them back, without
/// the CPU. It grows while kernels run. Move-only owner; `session::pool` makes it.
///
/// `ref()` is what kernels take: `allocate` answers would_block where no room is left, and a thread
/// of this object then doubles the pool, a few milliseconds later. Kernels on a GPU reach for
/// certain what was there before they were launched: there `max_bytes` is allocated and registered
/// at the start, and only handed out as it grows. In the virtual time of `runner=sim` a thread
/// comes too late: begin with enough.
///
/// The session must outlive it; it must outlive every kernel that uses it, and every request that
/// has ended with `left_behind()` (see `registered_memory`).
class session_pool {
 public:
  /// What `session::pool` does. Throws `input_error` for sizes that cannot be, `error` where memory
  /// or registrations run out.
  session_pool(session& s, const session_pool_options& options);
  session_pool(session_pool&&) noexcept;
  session_pool& operator=(session_pool&&) noexcept;
  /// Ends the thread and the registrations, and frees the memory.
  ~session_pool();

  /// The pool for kernels.
  expandable_pool<> ref() const;
  /// Bytes that kernels may use now, and the limit.
  std::uint64_t bytes() const;
  std::uint64_t max_bytes() const;

 private:
  struct impl;
  std::unique_ptr<impl> impl_;
};

}  // namespace gnstor::host

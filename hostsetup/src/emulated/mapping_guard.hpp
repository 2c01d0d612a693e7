#pragma once

#include <semaphore.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace gnstor::host {

/// Keeps a file that cannot be read or written from ending the process that has it mapped.
///
/// The kernel answers an access to such a page with SIGBUS. The page is replaced then by memory
/// that is the process's alone, and holds what could still be read, or zeroes: whoever was at it
/// goes on, and learns from `error` that the file is lost. Other accesses that fail, and bus errors
/// elsewhere, are for the handler that was there before.
class mapping_guard {
 public:
  /// Guards `bytes` at `data`, a shared mapping of `descriptor` from its beginning, until the
  /// object's end. Throws `error` if too many are guarded.
  mapping_guard(void* data, std::size_t bytes, int descriptor);
  ~mapping_guard();
  mapping_guard(const mapping_guard&) = delete;
  mapping_guard& operator=(const mapping_guard&) = delete;

  /// What went wrong first, as an `errno`; 0 while nothing has. Any thread.
  int error() const { return error_.load(); }
  /// The file is lost: tells whoever wants to know. Any thread, and signal handlers.
  void fail(int error);
  /// From the first failure on, which may have been, `*word` holds `value`, and `bell` is posted.
  /// They outlive this object.
  void tell(std::uint32_t* word, std::uint32_t value, sem_t* bell);

 private:
  friend struct bus_errors;
  bool holds(std::uintptr_t address) const {
    return address >= first_ && address - first_ < bytes_;
  }
  bool replace(std::uintptr_t address);
  int reason(void* copy, std::size_t page_bytes, std::size_t at) const;
  void inform();

  std::uintptr_t first_;
  std::size_t bytes_;
  int descriptor_;
  std::atomic_flag busy_;       ///< of what follows: a signal handler cannot wait for a mutex
  std::vector<bool> replaced_;  ///< pages
  std::atomic<int> error_{0};
  std::atomic<std::uint32_t*> word_{nullptr};
  std::atomic<std::uint32_t> value_{0};
  std::atomic<sem_t*> bell_{nullptr};
};

}  // namespace gnstor::host

#pragma once

#include <gnstor/host/file_descriptor.hpp>

#include <linux/io_uring.h>

#include <cstddef>
#include <cstdint>

namespace gnstor::host {

/// An io_uring: requests that Linux carries out while this thread goes on. One thread.
/// io_uring(7).
class io_ring {
 public:
  /// Requests that may be under way at once: as many answers as it keeps.
  static constexpr std::uint32_t most_under_way = 4096;

  /// @param entries requests that one `submit` takes: a power of two
  /// Throws `error` where the kernel does not allow one, with the remedy.
  explicit io_ring(std::uint32_t entries);
  io_ring(const io_ring&) = delete;
  io_ring& operator=(const io_ring&) = delete;
  ~io_ring();

  /// How many more may be begun now.
  std::uint32_t room() const {
    return under_way_ < most_under_way ? most_under_way - under_way_ : 0;
  }
  /// A zero-filled request to be filled in; it goes with the next `submit`, which this does where
  /// there is no room. Throws `error` if the kernel takes none for a second.
  io_uring_sqe& next();
  /// Hands the new requests over. What the kernel does not take now is handed over the next time.
  void submit();
  /// Calls `one(user_data, result)` for each request that has ended: bytes, or minus an `errno`.
  template <class One>
  bool reap(const One& one) {
    std::uint32_t head = *completions_.head;
    const std::uint32_t tail = __atomic_load_n(completions_.tail, __ATOMIC_ACQUIRE);
    if (head == tail) return false;
    for (; head != tail; ++head) {
      const io_uring_cqe cqe = answers_[head & *completions_.mask];
      // Before `one`, which may begin more.
      __atomic_store_n(completions_.head, head + 1, __ATOMIC_RELEASE);
      --under_way_;
      one(cqe.user_data, cqe.res);
    }
    return true;
  }

 private:
  /// Memory shared with the kernel.
  struct mapping {
    void* data = nullptr;
    std::size_t bytes = 0;
  };
  struct words {
    std::uint32_t* head = nullptr;
    std::uint32_t* tail = nullptr;
    const std::uint32_t* mask = nullptr;
  };

  mapping map(std::size_t bytes, std::uint64_t what) const;

  file_descriptor file_;
  mapping rings_;
  mapping entries_;
  words submissions_;
  words completions_;
  io_uring_sqe* requests_ = nullptr;
  const io_uring_cqe* answers_ = nullptr;
  std::uint32_t filled_ = 0;     ///< requests filled in so far
  std::uint32_t under_way_ = 0;  ///< of them, those not reaped
};

}  // namespace gnstor::host

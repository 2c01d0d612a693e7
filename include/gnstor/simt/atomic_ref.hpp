#pragma once

#include <gnstor/simt/host_hook.hpp>

#include <cuda/atomic>

namespace gnstor::inline v0 {

/// Memory orders, in the words of the C++ standard. `seq_cst` is not offered: no queue of the
/// library needs it.
using memory_order = cuda::std::memory_order;
inline constexpr memory_order relaxed = cuda::std::memory_order_relaxed;
inline constexpr memory_order acquire = cuda::std::memory_order_acquire;
inline constexpr memory_order release = cuda::std::memory_order_release;
inline constexpr memory_order acq_rel = cuda::std::memory_order_acq_rel;

using cuda::thread_scope;
using cuda::thread_scope_block;
using cuda::thread_scope_device;
using cuda::thread_scope_system;

}  // namespace gnstor::inline v0

namespace gnstor::detail {

constexpr simt::hook_order to_hook(memory_order o) {
  switch (o) {
    case cuda::std::memory_order_acquire: return simt::hook_order::acquire;
    case cuda::std::memory_order_release: return simt::hook_order::release;
    case cuda::std::memory_order_acq_rel: return simt::hook_order::acq_rel;
    default: return simt::hook_order::relaxed;
  }
}

constexpr simt::hook_scope to_hook(thread_scope s) {
  switch (s) {
    case cuda::thread_scope_block: return simt::hook_scope::block;
    case cuda::thread_scope_device: return simt::hook_scope::device;
    case cuda::thread_scope_system: return simt::hook_scope::system;
    default: return simt::hook_scope::thread;
  }
}

}  // namespace gnstor::detail

namespace gnstor::inline v0 {

/// A shared word: `cuda::atomic_ref` on the GPU, the same plus a scheduling point in the host
/// runtime.
///
/// `T` is an unsigned integer of 4 or 8 bytes; the scope is explicit, never assumed. Every flag,
/// index and doorbell of the library goes through this type, so that the host runtime's modes see
/// each access.
template <class T, thread_scope Scope>
class atomic_ref {
  static_assert(sizeof(T) == 4 || sizeof(T) == 8, "shared words are 4 or 8 bytes");
  static_assert(T(-1) > T(0), "shared words are unsigned");

 public:
  GNSTOR_HD explicit atomic_ref(T& word) : ref_(word), word_(&word) {}

  /// @param order relaxed or acquire
  GNSTOR_HD T load(memory_order order) const {
    point("load");
    // Constants, here and in a store: g++ warns of orders that a load or a store cannot have where
    // it finds them in libcu++'s own branches on a variable one.
    T value = order == relaxed ? ref_.load(relaxed) : ref_.load(acquire);
#if !defined(__CUDA_ARCH__)
    if (simt::current_hook) {
      value = static_cast<T>(
          simt::current_hook->load(word_, value, detail::to_hook(order), detail::to_hook(Scope)));
    }
#endif
    point("loaded");
    return value;
  }

  /// @param order relaxed or release
  GNSTOR_HD void store(T value, memory_order order) const {
    point("store");
#if !defined(__CUDA_ARCH__)
    if (simt::current_hook) {
      T before = ref_.load(relaxed);
      put(value, order);
      tell(before, value, false, order);
      point("stored");
      return;
    }
#endif
    put(value, order);
  }

  /// Replaces `expected` by `desired`; on failure `expected` holds what was there (read relaxed).
  GNSTOR_HD bool compare_exchange(T& expected, T desired, memory_order order) const {
    point("compare_exchange");
    [[maybe_unused]] T before = expected;
    bool done = ref_.compare_exchange_strong(expected, desired, order, relaxed);
    if (done) {
      tell(before, desired, true, order);
    } else {
      // A read of the newest value: nothing older may be loaded after it.
      tell(expected, expected, true, relaxed);
    }
    point("compare_exchanged");
    return done;
  }

  GNSTOR_HD T exchange(T value, memory_order order) const {
    point("exchange");
    T before = ref_.exchange(value, order);
    tell(before, value, true, order);
    point("exchanged");
    return before;
  }
  GNSTOR_HD T fetch_add(T value, memory_order order) const {
    point("fetch_add");
    T before = ref_.fetch_add(value, order);
    tell(before, T(before + value), true, order);
    point("fetched_add");
    return before;
  }
  GNSTOR_HD T fetch_sub(T value, memory_order order) const {
    return fetch_add(T(0) - value, order);
  }
  GNSTOR_HD T fetch_or(T value, memory_order order) const {
    point("fetch_or");
    T before = ref_.fetch_or(value, order);
    tell(before, T(before | value), true, order);
    point("fetched_or");
    return before;
  }
  GNSTOR_HD T fetch_and(T value, memory_order order) const {
    point("fetch_and");
    T before = ref_.fetch_and(value, order);
    tell(before, T(before & value), true, order);
    point("fetched_and");
    return before;
  }
  GNSTOR_HD T fetch_max(T value, memory_order order) const {
    point("fetch_max");
    T before = ref_.fetch_max(value, order);
    tell(before, before > value ? before : value, true, order);
    point("fetched_max");
    return before;
  }

 private:
  GNSTOR_HD void put(T value, memory_order order) const {
    order == relaxed ? ref_.store(value, relaxed) : ref_.store(value, release);
  }
  GNSTOR_HD static void point([[maybe_unused]] const char* what) {
#if !defined(__CUDA_ARCH__)
    if (simt::current_hook) simt::current_hook->point(what);
#endif
  }
  GNSTOR_HD void tell([[maybe_unused]] T before, [[maybe_unused]] T after,
                      [[maybe_unused]] bool rmw, [[maybe_unused]] memory_order order) const {
#if !defined(__CUDA_ARCH__)
    if (simt::current_hook) {
      simt::current_hook->store(word_, before, after, rmw, detail::to_hook(order),
                                detail::to_hook(Scope));
    }
#endif
  }

  cuda::atomic_ref<T, Scope> ref_;
  T* word_;
};

/// A word shared by the threads of one device.
template <class T>
using device_word = atomic_ref<T, thread_scope_device>;
/// A word shared with another device: a NIC, a CPU, another GPU.
template <class T>
using system_word = atomic_ref<T, thread_scope_system>;

}  // namespace gnstor::inline v0

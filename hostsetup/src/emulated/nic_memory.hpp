#pragma once

#include <gnstor/host/memory_block.hpp>
#include <gnstor/simt/atomic_ref.hpp>

#include <cstddef>
#include <deque>
#include <exception>
#include <memory>
#include <type_traits>
#include <utility>

namespace gnstor::host {

/// The memory of an emulated NIC's node, and how this CPU reads and writes its words while others
/// work on them: directly, or by copies where it is a GPU's own.
class nic_memory {
 public:
  /// @param where the node runs: `place::device` for a GPU
  nic_memory(place where, int device) : where_(where), device_(device) {}

  bool is_far() const { return where_ == place::device; }

  /// `count` zeroed objects, which stay until this ends. Throws `error`.
  template <class T>
  T* take(std::size_t count) {
    static_assert(std::is_trivially_copyable_v<T>);
    return static_cast<T*>(blocks_.emplace_back(where_, count * sizeof(T), device_).data());
  }

  template <class T>
  T load(const T& word) const {
    if (!is_far()) return system_word<T>(const_cast<T&>(word)).load(acquire);
    T value;
    copy_out(where_, device_, &value, &word, sizeof value);
    return value;
  }
  template <class T>
  void store(T& word, std::type_identity_t<T> value) const {
    if (!is_far()) return system_word<T>(word).store(value, release);
    copy_in(where_, device_, &word, &value, sizeof value);
  }
  /// Objects that nobody else looks at yet.
  template <class T>
  void fill(T* to, const T* from, std::size_t count = 1) const {
    copy_in(where_, device_, to, from, count * sizeof(T));
  }

  /// Does something with these where an error would reach nobody: a GPU whose kernels have failed
  /// does nothing any more, and every other call says so.
  template <class Work>
  void quietly(const Work& work) const noexcept {
    try {
      work();
    } catch (const std::exception&) {
      return;
    }
  }

  /// An object as it is now: itself, or a copy of one that is far.
  template <class T>
  class view {
   public:
    explicit view(const T* there) : at_(there) {}
    explicit view(std::unique_ptr<T> copy) : copy_(std::move(copy)), at_(copy_.get()) {}
    const T* operator->() const { return at_; }
    const T& operator*() const { return *at_; }

   private:
    std::unique_ptr<T> copy_;
    const T* at_;
  };
  template <class T>
  view<T> look(const T& there) const {
    if (!is_far()) return view<T>(&there);
    auto copy = std::make_unique<T>();
    copy_out(where_, device_, copy.get(), &there, sizeof(T));
    return view<T>(std::move(copy));
  }

 private:
  place where_;
  int device_;
  std::deque<memory_block> blocks_;
};

}  // namespace gnstor::host

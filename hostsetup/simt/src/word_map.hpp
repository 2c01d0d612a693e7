#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace gnstor::simt::host {

/// A hash table from a shared word's address to `Value`: open addressing, no removal but `clear()`.
template <class Value>
class word_map {
 public:
  word_map() : slots_(64) {}

  /// The value of `word`, default constructed if new. Valid until the next call.
  Value& operator[](const void* word) {
    if (2 * (used_ + 1) > slots_.size()) grow();
    slot& at = find(slots_, word);
    if (at.word == nullptr) {
      at.word = word;
      ++used_;
    }
    return at.value;
  }
  std::size_t size() const { return used_; }
  void clear() {
    std::vector<slot> fresh(64);
    slots_.swap(fresh);
    used_ = 0;
  }

 private:
  struct slot {
    const void* word = nullptr;
    Value value{};
  };

  static slot& find(std::vector<slot>& in, const void* word) {
    const std::uint64_t hash = reinterpret_cast<std::uintptr_t>(word) * 0x9e3779b97f4a7c15ull >> 32;
    const std::size_t mask = in.size() - 1;
    std::size_t k = hash & mask;
    while (in[k].word != nullptr && in[k].word != word) k = (k + 1) & mask;
    return in[k];
  }
  void grow() {
    std::vector<slot> larger(slots_.size() * 2);
    for (slot& s : slots_) {
      if (s.word != nullptr) find(larger, s.word) = std::move(s);
    }
    slots_.swap(larger);
  }

  std::vector<slot> slots_;
  std::size_t used_ = 0;
};

}  // namespace gnstor::simt::host

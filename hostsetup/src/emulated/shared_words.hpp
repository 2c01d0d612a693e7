#pragma once

#include <gnstor/simt/atomic_ref.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace gnstor::host {
namespace shared_words_detail {

/// Calls `one(offset, word)` for each word of `bytes` (a multiple of 4): of 8 bytes, the last
/// perhaps of 4.
template <class One>
void in_words(std::size_t bytes, const One& one) {
  std::size_t at = 0;
  for (; at + sizeof(std::uint64_t) <= bytes; at += sizeof(std::uint64_t)) one(at, std::uint64_t{});
  if (at < bytes) one(at, std::uint32_t{});
}

template <class Word>
system_word<Word> word_at(void* memory, std::size_t at) {
  return system_word<Word>(*reinterpret_cast<Word*>(static_cast<unsigned char*>(memory) + at));
}

}  // namespace shared_words_detail

/// Copies to memory whose words other threads look at meanwhile: each is stored whole, after those
/// before it.
inline void store_words(void* to, const void* from, std::size_t bytes) {
  shared_words_detail::in_words(bytes, [&]<class Word>(std::size_t at, Word word) {
    std::memcpy(&word, static_cast<const unsigned char*>(from) + at, sizeof word);
    shared_words_detail::word_at<Word>(to, at).store(word, release);
  });
}

/// Copies from such memory.
inline void load_words(void* to, const void* from, std::size_t bytes) {
  shared_words_detail::in_words(bytes, [&]<class Word>(std::size_t at, Word word) {
    word = shared_words_detail::word_at<Word>(const_cast<void*>(from), at).load(acquire);
    std::memcpy(static_cast<unsigned char*>(to) + at, &word, sizeof word);
  });
}

}  // namespace gnstor::host

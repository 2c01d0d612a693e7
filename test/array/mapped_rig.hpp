#pragma once
/// An array on mapped memory in this process's memory.

#include "paging.hpp"
#include "quiet.hpp"
#include "rig_frames.hpp"
#include <gnstor/array/mapped_store.hpp>
#include <gnstor/simt_host/executor.hpp>

#include <algorithm>
#include <memory>
#include <new>
#include <string>
#include <vector>

namespace gnstor::test {

/// Mapped memory that is copied in chunks so small that tiny pages have several.
struct small_chunks : mapped_store {
  using mapped_store::mapped_store;
  static constexpr std::uint32_t chunk_bytes = 16;
};

/// The owner of everything an array of `T` on mapped memory needs. Element 0 is 0.
template <class T, mapped_page_store Store = mapped_store>
class mapped_rig {
 public:
  using view_type = array_view<T, Store>;
  using cache_type = typename view_type::cache_type;

  /// @param count elements; the memory ends with the last one, in the middle of a page, say
  /// @param shared frames of others, too; null: its own
  mapped_rig(rig_shape shape, std::uint64_t count, std::shared_ptr<rig_frames> shared = nullptr)
      : expected(count),
        frames(shared != nullptr
                   ? shared
                   : std::make_shared<rig_frames>(shape, cache_type::ring_bytes(shape.frames))),
        shape_(shape),
        content_(std::size_t{shape.pages + 1} * shape.page_words + 2, canary),
        words_(lines(cache_type::bytes(shape.pages, shape.frames))) {
    std::fill(content(), content() + count, T{});
  }

  view_type view() {
    const Store store(content(), expected.size() * sizeof(T), 8 * shape_.page_words);
    const cache_type pages(store, words_.data(), shape_.pages, frames->ring(), frames->buffer(),
                           shape_.share, frames->template sharers<cache_type>());
    frames->put(pages, shape_.share);
    auto* twin = reinterpret_cast<view_type*>(twin_.data());
    return *new (twin) view_type(pages, expected.size(), shape_.timeout_ns, twin);
  }
  /// Watches which frames lanes hold; there is no disk.
  disk watch() {
    disk d;
    d.page_words = shape_.page_words;
    d.frames = frames->buffer().address;
    d.frame_use = frames->use.data();
    return d;
  }
  T* content() { return reinterpret_cast<T*>(aligned(content_)); }
  page_cache_counters counters() const { return state_in(words_).counters; }
  page_word word(std::uint32_t page) const {
    return word_in<typename cache_type::words_type>(words_, shape_, page);
  }

  /// Runs one kernel of `grid` blocks of `block` threads; what it threw, or nothing.
  template <class Kernel, class... Args>
  std::string run(simt::host::options chosen, std::uint32_t grid, std::uint32_t block,
                  Kernel kernel, Args... args) {
    simt::host::executor machine(chosen);
    machine.spawn(grid, block, kernel, args...);
    try {
      machine.run();
    } catch (const std::exception& error) {
      return error.what();
    }
    return {};
  }

  /// What is wrong once no lane runs; nothing if all is well.
  std::string quiet() const {
    return check_words<typename cache_type::words_type>(words_, frames->words, shape_);
  }
  /// What is wrong after a flush: every element must be in the memory.
  std::string flushed() {
    for (std::uint32_t p = 0; p < shape_.pages; ++p) {
      if (word(p).is(page_word::dirty)) return "page " + std::to_string(p) + " is still dirty";
    }
    for (std::uint64_t i = 0; i < expected.size(); ++i) {
      if (!(content()[i] == expected[i])) {
        return "element " + std::to_string(i) + " is not in the memory";
      }
    }
    const auto* end = reinterpret_cast<const unsigned char*>(content() + expected.size());
    const auto* last = reinterpret_cast<const unsigned char*>(content_.data() + content_.size());
    for (; end != last; ++end) {
      if (*end != static_cast<unsigned char>(canary)) return "bytes beyond the end were written";
    }
    return {};
  }

  std::vector<T> expected;
  std::shared_ptr<rig_frames> frames;
  access_record lanes;

 private:
  static std::uint64_t aligned(std::vector<std::uint64_t>& memory) {
    return (reinterpret_cast<std::uint64_t>(memory.data()) + 15) / 16 * 16;
  }

  static constexpr std::uint64_t canary = 0x5a5a5a5a5a5a5a5a;

  rig_shape shape_;
  std::vector<std::uint64_t> twin_ = std::vector<std::uint64_t>(sizeof(view_type) / 8 + 1);
  std::vector<std::uint64_t> content_;
  std::vector<word_line> words_;
};

}  // namespace gnstor::test

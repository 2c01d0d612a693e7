#pragma once
/// An array on a fake disk in this process's memory.

#include "paging.hpp"
#include "quiet.hpp"
#include "rig_frames.hpp"
#include <gnstor/simt_host/executor.hpp>

#include <memory>
#include <new>
#include <string>
#include <vector>

namespace gnstor::test {

/// The owner of everything an array of `T` on a fake disk needs. Element 0 of the disk is 0.
template <class T, bool Atomic, class Store = fake_store<Atomic>>
class rig {
 public:
  using view_type = array_view<T, Store>;
  using cache_type = typename view_type::cache_type;

  /// @param count elements; 0: as many as fit
  /// @param shared frames of others, too; null: its own
  explicit rig(rig_shape shape, std::uint64_t count = 0,
               std::shared_ptr<rig_frames> shared = nullptr)
      : expected(count != 0 ? count : 8ull * shape.page_words * shape.pages / sizeof(T)),
        content(std::size_t{shape.pages} * shape.page_words),
        plan(shape.pages),
        page_io(shape.pages),
        frames(shared != nullptr
                   ? shared
                   : std::make_shared<rig_frames>(shape, cache_type::ring_bytes(shape.frames))),
        shape_(shape),
        words_(lines(cache_type::bytes(shape.pages, shape.frames))) {}

  disk disk_ref() {
    disk d;
    d.content = content.data();
    d.page_words = shape_.page_words;
    d.frames = frames->buffer().address;
    d.plan = plan.data();
    d.page_io = page_io.data();
    d.frame_use = frames->use.data();
    d.record = &saw;
    d.delay = shape_.delay;
    return d;
  }
  view_type view() {
    const cache_type cache(Store(disk_ref()), words_.data(), shape_.pages, frames->ring(),
                           frames->buffer(), shape_.share, frames->template sharers<cache_type>());
    frames->put(cache, shape_.share);
    auto* twin = reinterpret_cast<view_type*>(twin_.data());
    return *new (twin) view_type(cache, expected.size(), shape_.timeout_ns, twin);
  }
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
    if (saw.page_twice != 0) return "two lanes moved one page at once";
    if (saw.frame_in_use != 0) return "a frame in use was filled";
    if (saw.frame_lost != 0) return "a frame that a request given up may use was filled";
    return check_words<typename cache_type::words_type>(words_, frames->words, shape_);
  }
  /// What is wrong after a flush: every element must be on the disk.
  std::string flushed() const {
    for (std::uint32_t p = 0; p < shape_.pages; ++p) {
      if (word(p).is(page_word::dirty)) return "page " + std::to_string(p) + " is still dirty";
    }
    const auto* on_disk = reinterpret_cast<const T*>(content.data());
    for (std::uint64_t i = 0; i < expected.size(); ++i) {
      if (!(on_disk[i] == expected[i])) {
        return "element " + std::to_string(i) + " is not on the disk";
      }
    }
    return {};
  }

  std::vector<T> expected;
  std::vector<std::uint64_t> content;
  std::vector<std::uint32_t> plan;
  std::vector<std::uint32_t> page_io;
  std::shared_ptr<rig_frames> frames;
  disk_record saw;
  access_record lanes;

 private:
  rig_shape shape_;
  std::vector<std::uint64_t> twin_ = std::vector<std::uint64_t>(sizeof(view_type) / 8 + 1);
  std::vector<word_line> words_;
};

}  // namespace gnstor::test

#pragma once
/// What every thread of an array test runs, on the host runtime and on the GPU.

#include "fake_disk.hpp"
#include <gnstor/array/array_view.hpp>
#include <gnstor/array/cached_reader.hpp>
#include <gnstor/core/hash.hpp>
#include <gnstor/simt/lane.hpp>

#include <cstdint>

namespace gnstor::test {

/// What lanes saw go wrong. Zero at the start.
struct access_record {
  std::uint32_t wrong = 0;   ///< an element had another value than its owner gave it last
  std::uint32_t failed = 0;  ///< a status other than ok
};

/// A 16-byte element.
struct alignas(16) wide {
  std::uint64_t low = 0;
  std::uint64_t high = 0;
  GNSTOR_HD friend bool operator==(const wide& a, const wide& b) {
    return a.low == b.low && a.high == b.high;
  }
};

/// An element of `N` words, whose size may be no power of two.
template <class Word, int N>
struct words_of {
  Word word[N];

  GNSTOR_HD static words_of from(std::uint64_t bits) {
    words_of w;
    for (Word& x : w.word) x = static_cast<Word>(bits = mix64(bits));
    return w;
  }
  GNSTOR_HD friend words_of operator+(words_of a, const words_of& b) {
    for (int k = 0; k < N; ++k) a.word[k] = static_cast<Word>(a.word[k] + b.word[k]);
    return a;
  }
  GNSTOR_HD friend bool operator==(const words_of& a, const words_of& b) {
    for (int k = 0; k < N; ++k) {
      if (a.word[k] != b.word[k]) return false;
    }
    return true;
  }
};

/// An element from 64 random bits.
template <class T>
GNSTOR_HD T element_of(std::uint64_t bits) {
  if constexpr (requires { T::from(bits); }) {
    return T::from(bits);
  } else if constexpr (sizeof(T) == 16) {
    return T{bits, ~bits};
  } else {
    return static_cast<T>(bits);
  }
}

/// Random numbers that lanes draw: their own, and some that a whole warp draws alike.
class lane_draws {
 public:
  GNSTOR_HD lane_draws(std::uint32_t seed, std::uint32_t thread)
      : own_(mix64(std::uint64_t{seed} << 32 | thread)),
        common_(mix64(std::uint64_t{seed} << 32 | (thread / 32 + 0x80000000u))) {}
  GNSTOR_HD std::uint64_t own() { return mix64(++own_); }
  GNSTOR_HD std::uint64_t common() { return mix64(++common_); }

 private:
  std::uint64_t own_;
  std::uint64_t common_;
};

/// Reads and writes elements at random through `view[i]`, `load` and `store`. Element i belongs to
/// thread i modulo the grid, which knows its value.
template <class T>
struct random_elements {
  struct shared {};
  std::uint32_t rounds = 4;
  std::uint32_t seed = 0;

  template <class Lane, class View>
  GNSTOR_HD void operator()(Lane& lane, View view, T* expected, access_record* record) const {
    const std::uint64_t me = lane.global_thread();
    const std::uint64_t threads = lane.grid_threads();
    lane_draws draws(seed, lane.global_thread());
    for (std::uint32_t round = 0; round < rounds; ++round) {
      const std::uint64_t near = draws.common();
      const std::uint64_t far = draws.own();
      // Lanes meet on one page, or go their own ways.
      const std::uint64_t pick = (near >> 60 & 1) != 0 ? near : far;
      const std::uint64_t owned = (view.size() - me + threads - 1) / threads;
      const std::uint64_t i = me + threads * ((pick & 0xffffff) % owned);
      const T value = element_of<T>(far);
      switch (far >> 61) {
        case 0:
        case 1: {
          if (!view.store(i, value).ok()) disk::add(record->failed, 1);
          expected[i] = value;
          break;
        }
        case 2: {
          view[i] = value;
          expected[i] = value;
          break;
        }
        case 3: {
          if constexpr (requires { value + value; }) {
            view[i] += value;
            expected[i] = static_cast<T>(expected[i] + value);
          }
          break;
        }
        case 4: {
          if (!(static_cast<T>(view[i]) == expected[i])) disk::add(record->wrong, 1);
          break;
        }
        default: {
          const result<T> got = view.load(i);
          if (!got) disk::add(record->failed, 1);
          if (!(got.value == expected[i])) disk::add(record->wrong, 1);
        }
      }
    }
  }
};

/// Pins pages, alone or with the whole warp, and reads and writes the calling lane's words of them
/// as relaxed atomics: what orders them is the page table alone. Some lanes flush pages meanwhile.
struct pinned_words {
  struct shared {};
  std::uint32_t rounds = 4;
  std::uint32_t seed = 0;

  template <class Lane, class View>
  GNSTOR_HD void operator()(Lane& lane, View view, disk d, std::uint64_t* expected,
                            access_record* record) const {
    lane_draws draws(seed, lane.global_thread());
    for (std::uint32_t round = 0; round < rounds; ++round) {
      const std::uint64_t near = draws.common();
      const std::uint64_t far = draws.own();
      if ((far >> 60) == 0) {
        const page_index any(static_cast<std::uint32_t>(far % view.cache().pages()));
        const status s = view.flush(any);
        if (!s.ok() && s.code != status_code::would_block) disk::add(record->failed, 1);
      }
      const bool together = (near >> 62) != 0;
      const std::uint64_t first = (together ? near : far) % view.size();
      if (together) {
        use(lane, lane.warp(), view, d, first, (near >> 61 & 1) != 0, expected, record);
      } else {
        use(lane, simt::group::self(), view, d, first, (far >> 61 & 1) != 0, expected, record);
      }
      lane.warp().sync();
    }
  }

 private:
  template <class Lane, class Group, class View>
  GNSTOR_HD static void use(Lane& lane, const Group& g, const View& view, const disk& d,
                            std::uint64_t index, bool write, std::uint64_t* expected,
                            access_record* record) {
    const auto page = view.acquire_page(g, index, write ? page_use::write : page_use::read);
    if (!page) {
      disk::add(record->failed, 1);
      return;
    }
    if (g.thread_rank() == 0) d.hold(page.value.data);
    g.sync();
    const std::uint64_t last = page.value.first + page.value.count;
    for (std::uint64_t i = page.value.first; i < last; ++i) {
      if (i % lane.grid_threads() != lane.global_thread()) continue;
      const device_word<std::uint64_t> word(page.value[i]);
      if (word.load(relaxed) != expected[i]) disk::add(record->wrong, 1);
      if (write) {
        expected[i] = mix64(expected[i] + i + 1);
        word.store(expected[i], relaxed);
      }
    }
    g.sync();
    if (g.thread_rank() == 0) d.let_go(page.value.data);
    view.release_page(g, page.value);
  }
};

/// Warps hold three pages at once and use the calling lane's words of them as relaxed atomics: the
/// first is read, the others are written.
struct words_of_three {
  struct shared {};
  std::uint32_t rounds = 4;
  std::uint32_t seed = 0;

  /// @param refused counts the sets for which there were too few frames
  template <class Lane, class View>
  GNSTOR_HD void operator()(Lane& lane, View view, disk d, std::uint64_t* expected,
                            access_record* record, std::uint32_t* refused) const {
    const simt::group warp = lane.warp();
    lane_draws draws(seed, lane.global_thread());
    for (std::uint32_t round = 0; round < rounds; ++round) {
      const std::uint64_t i = draws.common() % view.size();
      const std::uint64_t j = draws.common() % view.size();
      const std::uint64_t k = draws.common() % view.size();
      const auto pages = hold_pages(warp, to_read(view, i), to_write(view, j), to_write(view, k));
      if (!pages) {
        const bool starved = pages.outcome().code == status_code::no_memory;
        disk::add(starved ? *refused : record->failed, 1);
        continue;
      }
      if (!pages.template get<0>().holds(i) || !pages.template get<2>().holds(k))
        disk::add(record->wrong, 1);
      use(lane, d, pages.template get<0>(), expected, record);
      use(lane, d, pages.template get<1>(), expected, record);
      use(lane, d, pages.template get<2>(), expected, record);
    }
  }

 private:
  template <class Lane, class T>
  GNSTOR_HD static void use(Lane& lane, const disk& d, const held_page<T>& page,
                            std::uint64_t* expected, access_record* record) {
    const simt::group warp = lane.warp();
    const void* const bytes = &page[page.first()];
    if (warp.leads()) d.hold(bytes);
    warp.sync();
    for (std::uint64_t i = page.first(); page.holds(i); ++i) {
      if (i % lane.grid_threads() != lane.global_thread()) continue;
      const device_word<std::uint64_t> word(const_cast<std::uint64_t&>(page[i]));
      if (word.load(relaxed) != expected[i]) disk::add(record->wrong, 1);
      if constexpr (!std::is_const_v<T>) {
        expected[i] = mix64(expected[i] + i + 1);
        word.store(expected[i], relaxed);
      }
    }
    warp.sync();
    if (warp.leads()) d.let_go(bytes);
    warp.sync();
  }
};

/// Blocks hold pages in turn and use the calling thread's words of them as relaxed atomics.
/// Between, threads read one of their words without a reference.
struct words_of_blocks {
  struct shared {
    simt::block_group::room room;
  };
  std::uint32_t rounds = 4;
  std::uint32_t seed = 0;

  template <class Lane, class View>
  GNSTOR_HD void operator()(Lane& lane, View view, disk d, std::uint64_t* expected,
                            access_record* record) const {
    const simt::block_group block(lane.shared().room);
    const std::uint32_t me = lane.global_thread();
    std::uint64_t draw = mix64(std::uint64_t{seed} << 32 | lane.block());
    for (std::uint32_t round = 0; round < rounds; ++round) {
      draw = mix64(draw + 1);
      const bool write = draw >> 63 != 0;
      use_page(block, view, d, draw % view.size(), write, me, expected, record);
      if (me % 11 != 0) continue;
      const std::uint64_t owned =
          (view.size() - me + lane.grid_threads() - 1) / lane.grid_threads();
      const std::uint64_t mine = me + lane.grid_threads() * (mix64(draw + me) % owned);
      const result<std::uint64_t> got = view.load(mine);
      if (!got) disk::add(record->failed, 1);
      if (got.value != expected[mine]) disk::add(record->wrong, 1);
    }
  }

 private:
  template <class View>
  GNSTOR_HD static void use_page(const simt::block_group& block, const View& view, const disk& d,
                                 std::uint64_t index, bool write, std::uint64_t me,
                                 std::uint64_t* expected, access_record* record) {
    const auto page = view.acquire_page(block, index, write ? page_use::write : page_use::read);
    if (!page) {
      disk::add(record->failed, 1);
      return;
    }
    d.hold(page.value.data);  // by each thread: none may have it longer than the block
    const std::uint64_t last = page.value.first + page.value.count;
    const std::uint64_t threads = simt::lane<>().grid_threads();
    for (std::uint64_t i = page.value.first; i < last; ++i) {
      if (i % threads != me) continue;
      const device_word<std::uint64_t> word(page.value[i]);
      if (word.load(relaxed) != expected[i]) disk::add(record->wrong, 1);
      if (write) {
        expected[i] = mix64(expected[i] + i + 1);
        word.store(expected[i], relaxed);
      }
    }
    d.let_go(page.value.data);
    view.release_page(block, page.value);
  }
};

/// Every lane reads elements that say where they lie, of more pages than there are frames.
struct read_all {
  struct shared {};
  std::uint32_t rounds;
  template <class Lane, class View>
  GNSTOR_HD void operator()(Lane& lane, View view, std::uint32_t seed,
                            access_record* record) const {
    lane_draws draws(seed, lane.global_thread());
    for (std::uint32_t round = 0; round < rounds; ++round) {
      const std::uint64_t i = draws.own() % view.size();
      const result<std::uint64_t> got = view.load(i);
      if (!got) disk::add(record->failed, 1);
      if (got.value != mix64(i)) disk::add(record->wrong, 1);
    }
  }
};

/// The same by whole warps, of which some lanes read nothing, and some beyond the end.
struct read_together {
  struct shared {};
  std::uint32_t rounds;
  template <class Lane, class View>
  GNSTOR_HD void operator()(Lane& lane, View view, std::uint32_t seed,
                            access_record* record) const {
    lane_draws draws(seed, lane.global_thread());
    for (std::uint32_t round = 0; round < rounds; ++round) {
      const std::uint64_t mine = draws.own();
      const std::uint64_t kind = mine >> 61;
      const std::uint64_t i = kind == 0 ? view.size() + mine % 3 : mine % view.size();
      const bool wants = kind != 1;
      const result<std::uint64_t> got = view.load(lane.warp(), i, wants);
      const bool beyond = wants && i >= view.size();
      if (beyond != (got.status == status::make(status_code::out_of_range, reporter::array)))
        disk::add(record->failed, 1);
      if (!beyond && !got) disk::add(record->failed, 1);
      if (got.value != (wants && !beyond ? mix64(i) : 0)) disk::add(record->wrong, 1);
    }
  }
};

/// Every lane reads by a `cached_reader`: elements of the lower half, near each other, which say
/// where they lie, and those of the upper half that it has written.
struct read_neighbours {
  struct shared {};
  std::uint32_t rounds;
  template <class Lane, class View>
  GNSTOR_HD void operator()(Lane& lane, View view, std::uint32_t seed, std::uint64_t* expected,
                            access_record* record) const {
    lane_draws draws(seed, lane.global_thread());
    cached_reader reader(view);
    const std::uint64_t mine = view.size() / 2 / lane.grid_threads();
    for (std::uint32_t round = 0; round < rounds; ++round) {
      const std::uint64_t draw = draws.own();
      if ((draw >> 62) == 0) {  // the upper half belongs to threads, a piece each
        const std::uint64_t i = view.size() / 2 + lane.global_thread() * mine + draw % mine;
        if (!view.store(i, expected[i] = mix64(draw)).ok()) disk::add(record->failed, 1);
        if (reader[i] != expected[i]) disk::add(record->wrong, 1);
        continue;
      }
      const std::uint64_t first = draw % (view.size() / 2);
      for (std::uint64_t i = first; i < first + 3 && i < view.size() / 2; ++i) {
        const result<std::uint64_t> got = reader.load(i);
        if (!got) disk::add(record->failed, 1);
        if (got.value != mix64(i)) disk::add(record->wrong, 1);
      }
    }
  }
};

/// Writes every page back; lanes share the pages.
struct flush_all {
  struct shared {};
  template <class Lane, class View>
  GNSTOR_HD void operator()(Lane& lane, View view, access_record* record) const {
    for (std::uint32_t p = lane.global_thread(); p < view.cache().pages();
         p += lane.grid_threads()) {
      if (!view.flush(page_index(p)).ok()) disk::add(record->failed, 1);
    }
  }
};

/// The same by whole warps, a page for each lane.
struct flush_warps {
  struct shared {};
  template <class Lane, class View>
  GNSTOR_HD void operator()(Lane& lane, View view, access_record* record) const {
    const simt::group warp = lane.warp();
    const std::uint32_t pages = view.cache().pages();
    for (std::uint32_t p = lane.global_thread(); warp.any(p < pages); p += lane.grid_threads()) {
      if (!view.flush(warp, page_index(p), p < pages).ok()) disk::add(record->failed, 1);
    }
  }
};

}  // namespace gnstor::test

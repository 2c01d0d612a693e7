#pragma once
/// A page store in plain memory that watches how it is used, for the host runtime and the GPU.

#include <gnstor/array/page_store.hpp>
#include <gnstor/simt/atomic_ref.hpp>
#include <gnstor/simt/clock.hpp>
#include <gnstor/simt/fence.hpp>
#include <gnstor/simt/relaxed_bytes.hpp>

#include <cstdint>

namespace gnstor::test {

/// What the disk does to the I/O of a page: bits of its plan.
struct disk_plan {
  static constexpr std::uint32_t fetch_fails = 1;
  static constexpr std::uint32_t store_fails = 2;
  static constexpr std::uint32_t fetch_hangs = 4;  ///< no answer before the deadline
  static constexpr std::uint32_t store_hangs = 8;
  static constexpr std::uint32_t fetch_is_late = 16;  ///< succeeds, but left a request behind
};

/// What a fake disk saw. One in memory that all lanes reach; zero at the start.
struct disk_record {
  std::uint32_t fetches = 0;
  std::uint32_t stores = 0;
  std::uint32_t page_twice = 0;    ///< two I/Os of one page at once
  std::uint32_t frame_in_use = 0;  ///< I/O on a frame that lanes or another I/O use
  std::uint32_t most_lanes = 0;    ///< that fetched one page together
  std::uint32_t frame_lost = 0;    ///< a fetch into a frame that a request given up may still use
};

/// The disk's memory (a reference). Words of lanes and I/Os are counted by relaxed
/// read-modify-writes: they see the newest value, and order nothing.
struct disk {
  static constexpr std::uint32_t given_up = 1u << 31;

  std::uint64_t* content = nullptr;    ///< pages * page_words
  std::uint32_t page_words = 8;        ///< 64-bit words of a page
  std::uint64_t frames = 0;            ///< address of frame 0
  std::uint32_t* plan = nullptr;       ///< of each page
  std::uint32_t* page_io = nullptr;    ///< of each page: I/Os under way
  std::uint32_t* frame_use = nullptr;  ///< of each frame: lanes and I/Os that use it, `given_up`
  disk_record* record = nullptr;
  std::uint32_t delay = 0;  ///< pauses before, within and after a copy

  GNSTOR_HD std::uint32_t frame_of(const void* inside) const {
    const auto offset = reinterpret_cast<std::uint64_t>(inside) - frames;
    return static_cast<std::uint32_t>(offset / (8ull * page_words));
  }
  /// A lane holds the frame that `inside` lies in: no fetch may write it now.
  GNSTOR_HD void hold(const void* inside) const { add(frame_use[frame_of(inside)], 1); }
  GNSTOR_HD void let_go(const void* inside) const { add(frame_use[frame_of(inside)], ~0u); }

  GNSTOR_HD static std::uint32_t add(std::uint32_t& word, std::uint32_t what) {
    return device_word<std::uint32_t>(word).fetch_add(what, relaxed);
  }
};

/// The store of an array on a fake disk.
/// @tparam Atomic words of pages are copied as shared words, for the weak mode, which is blind to
/// other payload; else as what ThreadSanitizer sees: a frame is filled by relaxed stores, as lanes
/// may read there without a reference, and read as plain words
template <bool Atomic>
class fake_store {
 public:
  GNSTOR_HD explicit fake_store(const disk& d) : disk_(d) {}

  GNSTOR_HD std::uint32_t page_bytes() const { return 8 * disk_.page_words; }

  GNSTOR_HD status fetch(page_index page, const io_buffer& frame, deadline d) const {
    const std::uint32_t f = begin(page, frame);
    const std::uint32_t use = disk::add(disk_.frame_use[f], 1);
    if ((use & ~disk::given_up) != 0) disk::add(disk_.record->frame_in_use, 1);
    if ((use & disk::given_up) != 0) disk::add(disk_.record->frame_lost, 1);
    disk::add(disk_.record->fetches, 1);
    const std::uint32_t plan = disk_.plan[page.value];
    status s;
    if ((plan & disk_plan::fetch_fails) != 0) {
      s = media_error(page);
    } else if ((plan & disk_plan::fetch_hangs) != 0) {
      s = hang(f, d);
    } else {
      // What fills a frame has acquired the request for it: see docs/decisions/040.
      simt::fence<thread_scope_device>(acq_rel);
      copy(static_cast<std::uint64_t*>(frame.data()), at(page));
      if ((plan & disk_plan::fetch_is_late) != 0 && !avoiding_) {
        // The SSD given up writes the frame after all, behind the one that delivered.
        copy(static_cast<std::uint64_t*>(frame.data()), at(page_index(page.value == 0 ? 1 : 0)));
        s = left_behind(f);
      }
    }
    if (disk::add(disk_.frame_use[f], ~0u) % disk::given_up != 1) {
      disk::add(disk_.record->frame_in_use, 1);
    }
    end(page);
    return s;
  }

  GNSTOR_HD status store(page_index page, const io_buffer& frame, deadline d) const {
    const std::uint32_t f = begin(page, frame);
    disk::add(disk_.record->stores, 1);
    const std::uint32_t plan = disk_.plan[page.value];
    status s;
    if ((plan & disk_plan::store_fails) != 0) {
      s = media_error(page);
    } else if ((plan & disk_plan::store_hangs) != 0) {
      s = hang(f, d);
    } else {
      copy(at(page), static_cast<std::uint64_t*>(frame.data()));
    }
    end(page);
    return s;
  }

  /// The same disk, by others than the SSD that is late.
  GNSTOR_HD fake_store avoiding(ssd_index) const {
    fake_store others = *this;
    others.avoiding_ = true;
    return others;
  }

  /// The status of a page that cannot be fetched or stored.
  GNSTOR_HD static status media_error(page_index page) {
    return status::nvme(2, 0x81, static_cast<std::uint16_t>(page.value % 4));
  }

 protected:
  GNSTOR_HD std::uint64_t* at(page_index page) const {
    return disk_.content + std::uint64_t{page.value} * disk_.page_words;
  }
  GNSTOR_HD std::uint32_t begin(page_index page, const io_buffer& frame) const {
    if (disk::add(disk_.page_io[page.value], 1) != 0) disk::add(disk_.record->page_twice, 1);
    return disk_.frame_of(frame.data());
  }
  GNSTOR_HD void end(page_index page) const { disk::add(disk_.page_io[page.value], ~0u); }

  GNSTOR_HD status hang(std::uint32_t frame, deadline d) const {
    for (until more{d}; more;) {
    }
    (void)left_behind(frame);
    return status::make(status_code::timed_out, reporter::channel);
  }
  GNSTOR_HD status left_behind(std::uint32_t frame) const {
    device_word<std::uint32_t>(disk_.frame_use[frame]).fetch_or(disk::given_up, relaxed);
    return status::in_use(0);
  }

  GNSTOR_HD void copy(std::uint64_t* to, std::uint64_t* from) const {
    pause();
    for (std::uint32_t k = 0; k < disk_.page_words; ++k) {
      if (k == disk_.page_words / 2) pause();
      if constexpr (Atomic) {
        const std::uint64_t word = device_word<std::uint64_t>(from[k]).load(relaxed);
        device_word<std::uint64_t>(to[k]).store(word, relaxed);
      } else {
        const std::uint64_t word = from[k];
        simt::store_relaxed(&to[k], word);
      }
    }
    pause();
  }
  GNSTOR_HD void pause() const {
    for (std::uint32_t k = 0; k < disk_.delay; ++k) simt::pause();
  }

  disk disk_;
  bool avoiding_ = false;  ///< the SSD that is late
};

static_assert(page_store<fake_store<true>> && page_store<fake_store<false>>);

/// The same where the lanes of a warp fetch a page together, each some of its words. What fails,
/// fails in one lane.
struct long_store : fake_store<true> {
  using fake_store::fake_store;

  GNSTOR_HD bool pages_are_long() const { return true; }
  template <class G>
  GNSTOR_HD status fetch_together(const G& g, page_index page, const io_buffer& frame,
                                  deadline) const {
    std::uint32_t f = 0;
    if (g.thread_rank() == 0) {
      f = begin(page, frame);
      if (disk::add(disk_.frame_use[f], 1) != 0) disk::add(disk_.record->frame_in_use, 1);
      disk::add(disk_.record->fetches, 1);
      device_word<std::uint32_t>(disk_.record->most_lanes).fetch_max(g.size(), relaxed);
    }
    g.sync();
    simt::fence<thread_scope_device>(acq_rel);
    const bool fails = (disk_.plan[page.value] & disk_plan::fetch_fails) != 0;
    auto* const to = static_cast<std::uint64_t*>(frame.data());
    for (std::uint32_t k = g.thread_rank(); k < disk_.page_words && !fails; k += g.size()) {
      const std::uint64_t word = device_word<std::uint64_t>(at(page)[k]).load(relaxed);
      device_word<std::uint64_t>(to[k]).store(word, relaxed);
    }
    g.sync();
    if (g.thread_rank() == 0) {
      disk::add(disk_.frame_use[f], ~0u);
      end(page);
    }
    return fails ? media_error(page) : status{};
  }
  GNSTOR_HD long_store avoiding(ssd_index) const { return *this; }
};
static_assert(group_page_store<long_store>);

}  // namespace gnstor::test

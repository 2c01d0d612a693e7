#pragma once

#include <gnstor/array/remote_array.hpp>
#include <gnstor/host/error.hpp>
#include <gnstor/host/executor.hpp>
#include <gnstor/host/session.hpp>
#include <gnstor/simt/stream.hpp>

#include <chrono>
#include <concepts>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace gnstor::host {

/// How an array is paged.
struct array_options {
  std::uint64_t frame_bytes = 0;         ///< memory for frames; 0: a quarter of the data
  std::uint32_t page_bytes = 64 * 1024;  ///< 4096 times a power of two, up to 2 MiB; on mapped
                                         ///< memory from 512 on
  duration timeout = std::chrono::seconds(10);  ///< of one element access
  former_timeout timeout_ns{};                  ///< now `timeout`
};

/// The fewest frames an array works with: a warp whose lanes touch 32 pages at once needs them all.
inline constexpr std::uint32_t min_frames = 32;

class remote_memory;

}  // namespace gnstor::host

namespace gnstor::detail {

/// What a flush could not write back. In memory that its kernel reaches; zero at the start.
struct flush_record {
  std::uint64_t pages = 0;  ///< how many
  std::uint64_t first = 0;  ///< `status::pack()` of one of them
  std::uint64_t page = 0;   ///< which one that is
};

/// What an array lies on, as far as its memory depends on it.
struct array_ground {
  std::string name;    ///< "array on volume 3"
  std::string remedy;  ///< of one that is too small: "create a volume of at least"
  std::uint64_t bytes = 0;
  std::uint32_t least_page = 0;           ///< bytes
  host::place where = host::place::host;  ///< of frames and words
  int device = 0;
  host::session* session = nullptr;       ///< that registers the frames, if any has to
  host::remote_memory* memory = nullptr;  ///< that does, in place of a session
};

/// What the typed owner does not need to repeat for each element type.
struct array_memory {
  host::memory_block frames;
  host::memory_block words;
  host::memory_block left;  ///< the `flush_record` of the last flush
  host::memory_block twin;  ///< room for a view that kernels reach: see `array_view`
  io_buffer buffer{};
  std::uint32_t pages = 0;
  std::uint32_t frame_count = 0;
  std::string name;          ///< "array on volume 3"
  std::uint64_t thrown = 0;  ///< the error that was thrown last

  /// Checks sizes, allocates and registers. Throws `host::input_error`.
  static array_memory make(const array_ground& ground, std::uint64_t count,
                           std::uint32_t element_bytes, const host::array_options& options);

  bool open() const { return frames.data() != nullptr; }
  /// Throws `host::input_error` after `release`.
  void require_open() const;
  page_cache_counters counters() const;
  /// The record of the next flush, as if nothing was left.
  flush_record* fresh_record();
  /// Throws `host::io_error` if the last flush left pages dirty, or if the array holds an error.
  void check();
  void forget_error();
  /// Gives the frames back; counters stay.
  /// @param s that registered them, if one did
  void release(host::session* s) noexcept;
  void release(host::remote_memory* m) noexcept;
  /// Logs what would be lost in silence: an unreported error, dirty pages.
  void report_loss() const noexcept;

 private:
  std::uint64_t dirty_pages() const;
};

/// Writes every dirty page back: one lane per page, in turn, by whole warps.
struct flush_pages {
  template <class Lane, class View>
  GNSTOR_HD void operator()(Lane& lane, View view, flush_record* left) const {
    const simt::group warp = lane.warp();
    const std::uint64_t pages = view.cache().pages();
    for (std::uint64_t p = lane.global_thread(); warp.any(p < pages); p += lane.grid_threads()) {
      const status s = view.flush(warp, page_index(static_cast<std::uint32_t>(p)), p < pages);
      if (s.ok()) continue;
      device_word<std::uint64_t>(left->pages).fetch_add(1, relaxed);
      std::uint64_t none = 0;
      if (device_word<std::uint64_t>(left->first).compare_exchange(none, s.pack(), relaxed))
        device_word<std::uint64_t>(left->page).store(p, relaxed);
    }
  }
};

/// Lets every page whose fetch failed be fetched again.
struct forgive_pages {
  template <class Lane, class View>
  GNSTOR_HD void operator()(Lane& lane, View view) const {
    for (std::uint32_t p = lane.global_thread(); p < view.cache().pages();
         p += lane.grid_threads()) {
      view.cache().forgive(page_index(p));
    }
  }
};

}  // namespace gnstor::detail

namespace gnstor::host {

/// A volume as what an `array` lies on. The session must outlive it.
class volume_pages {
 public:
  using store_type = volume_store<remote_volume>;

  volume_pages(session& s, const volume_info& volume) : session_(&s), volume_(volume) {}

  detail::array_ground ground() const;
  store_type store(std::uint32_t page_bytes) const {
    return store_type(session_->ref(volume_), page_bytes / block_bytes);
  }
  void attach(executor& run) const { session_->attach(run); }
  /// Pages were written back.
  void changed() const {}
  session* registrar() const { return session_; }

 private:
  session* session_;
  volume_info volume_;
};

/// Owns the frames and the page table of an array on a volume, and hands out views for kernels.
/// Move-only.
///
/// `count` elements of `T` from byte 0 of the volume on. The session must outlive it.
/// `mapped_array` is the same on host memory or a file.
///
/// End with `close`: it writes everything back, and throws what could not be reported to a kernel.
/// `view[i] = x` returns no status: where its page cannot be fetched, no frame comes free, or there
/// is no element i, the value is lost, and the array keeps the first such error until
/// `clear_errors`. `flush` and `close` throw it. The destructor writes nothing back and never
/// throws; dirty pages, and an error that nothing has thrown, it logs as an error.
/// @tparam Pages what it lies on
template <class T, class Pages = volume_pages>
class array {
 public:
  using view_type = array_view<T, typename Pages::store_type>;

  /// Throws `input_error` if the volume is too small, the frame budget below `min_frames` pages, or
  /// the page size odd.
  array(session& s, const volume_info& volume, std::uint64_t count,
        const array_options& options = {}) requires std::same_as<Pages, volume_pages>
      : array(volume_pages(s, volume), count, options) {}
  /// The same on what `pages` says.
  array(const Pages& pages, std::uint64_t count, const array_options& options = {})
      : ground_(pages),
        options_(options),
        count_(count),
        memory_(detail::array_memory::make(pages.ground(), count, sizeof(T), options)) {
    if constexpr (has_twin) {
      const view_type twin = view();
      memory_.twin.write(0, &twin, sizeof twin);
    }
  }
  array(array&& other) noexcept = default;
  array& operator=(array&&) = delete;
  ~array() {
    try {
      settle();
    } catch (const std::exception&) {
      // The pages that it left dirty are reported.
    }
    memory_.report_loss();
    memory_.release(ground_.registrar());
  }

  std::uint64_t size() const { return count_; }

  /// The array for kernels, passed by value. Throws `input_error` after `close`.
  view_type view() const {
    memory_.require_open();
    using cache_type = typename view_type::cache_type;
    const cache_type cache(ground_.store(options_.page_bytes), memory_.words.data(), memory_.pages,
                           memory_.frame_count, memory_.buffer);
    const std::uint64_t timeout = options_.timeout_ns.or_else(options_.timeout).ns();
    if constexpr (has_twin) {
      return view_type(cache, count_, timeout, static_cast<const view_type*>(memory_.twin.data()));
    } else {
      return view_type(cache, count_, timeout);
    }
  }

  /// Writes all dirty pages back to where they lie. Call it when no kernel uses the array.
  ///
  /// Throws `io_error`, naming page and status, if a page could not be written (it stays dirty), or
  /// if the array holds an error: what was stored there is lost, what was read there is poison.
  /// Everything else is written by then. Nothing is forgotten by throwing: `counters().first_error`
  /// stays, and every later `flush` throws it again, until `clear_errors`.
  void flush() {
    begin_flush(std::make_shared<executor>());
    check();
  }

  /// The same in the order of a stream: after what was enqueued there before, and before what is
  /// enqueued there later; `check` says how it ended. Waits for the flush before, if that has not
  /// ended; beside a node with `resident=no`, and on the host, for this one, too. No kernel of
  /// another stream may use the array meanwhile.
  /// @param order a `cudaStream_t` of the session's device
  void flush_async(simt::stream order) { begin_flush(std::make_shared<executor>(order)); }

  /// Waits for the last `flush_async`. Throws as `flush` what the last flush left dirty, and the
  /// array's error.
  void check() {
    settle();
    const std::uint64_t written = memory_.counters().pages_out;
    if (written != saved_) ground_.changed();
    saved_ = written;
    memory_.check();
  }

  /// Flushes, and gives the frames back; views and `flush` are refused then, `counters` stay.
  /// Throws as `flush`, and leaves the array open then: remove the cause, `clear_errors`, and close
  /// again. Closing a closed array does nothing.
  void close() {
    if (!memory_.open()) return;
    flush();
    memory_.release(ground_.registrar());
  }

  /// Forgets the array's first error, and lets pages whose fetch failed be fetched again: after the
  /// cause is gone. Call it when no kernel uses the array.
  void clear_errors() {
    settle();
    executor run;
    run.spawn(8, 128, detail::forgive_pages{}, view());
    ground_.attach(run);
    run.run();
    memory_.forget_error();
  }

  /// What the array did so far; exact when no kernel uses it.
  page_cache_counters counters() const { return memory_.counters(); }

  std::uint32_t frames() const { return memory_.frame_count; }
  std::uint32_t pages() const { return memory_.pages; }

 private:
  static constexpr bool has_twin = mapped_page_store<typename Pages::store_type>;
  static_assert(sizeof(view_type) <= 4096, "what a memory_block has at least");

  void begin_flush(const std::shared_ptr<executor>& run) {
    settle();
    run->spawn(8, 128, detail::flush_pages{}, view(), memory_.fresh_record());
    ground_.attach(*run);
    pending_ = [run] { run->wait(); };
    run->run_async();
  }
  /// Waits for the flush that is under way. Throws what CUDA says of its kernel.
  void settle() {
    if (const auto wait = std::exchange(pending_, nullptr)) wait();
  }

  Pages ground_;
  array_options options_;
  std::uint64_t count_;
  detail::array_memory memory_;
  std::uint64_t saved_ = 0;        ///< pages written back that `ground_` knows of
  std::function<void()> pending_;  ///< waits for the last `flush_async`
};

}  // namespace gnstor::host

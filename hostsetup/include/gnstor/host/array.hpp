#pragma once

#include <gnstor/array/remote_array.hpp>
#include <gnstor/host/error.hpp>
#include <gnstor/host/executor.hpp>
#include <gnstor/host/session.hpp>

#include <vector>

namespace gnstor::host {

/// How an array is paged.
struct array_options {
  std::uint64_t frame_bytes = 0;              ///< memory for frames; 0: a quarter of the data
  std::uint32_t page_bytes = 64 * 1024;       ///< 4096 times a power of two, up to 2 MiB
  std::uint64_t timeout_ns = 10'000'000'000;  ///< of one element access
};

/// The fewest frames an array works with: a warp whose lanes touch 32 pages at once needs them all.
inline constexpr std::uint32_t min_frames = 32;

}  // namespace gnstor::host

namespace gnstor::detail {

/// What the typed owner does not need to repeat for each element type.
struct array_memory {
  host::memory_block frames;
  host::memory_block words;
  io_buffer buffer{};
  std::uint32_t pages = 0;
  std::uint32_t frame_count = 0;

  /// Checks sizes, allocates and registers. Throws `host::input_error`.
  static array_memory make(host::session& s, const volume_info& volume, std::uint64_t count,
                           std::uint32_t element_bytes, const host::array_options& options);
};

/// Writes every dirty page back: one lane a page, in turn.
struct flush_pages {
  template <class Lane, class View>
  GNSTOR_HD void operator()(Lane& lane, View view, std::uint64_t* failures) const {
    for (std::uint32_t p = lane.global_thread(); p < view.cache().pages();
         p += lane.grid_threads()) {
      if (!view.flush(page_index(p)).ok())
        device_word<std::uint64_t>(*failures).fetch_add(1, relaxed);
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

/// Owns the frames and the page table of an array on a volume, and hands out views for kernels.
/// Move-only.
///
/// `count` elements of `T` from byte 0 of the volume on. The session must outlive it. Nothing is
/// written back at its end: `flush` before.
template <class T>
class array {
 public:
  using view_type = remote_array<T>;

  /// Throws `input_error` if the volume is too small, the frame budget below `min_frames` pages, or
  /// the page size odd.
  array(session& s, const volume_info& volume, std::uint64_t count,
        const array_options& options = {})
      : session_(&s),
        volume_(volume),
        options_(options),
        count_(count),
        memory_(detail::array_memory::make(s, volume, count, sizeof(T), options)) {}
  array(array&& other) noexcept = default;
  array& operator=(array&&) = delete;
  ~array() {
    if (memory_.buffer.bytes != 0 && memory_.frames.data() != nullptr)
      session_->unregister_memory(memory_.buffer);
  }

  std::uint64_t size() const { return count_; }

  /// The array for kernels, passed by value.
  view_type view() const {
    using store = volume_store<remote_volume>;
    const store pages(session_->ref(volume_), options_.page_bytes / block_bytes);
    const page_cache<store> cache(pages, memory_.words.data(), memory_.pages, memory_.frame_count,
                                  memory_.buffer);
    return view_type(cache, count_, options_.timeout_ns);
  }

  /// Writes all dirty pages back to the volume. Call it when no kernel uses the array.
  /// Throws `io_error` with the array's first error if a page could not be written; that page stays
  /// dirty.
  void flush() {
    memory_block failures(session_->client_place(), sizeof(std::uint64_t),
                          session_->options().device);
    executor run;
    run.spawn(8, 128, detail::flush_pages{}, view(), static_cast<std::uint64_t*>(failures.data()));
    session_->attach(run);
    run.run();
    std::uint64_t failed = 0;
    failures.read(0, &failed, sizeof failed);
    if (failed != 0) {
      const status first = status::unpack(counters().first_error);
      throw io_error(
          "flush of an array left " + std::to_string(failed) + " pages dirty: " + to_string(first),
          first);
    }
  }

  /// Forgets the array's first error, and lets pages whose fetch failed be fetched again: after the
  /// cause is gone. Call it when no kernel uses the array.
  void clear_errors() {
    executor run;
    run.spawn(8, 128, detail::forgive_pages{}, view());
    session_->attach(run);
    run.run();
    const std::uint64_t none = 0;
    constexpr std::size_t first_error =
        offsetof(page_cache_state, counters) + offsetof(page_cache_counters, first_error);
    memory_.words.write(first_error, &none, sizeof none);
  }

  /// What the array did so far; exact when no kernel uses it.
  page_cache_counters counters() const {
    page_cache_counters c;
    memory_.words.read(offsetof(page_cache_state, counters), &c, sizeof c);
    return c;
  }

  std::uint32_t frames() const { return memory_.frame_count; }
  std::uint32_t pages() const { return memory_.pages; }

 private:
  session* session_;
  volume_info volume_;
  array_options options_;
  std::uint64_t count_;
  detail::array_memory memory_;
};

}  // namespace gnstor::host

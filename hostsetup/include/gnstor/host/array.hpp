#pragma once

#include <gnstor/array/remote_array.hpp>
#include <gnstor/array/served_array.hpp>
#include <gnstor/host/array_access.hpp>
#include <gnstor/host/array_kernels.hpp>
#include <gnstor/host/array_memory.hpp>
#include <gnstor/host/array_options.hpp>
#include <gnstor/host/array_statistics.hpp>
#include <gnstor/host/error.hpp>
#include <gnstor/host/executor.hpp>
#include <gnstor/host/frame_pool.hpp>
#include <gnstor/host/pager.hpp>
#include <gnstor/host/session.hpp>
#include <gnstor/host/volume_pages.hpp>
#include <gnstor/simt/array_uses.hpp>
#include <gnstor/simt/reservation.hpp>
#include <gnstor/simt/stream.hpp>

#include <algorithm>
#include <concepts>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace gnstor::host {

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
///
/// This CPU reads and writes elements by `read`, `write` and what is built on them, between
/// kernels. Each such access waits for the last `flush_async` and for the default stream. While an
/// executor's run uses the array, or a page of the range is held by some kernel, it throws
/// `io_error` (would_block): wait for the kernel first. What no executor has started is not known,
/// unless it holds a page.
/// @tparam Pages what it lies on
template <class T, class Pages = volume_pages>
class array {
 public:
  using view_type = array_view<T, typename Pages::store_type>;
  using served_type = array_view<T, typename detail::served_of<typename Pages::store_type>::type>;

  /// Throws `input_error` if the volume is too small, the frame budget below `min_frames` pages, or
  /// the page size odd.
  array(session& s, const volume_info& volume, std::uint64_t count,
        const array_options& options = {})  //
      requires std::constructible_from<Pages, session&, const volume_info&>
      : array(Pages(s, volume), count, options) {}
  /// The same on what `pages` says.
  array(const Pages& pages, std::uint64_t count, const array_options& options = {})
      : ground_(pages),
        options_(detail::paged(options, pages.ground())),
        count_(count),
        memory_(detail::array_memory::make(pages.ground(), count, sizeof(T), options_)) {
    const view_type twin = make_view();
    static_assert(sizeof twin <= detail::array_memory::twin_bytes);
    memory_.twin.write(0, &twin, sizeof twin);
    const pages_type found = pages_of_kernels();
    static_assert(sizeof found <= detail::frame_memory::sharer_bytes);
    memory_.list(&found, sizeof found);
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
    memory_.release();
  }

  std::uint64_t size() const { return count_; }

  /// The array for kernels, passed by value. Throws `input_error` after `close`.
  view_type view() const {
    lent_ = true;
    return make_view();
  }

  /// The array for kernels that leave fetching to a pager: they need few registers and compile
  /// quickly, and `attach` has to start the pager beside them. Views of both kinds may be used at
  /// once. Throws `input_error` after `close`.
  served_type served_view() {
    memory_.require_open();
    lent_ = true;
    constexpr std::size_t at = detail::array_memory::twin_bytes;
    const served_store store(options_.page_bytes, memory_.fault_memory());
    const served_type v(
        served_pages(store, pages_of_kernels()), count_, timeout_ns(),
        reinterpret_cast<const served_type*>(static_cast<const char*>(memory_.twin.data()) + at));
    static_assert(sizeof v <= detail::array_memory::twin_bytes);
    memory_.twin.write(at, &v, sizeof v);
    return v;
  }

  /// Lets a pager fetch what the kernels of `run` miss through `served_view`: from when they start
  /// until the last has ended. `session::attach` is needed besides, as for any kernel. Throws
  /// `input_error` while another run has one.
  void attach(executor& run, const pager_options& options = {}) {
    memory_.require_open();
    pager_options chosen = options;
    if (chosen.warps == 0) chosen.warps = this_machine == machine::gpu ? Pages::pager_warps : 1;
    const detail::pager_setup setup = memory_.begin_service(chosen, timeout_ns());
    simt::reservation taken = memory_.reserved_service();
    detail::start_pager(run, pages_of_kernels(), setup);
    run.reserve(std::move(taken));
  }

  /// The same for kernels that no executor launches, of any stream: the pager is there when this
  /// returns, and until its `stop`, which comes behind what `order` holds by then. On the host it
  /// has a thread, for all executors. Kernels need no `session::attach`.
  ///
  /// Throws `input_error` while the array has a pager, while `order` is captured, where every
  /// launch waits for its kernel (CUDA_LAUNCH_BLOCKING), and where the array's node runs beside an
  /// executor's kernels alone: `runner=sim`, `resident=no`, `emu-memory:`. Throws
  /// std::runtime_error if the pager does not fit beside the kernels that run.
  [[nodiscard]] pager serve(simt::stream order, const pager_options& options = {}) {
    auto run = std::make_unique<executor>(order);
    detail::check_order(*run, order);
    ground_.attach(*run);
    if (run->has_services()) detail::refuse_lone_pager(memory_.name);
    attach(*run, options);
    return pager(detail::run_pager(std::move(run), order, memory_.device));
  }

  /// Copies elements [first, first + count) to this CPU's memory, as kernels have left them: dirty
  /// pages among them are written back first. Also after `close`. Throws `input_error` beyond the
  /// end; `io_error` if a page cannot be written back, or the array holds an error.
  void read(std::uint64_t first, std::uint64_t count, T* to) {
    settle_range({first, count}, false);
    ground_.read(first * sizeof(T), to, count * sizeof(T));
  }
  /// Copies `count` elements of this CPU's memory to where the array lies, from element `first` on.
  /// Their pages lose their frames, so that kernels fetch them anew. Throws as `read`; nothing is
  /// written then.
  void write(std::uint64_t first, std::uint64_t count, const T* from) {
    settle_range({first, count}, true);
    ground_.write(first * sizeof(T), from, count * sizeof(T));
    saved_ = none_saved;
  }
  /// One element; for many, `read` and `write` are much faster. Throws as they do.
  T get(std::uint64_t index) {
    T value{};
    read(index, 1, &value);
    return value;
  }
  void set(std::uint64_t index, const T& value) { write(index, 1, &value); }
  /// Gives every element the same value. Throws as `write`.
  void fill(const T& value) {
    const std::uint64_t piece = std::min<std::uint64_t>(count_, (1 << 20) / sizeof(T));
    const auto values = std::make_unique<T[]>(piece);
    std::fill_n(values.get(), piece, value);
    for (std::uint64_t at = 0; at < count_; at += piece)
      write(at, std::min(piece, count_ - at), values.get());
  }
  /// Gives the elements the bytes of a file, from its first on; what it has beyond is not read.
  /// Throws `input_error` if it is shorter than the array; nothing is written then. Otherwise as
  /// `write`.
  void load_from(const std::string& path, const progress_call& progress = {}) {
    memory_.require_open();
    const auto write_piece = [this](std::uint64_t at, const void* from, std::uint64_t bytes) {
      // A piece may begin and end within elements.
      const std::uint64_t first = at / sizeof(T);
      settle_range({first, (at + bytes + sizeof(T) - 1) / sizeof(T) - first}, true);
      ground_.write(at, from, bytes);
      saved_ = none_saved;
    };
    detail::load_file(path, memory_.name, count_ * sizeof(T), write_piece, progress);
  }
  /// Writes all elements to a file, which takes its name when it is complete and on its disk: what
  /// was there before stays if this throws. Throws as `read`, and `input_error` for the file.
  void save_to(const std::string& path, const progress_call& progress = {}) {
    settle_range({0, count_}, false);
    const auto read_piece = [this](std::uint64_t at, void* to, std::uint64_t bytes) {
      ground_.read(at, to, bytes);
    };
    detail::save_file(path, count_ * sizeof(T), read_piece, progress);
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

  /// Brings the pages of elements [first, first + count) into frames, as many as there are frames,
  /// in the order of a stream as `flush_async`; `check` waits for it. A page that cannot be fetched
  /// is the array's error. Throws `input_error` beyond the end, and after `close`.
  void prefetch_async(std::uint64_t first, std::uint64_t count, simt::stream order) {
    memory_.require_open();
    detail::page_range pages = pages_of({first, count});
    pages.count = std::min<std::uint64_t>(pages.count, memory_.frame_count);
    settle();
    const auto run = std::make_shared<executor>(order);
    run->spawn(detail::grid_for(pages), 128, detail::fetch_pages{pages, timeout_ns()}, view());
    enqueue(run);
  }

  /// Waits for the last `flush_async`. Throws as `flush` what the last flush left dirty, and the
  /// array's error.
  void check() {
    settle();
    const std::uint64_t written = memory_.counters().pages_out;
    if (written != saved_) ground_.changed();
    saved_ = written;
    memory_.check(memory_.record(record_of::flush));
  }

  /// Flushes, and gives the frames back; views and `flush` are refused then, `counters` stay.
  /// Throws as `flush`, and leaves the array open then: remove the cause, `clear_errors`, and close
  /// again. Throws `input_error` while a pager serves it, or is to. Closing a closed array does
  /// nothing.
  void close() {
    if (!memory_.open()) return;
    memory_.require_unserved();
    settle();
    memory_.require_frames_unused("close");
    flush();
    memory_.release();
  }

  /// Forgets the array's first error, and lets pages whose fetch failed be fetched again: after the
  /// cause is gone. Call it when no kernel uses the array.
  void clear_errors() {
    settle();
    executor run;
    run.spawn(8, 128, detail::forgive_pages{}, make_view());
    ground_.attach(run);
    run.run();
    memory_.forget_error();
  }

  /// Takes frames back that were set aside because a request given up might still write them:
  /// resets every channel of the session for that. Requests of other arrays under way end with
  /// `reset`. Call it when no kernel uses the array, nor one that shares its frames. Throws what
  /// `session::reset_channel` throws; every frame stays as it is then.
  void take_frames_back() requires requires(const Pages& p) { p.end_requests(); }
  {
    memory_.require_open();
    settle();
    memory_.require_frames_unused("take back frames of");
    ground_.end_requests();
    executor run;
    run.spawn(8, 128, detail::take_frames_back{}, make_view());
    ground_.attach(run);
    run.run();
  }

  /// What the array did so far; exact when no kernel uses it.
  page_cache_counters counters() const { return memory_.counters(); }

  /// The same beside the array's shape, with its advice: see `array_statistics`.
  array_statistics statistics() const {
    return array_statistics::of(counters(), memory_.name, memory_.pages, memory_.frame_count,
                                options_.page_bytes, options_.pool != nullptr);
  }

  /// False after `close`.
  bool is_open() const { return memory_.open(); }
  std::uint32_t frames() const { return memory_.frame_count; }
  std::uint32_t pages() const { return memory_.pages; }

 private:
  static constexpr std::uint64_t none_saved = ~std::uint64_t{0};
  using record_of = detail::array_memory::record_of;
  using pages_type = typename view_type::cache_type;

  view_type make_view() const {
    memory_.require_open();
    return view_type(pages_of_kernels(), count_, timeout_ns(),
                     static_cast<const view_type*>(memory_.twin.data()));
  }

  std::uint64_t timeout_ns() const { return options_.timeout_ns.or_else(options_.timeout).ns(); }
  pages_type pages_of_kernels() const {
    return pages_type(ground_.store(options_.page_bytes), memory_.words.data(), memory_.pages,
                      memory_.frames->ring(), memory_.frames->buffer, memory_.share,
                      static_cast<const pages_type*>(memory_.sharers()));
  }
  void begin_flush(const std::shared_ptr<executor>& run) {
    settle();
    run->spawn(8, 128, detail::flush_pages{}, make_view(), memory_.fresh_record(record_of::flush));
    enqueue(run);
  }
  void enqueue(const std::shared_ptr<executor>& run) {
    ground_.attach(*run);
    pending_ = [run] { run->wait(); };
    run->run_async();
  }
  /// Waits for the flush that is under way. Throws what CUDA says of its kernel.
  void settle() {
    if (const auto wait = std::exchange(pending_, nullptr)) wait();
  }

  detail::page_range pages_of(const detail::element_range& range) const {
    range.check(memory_.name, count_);
    return range.pages(sizeof(T), options_.page_bytes);
  }
  /// Makes elements that the host reads, or `writes`, the same in frames and where they lie. Throws
  /// where a kernel uses them, they cannot be written back, or what is read is known to be wrong.
  void settle_range(const detail::element_range& range, bool writes) {
    if (writes) memory_.require_open();
    const detail::page_range pages = pages_of(range);
    settle();
    if (!memory_.open() || !lent_ || pages.count == 0) return;
    const view_type own = make_view();
    if (simt::array_uses::contain(simt::array_uses::named_by(own)) ||
        !memory_.frames->in_use(false).empty()) {
      detail::refuse_access(memory_.name);
    }
    executor run;
    run.spawn(detail::grid_for(pages), 128,
              detail::flush_pages{
                  pages, writes ? detail::after_flush::dropped : detail::after_flush::unused},
              own, memory_.fresh_record(record_of::host_access));
    ground_.attach(run);
    run.run();
    detail::check_settled(memory_.name, memory_.record(record_of::host_access));
    if (!writes) memory_.check({});
  }

  Pages ground_;
  array_options options_;
  std::uint64_t count_;
  detail::array_memory memory_;
  std::uint64_t saved_ = 0;        ///< pages written back that `ground_` knows of, or `none_saved`
  mutable bool lent_ = false;      ///< kernels may have used the array
  std::function<void()> pending_;  ///< waits for the last `flush_async`
};

}  // namespace gnstor::host

#pragma once

#include <gnstor/array/fault_ring.hpp>
#include <gnstor/core/duration.hpp>
#include <gnstor/simt/stream.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

namespace gnstor::simt::host {
class executor;
}
namespace gnstor::simt::cuda {
class executor;
}

namespace gnstor::detail {

/// A pager that runs by itself; it ends with this object, which waits for that and never throws.
class pager_run {
 public:
  pager_run() = default;
  pager_run(const pager_run&) = delete;
  pager_run& operator=(const pager_run&) = delete;
  virtual ~pager_run() = default;
  virtual void stop() = 0;
};

}  // namespace gnstor::detail

namespace gnstor::host {

/// How an array's faults are served (`array::attach`, `array::serve`): by warps that fetch what
/// kernels miss, and cleaners that write dirty pages back before their frames are needed.
struct pager_options {
  std::uint32_t warps = 0;  ///< 0: one on the host; on a GPU enough to fill the link
  /// Warps beside them. Without any, a page is written back when its frame is needed.
  std::uint32_t cleaners = 0;
  /// Until all of them run, on a GPU. 0: nobody looks whether they do, and a fault waits for them:
  /// under compute-sanitizer, where looking would wait for every kernel.
  duration start_timeout = std::chrono::minutes(1);
};

/// The pager of an array: warps that fetch what kernels miss through `served_view`, until `stop`.
/// `array::serve` makes it. Move-only.
///
/// The array, and the stream while nothing was stopped, must outlive it. One that was moved from is
/// nothing, and does nothing.
class pager {
 public:
  explicit pager(std::unique_ptr<detail::pager_run> run) : run_(std::move(run)) {}
  pager(pager&&) noexcept = default;
  pager& operator=(pager&&) = delete;
  /// Stops, and waits for what the stream held by then and for the pager. What fails is logged.
  ~pager() = default;

  /// Ends the pager behind all that its stream holds by now, and does not wait: what the stream is
  /// given later begins after the pager's end, and waiting for the device returns again. Throws
  /// `input_error` while the stream is captured into a graph; `error` or std::runtime_error if the
  /// pager or the GPU failed: it has ended then. Stopping again does nothing.
  void stop() {
    if (run_ != nullptr) run_->stop();
  }

 private:
  std::unique_ptr<detail::pager_run> run_;
};

}  // namespace gnstor::host

namespace gnstor::detail {

/// What a pager is started with.
struct pager_setup {
  fault_ring faults;
  std::uint64_t timeout_ns;  ///< of one page
  std::uint32_t* stop;       ///< in memory that its warps reach, as is `arrived`
  std::uint32_t* arrived;
  std::uint32_t fetchers;  ///< warps
  std::uint32_t cleaners;
  duration start_timeout;
};

/// Adds a pager to the next run of `run`. Its kernel is compiled once, into the library.
/// @tparam Pages of volumes, host memory and remote memory, with words in a row or hashed
template <class Pages>
void start_pager(simt::host::executor& run, const Pages& pages, const pager_setup& setup);
template <class Pages>
void start_pager(simt::cuda::executor& run, const Pages& pages, const pager_setup& setup);

/// Throws `host::input_error` if `order` can have no pager: it is captured, say. Of the executor
/// only its machine counts.
void check_order(const simt::host::executor& machine, simt::stream order);
void check_order(const simt::cuda::executor& machine, simt::stream order);
/// Throws `host::input_error`: a pager cannot run by itself beside the node of an array.
[[noreturn]] void refuse_lone_pager(const std::string& array);
/// Runs the pager that was added to `run` until its `stop`, behind what `order` holds then.
/// @param device whose current executor `run` is; the host's runs on a thread
std::unique_ptr<pager_run> run_pager(std::unique_ptr<simt::host::executor> run, simt::stream order,
                                     int device);
std::unique_ptr<pager_run> run_pager(std::unique_ptr<simt::cuda::executor> run, simt::stream order,
                                     int device);

}  // namespace gnstor::detail

#include "launch_blocking.hpp"
#include <base/log.hpp>
#include <base/start_thread.hpp>
#include <gnstor/core/bounded.hpp>
#include <gnstor/host/error.hpp>
#include <gnstor/host/pager.hpp>
#include <gnstor/simt/clock.hpp>
#include <gnstor/simt_host/executor.hpp>

#include <sched.h>

#include <atomic>
#include <cstdlib>
#include <exception>
#include <string_view>
#include <thread>

namespace gnstor::detail {
namespace {

/// The one lane that a pager's run serves: as long as it stays, so do the warps.
struct stay_until {
  template <class Lane>
  void operator()(Lane&, const std::atomic<bool>* over) const {
    for (bounded rounds{~std::uint64_t{0}}; rounds;) {
      if (over->load(std::memory_order_acquire)) return;
      simt::pause();
      sched_yield();  // this thread never sleeps, and others may have no processor of their own
    }
  }
};

/// A pager of the host runtime, on a thread of its own.
class thread_pager : public pager_run {
 public:
  explicit thread_pager(std::unique_ptr<simt::host::executor> run) : run_(std::move(run)) {
    run_->spawn(1, 1, stay_until{}, &over_);
    thread_ = host::start_thread("pager", "a pager", [this] {
      try {
        run_->run();
      } catch (...) {
        failure_ = std::current_exception();
      }
    });
  }
  ~thread_pager() override {
    try {
      stop();
    } catch (const std::exception& e) {
      host::log(host::log_level::error, std::string("a pager failed: ") + e.what());
    }
  }

  void stop() override {
    if (!thread_.joinable()) return;
    over_.store(true, std::memory_order_release);
    thread_.join();
    if (failure_ != nullptr) std::rethrow_exception(failure_);
  }

 private:
  std::unique_ptr<simt::host::executor> run_;
  std::atomic<bool> over_ = false;
  std::exception_ptr failure_;  ///< of the thread, once it has ended
  std::thread thread_;
};

}  // namespace

void refuse_launch_blocking(const char* said) {
  if (said == nullptr || *said == '\0' || std::string_view(said) == "0") return;
  throw host::input_error(
      "CUDA_LAUNCH_BLOCKING is set, so that a launch waits for its kernel, and a pager ends after "
      "the kernels that it serves: unset it, or use array.view(), which needs no pager");
}

void refuse_profiler(const char* said) {
  if (said == nullptr) return;
  throw host::input_error(
      "this process runs under ncu, which runs one kernel at a time: a pager would not end before "
      "the kernels that it serves begin; profile with array.view(), which needs no pager, or with "
      "nsys");
}

void refuse_single_kernels() {
  refuse_launch_blocking(std::getenv("CUDA_LAUNCH_BLOCKING"));
  refuse_profiler(std::getenv("NV_COMPUTE_PROFILER_PERFWORKS_DIR"));
}

void check_order(const simt::host::executor&, simt::stream) {}

std::unique_ptr<pager_run> run_pager(std::unique_ptr<simt::host::executor> run, simt::stream, int) {
  return std::make_unique<thread_pager>(std::move(run));
}

}  // namespace gnstor::detail

#include "launch_blocking.hpp"
#include <base/cuda_support.hpp>
#include <base/log.hpp>
#include <gnstor/host/pager.hpp>
#include <gnstor/simt/cuda_executor.cuh>

#include <exception>
#include <string>

namespace gnstor::detail {
namespace {

/// Throws `host::input_error` while `order` is captured into a graph.
/// @param remedy what to do in which order
void refuse_capture(simt::stream order, const char* remedy) {
  cudaStreamCaptureStatus captured = cudaStreamCaptureStatusNone;
  const cudaError_t outcome = cudaStreamIsCapturing(order, &captured);
  // The default stream while another one is captured.
  const bool implied = outcome == cudaErrorStreamCaptureImplicit;
  if (implied) {
    static_cast<void>(cudaGetLastError());
  } else {
    host::cuda_check(outcome, "asking whether a stream is captured");
  }
  if (!implied && captured == cudaStreamCaptureStatusNone) return;
  throw host::input_error(
      std::string("the stream is captured into a graph, and a pager is no part of one: ") + remedy);
}

/// Lets this thread wait for streams and copy words, whatever it captures, for a scope: nothing of
/// that is part of the graph.
class beside_capture {
 public:
  beside_capture() { static_cast<void>(cudaThreadExchangeStreamCaptureMode(&mode_)); }
  beside_capture(const beside_capture&) = delete;
  beside_capture& operator=(const beside_capture&) = delete;
  ~beside_capture() { static_cast<void>(cudaThreadExchangeStreamCaptureMode(&mode_)); }

 private:
  cudaStreamCaptureMode mode_ = cudaStreamCaptureModeRelaxed;
};

/// A pager on a GPU.
class gpu_pager : public pager_run {
 public:
  gpu_pager(std::unique_ptr<simt::cuda::executor> run, simt::stream order, int device)
      : run_(std::move(run)), order_(order), device_(device) {
    const host::device_scope here(device_);
    run_->begin_services();
  }
  ~gpu_pager() override {
    try {
      const host::device_scope here(device_);
      const beside_capture relaxed;
      finish();
      run_.reset();  // where the stream took no stop, this ends the pager
    } catch (const std::exception& e) {
      host::log(host::log_level::error, std::string("a pager's end: ") + e.what());
    }
  }

  void stop() override {
    if (!stopped_) end();
  }

 private:
  void finish() noexcept {
    try {
      if (!stopped_) end();
      run_->wait();
    } catch (const std::exception& e) {
      host::log(host::log_level::error, std::string("a pager's end: ") + e.what());
    }
  }
  void end() {
    const host::device_scope here(device_);
    refuse_capture(order_, "end the capture before pager.stop()");
    stopped_ = true;
    run_->end_services();
  }

  std::unique_ptr<simt::cuda::executor> run_;
  simt::stream order_;
  int device_;
  bool stopped_ = false;
};

}  // namespace

void check_order(const simt::cuda::executor&, simt::stream order) {
  refuse_single_kernels();
  refuse_capture(order,
                 "call array.serve before cudaStreamBeginCapture, launch the graph while the pager "
                 "is there, and stop it then");
}

std::unique_ptr<pager_run> run_pager(std::unique_ptr<simt::cuda::executor> run, simt::stream order,
                                     int device) {
  return std::make_unique<gpu_pager>(std::move(run), order, device);
}

}  // namespace gnstor::detail

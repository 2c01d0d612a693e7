#pragma once

#include <afa/node.hpp>
#include <afa/node_runner.hpp>

#include <memory>

namespace gnstor::fw {

/// Runs an array node as two persistent kernels on a GPU: the copy workers, and all other engines.
class gpu_runner final : public node_runner {
 public:
  /// Starts the kernels on `device`. `n` points to memory that the GPU reaches; its `host_stop` is
  /// pinned and 0. Throws std::runtime_error.
  gpu_runner(const node& n, int device);
  ~gpu_runner() override;
  gpu_runner(const gpu_runner&) = delete;
  gpu_runner& operator=(const gpu_runner&) = delete;

  void stop() override;

 private:
  /// `stop`, where there is nobody to tell what went wrong.
  void end() noexcept;

  struct streams;
  node node_;
  int device_;
  std::unique_ptr<streams> streams_;
};

}  // namespace gnstor::fw

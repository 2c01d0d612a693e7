#pragma once

#include "perf_job.hpp"
#include "perf_options.hpp"
#include "perf_result.hpp"
#include <gnstor/host/session.hpp>

#include <functional>
#include <memory>

namespace gnstor::tools {

/// A volume, queues and buffers, and jobs that run on them: by kernels of the machine that this is
/// compiled for, or by CPU threads.
class perf_run {
 public:
  /// Opens the volume or makes one. Throws what `session` throws.
  explicit perf_run(const perf_options& o);
  /// Deletes what it made.
  ~perf_run();
  perf_run(const perf_run&) = delete;
  perf_run& operator=(const perf_run&) = delete;

  /// Called every second with what was done so far, and the seconds since the last call.
  using look = std::function<void(const perf_result&, double)>;

  /// Writes every place, if what is read is to be compared, then measures.
  perf_result measure(const look& live);
  /// Writes and compares every place, as often as asked.
  perf_result verify(const look& live);

  std::uint64_t bytes() const { return what_.places * what_.place_bytes; }

 private:
  perf_result run(job_shape shape, std::uint64_t seconds, const look& live);
  perf_result run_all(job_task task, std::uint64_t version, const look& live);
  void launch(const perf_job& job);
  void run_on_cpu(const perf_job& job);
  perf_result sum(const job_shape& shape) const;

  const perf_options options_;
  gnstor::host::session session_;
  bool is_new_ = false;
  volume_info volume_;
  workload what_;
  gnstor::host::memory_block buffers_;
  io_buffer registered_;
  gnstor::host::memory_block words_;  ///< what the jobs share
  job_memory at_;
  std::uint64_t lanes_at_ = 0;  ///< bytes in `words_`
  std::uint64_t latencies_at_ = 0;
  std::uint64_t stop_at_ = 0;
  std::uint64_t job_at_ = 0;
};

}  // namespace gnstor::tools

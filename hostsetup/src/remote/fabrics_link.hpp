#pragma once

#include "fabrics_queues.hpp"
#include <fabrics/rdma_transport.hpp>
#include <gnstor/host/session.hpp>
#include <link/array_link.hpp>

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <thread>

namespace gnstor::host {

/// The NQN that a session of these options connects by. Throws `input_error` for a malformed one.
std::string host_nqn_of(const rdma_endpoint& where, const session_options& options);

/// A session's way to a subsystem behind RDMA: GNStor's own array, or the plain namespaces of any
/// standard target. Kernels drive queues of a ConnectX themselves where they can, else a CPU thread
/// posts their requests; the device moves the data, straight into GPU memory if that is what was
/// registered. This CPU's own queue is the proxy's.
class fabrics_link final : public array_link {
 public:
  /// Connects. Throws `input_error` that lists the subsystems if the endpoint names none; else what
  /// `fabrics::controller` throws.
  /// @param claims of an array's manager, or a session of a managed array; else nothing
  fabrics_link(const rdma_endpoint& where, const session_options& options,
               const wire::afa::connect_claims& claims = {});
  /// A session's way to where an endpoint's data is. Throws the same.
  static std::unique_ptr<array_link> open(const endpoint& where, const session_options& options);
  ~fabrics_link() override;

  place node_reach() const override { return place::host; }
  place kernel_reach() const override { return queues_->kernel_reach(); }
  /// GPU memory by `cudaMalloc`, which may wait for running kernels.
  memory_block allocate(place where, std::size_t bytes) override;
  io_buffer register_memory(void* address, std::uint64_t bytes) override;
  void unregister_memory(const io_buffer& buffer) noexcept override;
  /// One that changes something and is not answered in time costs the association. Another one does
  /// not: whoever sends it keeps its buffer as long as the link lives.
  status execute_admin(const wire::nvme::submission_entry& command, deadline d) override;
  const remote_channel& host() const override { return queues_->host(); }
  const remote_channel* kernels() const override { return queues_->kernels(); }
  std::uint32_t kernel_count() const override { return queues_->kernel_count(); }
  /// Refuses a channel that is dead: an association comes back as a whole, with its queues made
  /// anew, by `restore_channels` or when kernels are attached next.
  void reset(std::uint32_t k, std::uint64_t timeout_ns) override;
  bool restores_channels() const override;
  void restore_channels() override;
  std::uint64_t fresh_starts() const override;
  std::uint64_t lives() const override { return queues_->host_lives(); }
  const std::vector<volume_info>& namespaces() const override { return namespaces_; }
  std::vector<std::string> notes() const override;
  /// All first make lost queues again, when no other thread is in `drive`. Any number may be there
  /// otherwise; kernels are attached by one. Waits as long as a lost association is tried again,
  /// but no more than a minute.
  void drive(const std::function<void()>& work) override;
  bool try_drive(const std::function<void()>& work) override;
  void attach(simt::host::executor&) override;
  void attach(simt::cuda::executor&) override;
  void inject_fault(std::uint32_t ssd, std::string_view fault) override;
  std::unique_ptr<array_link> another(const endpoint& where,
                                      const session_options& options) const override;
  void inject_nic_fault(std::uint32_t nic, std::string_view fault) override;

 private:
  void revive_all();
  void await_channels();
  void restart(const remote_channel& channel, restart_step step, const connect_options& said);
  void revive(const std::function<bool()>& make);
  void check_namespaces();
  const std::shared_ptr<mlx5::memory_home>& gpu();
  mlx5::queue_lanes nic_lanes();
  void connect_lanes(const channel_outcomes& channels, const connect_options& said,
                     std::uint64_t timeout_ns);
  void find_namespaces(std::uint32_t wanted);
  bool is_array();

  session_options options_;
  std::mutex gpu_use_;
  std::shared_ptr<mlx5::memory_home> gpu_;  ///< set when GPU memory is registered
  fabrics::rdma_transport proxies_;
  mlx5::nic_transport way_;
  std::unique_ptr<fabrics::controller> controller_;
  std::optional<fabrics_queues> queues_;
  memory_block step_outcome_;  ///< of `restart`, where kernels' channels are made again
  std::chrono::steady_clock::time_point next_restore_{};  ///< after one that failed
  mutable std::shared_mutex queue_use_;     ///< of this CPU's queue, and of making queues anew
  std::atomic<std::thread::id> reviver_{};  ///< who does that
  std::vector<volume_info> namespaces_;
  std::vector<fabrics::namespace_info> identities_;  ///< of `namespaces_`, as they were at first
  std::vector<std::string> notes_;
  std::mutex regions_use_;
  std::map<std::uint32_t, std::unique_ptr<fabrics::registered_memory>> regions_;  ///< by rkey
};

}  // namespace gnstor::host

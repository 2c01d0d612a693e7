#pragma once

#include "array_link.hpp"
#include "fabrics/io_channel.hpp"
#include "fabrics/rdma_transport.hpp"
#include "mlx5/memory_home.hpp"
#include <gnstor/host/rdma_endpoint.hpp>
#include <gnstor/host/session.hpp>

#include <map>
#include <memory>
#include <mutex>

namespace gnstor::host {

/// A session's way to a subsystem behind RDMA: GNStor's own array, or the plain namespaces of any
/// standard target. A CPU thread posts the kernels' requests; the device moves the data, straight
/// into GPU memory if that is what was registered.
class fabrics_link final : public array_link {
 public:
  /// Connects. Throws `input_error` that lists the subsystems if the endpoint names none; else what
  /// `fabrics::controller` throws.
  fabrics_link(const rdma_endpoint& where, const session_options& options);
  ~fabrics_link() override;

  place node_reach() const override { return place::host; }
  place kernel_reach() const override { return kernel_reach_; }
  memory_block allocate(place where, std::size_t bytes) override;
  io_buffer register_memory(void* address, std::uint64_t bytes) override;
  void unregister_memory(const io_buffer& buffer) noexcept override;
  status execute_admin(const wire::nvme::submission_entry& command, deadline d) override;
  const remote_channel& host() const override { return channels_[0]; }
  const remote_channel* kernels() const override { return kernels_; }
  std::uint32_t kernel_count() const override { return kernel_count_; }
  const std::vector<volume_info>& namespaces() const override { return namespaces_; }
  std::vector<std::string> notes() const override;
  /// Both first make lost queues again, as nobody uses them then.
  void drive(const std::function<void()>& work) override;
  void attach(simt::host::executor&) override;
  void attach(simt::cuda::executor&) override;
  void inject_fault(std::uint32_t ssd, std::string_view fault) override;

 private:
  void revive(std::size_t first, std::size_t end);
  void check_namespaces();
  void open_queues();
  void find_namespaces(std::uint32_t wanted);
  bool is_array();

  session_options options_;
  place kernel_reach_;
  std::shared_ptr<mlx5::memory_home> gpu_;  ///< set when GPU memory is registered
  fabrics::rdma_transport way_;
  std::unique_ptr<fabrics::controller> controller_;
  std::vector<std::unique_ptr<fabrics::io_channel>> queues_;
  memory_block channel_objects_;  ///< what kernels read: `remote_channel`s
  remote_channel* channels_ = nullptr;
  const remote_channel* kernels_ = nullptr;
  std::uint32_t kernel_count_ = 0;
  std::vector<volume_info> namespaces_;
  std::vector<fabrics::namespace_info> identities_;  ///< of `namespaces_`, as they were at first
  std::vector<std::string> notes_;
  std::mutex regions_use_;
  std::map<std::uint32_t, std::unique_ptr<fabrics::registered_memory>> regions_;  ///< by rkey
};

}  // namespace gnstor::host

#pragma once

#include "nvme_device.hpp"
#include "queue_owner.hpp"
#include <gnstor/host/session.hpp>
#include <gnstor/pcie/memory_importer.hpp>
#include <link/array_link.hpp>
#include <link/restart_channel.hpp>

#include <memory>
#include <mutex>
#include <vector>

namespace gnstor::host {

/// A session's way to a local NVMe controller: I/O queues that kernels drive themselves, and one of
/// this CPU's. Its namespaces are volumes, as a standard target's are.
class nvme_link final : public array_link {
 public:
  /// What of a controller a session takes.
  struct selection {
    std::uint32_t nsid = 0;        ///< one namespace; 0: each
    std::uint32_t queues = 65535;  ///< I/O queues at most
  };

  /// Over a controller that somebody has brought up. Throws `input_error` where no namespace can be
  /// used.
  nvme_link(std::unique_ptr<nvme_device> device, std::unique_ptr<queue_owner> owner,
            const session_options& options, std::uint32_t only_nsid = 0,
            std::uint32_t most_queues = 65535);
  /// Brings the controller up, which is this session's alone. Throws `error` that says what it does
  /// not do.
  nvme_link(std::unique_ptr<nvme_device> device, const session_options& options,
            const selection& chosen);
  nvme_link(std::unique_ptr<nvme_device> device, const session_options& options)
      : nvme_link(std::move(device), options, selection{}) {}
  ~nvme_link() override;

  std::unique_ptr<array_link> another(const endpoint& where,
                                      const session_options& options) const override;
  place node_reach() const override { return device_->node_reach(); }
  place kernel_reach() const override { return device_->kernel_reach(); }
  memory_block allocate(place where, std::size_t bytes) override {
    return device_->allocate(where, bytes);
  }
  io_buffer register_memory(void* address, std::uint64_t bytes) override;
  void unregister_memory(const io_buffer& buffer) noexcept override;
  status execute_admin(const wire::nvme::submission_entry& command, deadline d) override;
  const remote_channel& host() const override { return *own_.channels; }
  const remote_channel* kernels() const override { return kernels_.channels; }
  std::uint32_t kernel_count() const override { return kernels_.count; }
  void reset(std::uint32_t k, std::uint64_t timeout_ns) override;
  const std::vector<volume_info>& namespaces() const override { return namespaces_; }
  std::vector<std::string> notes() const override;
  void drive(const std::function<void()>& work) override { device_->drive(work); }
  void attach(simt::host::executor& beside) override { device_->attach(beside); }
  void attach(simt::cuda::executor& beside) override { device_->attach(beside); }
  void inject_fault(std::uint32_t ssd, std::string_view fault) override {
    device_->inject_fault(ssd + 1, fault);
  }
  void inject_nic_fault(std::uint32_t nic, std::string_view fault) override;

 private:
  /// Memory of some channels' queues, in one piece for the device.
  struct queue_block {
    memory_block memory;
    std::uint64_t dma = 0;
  };
  /// Channels of one kind, and the regions that their lanes look at.
  struct channel_group {
    std::vector<queue_block> queues;  ///< of `each_block` channels each
    std::uint32_t each_block = 1;
    std::size_t each = 0;  ///< bytes of a channel's queues
    memory_block shared;   ///< what follows
    remote_channel* channels = nullptr;
    dma_region* regions = nullptr;
    std::uint64_t* outcomes = nullptr;  ///< one word per channel
    std::uint32_t count = 0;
    std::uint32_t depth = 0;
    std::vector<std::uint16_t> ids;  ///< of their queues
    bool asynchronous = false;
  };

  void find_namespaces(std::uint32_t only);
  void choose_transfer();
  std::size_t queue_bytes(std::uint32_t depth, std::uint32_t transfer) const;
  void make_channels(channel_group& c, place where);
  void make_channel(channel_group& c, place where, std::uint32_t k);
  void create_queues(const channel_group& c, std::uint32_t k);
  void write_granules(dma_region& r, std::uint32_t index, const std::vector<std::uint64_t>& at);
  void write_region(std::uint32_t index);
  void restart(std::uint32_t k, restart_step step, deadline d);

  session_options options_;
  std::unique_ptr<nvme_device> device_;
  std::unique_ptr<queue_owner> owner_;
  std::mutex use_;  ///< of the owner, and of `regions_`
  std::vector<dma_region> regions_;
  std::vector<memory_block> granules_;  ///< of each region, where they have addresses of their own
  std::vector<std::unique_ptr<pcie::imported_memory>> imported_;  ///< of those of other devices
  std::uint32_t transfer_ = 0;                                    ///< bytes of a command at most
  channel_group own_;
  channel_group kernels_;
  std::vector<volume_info> namespaces_;
  std::vector<std::string> notes_;
};

}  // namespace gnstor::host

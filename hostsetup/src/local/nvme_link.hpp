#pragma once

#include "namespace_rules.hpp"
#include "nvme_member.hpp"
#include <gnstor/host/session.hpp>
#include <link/array_link.hpp>
#include <link/restart_channel.hpp>

#include <memory>
#include <mutex>
#include <vector>

namespace gnstor::host {

/// A session's way to a local NVMe controller, or to several: I/O queues that kernels drive
/// themselves, and one of this CPU's. Its namespaces are volumes, as a standard target's are; those
/// of the same id of several controllers are one volume, striped over them.
class nvme_link final : public array_link {
 public:
  /// What of a controller a session takes.
  struct selection {
    std::uint32_t nsid = 0;                   ///< one namespace; 0: each
    std::uint32_t queues = 65535;             ///< I/O queues at most
    std::uint32_t stripe_bytes = 128 * 1024;  ///< of volumes over several controllers
  };

  /// Over a controller that somebody has brought up. Throws `input_error` where no namespace can be
  /// used.
  nvme_link(std::unique_ptr<nvme_device> device, std::unique_ptr<queue_owner> owner,
            const session_options& options, std::uint32_t only_nsid = 0);
  /// Brings the controllers up, which are this session's alone. Throws `error` that says what one
  /// does not do, `input_error` where they do not fit each other; those before it are shut down.
  nvme_link(std::vector<std::unique_ptr<nvme_device>> devices, const session_options& options,
            const selection& chosen);
  nvme_link(std::unique_ptr<nvme_device> device, const session_options& options,
            const selection& chosen);
  nvme_link(std::unique_ptr<nvme_device> device, const session_options& options)
      : nvme_link(std::move(device), options, selection{}) {}
  ~nvme_link() override;

  std::unique_ptr<array_link> another(const endpoint& where,
                                      const session_options& options) const override;
  place node_reach() const override { return first().node_reach(); }
  place kernel_reach() const override { return first().kernel_reach(); }
  memory_block allocate(place where, std::size_t bytes) override {
    return first().allocate(where, bytes);
  }
  io_buffer register_memory(void* address, std::uint64_t bytes) override;
  void unregister_memory(const io_buffer& buffer) noexcept override;
  /// To the controller that the NSID names, as of `member_nsid`; of no namespace: to each, until
  /// one refuses.
  status execute_admin(const wire::nvme::submission_entry& command, deadline d) override;
  const remote_channel& host() const override { return *own_.channels; }
  const remote_channel* kernels() const override { return kernels_.channels; }
  std::uint32_t kernel_count() const override { return kernels_.count; }
  void reset(std::uint32_t k, std::uint64_t timeout_ns) override;
  const std::vector<volume_info>& namespaces() const override { return namespaces_; }
  std::vector<std::string> notes() const override;
  void drive(const std::function<void()>& work) override;
  void attach(simt::host::executor& beside) override;
  void attach(simt::cuda::executor& beside) override;
  void inject_fault(std::uint32_t ssd, std::string_view fault) override;
  void inject_nic_fault(std::uint32_t nic, std::string_view fault) override;

 private:
  /// Channels of one kind, and what their lanes share.
  struct channel_group {
    std::vector<nvme_member::queue_group> queues;  ///< at each controller
    memory_block shared;                           ///< what follows
    remote_channel* channels = nullptr;
    unsigned char* states = nullptr;    ///< of each channel
    unsigned char* striped = nullptr;   ///< queue pairs over several controllers
    std::uint64_t* outcomes = nullptr;  ///< one word per channel
    std::uint32_t count = 0;
    std::uint32_t depth = 0;
    bool asynchronous = false;
  };
  /// A region that is registered, or was.
  struct region_key {
    std::uint32_t key = 0;
    bool used = false;
  };

  nvme_device& first() const { return members_[0]->device(); }
  std::uint32_t width() const { return static_cast<std::uint32_t>(members_.size()); }
  void set_up(const selection& chosen);
  void find_namespaces(const selection& chosen);
  void add_namespace(std::uint32_t nsid, const selection& chosen);
  void note_unused(const volume_info& v, const std::vector<named_namespace>& said);
  void choose_transfer();
  void share_queues(std::uint32_t most);
  static std::size_t state_bytes(std::uint32_t depth, bool asynchronous);
  void make_channels(channel_group& c, place where);
  void make_channel(channel_group& c, std::uint32_t k);
  void open_regions(std::uint32_t key, void* address, std::uint64_t bytes);
  void leave_out(const channel_group& c, std::uint32_t k, std::uint32_t gone);
  void restart(std::uint32_t k, restart_step step, deadline d);

  session_options options_;
  std::vector<std::unique_ptr<nvme_member>> members_;
  std::mutex use_;  ///< of the members, and of `regions_`
  std::vector<region_key> regions_;
  std::uint32_t transfer_ = 0;  ///< bytes of a command at most
  channel_group own_;
  channel_group kernels_;
  std::vector<volume_info> namespaces_;
  std::vector<std::string> notes_;
};

}  // namespace gnstor::host

#pragma once

#include "channel_bell.hpp"
#include "emulated_array.hpp"
#include <gnstor/channel/channel.hpp>
#include <gnstor/host/session.hpp>
#include <gnstor/simt_host/executor.hpp>
#include <link/array_link.hpp>
#include <link/channel_memory.hpp>
#include <link/client_identity.hpp>
#include <link/restart_channel.hpp>
#include <proxy/emulated_port.hpp>
#include <proxy/proxy_engine.hpp>
#include <proxy/proxy_thread.hpp>

#include <memory>
#include <mutex>
#include <vector>

namespace gnstor::host {

/// A client of an array emulated in this process: its channels and registrations, bound to one
/// host identity.
///
/// Several clients may share one array. The node polls the queues of each for as long as it runs,
/// so a client that goes away leaves their memory to the array; the last ends the node, so that who
/// owns a client may free what it registered afterwards. A constructor that throws leaves no less.
class emulated_client : public array_link {
 public:
  /// Connects. The array must have room for `options.channels + host_channels + 1` queue pairs; it
  /// is started if it is not running. Throws `input_error` for options that do not fit, `io_error`
  /// if the array refuses.
  emulated_client(std::shared_ptr<emulated_array> array, const session_options& options,
                  const client_identity& who, bool manager = false,
                  std::uint32_t host_channels = 1);
  ~emulated_client() override;

  /// As whom the array knows this host.
  client_id client() const { return client_; }
  /// The same of its whole host, where it is one session.
  client_id whole_host() const { return whole_host_; }
  /// False also where the node runs only while it is driven: what it was given and did not come to
  /// would go on, into memory that may be gone.
  bool last_of_host() const override {
    const bool runs = array_->runner() != runner_kind::simulated && array_->resident();
    return runs && (!(client_ == whole_host_) || array_->connections(nqn_) == 1);
  }

  bool has_left(client_id who) const override { return !array_->has(who); }

  std::unique_ptr<array_link> another(const endpoint& where,
                                      const session_options& options) const override;
  /// A connection of the array's manager, which has no channels for kernels.
  std::unique_ptr<emulated_client> for_manager() const;
  /// Of an array that cannot be used after all.
  void remove_new_files() const noexcept { array_->remove_new_files(); }

  place node_reach() const override { return node_reach_; }
  place kernel_reach() const override { return kernel_reach_; }
  memory_block allocate(place where, std::size_t bytes) override;
  io_buffer register_memory(void* address, std::uint64_t bytes) override;
  void unregister_memory(const io_buffer& buffer) noexcept override;
  status execute_admin(const wire::nvme::submission_entry& command, deadline d) override {
    return admin_.channels[0].execute(command, d);
  }
  const remote_channel& host() const override { return host_.channels[0]; }
  const remote_channel& host_of(std::uint32_t turn) const override {
    return host_.channels[turn % host_.count];
  }
  bool can_wake() const override { return !bells_.empty(); }
  void wake(std::uint32_t turn, int event_fd, bool on) override {
    if (bells_.empty()) return;
    channel_bell& bell = *bells_[turn % bells_.size()];
    on ? bell.add(event_fd) : bell.remove(event_fd);
  }
  void arm(std::uint32_t turn) const override {
    if (!bells_.empty()) bells_[turn % bells_.size()]->arm();
  }
  std::shared_ptr<void> use() override { return array_->use(); }
  const remote_channel* kernels() const override { return kernels_.channels; }
  std::uint32_t kernel_count() const override { return kernels_.count; }
  void reset(std::uint32_t k, std::uint64_t timeout_ns) override;
  const std::vector<volume_info>& namespaces() const override { return none_; }
  void drive(const std::function<void()>& work) override;
  void attach(simt::host::executor& executor) override;
  void attach(simt::cuda::executor& executor) override;
  void inject_fault(std::uint32_t ssd, std::string_view fault) override;
  /// Has the array's front end refuse an SSD's I/O, or no longer. For its manager.
  void detach(std::uint32_t ssd, bool detached) { array_->detach(ssd, detached); }
  /// Whom the array knows, for the manager of its sessions; nobody: they have none.
  array_front_end::connected hosts() const {
    if (!array_->is_managed()) return {};
    // Who is not there has left for good: nobody loses a connection within a process.
    return {std::chrono::hours(1), array_->hosts()};
  }
  void inject_nic_fault(std::uint32_t nic, std::string_view fault) override;
  std::vector<std::string> notes() const override;

 private:
  static constexpr std::uint32_t admin_depth = 16;
  static constexpr std::uint32_t host_depth = 128;

  /// Takes nothing of the array's yet: what throws after it goes through the destructor.
  emulated_client(std::shared_ptr<emulated_array> array, const session_options& options);

  bool drains(const std::vector<std::uint32_t>& queues) noexcept;
  void choose_memory();
  void make_channels(channel_memory& c, place where);
  bool on_node_device(place where) const;
  void make_relayed(channel_memory& c);
  void finish(channel_memory& c, std::size_t objects, std::size_t data);
  void join(channel_memory& c, unsigned char* queue, std::uint32_t number, std::uint32_t blocks,
            std::uint32_t k);
  connect_options connecting(const channel_memory& c, std::uint16_t queue_id) const;
  void connect(const channel_memory& c, std::uint16_t first_queue_id,
               const wire::fabrics::connect_data& data);
  void serve(simt::host::executor& run);
  void drive_in(simt::domain where, const std::function<void()>& work);
  void restart(std::uint32_t k, restart_step step, deadline d);
  void await_drained(std::uint32_t index, deadline d);
  std::uint64_t discard_relayed(std::uint32_t k, deadline d);
  void renew_relay(std::uint32_t k, std::uint64_t first);

  /// Of the channels for this CPU, where CPU threads run the node; it looks at them until it has
  /// ended, or forgotten the queue pairs.
  std::vector<std::shared_ptr<channel_bell>> bells_;
  /// So early, so that it goes late: it keeps the memory of channels that the members below use.
  std::shared_ptr<emulated_array> array_;
  session_options options_;
  std::string nqn_;
  client_id client_{};
  client_id whole_host_{};
  std::uint32_t domain_ = 0;  ///< protection domain; 0 before the array admitted this host
  place node_reach_ = place::host;
  place kernel_reach_ = place::host;
  channel_memory admin_;
  channel_memory host_;
  channel_memory kernels_;
  std::mutex reset_use_;
  std::vector<emulated_port::queue_type> relays_;  ///< the queues of `engines_`
  std::vector<std::unique_ptr<proxy_engine<emulated_port>>> engines_;
  std::unique_ptr<proxy_thread> proxy_;
  std::vector<volume_info> none_;
  std::unique_ptr<fw::node_rest::use> used_;  ///< by kernels, who do not say when
  std::uint32_t stop_simulated_ = 0;
};

}  // namespace gnstor::host

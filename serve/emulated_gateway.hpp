#pragma once

#include "array_gateway.hpp"
#include "lost_memory.hpp"
#include "remote_managers.hpp"
#include "volume_traffic.hpp"
#include <emulated/emulated_client.hpp>
#include <gnstor/wire/afa/host_list.hpp>
#include <serve/block/block_engine.hpp>

#include <control/array_client.hpp>
#include <control/array_manager.hpp>
#include <control/lease_keeper.hpp>

#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

namespace gnstor::serve {

/// Who manages an array, and how.
struct array_management {
  /// A manager in this process; nothing: none here.
  std::optional<host::manager_settings> here;
  /// Managers elsewhere that know this secret; nothing: none. Then `ask` makes what the target
  /// itself asks of them, as a host; null: it asks nothing, and plain hosts may not write.
  std::optional<host::shared_secret> elsewhere;
  std::function<std::unique_ptr<host::array_control>(const std::string& host_name)> ask;

  bool any() const { return here || elsewhere; }
};

/// The array of a target, emulated in this process: one client of it for each host of the array
/// subsystem, and the target's own for the plain volumes.
class emulated_gateway final : public array_gateway {
 public:
  /// Hosts, and sessions of hosts, that there is room for beside the target's own: with more, the
  /// rings between engines, of a power of two of commands, would be twice as long.
  static constexpr std::uint32_t most_members = 28;

  /// Starts the array. Throws `error` with the remedy.
  /// @param managed by nobody: hosts order the SSDs themselves
  emulated_gateway(const host::endpoint& where, std::uint64_t timeout_ns,
                   array_management managed = {});
  /// Ends all connections, and with the last the array's node, before their buffers go: a late
  /// answer may still be on its way to one.
  ~emulated_gateway() override;

  std::uint32_t ssds() const override { return about_.ssd_count; }
  std::uint32_t max_transfer_blocks() const override { return about_.max_transfer_blocks; }
  std::uint64_t identity() const override { return identity_; }
  bool has_write_cache() const override { return array_->has_write_cache(); }
  /// As `emulated_array::what_survives`.
  std::string what_survives() const { return array_->what_survives(); }
  joined join(const host_identity& who) override;
  joined join_manager(const host_identity& who, const wire::afa::manager_claim& said) override;
  void tick() override;
  std::unique_ptr<block_engine> make_engine() override;
  std::unique_ptr<command_engine> make_command_engine(client_id client) override;
  phase_counts* phases() override { return &phases_; }
  io_buffer register_memory(void* address, std::uint64_t bytes) override;
  void unregister_memory(const io_buffer& buffer, host::memory_block memory, bool lost) override;
  std::uint16_t admin(client_id client, const wire::nvme::submission_entry& entry,
                      std::span<std::byte> payload) override;
  std::uint16_t io(client_id client, const wire::nvme::submission_entry& entry,
                   std::span<std::byte> payload) override;

  /// Throws `error` with the reason if the array's firmware has failed, or another manager has
  /// taken it over.
  void check() const;
  /// The array's manager; null: it has none in this process.
  host::array_manager* manager() const { return manager_.get(); }

  /// What hosts do with each volume.
  volume_traffic& traffic() { return traffic_; }
  /// True if a manager is in charge of the array, here or elsewhere.
  bool managed() const { return managed_; }

  /// The target as a client of its own array.
  host::array_client& own() { return *own_; }
  client_id own_client() const { return client_id(about_.own_client); }
  /// The array as it was when it was asked the last time.
  wire::afa::array_description about() const;
  /// A volume in the latest epoch that anybody here has learned.
  volume_info present(volume_info v) const;
  /// Has `present` say where a volume lies, too, from now on.
  void follow(const volume_info& v);
  /// Asks the array for its epoch and for what that says of its SSDs. Throws `io_error`.
  void refresh();
  /// Creates a volume on which nobody has a right yet. Throws what `session::create_volume` throws.
  volume_id create_volume(std::uint64_t bytes);
  /// Gives the target's own client these rights on a volume, on all of its SSDs; a lease is renewed
  /// until the right is given back. Not ok: some SSD refused, or the manager did, and the rights
  /// are unchanged or partly changed; no rights at all are asked of every SSD whatever the others
  /// say. Throws `error` if no command could be sent.
  /// @param ssds of the volume: the first so many of the array
  /// @param equal of rights that are given back: every write was acknowledged
  status set_own_rights(volume_id vid, std::uint32_t ssds, std::uint16_t rights,
                        bool equal = false);
  /// How long an operation may wait for another epoch; 0: nobody changes that.
  duration patience() const { return managed_ ? duration::of_ns(timeout_ns_) : duration::of_ns(0); }
  /// How long an operation may take.
  duration timeout() const { return duration::of_ns(timeout_ns_); }
  /// The order of what the target's own client changes, by engines and otherwise.
  write_order& order() { return *order_; }
  /// Lets a host open a volume that the target owns, as `session::admit` does.
  void admit(volume_id vid, const std::string& host_nqn);
  /// Gives a volume to another host, which may read and write it then; who could write it before
  /// may read it. For what a host has left behind that does not come back. Throws `input_error` if
  /// there is no such volume, `io_error` if an SSD refuses.
  void reassign(volume_id vid, const std::string& host_nqn);
  /// Makes an SSD faulty, for tests: as `session::inject_fault`.
  void inject_fault(std::uint32_t ssd, std::string_view fault) {
    session_->inject_fault(ssd, fault);
  }

 private:
  struct member;
  struct association;
  class commands_of;
  std::shared_ptr<member> find(client_id client);
  void remember(const wire::afa::array_description& said);
  std::uint16_t connect(member& m);
  std::set<std::uint16_t> clients_of_volumes(std::uint16_t rights);
  client_id session_id(const host_identity& who);
  bool is_last_of_host(const member& m) const;
  void note(const wire::nvme::submission_entry& entry, std::uint64_t bytes, std::uint16_t said,
            std::chrono::nanoseconds took);
  status ask_for_rights(volume_id vid, std::uint16_t rights, bool equal);
  status set_rights(volume_id vid, std::uint32_t ssds, wire::afa::volume_client who);
  status change_volume(volume_id vid, std::uint32_t ssds, wire::afa::volume_chmod change);
  bool may_come_back(const member& m) const;
  host::array_front_end::connected known_hosts() const;
  void list_hosts(std::uint16_t first, wire::afa::host_list& to) const;
  void forget(const member& m);
  void let_go(member& m) noexcept;

  // What a manager in this process asks for from the start on:
  /// What is needed with each command.
  struct known_array {
    std::uint16_t ssd_count = 0;
    std::atomic<std::uint16_t> own_client{0};  ///< asked for while the array starts, too
    std::uint32_t max_transfer_blocks = 0;
    std::atomic<std::uint32_t> epoch{0};
  };
  known_array about_;
  mutable std::mutex guard_;  ///< of the next three
  /// Since when hosts reach the target; nothing: they do not yet.
  std::optional<std::chrono::steady_clock::time_point> since_;
  /// By NQN, and by the number of a session of that host's; 0: it is the host and no more.
  std::map<std::pair<std::string, std::uint64_t>, std::shared_ptr<member>> members_;
  std::map<std::uint16_t, std::shared_ptr<member>> clients_;  ///< that are connected
  host::log_limit refusals_{10};  ///< anybody can be refused, as often as they like
  volume_traffic traffic_;
  phase_counts phases_;
  std::uint64_t timeout_ns_;
  std::uint16_t replicas_;  ///< of new volumes
  std::shared_ptr<host::emulated_array> array_;
  bool managed_;                                      ///< false: hosts order the SSDs themselves
  std::unique_ptr<host::array_manager> manager_;      ///< null: none in this process
  std::unique_ptr<remote_managers> managers_;         ///< null: none elsewhere
  std::unique_ptr<host::array_control> own_control_;  ///< what the target itself asks of one
  std::unique_ptr<host::lease_keeper> own_leases_;
  std::unique_ptr<host::array_client> own_;
  std::unique_ptr<host::session> session_;           ///< holds the own client's connection
  host::epoch_watcher* epochs_ = nullptr;            ///< the session's
  std::atomic<std::uint32_t> engines_{0};            ///< made so far
  std::vector<std::shared_ptr<ssd_shares>> shares_;  ///< of each own channel
  const std::shared_ptr<write_order> order_ = std::make_shared<write_order>();
  lost_memory lost_;
  mutable std::mutex description_guard_;  ///< of `description_`
  wire::afa::array_description description_{};
  std::uint64_t identity_ = 0;
  /// The last epoch in which an SSD did not answer a host in time that is forgotten since.
  std::atomic<std::uint32_t> left_by_forgotten_{0};
  std::mutex session_use_;  ///< of `session_`
};

}  // namespace gnstor::serve

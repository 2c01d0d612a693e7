#pragma once

#include "array_control.hpp"
#include "array_manager.hpp"
#include "control_role.hpp"

namespace gnstor::host {

/// What a host asks of a manager in this process.
class manager_control final : public array_control {
 public:
  /// @param manager outlives this
  /// @param who asks
  /// @param host the host that it asks for: its NQN, or the name that its sessions connect by;
  /// where `who` is a host, itself or empty
  /// @param session as `writes_as` gives it
  manager_control(array_manager& manager, control_role who, const std::string& host,
                  client_id session = {});

  void writes_as(client_id session) override { asks_ = host_session(asks_.nqn(), session); }
  std::vector<volume_state> volumes() override;
  volume_state find(volume_id vid) override;
  volume_state find(const std::string& name) override;
  volume_state create(const new_volume& wanted) override;
  volume_state open(volume_id vid, bool write) override;
  volume_state renew(volume_id vid) override;
  void close(volume_id vid, bool clean) override;
  /// Takes the host's rights, and its sessions'; they stay admitted.
  void revoke(volume_id vid) { manager_->revoke(vid.value, asks_.nqn()); }
  void remove(volume_id vid) override;
  /// @param of hash factor of the volume that is meant, not a later one of its VID
  void remove(volume_id vid, std::uint64_t of);
  void rename(volume_id vid, const wire::afa::volume_name& name) override;
  void grow(volume_id vid, std::uint64_t capacity_blocks) override;
  void share(volume_id vid, const std::string& host, bool allowed) override;
  array_health health() override;
  void report(std::optional<std::uint32_t> ssd, const std::string& words) override {
    manager_->reported(ssd, asks_.nqn(), words);
  }

  /// As whom the array knows the host.
  client_id client() const { return asks_.host(); }

 private:
  volume_state owned(volume_id vid, const char* what) const;

  array_manager* manager_;
  control_role who_;
  host_session asks_;
};

}  // namespace gnstor::host

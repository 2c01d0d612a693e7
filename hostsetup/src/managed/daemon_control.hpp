#pragma once

#include "daemon_connection.hpp"

#include <control/array_control.hpp>

namespace gnstor::host {

/// What a host asks of a manager in another process, by gRPC.
class daemon_control final : public array_control {
 public:
  /// @param host the host's NQN
  daemon_control(std::unique_ptr<daemon_connection> daemon, std::string host);

  void writes_as(client_id session) override { session_ = session; }
  std::vector<volume_state> volumes() override;
  volume_state find(volume_id vid) override;
  volume_state find(const std::string& name) override;
  volume_state create(const new_volume& wanted) override;
  volume_state open(volume_id vid, bool write) override;
  volume_state renew(volume_id vid) override;
  void close(volume_id vid, bool clean) override;
  void remove(volume_id vid) override;
  void rename(volume_id vid, const wire::afa::volume_name& name) override;
  void grow(volume_id vid, std::uint64_t capacity_blocks) override;
  void share(volume_id vid, const std::string& host, bool allowed) override;
  array_health health() override;
  void report(std::optional<std::uint32_t> ssd, const std::string& words) override;

 private:
  v1::LeaseRequest lease_of(volume_id vid) const;

  std::unique_ptr<daemon_connection> daemon_;
  std::string host_;
  client_id session_{};  ///< 0: it is the host and no more
};

/// A volume as a daemon describes it. What makes no sense is a `control_error`.
volume_state to_state(const v1::Volume& v);

}  // namespace gnstor::host

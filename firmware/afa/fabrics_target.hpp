#pragma once

#include <afa/node.hpp>
#include <gnstor/wire/fabrics/connect.hpp>
#include <gnstor/wire/nvme/status.hpp>

namespace gnstor::fw {

/// The target's answer to Fabrics commands: Connect binds a queue pair to a host and so to a client
/// id. NVMe Base 2.3, 6.3.
class fabrics_target {
 public:
  GNSTOR_HD explicit fabrics_target(const node& n) : node_(&n) {}

  /// What became of a Fabrics command.
  struct answer {
    std::uint16_t status = 0;
    std::uint32_t result = 0;
    association joined;
  };

  /// Executes the Fabrics command `entry`, that came by `queue`, which has `joined` or does now.
  /// Nothing of the command is handed over by reference: it stays in registers where it is.
  /// @par Callers the lane of the queue's engine that holds the command
  GNSTOR_HD_SLOW answer execute(const wire::nvme::submission_entry entry, std::uint32_t queue,
                                const association joined) const {
    const auto connect = cuda::std::bit_cast<wire::fabrics::connect_command>(entry);
    answer to{.joined = joined};
    if (connect.fctype != static_cast<std::uint8_t>(wire::fabrics::command_type::connect)) {
      to.status = wire::nvme::make_status(wire::nvme::generic_status::invalid_field);
      return to;
    }
    if (joined.connected != 0) {
      to.status = wire::nvme::make_status(wire::nvme::generic_status::command_sequence_error);
      return to;
    }
    const auto* data = reinterpret_cast<const wire::fabrics::connect_data*>(connect.sgl.address);
    if (!same_text(data->subnqn, node_->subsystem)) {
      refuse(to, wire::fabrics::connect_status::invalid_parameters,
             wire::fabrics::make_invalid_parameter(offsetof(wire::fabrics::connect_data, subnqn),
                                                   true));
      return to;
    }
    host_seen host;
    if (!find(data->hostid, data->cntlid, host)) {
      refuse(to, wire::fabrics::connect_status::invalid_host, 0);
      return to;
    }
    if (connect.qid != 0 && data->cntlid != host.controller) {
      refuse(to, wire::fabrics::connect_status::invalid_parameters,
             wire::fabrics::make_invalid_parameter(offsetof(wire::fabrics::connect_data, cntlid),
                                                   true));
      return to;
    }
    to.joined.queue_id = connect.qid;
    to.joined.controller = host.controller;
    to.joined.client = host.client;
    to.joined.host = host.host;
    device_word<std::uint32_t>(node_->priorities[queue]).store(connect.cattr & 3, relaxed);
    to.joined.connected = 1;
    to.result = wire::fabrics::make_connect_result(host.controller);
    return to;
  }

 private:
  GNSTOR_HD static void refuse(answer& to, wire::fabrics::connect_status why,
                               std::uint32_t detail) {
    to.status = wire::nvme::make_status(wire::nvme::status_code_type::command_specific,
                                        static_cast<std::uint8_t>(why));
    to.result = detail;
  }
  GNSTOR_HD static bool same_text(const char* a, const char* b) {
    for (std::uint32_t k = 0; k < 256; ++k) {
      if (a[k] != b[k]) return false;
      if (a[k] == 0) return true;
    }
    return false;
  }
  /// The host with this identifier: where it has several connections, the one that is named.
  GNSTOR_HD bool find(const std::uint8_t* hostid, std::uint16_t controller, host_seen& to) const {
    std::uint64_t wanted[2] = {};
    for (std::uint32_t k = 0; k < 16; ++k) wanted[k / 8] |= std::uint64_t{hostid[k]} << (k % 8 * 8);
    bool found = false;
    host_seen there;
    for (std::uint32_t h = 0; h < node_->shape.max_hosts; ++h) {
      if (!node_->hosts[h].read(there)) continue;
      const bool same = there.hostid[0] == wanted[0] && there.hostid[1] == wanted[1];
      if (!same || (found && there.controller != controller)) continue;
      to = there;
      found = true;
    }
    return found;
  }

  const node* node_;
};

}  // namespace gnstor::fw

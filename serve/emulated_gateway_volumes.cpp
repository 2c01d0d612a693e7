/// What the gateway does with volumes: makes them, and gives and takes rights to them.

#include "emulated_gateway.hpp"
#include <gnstor/wire/afa/volume_chmod.hpp>
#include <gnstor/wire/nvme/status.hpp>

#include <control/manager_control.hpp>
#include <fmt/format.h>

#include <session_impl.hpp>

namespace gnstor::serve {

volume_id emulated_gateway::create_volume(std::uint64_t bytes) {
  if (managed_) {
    if (!own_control_) {
      throw host::input_error(
          "making a volume: this array is managed elsewhere; gnstorctl volume create makes it");
    }
    host::new_volume wanted;
    wanted.capacity_blocks = bytes / block_bytes + (bytes % block_bytes != 0 ? 1 : 0);
    wanted.replicas = replicas_;
    const volume_id made(own_control_->create(wanted).record.vid);
    own_control_->close(made, true);
    return made;
  }
  const std::lock_guard lock(session_use_);
  const volume_info v = session_->create_volume({.bytes = bytes});
  const status s = set_own_rights(v.vid, v.ssd_count, 0);
  if (s.ok()) return v.vid;
  throw host::io_error(fmt::format("giving back the right to write volume {}, which was made: {}",
                                   v.vid.value, host::to_string(s)),
                       s);
}

status emulated_gateway::set_own_rights(volume_id vid, std::uint32_t ssds, std::uint16_t rights,
                                        bool equal) {
  return managed_ ? ask_for_rights(vid, rights, equal)
                  : set_rights(vid, ssds, {own_client().value, rights});
}

/// Asks the manager. What it refuses is said as an SSD without one would.
status emulated_gateway::ask_for_rights(volume_id vid, std::uint16_t rights, bool equal) {
  using wire::afa::right_write;
  const auto refused = [](wire::afa::status why) {
    status s = status::make(status_code::nvme_error, reporter::caller);
    s.nvme_type = static_cast<std::uint8_t>(wire::nvme::status_code_type::vendor_specific);
    s.nvme_code = static_cast<std::uint8_t>(why);
    return s;
  };
  if (!own_control_) return rights == 0 ? status{} : refused(wire::afa::status::not_permitted);
  try {
    if (rights == 0) {
      own_leases_->drop(vid);
      own_control_->close(vid, equal);
      return {};
    }
    const host::volume_state v = own_control_->open(vid, (rights & right_write) != 0);
    if ((rights & right_write) != 0) own_leases_->keep(v);
    return {};
  } catch (const host::control_error& e) {
    if (e.why() == host::control_reason::busy) return refused(wire::afa::status::writer_exists);
    if (e.why() == host::control_reason::unknown_volume)
      return refused(wire::afa::status::unknown_volume);
    throw;
  }
}

status emulated_gateway::set_rights(volume_id vid, std::uint32_t ssds,
                                    wire::afa::volume_client who) {
  wire::afa::volume_chmod change{};
  change.client_count = 1;
  change.clients[0] = who;
  return change_volume(vid, ssds, change);
}

/// What gives a right to write goes to SSD 0 first, which chooses between those who want it, and
/// to nobody behind one that refuses; what takes one goes to all, to SSD 0 last.
status emulated_gateway::change_volume(volume_id vid, std::uint32_t ssds,
                                       wire::afa::volume_chmod change) {
  change.version = wire::afa::payload_version;
  change.vid = vid.value;
  wire::afa::admin_command c;
  c.opcode = wire::afa::admin_opcode::volume_chmod;
  c.epoch = about_.epoch;
  c.volume = vid;
  bool gives = false;
  for (std::uint32_t k = 0; k < change.client_count; ++k)
    gives = gives || (change.clients[k].rights & wire::afa::right_write) != 0;
  status outcome;
  for (std::uint32_t n = 0; n < ssds && (outcome.ok() || !gives); ++n) {
    c.nsid = gives ? n + 1 : ssds - n;
    const status s = own_->admin(c.pack(), std::as_writable_bytes(std::span(&change, 1)));
    if (outcome.ok()) outcome = s;
  }
  return outcome;
}

void emulated_gateway::admit(volume_id vid, const std::string& host_nqn) {
  const std::lock_guard lock(session_use_);
  session_->admit(vid, host_nqn);
}

void emulated_gateway::reassign(volume_id vid, const std::string& host_nqn) {
  if (manager_) {
    const host::volume_state v = manager_->find(vid.value);
    manager_->set_owner(vid.value, host::client_identity::key_of(host_nqn));
    if (v.writer != client_id{}) manager_->close(vid.value, v.writer, false);
    return;
  }
  if (managed_) {
    throw host::input_error(
        "giving a volume to another host: this array is managed elsewhere; ask that manager");
  }
  for (const wire::afa::volume_record& r : own_->volumes(about())) {
    if (r.vid != vid.value) continue;
    const std::uint16_t heir = host::client_identity::client_of(host_nqn).value;
    wire::afa::volume_chmod change{};
    change.owner = host::client_identity::key_of(host_nqn);
    for (std::uint32_t k = 0; k < r.client_count && k < wire::afa::max_volume_clients; ++k) {
      const wire::afa::volume_client& c = r.clients[k];
      if (c.client == heir || (c.rights & wire::afa::right_write) == 0) continue;
      change.clients[change.client_count++] = {
          c.client, static_cast<std::uint16_t>(c.rights & ~wire::afa::right_write)};
    }
    change.clients[change.client_count++] = {heir, wire::afa::right_read | wire::afa::right_write};
    const status s = change_volume(vid, r.ssd_count, change);
    if (s.ok()) return;
    throw host::io_error(
        fmt::format("giving volume {} to {}: {}", vid.value, host_nqn, host::to_string(s)), s);
  }
  throw host::input_error(
      fmt::format("volume {} is not on this array: it cannot be given to {}", vid.value, host_nqn));
}

}  // namespace gnstor::serve

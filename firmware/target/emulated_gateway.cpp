#include "session_impl.hpp"
#include <gnstor/wire/afa/volume_chmod.hpp>
#include <gnstor/wire/fabrics/status.hpp>
#include <gnstor/wire/nvme/status.hpp>
#include <target/emulated_gateway.hpp>
#include <target/target_id.hpp>

#include <cstring>

namespace gnstor::fw {
namespace {

constexpr std::uint32_t most_clients = 15;  ///< beside the target's own
constexpr std::uint32_t queue_depth = 128;
constexpr const char* own_name = "gnstor-target";

host::session_options plain_options(std::uint64_t timeout_ns) {
  host::session_options o;
  o.client = host::machine::cpu;
  o.channels = 0;
  o.depth = queue_depth;
  o.host_name = own_name;
  o.timeout_ns = timeout_ns;
  return o;
}

/// A channel's status as the NVMe status field of a response: an SSD's own words where there are
/// some, else an internal error that may be repeated.
std::uint16_t status_field(status s) {
  if (s.ok()) return 0;
  if (s.code == status_code::nvme_error) {
    const auto vendor = static_cast<std::uint8_t>(wire::nvme::status_code_type::vendor_specific);
    return wire::nvme::make_status(s.nvme_type, s.nvme_code, s.nvme_type == vendor);
  }
  return wire::nvme::make_status(wire::nvme::generic_status::internal_error);
}

}  // namespace

emulated_gateway::emulated_gateway(const host::endpoint& where, std::uint64_t timeout_ns)
    : timeout_ns_(timeout_ns) {
  if (where.runner == host::runner_kind::simulated) {
    throw host::input_error(
        "serving an array with runner=sim: it runs inside a host executor "
        "only; use runner=cpu");
  }
  array_ = std::make_shared<host::emulated_array>(where, host::machine::cpu, 0,
                                                  2 * (most_clients + 1), queue_depth);
  const host::session_options options = plain_options(timeout_ns);
  auto link = std::make_unique<host::emulated_client>(array_, options,
                                                      host::client_identity::named(own_name));
  own_ = std::make_unique<array_client>(*link, timeout_ns);
  session_ =
      std::make_unique<host::session>(host::session_access::over(where, options, std::move(link)));
  about_ = own_->describe();
  identity_ = target_id(where.flash);  // the array has locked the folder's files
}

emulated_gateway::~emulated_gateway() {
  for (auto& [client, m] : members_) m.link.reset();
  session_.reset();
}

std::uint16_t emulated_gateway::join(const host_identity& who) {
  const std::uint16_t stranger =
      wire::fabrics::make_status(wire::fabrics::connect_status::invalid_host, true);
  // Its name would give a host the target's own rights.
  if (who.client == own_client()) return stranger;
  const std::lock_guard lock(guard_);
  // A client id is a short hash: two hosts may have the same, and would share their rights.
  if (const auto at = members_.find(who.client.value); at != members_.end())
    return at->second.who.is(who) ? std::uint16_t{0} : stranger;
  if (members_.size() >= most_clients) {
    return wire::fabrics::make_status(wire::fabrics::connect_status::controller_busy);
  }
  host::client_identity name;
  name.nqn = who.nqn;
  // The array tells its hosts apart by this id; what the host calls itself is its own business.
  std::memcpy(name.hostid, "gnstor client", 13);
  std::memcpy(name.hostid + 14, &who.client.value, sizeof who.client.value);
  try {
    member m;
    m.who = who;
    m.link = std::make_unique<host::emulated_client>(array_, plain_options(timeout_ns_), name);
    m.client = std::make_unique<array_client>(*m.link, timeout_ns_);
    members_.emplace(who.client.value, std::move(m));
    return 0;
  } catch (const std::exception&) {
    return wire::fabrics::make_status(wire::fabrics::connect_status::controller_busy);
  }
}

array_client* emulated_gateway::find(client_id client) {
  const std::lock_guard lock(guard_);
  const auto at = members_.find(client.value);
  return at == members_.end() ? nullptr : at->second.client.get();
}

std::uint16_t emulated_gateway::admin(client_id client, const wire::nvme::submission_entry& entry,
                                      std::span<std::byte> payload) {
  array_client* who = find(client);
  return status_field(who != nullptr ? who->admin(entry, payload)
                                     : status::make(status_code::closed, reporter::caller));
}

std::uint16_t emulated_gateway::io(client_id client, const wire::nvme::submission_entry& entry,
                                   std::span<std::byte> payload) {
  array_client* who = find(client);
  return status_field(who != nullptr ? who->io(entry, payload)
                                     : status::make(status_code::closed, reporter::caller));
}

volume_id emulated_gateway::create_volume(std::uint64_t bytes) {
  const std::lock_guard lock(guard_);
  const volume_info v = session_->create_volume({.bytes = bytes});
  (void)set_own_rights(v.vid, v.ssd_count, 0);
  return v.vid;
}

status emulated_gateway::set_own_rights(volume_id vid, std::uint32_t ssds, std::uint16_t rights) {
  wire::afa::volume_chmod change{};
  change.version = wire::afa::payload_version;
  change.vid = vid.value;
  change.client_count = 1;
  change.clients[0] = {own_client().value, rights};
  wire::afa::admin_command c;
  c.opcode = wire::afa::admin_opcode::volume_chmod;
  c.epoch = about_.epoch;
  c.volume = vid;
  status outcome;
  for (std::uint32_t ssd = 0; ssd < ssds; ++ssd) {
    c.nsid = ssd + 1;
    const status s = own_->admin(c.pack(), std::as_writable_bytes(std::span(&change, 1)));
    if (outcome.ok()) outcome = s;
    if (!outcome.ok() && rights != 0) break;
  }
  return outcome;
}

}  // namespace gnstor::fw

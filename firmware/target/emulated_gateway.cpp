#include "session_impl.hpp"
#include <gnstor/wire/afa/volume_chmod.hpp>
#include <gnstor/wire/fabrics/status.hpp>
#include <gnstor/wire/nvme/status.hpp>
#include <target/emulated_gateway.hpp>
#include <target/target_id.hpp>

#include <fmt/format.h>

#include <atomic>
#include <cstring>
#include <utility>

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
  if (where.rdma) {
    throw host::input_error(
        "serving an array at rdma://: a target serves an array that it emulates itself, not one "
        "that another target serves; use emu:?flash=DIR here, and rdma:// in the programs that "
        "are to use that other one");
  }
  if (where.runner == host::runner_kind::simulated) {
    throw host::input_error(
        "serving an array with runner=sim: it runs inside a host executor "
        "only; use runner=cpu");
  }
  array_ = std::make_shared<host::emulated_array>(where, host::machine::cpu, 0,
                                                  2 * (most_clients + 1), queue_depth);
  const host::session_options options = plain_options(timeout_ns);
  auto link = std::make_unique<host::emulated_client>(array_, options,
                                                      host::client_identity::named(own_name), true);
  own_ = std::make_unique<array_client>(*link, timeout_ns);
  session_ =
      std::make_unique<host::session>(host::session_access::over(where, options, std::move(link)));
  about_ = own_->describe();
  identity_ = target_id(where.flash);  // the array has locked the folder's files
}

/// A host of the array subsystem, as long as an association of its lives, and a little longer.
struct emulated_gateway::member {
  host_identity who;
  std::mutex connecting;           ///< of `link` and `client` until they are there
  std::uint32_t associations = 0;  ///< under the gateway's lock
  bool in_order = true;            ///< likewise: all associations that ended said that they go
  std::unique_ptr<host::emulated_client> link;  ///< goes before the buffers: a late answer may
  std::unique_ptr<array_client> client;         ///< still be on its way to one

  ~member() { link.reset(); }
};

struct emulated_gateway::association final : array_gateway::membership {
  association(emulated_gateway& g, std::shared_ptr<member> m) : gateway(g), of(std::move(m)) {}
  ~association() override {
    const std::lock_guard lock(gateway.guard_);
    --of->associations;
    of->in_order = of->in_order && said;
  }
  void goes_in_order() override { said = true; }

  emulated_gateway& gateway;
  std::shared_ptr<member> of;
  std::atomic<bool> said{false};
};

emulated_gateway::~emulated_gateway() {
  clients_.clear();
  members_.clear();
  session_.reset();
}

array_gateway::joined emulated_gateway::join(const host_identity& who) {
  tick();
  // Its name would give a host the target's own rights.
  const std::uint16_t stranger =
      wire::fabrics::make_status(wire::fabrics::connect_status::invalid_host, true);
  if (who.nqn == host::client_identity::named(own_name).nqn) return {.refused = stranger};
  std::shared_ptr<member> m;
  {
    const std::lock_guard lock(guard_);
    std::shared_ptr<member>& place = members_[who.nqn];
    if (place && place->who.id != who.id) {
      if (place->associations != 0) return {.refused = stranger};
      clients_.erase(place->who.client.value);
      place.reset();
    }
    if (!place) {
      if (members_.size() > most_clients) {
        members_.erase(who.nqn);
        return {.refused =
                    wire::fabrics::make_status(wire::fabrics::connect_status::controller_busy)};
      }
      place = std::make_shared<member>();
      place->who = who;
    }
    m = place;
    ++m->associations;  // `tick` leaves it alone
    m->in_order = true;
  }
  auto held = std::make_shared<association>(*this, m);
  const std::uint16_t refused = connect(*m);
  if (refused != 0) return {.refused = refused};
  const std::lock_guard lock(guard_);
  clients_[m->who.client.value] = m;
  return {.client = m->who.client, .held = std::move(held)};
}

/// Connects a host to the array unless it is: without the lock, as others go on meanwhile.
std::uint16_t emulated_gateway::connect(member& m) {
  const std::lock_guard lock(m.connecting);
  if (m.client) return 0;
  host::client_identity name;
  name.nqn = m.who.nqn;
  // The array tells its hosts apart by this id; what the host calls itself is its own business.
  const std::uint64_t key = host::client_identity::key_of(name.nqn);
  std::memcpy(name.hostid, "gnstor:", 8);
  std::memcpy(name.hostid + 8, &key, sizeof key);
  try {
    m.link = std::make_unique<host::emulated_client>(array_, plain_options(timeout_ns_), name);
    m.who.client = m.link->client();
    m.client = std::make_unique<array_client>(*m.link, timeout_ns_);
    return 0;
  } catch (const std::exception&) {
    m.link.reset();
    return wire::fabrics::make_status(wire::fabrics::connect_status::controller_busy);
  }
}

void emulated_gateway::tick() {
  std::vector<std::shared_ptr<member>> gone;
  {
    const std::lock_guard lock(guard_);
    for (auto at = members_.begin(); at != members_.end();) {
      const auto here = at++;
      if (here->second->associations != 0) continue;
      clients_.erase(here->second->who.client.value);
      gone.push_back(std::move(here->second));
      members_.erase(here);
    }
  }
  for (const auto& m : gone) let_go(*m);
}

/// Takes the right to write from a host that has gone and said so: nothing of it is under way. Who
/// vanished keeps it, as its replicas may differ.
void emulated_gateway::let_go(const member& m) noexcept {
  if (!m.in_order || !m.client) return;
  try {
    for (const wire::afa::volume_record& r : own_->volumes(about_.epoch)) {
      for (std::uint32_t k = 0; k < r.client_count && k < wire::afa::max_volume_clients; ++k) {
        const wire::afa::volume_client& c = r.clients[k];
        if (c.client != m.who.client.value || (c.rights & wire::afa::right_write) == 0) continue;
        (void)set_rights(volume_id(r.vid), r.ssd_count, {c.client, wire::afa::right_read});
      }
    }
  } catch (const std::exception&) {
    // It keeps the right, until the volume's owner takes it or the volume is reassigned.
  }
}

std::shared_ptr<emulated_gateway::member> emulated_gateway::find(client_id client) {
  const std::lock_guard lock(guard_);
  const auto at = clients_.find(client.value);
  return at == clients_.end() ? nullptr : at->second;
}

std::uint16_t emulated_gateway::admin(client_id client, const wire::nvme::submission_entry& entry,
                                      std::span<std::byte> payload) {
  const std::shared_ptr<member> who = find(client);
  return status_field(who != nullptr ? who->client->admin(entry, payload)
                                     : status::make(status_code::closed, reporter::caller));
}

std::uint16_t emulated_gateway::io(client_id client, const wire::nvme::submission_entry& entry,
                                   std::span<std::byte> payload) {
  const std::shared_ptr<member> who = find(client);
  return status_field(who != nullptr ? who->client->io(entry, payload)
                                     : status::make(status_code::closed, reporter::caller));
}

volume_id emulated_gateway::create_volume(std::uint64_t bytes) {
  const std::lock_guard lock(session_use_);
  const volume_info v = session_->create_volume({.bytes = bytes});
  (void)set_own_rights(v.vid, v.ssd_count, 0);
  return v.vid;
}

status emulated_gateway::set_own_rights(volume_id vid, std::uint32_t ssds, std::uint16_t rights) {
  return set_rights(vid, ssds, {own_client().value, rights});
}

status emulated_gateway::set_rights(volume_id vid, std::uint32_t ssds,
                                    wire::afa::volume_client who) {
  wire::afa::volume_chmod change{};
  change.client_count = 1;
  change.clients[0] = who;
  return change_volume(vid, ssds, change, who.rights != 0);
}

/// @param all_or_nothing stop at the first refusal
status emulated_gateway::change_volume(volume_id vid, std::uint32_t ssds,
                                       wire::afa::volume_chmod change, bool all_or_nothing) {
  change.version = wire::afa::payload_version;
  change.vid = vid.value;
  wire::afa::admin_command c;
  c.opcode = wire::afa::admin_opcode::volume_chmod;
  c.epoch = about_.epoch;
  c.volume = vid;
  status outcome;
  for (std::uint32_t ssd = 0; ssd < ssds; ++ssd) {
    c.nsid = ssd + 1;
    const status s = own_->admin(c.pack(), std::as_writable_bytes(std::span(&change, 1)));
    if (outcome.ok()) outcome = s;
    if (!outcome.ok() && all_or_nothing) break;
  }
  return outcome;
}

void emulated_gateway::admit(volume_id vid, const std::string& host_nqn) {
  const std::lock_guard lock(session_use_);
  session_->admit(vid, host_nqn);
}

void emulated_gateway::reassign(volume_id vid, const std::string& host_nqn) {
  for (const wire::afa::volume_record& r : own_->volumes(about_.epoch)) {
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
    const status s = change_volume(vid, r.ssd_count, change, false);
    if (s.ok()) return;
    throw host::io_error(
        fmt::format("giving volume {} to {}: {}", vid.value, host_nqn, host::to_string(s)), s);
  }
  throw host::input_error(
      fmt::format("volume {} is not on this array: it cannot be given to {}", vid.value, host_nqn));
}

}  // namespace gnstor::fw

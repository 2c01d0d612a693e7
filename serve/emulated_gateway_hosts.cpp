/// The gateway's hosts: how they come, as whom the array knows them, and how they go.

#include "emulated_gateway_member.hpp"
#include "manage.hpp"
#include <base/log.hpp>
#include <gnstor/host/error.hpp>
#include <gnstor/wire/afa/volume_record.hpp>
#include <gnstor/wire/fabrics/status.hpp>
#include <link/client_identity.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <utility>
#include <vector>

namespace gnstor::serve {

array_gateway::joined emulated_gateway::join(const host_identity& who) {
  tick();
  // Its name would give a host the target's own rights.
  const std::uint16_t stranger =
      wire::fabrics::make_status(wire::fabrics::connect_status::invalid_host, true);
  for (const char* name : {own_name, manager_name})
    if (who.nqn == host::client_identity::named(name).nqn) return {.refused = stranger};
  std::shared_ptr<member> m;
  {
    const std::lock_guard lock(guard_);
    const std::pair key(who.nqn, who.session.number);
    std::shared_ptr<member>& entry = members_[key];
    if (entry && entry->who.id != who.id) {
      if (entry->associations != 0) return {.refused = stranger};
      // Another life of it: what the one before held ends with it.
      if (manager_ && entry->client)
        manager_->client_gone(entry->who.client, !is_last_of_host(*entry));
      forget(*entry);
      entry.reset();
    }
    if (!entry) {
      if (members_.size() > most_members) {
        members_.erase(key);
        return {.refused =
                    wire::fabrics::make_status(wire::fabrics::connect_status::controller_busy)};
      }
      entry = std::make_shared<member>();
      entry->who = who;
    }
    m = entry;
    ++m->associations;  // `tick` leaves it alone
  }
  auto held = std::make_shared<association>(*this, m);
  const std::uint16_t refused = connect(*m);
  if (refused != 0) return {.refused = refused};
  const std::lock_guard lock(guard_);
  clients_[m->who.client.value] = m;
  return {.client = m->who.client, .held = std::move(held)};
}

array_gateway::joined emulated_gateway::join_manager(const host_identity& who,
                                                     const wire::afa::manager_claim& said) {
  if (managers_) return managers_->join(who, said);
  return array_gateway::join_manager(who, said);
}

host::array_front_end::connected emulated_gateway::known_hosts() const {
  host::array_front_end::connected all;
  // The target itself is one as long as it lives.
  all.hosts.push_back({own_client(), host::client_identity::named(own_name).nqn, {}, 1, 1});
  const std::lock_guard lock(guard_);
  if (since_) {
    all.serving = std::chrono::duration_cast<std::chrono::milliseconds>(
        std::chrono::steady_clock::now() - *since_);
  }
  for (const auto& [client, m] : clients_) {
    std::uint32_t life = 0;
    std::memcpy(&life, m->who.id.data(), sizeof life);
    all.hosts.push_back(
        {client_id(client), m->who.nqn, m->who.address, m->associations, std::max(life, 1u)});
  }
  std::sort(all.hosts.begin(), all.hosts.end(),
            [](const auto& a, const auto& b) { return a.client.value < b.client.value; });
  return all;
}

void emulated_gateway::list_hosts(std::uint16_t first, wire::afa::host_list& to) const {
  const host::array_front_end::connected all = known_hosts();
  to.version = wire::afa::payload_version;
  to.serving_ms = static_cast<std::uint64_t>(all.serving.count());
  for (const host::connected_host& h : all.hosts) {
    if (h.client.value < first) continue;
    if (to.count == wire::afa::host_list_records) {
      to.next_client = h.client.value;
      return;
    }
    wire::afa::host_record& r = to.records[to.count++];
    r.client = h.client.value;
    r.associations = static_cast<std::uint16_t>(h.associations);
    r.life = h.life;
    h.nqn.copy(r.nqn, sizeof r.nqn - 1);
    h.address.copy(r.address, sizeof r.address - 1);
  }
}

/// Clients that volumes know with some right, whether or not they are there. Throws `io_error` if
/// no SSD says.
std::set<std::uint16_t> emulated_gateway::clients_of_volumes(std::uint16_t rights) {
  std::set<std::uint16_t> all;
  const wire::afa::array_description array = own_->describe();
  status why = status::make(status_code::not_ready, reporter::caller);
  bool said = false;
  for (std::uint32_t k = 0; k < array.ssd_count; ++k) {
    if ((array.absent >> k & 1) != 0) continue;
    try {
      for (const wire::afa::volume_record& r : own_->list(k, own_->describe(k).epoch)) {
        for (std::uint32_t n = 0; n < std::min(r.client_count, wire::afa::max_volume_clients); ++n)
          if ((r.clients[n].rights & rights) != 0) all.insert(r.clients[n].client);
      }
      said = true;
    } catch (const host::io_error& e) {
      why = e.outcome();  // what it knows the others of its volumes know
    }
  }
  if (!said) throw host::io_error("asking the SSDs for the clients of volumes", why);
  return all;
}

/// As whom a session writes: the id that it had where it comes back, else one that nobody has, here
/// or in a volume's table. Throws `error` if another one has the id that it had.
client_id emulated_gateway::session_id(const host_identity& who) {
  const bool returns = who.session.client != 0;
  // Its own may be in tables, but no host's that was admitted.
  constexpr std::uint16_t any = 0xffff;
  std::set<std::uint16_t> taken = clients_of_volumes(returns ? wire::afa::right_admitted : any);
  taken.insert({std::uint16_t{0}, own_client().value});
  for (const char* name : {own_name, manager_name})
    taken.insert(host::client_identity::client_of(host::client_identity::named(name).nqn).value);
  std::random_device source;
  const std::lock_guard lock(guard_);
  const std::pair mine(who.nqn, who.session.number);
  for (const auto& [key, m] : members_) {
    taken.insert(host::client_identity::client_of(key.first).value);
    if (key != mine) taken.insert({m->who.client.value, m->as.value});
  }
  if (taken.size() > 0xffff) throw host::error("all client ids are in use");
  std::uint16_t id = who.session.client;
  if (returns && taken.contains(id)) {
    throw host::error(
        fmt::format("a session of {} that was client {} comes back, and another one "
                    "is that by now: open the session anew",
                    who.nqn, id));
  }
  while (taken.contains(id)) id = static_cast<std::uint16_t>(source());
  members_.at(mine)->as = client_id(id);
  return client_id(id);
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
    if (m.who.session.number != 0) name.session = session_id(m.who);
    m.link = std::make_unique<host::emulated_client>(array_, plain_options(timeout_ns_), name);
    {
      const std::lock_guard listed(guard_);
      m.who.client = m.link->client();
    }
    // Its manager knows its host by that id, and would give it what is another host's.
    if (m.who.session.number != 0 &&
        !(m.link->whole_host() == host::client_identity::client_of(name.nqn))) {
      throw host::error(
          fmt::format("the client id {} that follows from {} is that of another host "
                      "or session: give it another name, or wait until that has gone",
                      host::client_identity::client_of(name.nqn).value, name.nqn));
    }
    m.shares = std::make_unique<ssd_shares>(m.link->host().queue().depth());
    m.client = std::make_unique<host::array_client>(*m.link, timeout_ns_);
    return 0;
  } catch (const std::exception& e) {
    refusals_.log(host::log_level::warning, fmt::format("a host is refused: {}", e.what()));
    m.link.reset();
    return wire::fabrics::make_status(wire::fabrics::connect_status::controller_busy);
  }
}

void emulated_gateway::tick() {
  std::vector<std::shared_ptr<member>> gone;
  {
    const std::lock_guard lock(guard_);
    if (!since_) since_ = std::chrono::steady_clock::now();
    for (const auto& [nqn, m] : members_) {
      if (m->associations != 0 || may_come_back(*m) || std::exchange(m->leaving, true)) continue;
      gone.push_back(m);
    }
  }
  for (const auto& m : gone) {
    // Who comes back meanwhile waits, and finds what is left.
    const std::lock_guard one_at_a_time(m->connecting);
    let_go(*m);
    const std::lock_guard lock(guard_);
    m->leaving = false;
    if (m->associations != 0) continue;
    forget(*m);
    const auto at = members_.find({m->who.nqn, m->who.session.number});
    if (at != members_.end() && at->second == m) members_.erase(at);
  }
}

/// True while a host keeps its leases that has lost its connections: it may be connecting again,
/// and what it holds nobody else gets. With the lock held.
bool emulated_gateway::may_come_back(const member& m) const {
  constexpr std::chrono::milliseconds patience{500};
  return managed_ && std::chrono::steady_clock::now() - m.lost_at < patience;
}

/// Takes a member that is connected off the list. With the lock held.
void emulated_gateway::forget(const member& m) {
  const auto at = clients_.find(m.who.client.value);
  if (at != clients_.end() && at->second.get() == &m) clients_.erase(at);
  left_by_forgotten_ = std::max(left_by_forgotten_.load(), m.left_in.load());
}

/// True if no other session of its host is there. With the lock held.
bool emulated_gateway::is_last_of_host(const member& m) const {
  return std::none_of(members_.begin(), members_.end(), [&](const auto& entry) {
    return entry.second.get() != &m && entry.first.first == m.who.nqn;
  });
}

/// Takes the right to write from a host that has gone and said so: nothing of it is under way. Who
/// vanished keeps it, as its replicas may differ; so does who took it before it vanished.
void emulated_gateway::let_go(member& m) noexcept {
  std::set<std::uint16_t> written;
  {
    const std::lock_guard lock(guard_);
    if (m.in_order) written = std::exchange(m.written, {});
  }
  if (!m.client) return;
  if (managed_) {
    const std::lock_guard lock(guard_);
    if (manager_ && m.associations == 0) {  // it may be back
      const client_id whole = m.link->whole_host();
      const bool last = is_last_of_host(m);
      manager_->client_gone(m.who.client, m.who.client == whole && !last);
      if (last && !(m.who.client == whole)) manager_->client_gone(whole);
    }
    return;  // a manager elsewhere asks who is there
  }
  try {
    for (const wire::afa::volume_record& r : own_->volumes(about())) {
      if (!written.contains(r.vid)) continue;
      for (std::uint32_t k = 0; k < r.client_count && k < wire::afa::max_volume_clients; ++k) {
        const wire::afa::volume_client& c = r.clients[k];
        if (c.client != m.who.client.value || (c.rights & wire::afa::right_write) == 0) continue;
        const status s =
            set_rights(volume_id(r.vid), r.ssd_count, {c.client, wire::afa::right_read});
        if (s.left_behind()) return;  // an SSD does not answer: the others would wait as long
      }
    }
  } catch (const std::exception&) {
    // It keeps the right, until the volume's owner takes it or the volume is reassigned.
  }
}

}  // namespace gnstor::serve

#include "emulated_gateway.hpp"

#include "manage.hpp"
#include "status_field.hpp"
#include "target_id.hpp"
#include <gnstor/wire/afa/slba.hpp>
#include <gnstor/wire/afa/volume_chmod.hpp>
#include <gnstor/wire/fabrics/status.hpp>
#include <gnstor/wire/nvme/read_write.hpp>
#include <gnstor/wire/nvme/status.hpp>

#include <control/manager_control.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <session_impl.hpp>
#include <set>
#include <utility>

namespace gnstor::serve {
namespace {

constexpr std::uint32_t most_clients = 15;  ///< beside the target's own
constexpr std::uint32_t queue_depth = 128;
/// By which engines send what plain hosts ask for.
constexpr std::uint32_t own_channels = 4;
constexpr const char* own_name = "gnstor-target";
/// Of a command of the target's own to an array that has a manager, in nanoseconds: what an SSD
/// does not answer in time waits for the epoch without it.
constexpr std::uint64_t managed_timeout = 1'000'000'000;

host::session_options plain_options(std::uint64_t timeout_ns, bool asynchronous = false) {
  host::session_options o;
  o.client = host::machine::cpu;
  o.channels = 0;
  o.depth = queue_depth;
  o.host_name = own_name;
  o.timeout = duration::of_ns(timeout_ns);
  o.asynchronous = asynchronous;
  return o;
}

/// The volume that a command gives this client the right to write; 0: none.
std::uint16_t written_by(client_id client, const wire::nvme::submission_entry& e,
                         std::span<const std::byte> payload) {
  const auto listed = [&](const wire::afa::volume_client* clients, std::uint32_t count) {
    return std::any_of(clients, clients + std::min(count, wire::afa::max_volume_clients),
                       [&](const wire::afa::volume_client& c) {
                         return c.client == client.value &&
                                (c.rights & wire::afa::right_write) != 0;
                       });
  };
  const auto command = wire::afa::admin_command::unpack(e);
  if (command.opcode == wire::afa::admin_opcode::volume_add &&
      payload.size() >= sizeof(wire::afa::volume_record)) {
    wire::afa::volume_record r;
    std::memcpy(&r, payload.data(), sizeof r);
    return listed(r.clients, r.client_count) ? r.vid : std::uint16_t{0};
  }
  if (command.opcode == wire::afa::admin_opcode::volume_chmod &&
      payload.size() >= sizeof(wire::afa::volume_chmod)) {
    wire::afa::volume_chmod c;
    std::memcpy(&c, payload.data(), sizeof c);
    return listed(c.clients, c.client_count) ? c.vid : std::uint16_t{0};
  }
  return 0;
}

}  // namespace

emulated_gateway::emulated_gateway(const host::endpoint& where, std::uint64_t timeout_ns,
                                   array_management managed)
    : timeout_ns_(timeout_ns),
      replicas_(static_cast<std::uint16_t>(where.replicas)),
      managed_(managed.any()) {
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
  array_ = std::make_shared<host::emulated_array>(
      where, host::machine::cpu, 0, 2 * most_clients + 1 + own_channels + manager_queues,
      queue_depth);
  const host::session_options options = plain_options(timeout_ns, true);
  auto link = std::make_unique<host::emulated_client>(
      array_, options, host::client_identity::named(own_name), !managed_, own_channels);
  own_ = std::make_unique<host::array_client>(
      *link, managed_ ? std::min(timeout_ns / 4, managed_timeout) : timeout_ns);
  if (managed.here) {
    manager_ = manage(array_, std::move(*managed.here),
                      {[this] { return known_hosts(); }, [this] { return traffic_.all(); }});
    managed.ask = [this](const std::string& name) {
      return std::make_unique<host::manager_control>(*manager_, host::control_role::administrator(),
                                                     name);
    };
  }
  if (managed.elsewhere) {
    managers_ = std::make_unique<remote_managers>(
        array_, *managed.elsewhere,
        [this](std::uint16_t first, wire::afa::host_list& to) { list_hosts(first, to); }, traffic_);
  }
  if (managed.ask) {
    own_control_ = managed.ask(own_name);
    own_leases_ = std::make_unique<host::lease_keeper>(*own_control_);
    session_ = std::make_unique<host::session>(
        host::session_access::over(where, options, std::move(link), managed.ask(own_name)));
  } else {
    session_ = std::make_unique<host::session>(
        host::session_access::over(where, options, std::move(link)));
  }
  epochs_ = host::session_access::follow_epochs(*session_);
  for (std::uint32_t k = 0; k < own_channels; ++k)
    shares_.push_back(block_engine::shares_of(host::session_access::link(*session_)));
  const wire::afa::array_description said = own_->describe();
  about_.ssd_count = said.ssd_count;
  about_.own_client = said.own_client;
  about_.max_transfer_blocks = said.max_transfer_blocks;
  remember(said);
  identity_ = target_id(where.flash);  // the array has locked the folder's files
}

/// A host of the array subsystem, as long as an association of its lives, and a little longer.
struct emulated_gateway::member {
  host_identity who;
  std::mutex connecting;           ///< of what `connect` makes, and of what `let_go` does
  std::uint32_t associations = 0;  ///< under the gateway's lock, as are the next four
  bool in_order = true;            ///< all associations that ended said that they go
  std::chrono::steady_clock::time_point lost_at{};  ///< when one ended that did not
  bool leaving = false;
  std::atomic<std::uint32_t> left_in{0};  ///< the last epoch in which an SSD did not answer in time
  std::set<std::uint16_t> written;        ///< volumes that it has taken the right to write
  lost_memory lost;                       ///< of engines
  std::unique_ptr<ssd_shares> shares;     ///< of the link's channel, among these
  std::unique_ptr<host::emulated_client> link;  ///< goes before the buffers: a late answer may
  std::unique_ptr<host::array_client> client;   ///< still be on its way to one

  ~member() { link.reset(); }
  /// Notes that an SSD may still execute a command of epoch `sent`.
  void note_left(std::uint32_t sent) {
    std::uint32_t before = left_in.load();
    for (; before < sent && !left_in.compare_exchange_weak(before, sent);) {
    }
  }
};

struct emulated_gateway::association final : array_gateway::membership {
  association(emulated_gateway& g, std::shared_ptr<member> m) : gateway(g), of(std::move(m)) {}
  ~association() override {
    const std::lock_guard lock(gateway.guard_);
    --of->associations;
    of->in_order = of->in_order && said;
    if (!said) of->lost_at = std::chrono::steady_clock::now();
  }
  void goes_in_order() override { said = true; }
  bool left_behind() const override {
    return std::max(of->left_in.load(), gateway.left_by_forgotten_.load()) >= gateway.about_.epoch;
  }

  emulated_gateway& gateway;
  std::shared_ptr<member> of;
  std::atomic<bool> said{false};
};

wire::afa::array_description emulated_gateway::about() const {
  const std::lock_guard lock(description_guard_);
  return description_;
}

volume_info emulated_gateway::present(volume_info v) const {
  return epochs_ != nullptr ? epochs_->present(v) : v;
}

void emulated_gateway::follow(const volume_info& v) {
  if (epochs_ != nullptr) (void)epochs_->follow(v);
}

void emulated_gateway::refresh() { remember(own_->describe()); }

void emulated_gateway::remember(const wire::afa::array_description& said) {
  const std::lock_guard lock(description_guard_);
  if (said.epoch < description_.epoch) return;  // another thread has asked later
  description_ = said;
  about_.epoch = said.epoch;
  if (epochs_ != nullptr) epochs_->write(said);
}

/// Hosts keep their leases: they come back where this array is served next, and write on.
emulated_gateway::~emulated_gateway() {
  clients_.clear();
  members_.clear();
  session_.reset();
  own_leases_.reset();
  managers_.reset();
  manager_.reset();
}

void emulated_gateway::check() const {
  array_->check();
  if (manager_) manager_->check();
}

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
    std::shared_ptr<member>& entry = members_[who.nqn];
    if (entry && entry->who.id != who.id) {
      if (entry->associations != 0) return {.refused = stranger};
      // Another life of the host: what the one before held ends with it.
      if (manager_ && entry->client) manager_->client_gone(entry->who.client);
      forget(*entry);
      entry.reset();
    }
    if (!entry) {
      if (members_.size() > most_clients) {
        members_.erase(who.nqn);
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
    m.shares = std::make_unique<ssd_shares>(m.link->host().queue().depth());
    m.client = std::make_unique<host::array_client>(*m.link, timeout_ns_);
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
    const auto at = members_.find(m->who.nqn);
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
    if (manager_ && m.associations == 0) manager_->client_gone(m.who.client);  // it may be back
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

std::unique_ptr<block_engine> emulated_gateway::make_engine() {
  // As for commands.
  if (!host::session_access::link(*session_).can_wake()) return nullptr;
  const std::uint64_t attempt = managed_ ? std::min(timeout_ns_ / 4, managed_timeout) : 0;
  const std::uint32_t turn = engines_.fetch_add(1) % own_channels;
  const block_settings settings{.patience = duration::of_ns(timeout_ns_),
                                .attempt = duration::of_ns(attempt),
                                .managed = managed_,
                                .phases = &phases_,
                                .order = order_};
  return std::make_unique<block_engine>(host::session_access::link(*session_), turn, epochs_,
                                        settings, shares_[turn]);
}

io_buffer emulated_gateway::register_memory(void* address, std::uint64_t bytes) {
  return host::session_access::link(*session_).register_memory(address, bytes);
}

void emulated_gateway::unregister_memory(const io_buffer& buffer, host::memory_block memory,
                                         bool lost) {
  host::array_link& link = host::session_access::link(*session_);
  if (!lost) return link.unregister_memory(buffer);
  lost_.keep(link, buffer, std::move(memory));
}

/// A member whose commands engines carry out.
class emulated_gateway::commands_of final : public command_user {
 public:
  commands_of(emulated_gateway& g, std::shared_ptr<member> m)
      : gateway_(g), member_(std::move(m)) {}

  host::array_link& link() override { return *member_->link; }
  ssd_shares& shares() override { return *member_->shares; }
  void ended(const ssd_command& c) override {
    const status s = c.outcome;
    if (!s.ok() && !s.retry_safe()) member_->note_left(c.entry.cdw2);
    gateway_.note(c.entry, c.memory.bytes, status_field(s), std::chrono::nanoseconds(c.took_ns()));
  }
  void give_back(const io_buffer& buffer, host::memory_block memory, bool lost) override {
    if (!lost) return member_->link->unregister_memory(buffer);
    member_->lost.keep(*member_->link, buffer, std::move(memory));
  }

 private:
  emulated_gateway& gateway_;
  std::shared_ptr<member> member_;
};

std::unique_ptr<command_engine> emulated_gateway::make_command_engine(client_id client) {
  std::shared_ptr<member> who = find(client);
  // A GPU's node reaches no memory but what was pinned for it, and rings no bells.
  if (who == nullptr || !who->link->can_wake()) return nullptr;
  return std::make_unique<command_engine>(std::make_shared<commands_of>(*this, std::move(who)),
                                          duration::of_ns(timeout_ns_));
}

std::shared_ptr<emulated_gateway::member> emulated_gateway::find(client_id client) {
  const std::lock_guard lock(guard_);
  const auto at = clients_.find(client.value);
  return at == clients_.end() ? nullptr : at->second;
}

std::uint16_t emulated_gateway::admin(client_id client, const wire::nvme::submission_entry& entry,
                                      std::span<std::byte> payload) {
  const std::shared_ptr<member> who = find(client);
  if (who == nullptr) return status_field(status::make(status_code::closed, reporter::caller));
  const status s = who->client->admin(entry, payload);
  if (!s.ok() && !s.retry_safe()) who->note_left(about_.epoch);
  if (const std::uint16_t vid = s.ok() ? written_by(client, entry, payload) : 0; vid != 0) {
    const std::lock_guard lock(guard_);
    who->written.insert(vid);
  }
  return status_field(s);
}

std::uint16_t emulated_gateway::io(client_id client, const wire::nvme::submission_entry& entry,
                                   std::span<std::byte> payload) {
  const std::shared_ptr<member> who = find(client);
  if (who == nullptr) return status_field(status::make(status_code::closed, reporter::caller));
  const auto began = std::chrono::steady_clock::now();
  const status s = who->client->io(entry, payload);
  if (!s.ok() && !s.retry_safe()) who->note_left(entry.cdw2);
  const std::uint16_t said = status_field(s);
  note(entry, payload.size(), said, std::chrono::steady_clock::now() - began);
  return said;
}

/// Counts what a host has done with a volume; a Flush is of an SSD.
void emulated_gateway::note(const wire::nvme::submission_entry& entry, std::uint64_t bytes,
                            std::uint16_t said, std::chrono::nanoseconds took) {
  const std::uint16_t vid = wire::afa::slba::unpack(wire::nvme::slba_of(entry)).volume.value;
  if (vid == 0) return;
  const auto opcode = static_cast<wire::nvme::nvm_opcode>(entry.opcode);
  using kind = volume_traffic::kind;
  traffic_.note(vid,
                opcode == wire::nvme::nvm_opcode::read    ? kind::read
                : opcode == wire::nvme::nvm_opcode::write ? kind::write
                                                          : kind::other,
                bytes / block_bytes, said, took);
}

}  // namespace gnstor::serve

#include "emulated_gateway.hpp"

#include "emulated_gateway_member.hpp"
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
#include <utility>

namespace gnstor::serve {
namespace {

/// By which engines send what plain hosts ask for.
constexpr std::uint32_t own_channels = 4;
/// Of a command of the target's own to an array that has a manager, in nanoseconds: what an SSD
/// does not answer in time waits for the epoch without it.
constexpr std::uint64_t managed_timeout = 1'000'000'000;

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
  if (where.managed) {
    throw host::input_error(
        "serving an array with manager=yes: that is a manager of a session's own; leave it away, "
        "and let the target manage the array (gnstor-target --manage)");
  }
  array_ = std::make_shared<host::emulated_array>(
      where, host::machine::cpu, 0, 2 * most_members + 1 + own_channels + manager_queues,
      plain_options(timeout_ns).depth);
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
  decltype(members_) members;
  decltype(clients_) clients;
  {
    const std::lock_guard lock(guard_);
    since_.reset();  // nobody is missed any more
    members.swap(members_);
    clients.swap(clients_);
  }
  clients.clear();
  members.clear();
  session_.reset();
  own_leases_.reset();
  managers_.reset();
  manager_.reset();
}

void emulated_gateway::check() const {
  array_->check();
  if (manager_) manager_->check();
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

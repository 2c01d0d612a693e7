#include "target_model.hpp"

#include <gnstor/wire/afa/connect_claims.hpp>
#include <gnstor/wire/fabrics/connect.hpp>
#include <link/client_identity.hpp>

#include <algorithm>
#include <cstring>
#include <exception>
#include <utility>

namespace gnstor::serve {
namespace {

using wire::fabrics::connect_command;
using wire::fabrics::connect_data;
using wire::fabrics::connect_status;
using wire::nvme::generic_status;

join_result refuse(std::uint16_t status, std::uint32_t dw0 = 0) { return {{status, dw0}, nullptr}; }
join_result refuse(connect_status why, std::uint32_t dw0 = 0) {
  return refuse(wire::fabrics::make_status(why, true), dw0);
}
join_result wrong_data(std::size_t offset) {
  return refuse(connect_status::invalid_parameters,
                wire::fabrics::make_invalid_parameter(static_cast<std::uint16_t>(offset), true));
}
join_result wrong_command(std::size_t offset) {
  return refuse(connect_status::invalid_parameters,
                wire::fabrics::make_invalid_parameter(static_cast<std::uint16_t>(offset), false));
}

/// The text of an NQN field; empty if it is empty or not terminated in time.
std::string nqn_in(const char (&field)[256]) {
  const auto* end = static_cast<const char*>(std::memchr(field, 0, sizeof field));
  if (end == nullptr || end - field > std::ptrdiff_t{wire::fabrics::max_nqn_bytes}) return {};
  return {field, end};
}

}  // namespace

target_model::target_model(const target_limits& limits, array_gateway& array,
                           std::uint64_t first_association)
    : limits_(limits), array_(&array), next_association_(first_association) {}

void target_model::offer(subsystem s) {
  const std::lock_guard lock(guard_);
  subsystems_.push_back(std::make_shared<const subsystem>(std::move(s)));
  ++generation_;
  for (const auto& [id, c] : controllers_) {
    if (c != nullptr && c->of().kind == subsystem_kind::discovery) {
      c->raise(target_event::discovery_changed);
    }
  }
}

void target_model::withdraw(std::string_view nqn) {
  const std::lock_guard lock(guard_);
  std::erase_if(subsystems_, [&](const auto& s) { return s->nqn == nqn; });
  ++generation_;
  for (const auto& [id, c] : controllers_) {
    if (c == nullptr) continue;
    if (c->of().nqn == nqn) c->end("its subsystem is gone");
    if (c->of().kind == subsystem_kind::discovery) c->raise(target_event::discovery_changed);
  }
}

void target_model::changed(std::string_view nqn) {
  const std::lock_guard lock(guard_);
  for (const auto& [id, c] : controllers_) {
    if (c != nullptr && c->of().nqn == nqn) c->raise(target_event::namespace_changed);
  }
}

std::vector<std::shared_ptr<const subsystem>> target_model::visible(
    std::string_view host_nqn, std::uint64_t& generation) const {
  const std::lock_guard lock(guard_);
  generation = generation_;
  std::vector<std::shared_ptr<const subsystem>> found;
  for (const auto& s : subsystems_) {
    if (s->kind != subsystem_kind::discovery && s->allows(host_nqn)) found.push_back(s);
  }
  return found;
}

join_result target_model::connect(const connect_command& c, const connect_data& data,
                                  std::uint64_t now_ms, const std::string& peer) {
  if (c.recfmt != 0) return refuse(connect_status::incompatible_format);
  if (c.sqsize == 0 || c.sqsize >= limits_.queue_entries) {
    return wrong_command(offsetof(connect_command, sqsize));
  }
  return c.qid == 0 ? join_admin(c, data, now_ms, peer) : join_io(c, data);
}

join_result target_model::join_admin(const connect_command& c, const connect_data& data,
                                     std::uint64_t now_ms, const std::string& peer) {
  if (data.cntlid != wire::fabrics::dynamic_controller) {
    return wrong_data(offsetof(connect_data, cntlid));
  }
  host_identity host;
  host.nqn = nqn_in(data.hostnqn);
  std::copy_n(data.hostid, host.id.size(), host.id.begin());
  host.address = peer;
  host.client = gnstor::host::client_identity::client_of(host.nqn);
  if (host.nqn.empty()) return wrong_data(offsetof(connect_data, hostnqn));
  wire::afa::connect_claims claims;
  std::memcpy(&claims, data.reserved768, sizeof claims);
  wire::afa::manager_claim& claim = claims.manager;
  host.session = claims.session;
  const std::string wanted = nqn_in(data.subnqn);
  std::shared_ptr<const subsystem> of;
  std::uint16_t id = 0;
  std::uint64_t association = 0;
  {
    const std::lock_guard lock(guard_);
    of = find(wanted);
    if (of == nullptr) return wrong_data(offsetof(connect_data, subnqn));
    if (of->kind != subsystem_kind::array) claim.version = 0;
    if (!claim.claims() && !of->allows(host.nqn)) {
      return refuse(connect_status::invalid_host,
                    wire::fabrics::make_invalid_parameter(offsetof(connect_data, hostnqn), true));
    }
    if (of->kind != subsystem_kind::discovery && is_known_otherwise(host)) {
      return refuse(connect_status::invalid_host,
                    wire::fabrics::make_invalid_parameter(offsetof(connect_data, hostid), true));
    }
    if (has_room(host, of->kind, c.kato_ms == 0)) id = free_id();
    if (id == 0) return refuse(wire::fabrics::make_status(connect_status::controller_busy));
    controllers_[id] = nullptr;  // taken; opening it may wait for the array
    if (of->kind == subsystem_kind::array && next_association_ != 0)
      association = next_association_++;
  }
  array_gateway::joined member;
  try {
    if (of->kind == subsystem_kind::array)
      member = claim.claims() ? array_->join_manager(host, claim) : array_->join(host);
  } catch (const std::exception&) {  // no memory for it
    member.refused = wire::fabrics::make_status(connect_status::controller_busy);
  }
  if (of->kind == subsystem_kind::array) host.client = member.client;
  const bool cached = of->kind != subsystem_kind::discovery && array_->has_write_cache();
  auto made = std::make_shared<controller>(
      id, of, host, limits_,
      array_side{cached, std::move(member.held), association, std::move(member.manager)});
  std::uint16_t refused = member.refused;
  if (refused == 0) refused = made->open();
  made->keep_alive(c.kato_ms, now_ms);
  const std::lock_guard lock(guard_);
  if (refused == 0 && find(wanted) != of) {  // withdrawn meanwhile
    refused = wire::fabrics::make_status(connect_status::invalid_parameters, true);
  }
  if (refused == 0 && of->kind != subsystem_kind::discovery &&
      is_known_otherwise(host)) {  // it came meanwhile
    refused = wire::fabrics::make_status(connect_status::invalid_host, true);
  }
  if (refused != 0) {
    controllers_.erase(id);
    return refuse(refused);
  }
  (void)made->claim_queue(0);
  controllers_[id] = made;
  return {{0, wire::fabrics::make_connect_result(id)}, made};
}

join_result target_model::join_io(const connect_command& c, const connect_data& data) const {
  const std::lock_guard lock(guard_);
  const auto at = controllers_.find(data.cntlid);
  if (at == controllers_.end() || at->second == nullptr || at->second->ended()) {
    return wrong_data(offsetof(connect_data, cntlid));
  }
  const std::shared_ptr<controller>& joined = at->second;
  if (joined->of().nqn != nqn_in(data.subnqn)) return wrong_data(offsetof(connect_data, subnqn));
  if (joined->host().nqn != nqn_in(data.hostnqn)) {
    return wrong_data(offsetof(connect_data, hostnqn));
  }
  if (std::memcmp(joined->host().id.data(), data.hostid, sizeof data.hostid) != 0) {
    return wrong_data(offsetof(connect_data, hostid));
  }
  if (!joined->ready()) {
    return refuse(wire::nvme::make_status(generic_status::command_sequence_error, true));
  }
  if (!joined->claim_queue(c.qid)) return wrong_command(offsetof(connect_command, qid));
  return {{0, wire::fabrics::make_connect_result(joined->id())}, joined};
}

std::vector<std::shared_ptr<controller>> target_model::tick(std::uint64_t now_ms) {
  array_->tick();
  std::vector<std::shared_ptr<controller>> gone;
  const std::lock_guard lock(guard_);
  for (auto at = controllers_.begin(); at != controllers_.end();) {
    const auto here = at++;
    if (here->second == nullptr) continue;
    if (here->second->expired(now_ms)) here->second->end("no keep-alive in time");
    if (!here->second->ended()) continue;
    leaving_.push_back(here->second);
    gone.push_back(std::move(here->second));
    controllers_.erase(here);
  }
  std::erase_if(leaving_, [](const auto& c) { return c.expired(); });
  return gone;
}

answer target_model::end_association(const controller& asks,
                                     const wire::afa::association_end& which) {
  if (which.association == 0 || which.association == asks.association())
    return serve::refuse(generic_status::invalid_field);
  std::shared_ptr<controller> former;
  const auto is_meant = [&](const std::shared_ptr<controller>& c) {
    return c != nullptr && c->id() == which.controller && c->association() == which.association &&
           c->host().nqn == asks.host().nqn && c->host().id == asks.host().id;
  };
  {
    const std::lock_guard lock(guard_);
    for (const auto& [id, c] : controllers_)
      if (is_meant(c)) former = c;
    for (const auto& c : leaving_)
      if (const auto one = c.lock(); is_meant(one)) former = one;
  }
  const answer too_early{wire::nvme::make_status(generic_status::command_interrupted)};
  if (former != nullptr) {
    former->end("its host has made another");
    if (!former->await_release(std::chrono::milliseconds(limits_.end_ms))) return too_early;
  }
  // An SSD may have something of the host by an association that is forgotten here, too.
  return asks.left_behind() ? too_early : answer{};
}

void target_model::excuse_silence(std::uint64_t now_ms) {
  const std::lock_guard lock(guard_);
  for (const auto& [id, c] : controllers_) {
    if (c != nullptr) c->touch(now_ms);
  }
}

void target_model::end_all(const char* why) {
  const std::lock_guard lock(guard_);
  for (const auto& [id, c] : controllers_) {
    if (c != nullptr) c->end(why);
  }
}

std::size_t target_model::associations() const {
  const std::lock_guard lock(guard_);
  return controllers_.size();
}

std::shared_ptr<const subsystem> target_model::find(std::string_view nqn) const {
  for (const auto& s : subsystems_) {
    if (s->nqn == nqn) return s;
  }
  return nullptr;
}

bool target_model::is_known_otherwise(const host_identity& host) const {
  for (const auto& [id, c] : controllers_) {
    // Tools that only look at the discovery log make up a host identifier each time.
    if (c == nullptr || c->ended() || c->of().kind == subsystem_kind::discovery) continue;
    if (c->host().nqn == host.nqn && c->host().id != host.id) return true;
  }
  return false;
}

bool target_model::has_room(const host_identity& host, subsystem_kind kind, bool mute) const {
  std::uint32_t own = 1;
  std::uint32_t open = kind == subsystem_kind::discovery ? 1 : 0;
  std::uint32_t silent = mute && open == 0 ? 1 : 0;
  for (const auto& [id, c] : controllers_) {
    if (c == nullptr || c->ended()) continue;
    const bool looks_only = c->of().kind == subsystem_kind::discovery;
    const bool same_address = !host.address.empty() && c->host().address == host.address;
    own += same_address || c->host().nqn == host.nqn ? 1 : 0;
    open += looks_only ? 1 : 0;
    silent += !looks_only && c->mute() ? 1 : 0;
  }
  const bool fits = kind == subsystem_kind::discovery ? open <= limits_.open_controllers
                                                      : !mute || silent <= limits_.mute_controllers;
  return fits && own <= limits_.host_controllers;
}

std::uint16_t target_model::free_id() {
  if (controllers_.size() >= limits_.controllers) return 0;
  constexpr std::uint16_t most = wire::fabrics::max_controller_id;
  for (std::uint32_t k = 0; k <= most; ++k) {
    last_id_ = last_id_ >= most ? std::uint16_t{1} : static_cast<std::uint16_t>(last_id_ + 1);
    if (controllers_.count(last_id_) == 0) return last_id_;
  }
  return 0;
}

}  // namespace gnstor::serve

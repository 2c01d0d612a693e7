/// Hosts of an emulated array: how they come, by what client id they are known, and how they go.

#include "emulated_array.hpp"
#include <base/cuda_support.hpp>
#include <base/log.hpp>
#include <gnstor/host/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <random>

namespace gnstor::host {

/// A client id that no other host here has, nor a session: the one that follows from the host's
/// name, or the next.
client_id emulated_array::free_client(const client_identity& who) const {
  const std::uint64_t key = client_identity::key_of(who.nqn);
  client_id wanted = who.client();
  for (std::size_t n = 0; n <= host_slots_.size(); ++n) {
    const bool taken = std::any_of(host_slots_.begin(), host_slots_.end(), [&](const host_slot& s) {
      if (s.key == 0) return false;
      return s.session == wanted || (s.key != key && s.client == wanted);
    });
    if (!taken) return wanted;
    wanted = client_id(static_cast<std::uint16_t>(wanted.value % 65535 + 1));
  }
  return wanted;
}

/// As whom a session of a managed array writes: by an id that nobody here has, nor any host by its
/// name.
client_id emulated_array::free_session(const client_identity& who) const {
  const auto taken = [&](client_id id) {
    if (id == client_id{} || id == who.client()) return true;
    if (id == client_identity::named(manager_name).client()) return true;
    return std::any_of(host_slots_.begin(), host_slots_.end(), [&](const host_slot& s) {
      return s.key != 0 && (s.session == id || s.client == id);
    });
  };
  std::random_device source;
  client_id id{};
  while (taken(id)) id = client_id(static_cast<std::uint16_t>(source()));
  return id;
}

std::vector<connected_host> emulated_array::hosts() const {
  const std::lock_guard lock(guard_);
  std::vector<connected_host> all;
  for (const host_slot& s : host_slots_) {
    if (s.key == 0 || s.manager) continue;
    all.push_back({s.session == client_id{} ? s.client : s.session, s.nqn, {}, 1, s.life});
  }
  std::sort(all.begin(), all.end(),
            [](const auto& a, const auto& b) { return a.client.value < b.client.value; });
  return all;
}

bool emulated_array::has(client_id who) const {
  const std::lock_guard lock(guard_);
  return std::any_of(host_slots_.begin(), host_slots_.end(), [&](const host_slot& s) {
    return (s.key != 0 || s.left) && (s.session == who || s.client == who);
  });
}

emulated_array::admitted emulated_array::admit(const client_identity& who, bool manager) {
  if (!manager && who.nqn == client_identity::named(manager_name).nqn) {
    throw input_error(fmt::format(
        "\"{}\" is the array's manager: use another session_options::host_name", manager_name));
  }
  const std::lock_guard lock(guard_);
  std::size_t at = 0;
  while (at < host_slots_.size() && (host_slots_[at].key != 0 || host_slots_[at].left)) ++at;
  if (at == host_slots_.size()) {
    throw error(
        fmt::format("{} hosts are connected to the emulated array, the most there can be: "
                    "one of them has to leave",
                    host_slots_.size()));
  }
  const auto controller = static_cast<std::uint16_t>(at + 1);
  const client_id host = free_client(who);
  if (endpoint_.managed &&
      !(host == who.client())) {  // the manager would take it for the other one
    throw input_error(fmt::format(
        "the client id {} that follows from {} is that of another host or session: use another "
        "session_options::host_name",
        who.client().value, who.nqn));
  }
  const client_id session = endpoint_.managed && !manager ? free_session(who) : who.session;
  const client_id client = session != client_id{} ? session : host;
  std::uint64_t hostid[2];
  static_assert(sizeof hostid == sizeof who.hostid);
  std::memcpy(hostid, &who.hostid, sizeof hostid);
  fw::known_host& h = node_.hosts[at];
  for (std::uint32_t k = 0; k < 2; ++k) publish(&h.hostid[k], hostid[k]);
  publish(&h.key, client_identity::key_of(who.nqn));
  publish(&h.client, std::uint32_t{client.value} | std::uint32_t{host.value} << 16);
  publish(&h.controller, std::uint32_t{controller});
  publish(&h.manager, std::uint32_t{manager});
  publish(&h.admitted, ++lives_ == 0 ? ++lives_ : lives_);
  host_slots_[at] = {.key = client_identity::key_of(who.nqn),
                     .client = host,
                     .session = session,
                     .nqn = who.nqn,
                     .life = lives_,
                     .manager = manager};
  ++present_;
  return {controller, client, host};
}

void emulated_array::welcome(const session_options& options) {
  const std::lock_guard lock(guard_);
  const std::size_t room = node_.shape.max_queues - queue_count_ + free_queues_.size();
  if (options.channels + 2 > room) {
    throw input_error(fmt::format(
        "the emulated array has {} queue pairs left, and a session of {} channels needs {}: use "
        "fewer, or open the first one with sessions={} or more and as many channels",
        room, options.channels, options.channels + 2, endpoint_.sessions + 1));
  }
  if (options.depth > node_.shape.max_depth) {
    throw input_error(fmt::format("channel depth {}: the emulated array was opened for {} at most",
                                  options.depth, node_.shape.max_depth));
  }
  if (options.client != machine::gpu || !on_gpu()) {
    if (options.client == machine::gpu) prepare_gpus(options.device, options.device);
    return;
  }
  // A kernel that runs does not see the memory of a GPU that it learns to reach meanwhile.
  const bool restart = running_ != nullptr;
  if (restart) suspend();
  prepare_gpus(options.device, endpoint_.device);
  if (restart) launch();
}

std::uint32_t emulated_array::connections(std::string_view nqn) const {
  const std::lock_guard lock(guard_);
  const std::uint64_t key = client_identity::key_of(nqn);
  return static_cast<std::uint32_t>(std::count_if(
      host_slots_.begin(), host_slots_.end(), [&](const host_slot& s) { return s.key == key; }));
}

void emulated_array::leave(std::uint32_t domain, const std::vector<std::uint32_t>& queues,
                           bool drained) noexcept {
  const std::lock_guard lock(guard_);
  try {
    publish(&node_.hosts[domain - 1].admitted, 0u);
    for (const std::uint32_t index : queues) {
      if (!drained) continue;
      publish(index, fw::queue_life::absent);
      queue_nics_[index] = no_nic;
    }
    if (drained) free_queues_.insert(free_queues_.end(), queues.begin(), queues.end());
  } catch (const std::exception&) {
    // The GPU is lost, and with it the array.
  }
  const host_slot was = host_slots_[domain - 1];
  host_slots_[domain - 1] = {.left = !drained};
  if (!drained) {
    host_slots_[domain - 1].client = was.client;
    host_slots_[domain - 1].session = was.session;
  }
  if (--present_ == 0) {
    try {
      stop();
    } catch (const std::exception& e) {
      if (!failure_.raised())
        log(log_level::error, e.what());
      else if (!reported_.load())
        fmt::print(stderr, "gnstor: the array's firmware has failed: {}\n", e.what());
    }
  }
  for (std::uint32_t k = 0; k < regions_.size(); ++k) {
    if (regions_[k].domain == domain) withdraw(k);
  }
}

}  // namespace gnstor::host

/// What an array's manager does for hosts by their names, and for sessions of a host, which write
/// by ids of their own.

#include "array_manager.hpp"
#include <gnstor/host/control_error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

namespace gnstor::host {
namespace {

/// How long a session waits for one that may write and has lost its connection: the target gives it
/// half a second to come back, and a target that has just been started three.
constexpr std::chrono::milliseconds patience{5000};
constexpr std::chrono::milliseconds pause{20};

const connected_host* find_in(const array_front_end::connected& there, client_id client) {
  const auto at = std::find_if(there.hosts.begin(), there.hosts.end(),
                               [=](const connected_host& h) { return h.client == client; });
  return at == there.hosts.end() ? nullptr : &*at;
}

bool is_there(const array_front_end::connected& there, const host_session& who) {
  const connected_host* const at = find_in(there, who.writer());
  return at != nullptr && at->nqn == who.nqn();
}

/// True of a client that somebody connected writes or reads by.
bool is_used(const array_front_end::connected& there, client_id client) {
  return std::any_of(there.hosts.begin(), there.hosts.end(), [&](const connected_host& h) {
    return h.client == client || client_identity::client_of(h.nqn) == client;
  });
}

}  // namespace

client_id array_manager::writer_id(const host_session& who) {
  if (!who.is_session() || is_there(connected(), who)) return who.writer();
  throw control_error(control_reason::unavailable,
                      fmt::format("client {} is no session of {} that is connected with the array",
                                  who.writer().value, who.nqn()),
                      "try again when its connection is back, or open the session anew");
}

void array_manager::need_own_id(const std::string& nqn, const std::string& what) {
  const client_id own = client_identity::client_of(nqn);
  for (const connected_host& h : connected().hosts) {
    if (h.nqn == nqn || !(h.client == own || client_identity::client_of(h.nqn) == own)) continue;
    throw control_error(
        control_reason::name_exists,
        fmt::format("{}: the client id {} of host {} is that of {}", what, own.value, nqn, h.nqn),
        "give the host another name, or wait until that one has gone");
  }
}

volume_state array_manager::open(std::uint16_t vid, const host_session& who, bool write,
                                 bool admitted_only) {
  const client_id admitted = admitted_only ? who.host() : client_id{};
  if (!who.is_session() || !write) return open(vid, who.host(), write, admitted);
  (void)writer_id(who);
  const array_front_end::connected there = await_former(vid, who);
  forget_who_is_gone(vid, there);
  return open(vid, who.writer(), true, admitted);
}

volume_state array_manager::renew(std::uint16_t vid, const host_session& who) {
  const array_front_end::connected there = connected();
  const connected_host* const at = find_in(there, who.writer());
  // One that is not there may be on its way back.
  if (who.is_session() && at != nullptr && at->nqn != who.nqn()) (void)writer_id(who);
  return renew(vid, who.writer());
}

/// Waits while who may write a volume has lost its connection, or was not seen since the target was
/// started: it comes back, or is found to be gone. What is there then.
array_front_end::connected array_manager::await_former(std::uint16_t vid, const host_session& who) {
  const auto began = std::chrono::steady_clock::now();
  for (bool again = true;; again = std::chrono::steady_clock::now() - began < patience) {
    array_front_end::connected there = connected();
    std::unique_lock lock(guard_);
    const auto lease = core_.lease_of(vid);
    if (!again || !lease || client_id(lease->client) == who.writer()) return there;
    const connected_host* const at = find_in(there, client_id(lease->client));
    const bool settled = there.serving >= patience &&
                         std::chrono::steady_clock::now() - began >= host_watch::patience * 2;
    if (at == nullptr && settled) return there;
    if (at != nullptr && (at->associations != 0 || at->nqn != who.nqn())) return there;
    look_at_hosts(lock);
    answered_.wait_for(lock, pause, [&] { return stopping_ || !ended_.empty(); });
    if (stopping_) return there;
    need_rule(fmt::format("opening volume {}", vid));
  }
}

/// Takes from a volume's table sessions that have lost the right to write it and have gone since,
/// and hosts that could read it without having been admitted; where it is full, also sessions that
/// are there: they read as their hosts.
void array_manager::forget_who_is_gone(std::uint16_t vid, const array_front_end::connected& there) {
  if (there.serving < patience) return;  // they may be on their way back
  const std::lock_guard lock(guard_);
  const wire::afa::volume_record r = known(vid);
  const bool full = r.client_count == wire::afa::max_volume_clients;
  for (std::uint32_t k = 0; k < r.client_count; ++k) {
    constexpr std::uint16_t stays = wire::afa::right_admitted | wire::afa::right_write;
    const client_id client(r.clients[k].client);
    if ((r.clients[k].rights & stays) != 0 || client.value == options_.client) continue;
    const connected_host* const at = find_in(there, client);
    const bool session = at != nullptr && !(client_identity::client_of(at->nqn) == client);
    if (!is_used(there, client) || (full && session)) core_.close(0, vid, client.value, false);
  }
}

/// Throws `control_error` where who may write a volume is not connected just now: whose session it
/// is nobody can say.
void array_manager::need_known_writer(std::uint16_t vid, const std::string& nqn,
                                      const array_front_end::connected& there) const {
  const client_id writer = find(vid).writer;
  const bool known = writer == client_id{} || writer == client_identity::client_of(nqn) ||
                     find_in(there, writer) != nullptr || there.serving.count() == 0;
  if (known) return;
  throw control_error(control_reason::unavailable,
                      fmt::format("volume {}: client {}, which may write it, is not connected, and "
                                  "may be a session of {}",
                                  vid, writer.value, nqn),
                      "try again: in a few seconds it is back, or has lost the right");
}

void array_manager::close(std::uint16_t vid, const host_session& who, bool clean) {
  if (who.is_session() && !is_there(connected(), who)) {
    // It is on its way back, and would have the right still; or has lost it with its connection.
    if (find(vid).writer == who.writer()) (void)writer_id(who);
    return;
  }
  close(vid, who.writer(), clean);  // also what it has only asked for yet
}

void array_manager::revoke(std::uint16_t vid, const std::string& nqn) {
  const array_front_end::connected there = connected();
  need_known_writer(vid, nqn, there);
  const client_id writer = find(vid).writer;
  const connected_host* const at = find_in(there, writer);
  close(vid, client_identity::client_of(nqn), false);
  if (at != nullptr && at->nqn == nqn) close(vid, writer, false);
}

void array_manager::expel(std::uint16_t vid, const std::string& nqn) {
  need_known_writer(vid, nqn, connected());
  expel(vid, client_identity::client_of(nqn));
  // No further one is let write from here on.
  const array_front_end::connected there = connected();
  for (const connected_host& h : there.hosts)
    if (h.nqn == nqn) expel(vid, h.client);
  expel_unknown(vid, there);
  need_known_writer(vid, nqn, connected());
}

/// Takes from a volume's table who may be a session of anybody's: it reads as its host.
void array_manager::expel_unknown(std::uint16_t vid, const array_front_end::connected& there) {
  if (there.serving.count() == 0) return;  // nobody says who is there
  const wire::afa::volume_record r = find(vid).record;
  for (std::uint32_t k = 0; k < r.client_count; ++k) {
    constexpr std::uint16_t known = wire::afa::right_admitted | wire::afa::right_write;
    const client_id client(r.clients[k].client);
    const bool reads = (r.clients[k].rights & known) == 0 && client.value != options_.client;
    if (reads && !is_used(there, client)) expel(vid, client);
  }
}

void array_manager::need_known_writers(const std::string& nqn) {
  const array_front_end::connected there = connected();
  for (const volume_state& v : volumes()) need_known_writer(v.record.vid, nqn, there);
}

void array_manager::dismiss(const std::string& nqn) {
  need_known_writers(nqn);
  dismiss(client_identity::client_of(nqn));
  const array_front_end::connected there = connected();
  for (const connected_host& h : there.hosts)
    if (h.nqn == nqn && !(h.client == client_identity::client_of(nqn))) dismiss(h.client);
  for (const volume_state& v : volumes()) expel_unknown(v.record.vid, there);
  need_known_writers(nqn);
}

}  // namespace gnstor::host

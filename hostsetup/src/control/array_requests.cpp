/// What is asked of an array's manager, and how it is answered.

#include "array_manager.hpp"
#include "called.hpp"
#include <gnstor/host/volume_text.hpp>
#include <gnstor/wire/afa/array_limits.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <random>

namespace gnstor::host {
namespace {

using wire::afa::volume_record;

std::uint64_t fresh_hash_factor() {
  std::random_device source;
  return (std::uint64_t{source()} << 32 | source()) | 1;  // 0 names no volume
}

control_error refusal(const std::string& what, daemon::verdict said) {
  using daemon::verdict;
  switch (said) {
    case verdict::unknown_volume:
      return {control_reason::unknown_volume, what + ": there is no such volume",
              "gnstorctl volume list shows those that there are"};
    case verdict::volume_exists:
    case verdict::name_exists:
      return {control_reason::name_exists, what + ": another volume has this name",
              "use another name, or rename or delete that volume"};
    case verdict::not_admitted:
      return {control_reason::not_allowed, what + ": the volume is not shared with it",
              "its owner or an administrator does so: gnstorctl volume share"};
    case verdict::busy:
      return {control_reason::busy,
              what +
                  ": a client holds the right to write it, or an SSD that "
                  "it needs is away or being filled",
              "wait for the end of its lease (gnstorctl lease list), or revoke that"};
    case verdict::lost_lease:
      return {control_reason::lost_lease, what + ": the lease has ended",
              "open the volume again; what was acknowledged is there"};
    case verdict::torn_volume:
      return {control_reason::unavailable,
              what + ": too many SSDs are absent, some blocks have no replica in sync",
              "bring one of them back (gnstorctl ssd replace)"};
    case verdict::refused:
      return {control_reason::no_room,
              what + ": the SSDs have no room for another volume or client",
              "delete volumes, or end the rights of clients that have gone"};
    case verdict::failed:
      return {control_reason::failed,
              what +
                  ": an SSD failed meanwhile, or a block has no sound "
                  "replica",
              "see gnstorctl array health, then try again"};
    case verdict::done: break;
  }
  return {control_reason::failed, what, ""};
}

}  // namespace

daemon::reply array_manager::ask(const std::string& what,
                                 const std::function<void(std::uint64_t)>& post) {
  std::unique_lock lock(guard_);
  need_rule(what);
  const std::uint64_t id = ++last_request_;
  const auto mine = requests_.emplace(id, std::nullopt).first;
  post(id);
  work_.notify_all();
  answered_.wait_for(lock, settings_.request_timeout,
                     [&] { return stopping_ || !ended_.empty() || mine->second.has_value(); });
  const std::optional<daemon::reply> r = mine->second;
  requests_.erase(mine);
  if (!r) check_rule(what);
  if (!r) {
    throw control_error(
        control_reason::timed_out,
        what + ": not done in time, and it may be done yet; the manager is at: " + core_.standing(),
        "look at the state before trying again");
  }
  if (r->said != daemon::verdict::done) throw refusal(what, r->said);
  return *r;
}

/// Throws `control_error` if this manager's time is over: nothing of what was asked was done.
void array_manager::need_rule(const std::string& what) const {
  if (ended_.empty()) return;
  throw control_error(control_reason::not_leading, fmt::format("{}: {}", what, ended_),
                      "ask the next manager");
}

/// The same of what was begun: the next manager finds whether it was done.
void array_manager::check_rule(const std::string& what) const {
  if (ended_.empty()) return;
  throw control_error(control_reason::interrupted,
                      fmt::format("{}: {}; it may have been done", what, ended_),
                      "look at the state, or ask again");
}

volume_record array_manager::known(std::uint16_t vid) const {
  if (const volume_record* r = core_.record_of(vid)) return *r;
  throw control_error(control_reason::unknown_volume, fmt::format("there is no volume {}", vid),
                      "gnstorctl volume list shows those that there are");
}

volume_state array_manager::state_of(const volume_record& r) const {
  volume_state v;
  v.record = r;
  const std::uint64_t behind = core_.behind(r);
  v.torn = static_cast<std::uint32_t>(std::popcount(behind)) >= r.replicas;
  v.degraded = behind != 0 && !v.torn;
  v.used = room_.of(r);
  const std::optional<daemon::manager::lease> l = core_.lease_of(r.vid);
  if (!l) return v;
  v.writer = client_id(l->client);
  const std::uint64_t today = now();
  if (l->until != 0)
    v.lease_left = std::chrono::nanoseconds(l->until > today ? l->until - today : 0);
  return v;
}

std::uint64_t array_manager::provisioned() const {
  std::uint64_t blocks = 0;
  for (const volume_record& r : core_.volumes()) blocks += r.capacity_blocks * r.replicas;
  return blocks;
}

std::uint64_t array_manager::capacity() const {
  std::uint64_t blocks = 0;
  for (std::uint32_t k = 0; k < options_.ssds; ++k) {
    const daemon::ssd_aim aim = core_.aim_of(k);
    const bool elsewhere = core_.serving().others.place_of(k) != k;
    if (aim != daemon::ssd_aim::drain && aim != daemon::ssd_aim::spare && !elsewhere)
      blocks += looks_[k].said.capacity_blocks;
  }
  return blocks;
}

/// Keeps flash for `blocks` more of a volume, each with its replicas. Throws `control_error`.
void array_manager::promise(const std::string& what, const volume_record& r, std::uint64_t blocks) {
  const std::uint64_t there = capacity();
  const std::uint64_t taken = provisioned() + promised_blocks_;
  const std::uint64_t left = there > taken ? there - taken : 0;
  if (blocks * r.replicas > left) {
    throw control_error(
        control_reason::no_room,
        fmt::format("{}: it needs {} bytes of flash with its {} replicas, and {} of {} are left",
                    what, blocks * r.replicas * block_bytes, r.replicas, left * block_bytes,
                    there * block_bytes),
        "delete volumes, ask for fewer bytes or replicas, or add SSDs");
  }
  promised_blocks_ += blocks * r.replicas;
}

volume_state array_manager::create(const new_volume& wanted) {
  const std::string what = fmt::format("creating the volume \"{}\"", to_string(wanted.name));
  volume_record r{};
  r.version = wire::afa::payload_version;
  r.replicas = wanted.replicas;
  r.hash_factor = fresh_hash_factor();
  r.capacity_blocks = wanted.capacity_blocks;
  r.stripe_blocks = wanted.stripe_blocks;
  r.owner = wanted.owner;
  r.name = wanted.name;
  r.labels = wanted.labels;
  {
    const std::lock_guard lock(guard_);
    r.epoch = core_.serving().epoch;
    r.ssd_count = core_.width();
    const auto bad = [&](const std::string& why, const char* remedy) {
      return control_error(control_reason::bad_request, what + ": " + why, remedy);
    };
    if (r.capacity_blocks == 0) throw bad("it would have no bytes", "ask for 4 KiB or more");
    if (r.capacity_blocks > wire::afa::max_volume_blocks)
      throw bad("it would be larger than 16 TiB", "make several volumes");
    if (r.replicas == 0 || r.replicas > wire::afa::max_replicas || r.replicas > r.ssd_count) {
      throw bad(fmt::format("{} replicas on {} SSDs", r.replicas, r.ssd_count),
                "use 1 to 8 replicas, no more than there are SSDs");
    }
    if (r.stripe_blocks == 0 || r.stripe_blocks > wire::afa::max_stripe_blocks)
      throw bad(fmt::format("stripes of {} blocks", r.stripe_blocks), "use 1 to 256");
    promise(what, r, r.capacity_blocks);
  }
  const auto done = [&] {
    const std::lock_guard lock(guard_);
    promised_blocks_ -= r.capacity_blocks * r.replicas;
  };
  daemon::reply made;
  try {
    made = ask(what, [&](std::uint64_t id) { core_.create(id, r); });
  } catch (...) {
    done();
    throw;
  }
  done();
  const std::lock_guard lock(guard_);
  say(fmt::format("volume {} \"{}\" was created", made.vid, to_string(wanted.name)));
  return state_of(known(made.vid));
}

std::vector<volume_state> array_manager::volumes() const {
  const std::lock_guard lock(guard_);
  std::vector<volume_state> all;
  for (const volume_record& r : core_.volumes()) all.push_back(state_of(r));
  return all;
}

volume_state array_manager::find(std::uint16_t vid) const {
  const std::lock_guard lock(guard_);
  return state_of(known(vid));
}

volume_state array_manager::find(std::string_view name) const {
  const wire::afa::volume_name wanted = volume_name(name);
  const std::lock_guard lock(guard_);
  for (const volume_record& r : core_.volumes()) {
    if (r.name == wanted) return state_of(r);
  }
  throw control_error(control_reason::unknown_volume,
                      fmt::format("no volume is called \"{}\"", name),
                      "gnstorctl volume list shows those that there are");
}

void array_manager::rename(std::uint16_t vid, const wire::afa::volume_name& name) {
  wire::afa::volume_chmod change{};
  change.sets = wire::afa::volume_chmod::sets_name;
  change.name = name;
  (void)ask(fmt::format("renaming volume {} to \"{}\"", vid, to_string(name)),
            [&](std::uint64_t id) { core_.rename(id, vid, change); });
  const std::lock_guard lock(guard_);
  say(fmt::format("volume {} is called \"{}\" from now on", vid, to_string(name)));
}

void array_manager::set_labels(std::uint16_t vid, const wire::afa::volume_labels& labels) {
  wire::afa::volume_chmod change{};
  change.sets = wire::afa::volume_chmod::sets_labels;
  change.labels = labels;
  (void)ask(fmt::format("labelling volume {}", vid),
            [&](std::uint64_t id) { core_.rename(id, vid, change); });
}

void array_manager::grow(std::uint16_t vid, std::uint64_t capacity_blocks) {
  wire::afa::volume_chmod change{};
  change.sets = wire::afa::volume_chmod::sets_capacity;
  change.capacity_blocks = capacity_blocks;
  std::string what;
  std::uint64_t promised = 0;
  {
    const std::lock_guard lock(guard_);
    const volume_record r = known(vid);
    what = fmt::format("growing {} to {} bytes", called(r), capacity_blocks * block_bytes);
    const auto bad = [&](const std::string& why, const char* remedy) {
      return control_error(control_reason::bad_request, what + ": " + why, remedy);
    };
    if (capacity_blocks < r.capacity_blocks) {
      throw bad(
          fmt::format("it has {} already, and no volume shrinks", r.capacity_blocks * block_bytes),
          "make a smaller one and copy");
    }
    if (capacity_blocks > wire::afa::max_volume_blocks)
      throw bad("it would be larger than 16 TiB", "make several volumes");
    const std::uint64_t more = capacity_blocks - r.capacity_blocks;
    promise(what, r, more);
    promised = more * r.replicas;
  }
  const auto done = [&] {
    const std::lock_guard lock(guard_);
    promised_blocks_ -= promised;
  };
  try {
    (void)ask(what, [&](std::uint64_t id) { core_.rename(id, vid, change); });
  } catch (...) {
    done();
    throw;
  }
  done();
  const std::lock_guard lock(guard_);
  say(what + ": done");
}

void array_manager::remove(std::uint16_t vid, bool force, std::uint64_t of, client_id by) {
  std::string what;
  {
    const std::lock_guard lock(guard_);
    const volume_state v = state_of(known(vid));
    what = "deleting " + called(v.record);
    if (of == 0) of = v.record.hash_factor;
    const bool in_use = v.lease_left && v.lease_left->count() != 0 && !(v.writer == by);
    if (in_use && !force) {
      throw control_error(control_reason::busy,
                          fmt::format("{}: client {} holds the right to write it for {} s more",
                                      what, v.writer.value, v.lease_left->count() / 1'000'000'000),
                          "close it there, or revoke the lease (gnstorctl lease revoke)");
    }
  }
  (void)ask(what, [&](std::uint64_t id) { core_.remove(id, vid, of, force, by.value); });
  const std::lock_guard lock(guard_);
  say(what + ": done");
}

/// Throws `control_error` for the manager's own id: without its rights no repair goes on.
void array_manager::need_other(client_id client, std::uint16_t vid) const {
  if (client.value != options_.client) return;
  throw control_error(control_reason::not_allowed,
                      fmt::format("rights of client {} to volume {}: that is the array's manager, "
                                  "or a host whose name gives the same id",
                                  client.value, vid),
                      "name another host");
}

volume_state array_manager::open(std::uint16_t vid, client_id client, bool write,
                                 client_id admitted) {
  need_other(client, vid);
  if (write && settings_.remote) {  // what a former life of the host held ends first
    std::unique_lock lock(guard_);
    look_at_hosts(lock);
  }
  (void)ask(fmt::format("opening volume {} for client {}", vid, client.value),
            [&](std::uint64_t id) { core_.open(id, vid, client.value, write, admitted.value); });
  const std::lock_guard lock(guard_);
  return state_of(known(vid));
}

volume_state array_manager::renew(std::uint16_t vid, client_id client) {
  (void)ask(fmt::format("renewing client {}'s lease of volume {}", client.value, vid),
            [&](std::uint64_t id) { core_.renew(id, vid, client.value); });
  const std::lock_guard lock(guard_);
  return state_of(known(vid));
}

void array_manager::close(std::uint16_t vid, client_id client, bool clean) {
  need_other(client, vid);
  (void)ask(fmt::format("closing volume {} for client {}", vid, client.value),
            [&](std::uint64_t id) { core_.close(id, vid, client.value, clean); });
}

volume_state array_manager::admit(std::uint16_t vid, client_id client) {
  need_other(client, vid);
  (void)ask(fmt::format("admitting client {} to volume {}", client.value, vid),
            [&](std::uint64_t id) { core_.admit(id, vid, client.value); });
  const std::lock_guard lock(guard_);
  return state_of(known(vid));
}

void array_manager::expel(std::uint16_t vid, client_id client) {
  need_other(client, vid);
  (void)ask(fmt::format("expelling client {} from volume {}", client.value, vid),
            [&](std::uint64_t id) { core_.expel(id, vid, client.value); });
}

void array_manager::dismiss(client_id client) {
  need_other(client, 0);
  (void)ask(fmt::format("taking all rights from client {}", client.value),
            [&](std::uint64_t id) { core_.dismiss(id, client.value); });
  const std::lock_guard lock(guard_);
  say(fmt::format("client {} has no right to any volume any more", client.value));
}

void array_manager::set_owner(std::uint16_t vid, std::uint64_t owner) {
  wire::afa::volume_chmod change{};
  change.owner = owner;
  (void)ask(fmt::format("giving volume {} to another host", vid),
            [&](std::uint64_t id) { core_.rename(id, vid, change); });
}

void array_manager::client_gone(client_id client, bool reads_on) {
  const std::lock_guard lock(guard_);
  core_.client_gone(client.value, reads_on);
  work_.notify_all();
}

void array_manager::scrub(std::uint16_t vid) {
  const std::lock_guard lock(guard_);
  need_rule(fmt::format("scrubbing volume {}", vid));
  (void)known(vid);
  scrubs_.ask(vid);
  work_.notify_all();
}

void array_manager::spread(std::uint16_t vid) {
  (void)ask(fmt::format("spreading volume {} over one SSD more", vid),
            [&](std::uint64_t id) { core_.spread(id, vid); });
}

}  // namespace gnstor::host

#include "manager_control.hpp"

#include <link/client_identity.hpp>

#include <algorithm>
#include <utility>

namespace gnstor::host {

manager_control::manager_control(array_manager& manager, control_role who, const std::string& host,
                                 client_id session)
    : manager_(&manager), who_(std::move(who)), asks_(who_.acts_for(host), session) {}

std::vector<volume_state> manager_control::volumes() {
  std::vector<volume_state> all = manager_->volumes();
  std::erase_if(all, [&](const volume_state& v) { return !who_.has_rights(v.record); });
  return all;
}

volume_state manager_control::find(volume_id vid) {
  volume_state v = manager_->find(vid.value);
  who_.need_rights(v.record);
  return v;
}

volume_state manager_control::find(const std::string& name) {
  volume_state v = manager_->find(name);
  who_.need_rights(v.record);
  return v;
}

/// @param what is wanted, for the message
volume_state manager_control::owned(volume_id vid, const char* what) const {
  volume_state v = manager_->find(vid.value);
  who_.need_owner(v.record, what);
  return v;
}

volume_state manager_control::create(const new_volume& wanted) {
  new_volume own = wanted;
  own.owner = client_identity::key_of(asks_.nqn());
  const volume_state made = manager_->create(own);
  return manager_->open(made.record.vid, asks_.host(), false);
}

volume_state manager_control::open(volume_id vid, bool write) {
  const volume_state v = find(vid);
  // An owner or an administrator may without; others may be expelled until their turn comes.
  const bool may_anyway = who_.is_administrator() || who_.owns(v.record);
  return manager_->open(vid.value, asks_, write, !may_anyway);
}

volume_state manager_control::renew(volume_id vid) { return manager_->renew(vid.value, asks_); }

void manager_control::close(volume_id vid, bool clean) { manager_->close(vid.value, asks_, clean); }

void manager_control::remove(volume_id vid) {
  remove(vid, owned(vid, "deleting").record.hash_factor);
}

void manager_control::remove(volume_id vid, std::uint64_t of) {
  (void)owned(vid, "deleting");
  // What it writes itself it may delete.
  manager_->remove(vid.value, false, of, manager_->writer_id(asks_));
}

void manager_control::rename(volume_id vid, const wire::afa::volume_name& name) {
  manager_->rename(owned(vid, "renaming").record.vid, name);
}

void manager_control::grow(volume_id vid, std::uint64_t capacity_blocks) {
  manager_->grow(owned(vid, "growing").record.vid, capacity_blocks);
}

void manager_control::share(volume_id vid, const std::string& host, bool allowed) {
  const std::uint16_t known = owned(vid, allowed ? "sharing" : "unsharing").record.vid;
  const std::string nqn = client_identity::nqn_of(host);
  if (allowed) {
    (void)manager_->admit(known, client_identity::client_of(nqn));
  } else {
    manager_->expel(known, nqn);
  }
}

array_health manager_control::health() {
  const array_state now = manager_->state();
  array_health h{
      .settled = now.settled, .volumes = now.volumes, .degraded = now.degraded, .torn = now.torn};
  for (const repair_state& r : now.repairs) {
    h.repaired_bytes += r.done * block_bytes;
    h.to_repair_bytes += r.total * block_bytes;
  }
  return h;
}

}  // namespace gnstor::host

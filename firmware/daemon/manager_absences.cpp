/// How an SSD that was away comes back with what it had.

#include <daemon/client_rights.hpp>
#include <daemon/manager.hpp>

#include <algorithm>
#include <bit>
#include <utility>

namespace gnstor::daemon {
namespace {

// Rounds in which an SSD loses what others have changed, until so few regions are new that nobody
// need write on meanwhile, or so many rounds are over.
constexpr std::uint32_t few_regions = 4;
constexpr std::uint32_t most_rounds = 8;
/// Of all that: then volumes that somebody may write are filled whole.
constexpr std::uint32_t most_attempts = 3;
/// How long nobody may write, at most, until the last of them is over.
constexpr std::uint64_t most_fenced_ns = 1'000'000'000;

std::size_t count(const regions_by_volume& all) {
  std::size_t regions = 0;
  for (const auto& [vid, dirty] : all) {
    for (const std::uint32_t word : dirty.words) regions += std::popcount(word);
  }
  return regions;
}

}  // namespace

void manager::tick(std::uint64_t now) {
  now_ = std::max(now, now_);
  std::uint64_t coming_back = 0;
  for (const operation& op : queue_)
    if (op.what == action::replace && op.step != 0) coming_back |= bit(op.ssd);
  absences_.expire(now_, coming_back);
}

void manager::stood_still(std::uint64_t ns) {
  for (auto& [vid, v] : volumes_)
    if (v.writer != 0 && v.lease_until > now_) v.lease_until += ns;
}

void manager::ssd_leaves(std::uint32_t ssd, std::uint64_t until) {
  const auto fails = [=](const operation& op) { return op.what == action::fail && op.ssd == ssd; };
  if (std::any_of(queue_.begin(), queue_.end(), fails)) return;
  ssd_failed(ssd);
  if (!queue_.empty() && fails(queue_.front())) queue_.front().until = until;
}

void manager::restore_absence(std::uint32_t ssd, ssd_absences::absence away) {
  if ((present() & bit(ssd)) != 0 || away.until <= now_) return;
  std::erase_if(away.volumes, [&](const auto& entry) {
    const volume* const v = find(entry.first);
    // Whoever gave somebody a right had each SSD note the epoch of that.
    return v == nullptr || v->r.hash_factor != entry.second || v->writer != 0 ||
           v->changed_in > away.epoch;
  });
  away.planned = true;
  away.changed.clear();  // marks may have been wiped by whom the journal does not know
  away.partly = keeps_partly(ssd);
  begin_absence(ssd, std::move(away));
}

std::vector<std::uint16_t> manager::unequal() const {
  std::vector<std::uint16_t> all;
  for (const auto& [vid, v] : volumes_)
    if (v.writer == 0 && v.unequal && !v.going) all.push_back(vid);
  return all;
}

std::uint64_t manager::empty_places() const {
  std::uint64_t empty = 0;
  for (std::uint32_t k = 0; k < options_.ssds; ++k) {
    if ((now_serving_.at(k) & present()) == 0) empty |= bit(k);
  }
  return empty;
}

void manager::begin_absence(std::uint32_t ssd, ssd_absences::absence away) {
  const std::uint64_t empty = empty_places();
  absences_.begin(ssd, empty, everyone() & ~now_serving_.sound_places() & ~empty, std::move(away));
}

/// True if what was changed of an SSD's volumes while it is away will be asked for: no other one
/// takes writes at its place.
bool manager::keeps_partly(std::uint32_t ssd) const {
  const bool alone = (now_serving_.at(ssd) & present() & ~bit(ssd)) == 0;
  return options_.keeps_ns != 0 && now_serving_.others.place_of(ssd) == ssd && alone;
}

/// What of an SSD's data counts that leaves now. Of one that was taken out in order, a volume that
/// nobody may write, and whose replicas are equal, counts as it is. For all others its own marks
/// are asked for, too: it may have lost what it had.
ssd_absences::absence manager::absence_of(const operation& fails) const {
  const bool planned = fails.until != 0;
  ssd_absences::absence a{.epoch = published_.epoch,
                          .until = planned ? fails.until : now_ + options_.keeps_ns,
                          .planned = planned,
                          .partly = keeps_partly(fails.ssd)};
  for (const auto& [vid, v] : volumes_) {
    if (v.going) continue;
    if (planned && v.writer == 0 && !v.unequal) {
      a.volumes[vid] = v.r.hash_factor;
    } else if (a.partly && ((places(v.r) & bit(fails.ssd)) != 0 || has_joined(fails.ssd, vid))) {
      a.changed[vid] = {v.r.hash_factor};
    }
  }
  return a;
}

/// True if some SSD may know already that a volume lies on one that is given its share.
bool manager::has_joined(std::uint32_t ssd, std::uint16_t vid) const {
  return std::any_of(queue_.begin(), queue_.end(), [=](const operation& op) {
    return op.what == action::spread && op.vid == vid && op.ssd == ssd && !is_copying(op) &&
           op.step < giving_up;
  });
}

/// What of it counts still, now that it is back. One that was there long ago has not come to the
/// epoch in which it left; one that was being filled since has lost what it had.
ssd_absences::absence manager::still_counts(const operation& op) const {
  const ssd_absences::absence* const away = absences_.of(op.ssd);
  const bool is_it = away != nullptr && op.says && op.says->serving.epoch >= away->epoch &&
                     (op.says->serving.filling & bit(op.ssd)) == 0;
  if (!is_it) return {};
  ssd_absences::absence a = *away;
  if (place_for(op) != op.ssd) a.changed.clear();
  std::erase_if(a.changed, [&](const auto& entry) {
    const auto& [vid, written] = entry;
    const wire::afa::volume_record* const r = record_of(vid);
    // A single replica is its own, whoever writes it.
    const bool is_single = r != nullptr && r->replicas == 1;
    if (is_single) a.volumes[vid] = written.hash_factor;
    return is_single || (op.attempts >= most_attempts && !written.asked);
  });
  return a;
}

/// What the SSD of a replacement has to learn of a volume whose data it has as others do, or will
/// have but for what they have changed; nothing: its data does not count.
std::optional<wire::afa::volume_chmod> manager::kept_by(const operation& op,
                                                        std::uint16_t vid) const {
  const wire::afa::volume_record* const known = record_of(vid);
  const auto whole = op.counts.volumes.find(vid);
  const auto partly = op.counts.changed.find(vid);
  const bool is_whole = whole != op.counts.volumes.end();
  const bool is_partly =
      partly != op.counts.changed.end() && (!partly->second.asked || op.partly.contains(vid));
  if (known == nullptr || (!is_whole && !is_partly)) return {};
  if ((is_whole ? whole->second : partly->second.hash_factor) != known->hash_factor) return {};
  for (const wire::afa::volume_record& has : op.says->volumes) {
    if (has.vid != vid || has.hash_factor != known->hash_factor) continue;
    const auto informed = op.counts.informed.find(vid);
    const bool by_us = informed != op.counts.informed.end() && has.epoch <= informed->second;
    if (has.epoch > op.counts.epoch && !by_us) return {};  // it was made anew since
    std::optional<wire::afa::volume_chmod> change = caught_up(has, *known);
    if (!change) return {};
    change->version = wire::afa::payload_version;
    change->vid = vid;
    return change;
  }
  return {};
}

// ---- what others have changed

/// Decides whether the SSD of a replacement, which knows this epoch, is to lose parts of volumes
/// instead of all.
void manager::begins_to_forget(operation& op) {
  op.known_epoch = now_serving_.epoch;
  op.partly.clear();
  op.rounds = 0;
  const bool never = op.attempts >= 2 * most_attempts;  // its target may not know how to forget
  if (op.place || never || still_counts(op).changed.empty()) {
    op.step = replacing::counting;
    return;
  }
  op.step = replacing::attaching;
  op.attached = true;
  out_.attached.push_back(op.ssd);  // it takes no command of a client in an epoch without it
}

/// Has it lose what others have marked as changed, while they may mark more. False: it does so.
bool manager::forgets(operation& op) {
  if (op.repair == 0) order_to_forget(op, false);
  if (op.repair != 0) return false;
  op.step = replacing::counting;
  return true;
}

/// The blocks that the SSD of a replacement knows of a volume; others have come since it left.
std::uint64_t manager::known_capacity(const operation& op, std::uint16_t vid) {
  for (const wire::afa::volume_record& has : op.says->volumes)
    if (has.vid == vid) return has.capacity_blocks;
  return 0;
}

/// @param last only where somebody may have written since
void manager::order_to_forget(operation& op, bool last) {
  ssd_absences::absence* const away = absences_.of(op.ssd);
  if (away == nullptr) return;
  repair_order o{.kind = repair_kind::forget, .ssd = op.ssd};
  o.kept = {{}, away->together, away->lost};
  for (auto& [vid, written] : away->changed) {
    const volume* const v = find(vid);
    if (v == nullptr || v->going || v->r.hash_factor != written.hash_factor) continue;
    if (v->r.replicas == 1) continue;
    if (last && (written.asked || !op.partly.contains(vid))) continue;
    o.capacities[vid] = known_capacity(op, vid);
    o.kept.regions[vid] = op.partly.contains(vid) ? op.partly.at(vid) : wire::afa::dirty_regions{};
    written.asked = v->writer == 0;
  }
  if (o.kept.regions.empty()) return;
  if (last) o.fenced = now_serving_.epoch;
  op.asks_of = o.kept.regions.size();
  o.id = op.repair = next_id_++;
  out_.repairs.push_back(std::move(o));
}

/// It has lost what others had changed when they were asked.
void manager::has_forgotten(operation& op, bool ok, const regions_by_volume& forgotten) {
  const bool last = op.step == replacing::forgetting_last;
  if (!ok || (last && forgotten.size() != op.asks_of)) {
    ++op.attempts;
    op.step = last ? replacing::withdrawing : replacing::telling;
    return;
  }
  if (last) {
    for (const auto& [vid, regions] : forgotten) op.partly[vid] = regions;
    op.step = replacing::taking;
    return;
  }
  const std::size_t before = count(op.partly);
  op.partly = forgotten;  // without volumes that are gone
  // What counts is looked at when it goes on: another operation may be under way.
  if (++op.rounds == most_rounds || count(op.partly) <= before + few_regions)
    op.step = replacing::counting;
}

/// True if others may have changed more of what the SSD of a replacement keeps since it lost that.
bool manager::waits_for_marks(const operation& op) {
  return std::any_of(op.partly.begin(), op.partly.end(), [&](const auto& entry) {
    const auto at = op.counts.changed.find(entry.first);
    return at != op.counts.changed.end() && !at->second.asked;
  });
}

/// Ends what all others write, in an epoch that the SSD of a replacement does not know yet: clients
/// wait until it does. False: some have not answered.
bool manager::fences(operation& op) {
  if (op.fenced_at == 0) {
    change_epoch(now_serving_.absent, now_serving_.filling);
    op.fenced_at = now_ | 1;
  }
  ssd_order o;
  o.opcode = wire::afa::admin_opcode::array_update;
  o.membership = present_membership();
  o.membership.absent &= ~bit(op.ssd);
  o.membership.filling |= bit(op.ssd);
  o.others = now_serving_.others;
  if (!all_informed(op, present(), o)) return false;
  op.step = replacing::forgetting_last;
  return true;
}

/// Has it lose what was changed until then. False: it does so still.
bool manager::forgets_last(operation& op) {
  if (op.repair == 0) order_to_forget(op, true);
  if (op.repair == 0 || now_ > op.fenced_at + most_fenced_ns) {
    ++op.attempts;
    op.step = replacing::withdrawing;
  } else {
    return false;
  }
  return true;
}

}  // namespace gnstor::daemon

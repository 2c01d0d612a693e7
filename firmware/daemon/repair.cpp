#include <daemon/repair.hpp>

#include <algorithm>
#include <bit>
#include <cstring>
#include <iterator>
#include <utility>

namespace gnstor::daemon {

repair::repair(const repair_order& order, const membership& serving, std::uint32_t ssds,
               std::vector<wire::afa::volume_record> volumes, char* memory)
    : order_(order), serving_(serving), ssds_(ssds), memory_(memory) {
  for (const wire::afa::volume_record& r : volumes) {
    const bool left_out =
        std::find(order.left_out.begin(), order.left_out.end(), r.vid) != order.left_out.end();
    const bool wanted = order.kind == repair_kind::fill     ? !left_out
                        : order.kind == repair_kind::forget ? order.kept.regions.contains(r.vid)
                                                            : r.vid == order.vid;
    if (!wanted) continue;
    volumes_.push_back(r);
    if (const auto known = order.capacities.find(r.vid); known != order.capacities.end()) {
      auto& blocks = volumes_.back().capacity_blocks;
      blocks = std::min<std::uint64_t>(blocks, known->second);
    }
  }
  begin_piece();
  go_on();
}

/// Looks in which regions of the next volume something may be to do. False: SSDs are asked first.
bool repair::begin_volume() {
  const wire::afa::volume_record& r = volumes_[volume_];
  const bool forgets = order_.kind == repair_kind::forget;
  const auto kept = order_.kept.regions.find(r.vid);
  const bool asks = forgets || watches() || order_.kind == repair_kind::converge;
  begun_ = true;
  first_ = alone_until_ = 0;
  by_region_ = asks || kept != order_.kept.regions.end();
  dirty_ = by_region_ && !asks ? kept->second : wire::afa::dirty_regions{};
  if (!asks) return true;
  const std::uint32_t count = r.ssd_count != 0 ? r.ssd_count : ssds_;
  const std::uint64_t own = count >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << count) - 1;
  unasked_ = (own | serving_.others.of(own)) & ~serving_.absent;
  // One that it leaves is asked alone, and read: what others are given meanwhile they mark, too.
  const bool leaves = watches() && order_.ssd < count && in_sync(order_.ssd);
  if (leaves) unasked_ = std::uint64_t{1} << order_.ssd;
  again_ = forgets && kept->second.version != 0;
  if (forgets && !again_) unasked_ |= std::uint64_t{1} << order_.ssd;
  return !asks_regions();
}

/// A volume is dealt with.
void repair::end_volume() {
  if (order_.kind == repair_kind::forget) forgotten_[volumes_[volume_].vid] = marked_;
  if (watches()) forgotten_[volumes_[volume_].vid] = dirty_;
  leave_volume();
}
void repair::leave_volume() {
  ++volume_;
  begun_ = false;
  first_ = alone_until_ = 0;
}

void repair::end(bool ok) {
  step_.reset();
  over_ = true;
  ok_ = ok;
}

/// Carries on until there is something to ask.
void repair::go_on() {
  while (!over_ && !asking_ && !(deciding_ ? decide() : look())) continue;
}

/// True if there may be something to do for a stripe, whose replicas are known.
bool repair::concerns(const wire::afa::volume_record& r, std::uint32_t stripe) const {
  const ssd_index ssd(static_cast<std::uint16_t>(order_.ssd));
  const std::uint32_t region = wire::afa::dirty_region_of(stripe, r.region_shift);
  switch (order_.kind) {
    case repair_kind::fill: return where_.contains(ssd) && lacks(region);
    case repair_kind::forget: {
      const auto place = static_cast<std::uint16_t>(serving_.others.place_of(order_.ssd));
      return placed_.contains(ssd_index(place)) && lacks(region);
    }
    case repair_kind::spread:
      return rendezvous_placement(r.ssd_count + 1)
          .holds(volume_id(r.vid), r.hash_factor, stripe, r.replicas, ssd);
    case repair_kind::drain: return placed_.contains(ssd);
    case repair_kind::watch: return false;
    case repair_kind::converge:
    case repair_kind::scrub:
    case repair_kind::mend: break;
  }
  return true;
}

/// What the SSD that was away has of the present stripe.
repair::left repair::what_is_left() const {
  const std::uint32_t place = serving_.others.place_of(order_.ssd);
  std::uint64_t others = 0;
  for (std::uint32_t k = 0; k < placed_.count; ++k)
    others |= std::uint64_t{1} << placed_.ssd[k].value;
  others &= ~(std::uint64_t{1} << place);
  if ((others & ~order_.kept.lost) != 0) return left::marked;
  return (others & ~order_.kept.together) == 0 ? left::latest : left::unknown;
}

/// True if the SSD that was away lacks what others have of the present stripe.
bool repair::lacks(std::uint32_t region) const {
  if (!by_region_) return true;
  switch (what_is_left()) {
    case left::marked: return dirty_.holds(region);
    case left::latest: return false;
    case left::unknown: break;
  }
  return !again_;
}

/// Of a volume of which only some regions count: the first stripe behind those from `stripe` on in
/// which nothing is to do; 0: in that one something may be.
std::uint64_t repair::clean_until(const wire::afa::volume_record& r, std::uint64_t stripe) const {
  if (!by_region_) return 0;
  // Where others were lost, each stripe is looked at.
  const std::uint64_t self = std::uint64_t{1} << serving_.others.place_of(order_.ssd);
  const bool counts = order_.kind == repair_kind::fill || order_.kind == repair_kind::forget;
  if (counts && !again_ && (order_.kept.lost & ~self) != 0) return 0;
  const std::uint32_t region =
      wire::afa::dirty_region_of(static_cast<std::uint32_t>(stripe), r.region_shift);
  if (dirty_.holds(region)) return 0;
  if (std::all_of(std::begin(dirty_.words), std::end(dirty_.words), [](auto w) { return w == 0; }))
    return r.capacity_blocks;
  return ((stripe >> r.region_shift) + 1) << r.region_shift;
}

/// Finds the next piece that has something to do.
void repair::begin_piece() {
  if (order_.kind == repair_kind::mend) return begin_listed();
  for (; volume_ < volumes_.size(); end_volume()) {
    if (!begun_ && !begin_volume()) return;
    const wire::afa::volume_record& r = volumes_[volume_];
    while (!watches() && first_ < r.capacity_blocks) {
      const std::uint64_t stripe = first_ / r.stripe_blocks;
      if (const std::uint64_t clean = clean_until(r, stripe)) {
        first_ = std::min<std::uint64_t>(clean * r.stripe_blocks, r.capacity_blocks);
        continue;
      }
      const std::uint64_t end =
          std::min<std::uint64_t>((stripe + 1) * r.stripe_blocks, r.capacity_blocks);
      if (is_others(stripe)) {
        first_ = end;
        continue;
      }
      place(r, static_cast<std::uint32_t>(stripe));
      if (concerns(r, static_cast<std::uint32_t>(stripe))) {
        const std::uint64_t most = order_.kind == repair_kind::forget ? end
                                   : first_ < alone_until_            ? 1
                                                                      : most_blocks;
        blocks_ = static_cast<std::uint32_t>(std::min(most, end - first_));
        return unseen();
      }
      first_ = end;
    }
  }
  end(true);
}

void repair::next_piece() {
  compared_ += blocks_;
  first_ += blocks_;
  ++listed_;
  begin_piece();
}

/// Goes on with the next block that a scrub has found.
void repair::begin_listed() {
  if (volume_ == volumes_.size()) return end(true);
  const wire::afa::volume_record& r = volumes_[volume_];
  const auto& all = order_.blocks;
  while (listed_ < all.size() &&
         (all[listed_] >= r.capacity_blocks || is_others(all[listed_] / r.stripe_blocks)))
    ++listed_;
  if (listed_ == all.size()) return end(true);
  first_ = all[listed_];
  blocks_ = 1;
  place(r, static_cast<std::uint32_t>(first_ / r.stripe_blocks));
  unseen();
}

/// Finds the replicas of a stripe, and of those the SSDs that take part.
void repair::place(const wire::afa::volume_record& r, std::uint32_t stripe) {
  const rendezvous_placement placement(r.ssd_count != 0 ? r.ssd_count : ssds_);
  placed_ = placement.replicas(volume_id(r.vid), r.hash_factor, stripe, r.replicas);
  where_ = placed_.served(serving_.others, serving_.absent);
  const ssd_index last(static_cast<std::uint16_t>(order_.ssd));
  if (order_.kind != repair_kind::drain || !where_.contains(last)) return;
  replica_set first;  // what it has marked is read from it
  first.ssd.set(first.count++, last);
  for (std::uint32_t k = 0; k < where_.count; ++k)
    if (where_.ssd[k].value != last.value) first.ssd.set(first.count++, where_.ssd[k]);
  where_ = first;
}

/// Begins a piece: nothing is known of its replicas.
void repair::unseen() {
  std::fill(std::begin(seen_), std::end(seen_), sight::unread);
  turn_ = 0;
  deciding_ = spoiling_ = false;
}

bool repair::ask(repair_step::kind what, std::uint32_t replica, std::uint32_t from) {
  return ask_ssd(what, where_.ssd[replica].value, from);
}
bool repair::ask_ssd(repair_step::kind what, std::uint32_t ssd, std::uint32_t from) {
  step_ = repair_step{what,
                      ssd,
                      volumes_[volume_].vid,
                      vba(static_cast<std::uint32_t>(first_)),
                      blocks_,
                      from * most_blocks,
                      order_.fenced != 0 && ssd != order_.ssd ? order_.fenced : serving_.epoch};
  return true;
}

/// Reads the replicas that are in sync; to fill or to spread, one that is sound will do.
bool repair::look() {
  if (order_.kind == repair_kind::forget) return ask_ssd(repair_step::kind::forget, order_.ssd, 0);
  for (; turn_ < where_.count; ++turn_) {
    if (!in_sync(where_.ssd[turn_].value)) continue;
    const bool one_will_do = order_.kind == repair_kind::fill || moves();
    const bool enough =
        one_will_do && std::count(std::begin(seen_), std::end(seen_), sight::sound) != 0;
    if (!enough) return ask(repair_step::kind::read, turn_, turn_);
  }
  const auto* sound = std::find(std::begin(seen_), std::end(seen_), sight::sound);
  const bool damage =
      std::find(std::begin(seen_), std::end(seen_), sight::damaged) != std::end(seen_);
  if (damage && blocks_ > 1) {  // which of them?
    alone_until_ = first_ + blocks_;
    begin_piece();
    return false;
  }
  // Others may not have yet what the SSD that is left has marked.
  const bool unread = order_.live && order_.kind == repair_kind::drain &&
                      where_.ssd[0].value == order_.ssd && seen_[0] == sight::damaged;
  if ((sound == std::end(seen_) && (moves() || waits_for_source())) || unread) {
    end(false);  // it is not moved to where a mend would not find it
    return false;
  }
  if (sound == std::end(seen_)) {
    lost_ += blocks_;
    deciding_ = true;  // the SSD that is filled is the last to be dealt with
    turn_ = 0;
    while (turn_ < where_.count && where_.ssd[turn_].value != order_.ssd) ++turn_;
    if (order_.kind == repair_kind::fill) {
      spoiling_ = true;
      return ask(repair_step::kind::spoil, turn_, 0);
    }
    next_piece();
    return false;
  }
  base_ = static_cast<std::uint32_t>(sound - std::begin(seen_));
  turn_ = 0;
  deciding_ = true;
  return false;
}

/// True if an SSD that is back has lost what another one has, which is to be in sync first. That
/// one has been there since, or left with it and came back earlier: no two wait for each other.
bool repair::waits_for_source() const {
  if (order_.kind != repair_kind::fill || !by_region_) return false;
  for (std::uint32_t k = 0; k < where_.count; ++k) {
    const std::uint32_t ssd = where_.ssd[k].value;
    const bool knows = (order_.kept.lost >> serving_.others.place_of(ssd) & 1) == 0;
    if (knows && is_filling(ssd)) return true;
  }
  return false;
}

/// Who is given a piece that moves: the SSD that joins, or the one at the place that holds it
/// without the last. No place has two meanwhile.
std::uint32_t repair::heir() const {
  const wire::afa::volume_record& r = volumes_[volume_];
  if (order_.kind == repair_kind::spread) return order_.ssd;
  const auto stripe = static_cast<std::uint32_t>(first_ / r.stripe_blocks);
  const replica_set then = rendezvous_placement(order_.ssd)
                               .replicas(volume_id(r.vid), r.hash_factor, stripe, r.replicas);
  std::uint32_t k = 0;
  while (k + 1 < then.count && placed_.contains(then.ssd[k])) ++k;
  const std::uint64_t there = serving_.at(then.ssd[k].value) & ~serving_.absent;
  return there == 0 ? then.ssd[k].value : static_cast<std::uint32_t>(std::countr_zero(there));
}

bool repair::is_zero(std::uint32_t replica) const {
  const char* at = const_cast<repair*>(this)->data(replica);
  return at[0] == 0 && std::memcmp(at, at + 1, std::size_t{blocks_} * block_bytes - 1) == 0;
}
bool repair::differs(std::uint32_t a, std::uint32_t b) const {
  auto* self = const_cast<repair*>(this);
  return std::memcmp(self->data(a), self->data(b), std::size_t{blocks_} * block_bytes) != 0;
}

/// Gives the others what the base has, where that is called for.
bool repair::decide() {
  if (moves() && turn_ == 0 && (order_.zeroes || !is_zero(base_))) {
    if (in_sync(heir())) return ask_ssd(repair_step::kind::write, heir(), base_);
    end(false);
    return false;
  }
  for (; turn_ < where_.count; ++turn_) {
    const std::uint32_t ssd = where_.ssd[turn_].value;
    if (turn_ == base_) continue;
    switch (order_.kind) {
      case repair_kind::fill:
        if (ssd != order_.ssd || is_zero(base_)) continue;
        return ask(repair_step::kind::fill, turn_, base_);
      case repair_kind::scrub:
        if (seen_[turn_] != sight::damaged || damaged_.size() == most_damaged) continue;
        if (damaged_.empty() || damaged_.back() != first_)
          damaged_.push_back(static_cast<std::uint32_t>(first_));
        continue;
      case repair_kind::mend:
        if (seen_[turn_] != sight::damaged) continue;
        return ask(repair_step::kind::fill, turn_, base_);
      case repair_kind::converge: {
        const bool other = seen_[turn_] == sight::damaged ||
                           (seen_[turn_] == sight::sound && differs(turn_, base_));
        if (!other && !is_filling(ssd)) continue;
        return ask(repair_step::kind::write, turn_, base_);
      }
      case repair_kind::spread:
      case repair_kind::drain:
      case repair_kind::watch:
      case repair_kind::forget: break;  // who is given it is none of these
    }
  }
  next_piece();
  return false;
}

void repair::answered(step_end how) {
  step_.reset();
  if (asking_ && how == step_end::done) {
    note_regions();
    if (asks_regions()) return;
    compare_regions();
    begin_piece();
    return go_on();
  }
  const bool forgets = order_.kind == repair_kind::forget;
  if (std::exchange(asking_, false) && !forgets)
    return end(how == step_end::gone && !watches());  // without it there is nothing to compare
  if (how == step_end::failed || ((deciding_ || forgets) && how == step_end::damaged))
    return end(false);
  if (how == step_end::gone && moves()) return end(false);
  if (how == step_end::gone) {  // there is nothing to repair
    leave_volume();
    begin_piece();
  } else if (forgets || spoiling_) {
    next_piece();
  } else if (!deciding_) {
    seen_[turn_++] = how == step_end::done ? sight::sound : sight::damaged;
  } else {
    mended_ += blocks_;
    ++turn_;
  }
  go_on();
}

}  // namespace gnstor::daemon

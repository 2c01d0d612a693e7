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
    if (order.kind == repair_kind::fill ? !left_out : r.vid == order.vid) volumes_.push_back(r);
  }
  if (order.kind == repair_kind::converge && !volumes_.empty()) {
    const std::uint32_t count = volumes_[0].ssd_count != 0 ? volumes_[0].ssd_count : ssds;
    const std::uint64_t own = count >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << count) - 1;
    unasked_ = own & ~serving_.absent;
  }
  if (asks_regions()) return;
  begin_piece();
  go_on();
}

/// Asks the next SSD for its dirty regions. False: all have been asked.
bool repair::asks_regions() {
  asking_ = unasked_ != 0;
  if (!asking_) return false;
  const auto ssd = static_cast<std::uint32_t>(std::countr_zero(unasked_));
  unasked_ &= unasked_ - 1;
  first_ = 0;
  blocks_ = 1;
  return ask_ssd(repair_step::kind::regions, ssd, 0);
}

/// Adds what an SSD has answered. One that says anything else says that all is dirty.
void repair::note_regions() {
  wire::afa::dirty_regions said;
  std::memcpy(&said, memory_, sizeof said);
  const bool known = said.version == wire::afa::payload_version && said.vid == volumes_[0].vid;
  for (std::size_t w = 0; w < std::size(said.words); ++w)
    dirty_.words[w] |= known ? said.words[w] : ~std::uint32_t{0};
}

std::uint64_t repair::looked_at() const {
  if (order_.kind == repair_kind::mend) return listed_;
  std::uint64_t blocks = volume_ < volumes_.size() ? first_ : 0;
  for (std::size_t k = 0; k < volume_ && k < volumes_.size(); ++k)
    blocks += volumes_[k].capacity_blocks;
  return blocks;
}

std::uint64_t repair::to_look_at() const {
  if (order_.kind == repair_kind::mend) return order_.blocks.size();
  std::uint64_t blocks = 0;
  for (const wire::afa::volume_record& r : volumes_) blocks += r.capacity_blocks;
  return blocks;
}

void repair::end(bool ok) {
  step_.reset();
  over_ = true;
  ok_ = ok;
}

/// Carries on until there is something to ask.
void repair::go_on() {
  while (!over_ && !(deciding_ ? decide() : look())) continue;
}

/// True if there may be something to do for a stripe, whose replicas are known.
bool repair::concerns(const wire::afa::volume_record& r, std::uint32_t stripe) const {
  const ssd_index ssd(static_cast<std::uint16_t>(order_.ssd));
  switch (order_.kind) {
    case repair_kind::fill: return where_.contains(ssd);
    case repair_kind::spread:
      return rendezvous_placement(r.ssd_count + 1)
          .holds(volume_id(r.vid), r.hash_factor, stripe, r.replicas, ssd);
    case repair_kind::drain: return where_.contains(ssd);
    case repair_kind::converge:
    case repair_kind::scrub:
    case repair_kind::mend: break;
  }
  return true;
}

/// Of a volume that is to converge: the first stripe behind those from `stripe` on that no SSD has
/// changed; 0: that one may be.
std::uint64_t repair::clean_until(const wire::afa::volume_record& r, std::uint64_t stripe) const {
  if (order_.kind != repair_kind::converge) return 0;
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
  for (; volume_ < volumes_.size(); ++volume_, first_ = alone_until_ = 0) {
    const wire::afa::volume_record& r = volumes_[volume_];
    while (first_ < r.capacity_blocks) {
      const std::uint64_t stripe = first_ / r.stripe_blocks;
      if (const std::uint64_t clean = clean_until(r, stripe)) {
        first_ = std::min<std::uint64_t>(clean * r.stripe_blocks, r.capacity_blocks);
        continue;
      }
      const std::uint64_t end =
          std::min<std::uint64_t>((stripe + 1) * r.stripe_blocks, r.capacity_blocks);
      place(r, static_cast<std::uint32_t>(stripe));
      if (concerns(r, static_cast<std::uint32_t>(stripe))) {
        const std::uint64_t most = first_ < alone_until_ ? 1 : most_blocks;
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
  while (listed_ < all.size() && all[listed_] >= r.capacity_blocks) ++listed_;
  if (listed_ == all.size()) return end(true);
  first_ = all[listed_];
  blocks_ = 1;
  place(r, static_cast<std::uint32_t>(first_ / r.stripe_blocks));
  unseen();
}

/// Finds the replicas of a stripe.
void repair::place(const wire::afa::volume_record& r, std::uint32_t stripe) {
  const rendezvous_placement placement(r.ssd_count != 0 ? r.ssd_count : ssds_);
  where_ = placement.replicas(volume_id(r.vid), r.hash_factor, stripe, r.replicas);
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
                      from * most_blocks};
  return true;
}

/// Reads the replicas that are in sync; to fill or to spread, one that is sound will do.
bool repair::look() {
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
  if (sound == std::end(seen_) && moves()) {
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

/// Who is given a piece that moves: the SSD that joins, or the one that holds it without the last.
std::uint32_t repair::heir() const {
  const wire::afa::volume_record& r = volumes_[volume_];
  if (order_.kind == repair_kind::spread) return order_.ssd;
  const auto stripe = static_cast<std::uint32_t>(first_ / r.stripe_blocks);
  const replica_set then = rendezvous_placement(order_.ssd)
                               .replicas(volume_id(r.vid), r.hash_factor, stripe, r.replicas);
  std::uint32_t k = 0;
  while (k + 1 < then.count && where_.contains(then.ssd[k])) ++k;
  return then.ssd[k].value;
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
      case repair_kind::drain: break;  // who is given it is none of these
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
    begin_piece();
    return go_on();
  }
  if (asking_) return end(how == step_end::gone);  // without the volume there is nothing to compare
  if (how == step_end::failed || (deciding_ && how == step_end::damaged)) return end(false);
  if (how == step_end::gone && moves()) return end(false);
  if (how == step_end::gone) {  // there is nothing to repair
    ++volume_;
    first_ = alone_until_ = 0;
    begin_piece();
  } else if (!deciding_) {
    seen_[turn_++] = how == step_end::done ? sight::sound : sight::damaged;
  } else if (spoiling_) {
    next_piece();
  } else {
    mended_ += blocks_;
    ++turn_;
  }
  go_on();
}

}  // namespace gnstor::daemon

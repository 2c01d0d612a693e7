#include <timing/stream_sender.hpp>

#include <algorithm>
#include <cstring>
#include <numeric>

namespace gnstor::fw {

stream_sender::stream_sender(const stream_profile& p, std::uint32_t ssds)
    : p_(p),
      memory_(p.buffer_bytes / grain_bytes * grain_bytes),
      free_(p.buffer_bytes / grain_bytes),
      units_(std::size_t{p.units} * ssds),
      ways_(p.one_bus ? 1 : ssds) {
  std::iota(free_.rbegin(), free_.rend(), 0);
}

void stream_sender::submit(std::uint64_t now, const request& r) {
  GNSTOR_VERIFY(r.blocks != 0 && r.blocks <= memory_.size() / grain_bytes);
  const std::uint64_t at = clock_.since_start(now);
  if (free_slots_.empty()) {
    free_slots_.push_back(static_cast<std::uint32_t>(slots_.size()));
    slots_.emplace_back();
  }
  const std::uint32_t slot = free_slots_.back();
  free_slots_.pop_back();
  slots_[slot] = {};
  slots_[slot].r = r;
  ++under_way_;
  events_.push({std::max(at, now_), order_++, stage::arrived, slot, 0});
}

const std::vector<std::uint64_t>& stream_sender::run(std::uint64_t now, ports& by) {
  ended_.clear();
  const std::uint64_t until = clock_.since_start(now);
  while (!events_.empty() && events_.top().at <= until) {
    const event e = events_.top();
    events_.pop();
    now_ = e.at;
    happen(e, by);
  }
  now_ = std::max(now_, until);
  return ended_;
}

stream_sender::phases stream_sender::means() const {
  phases m = sums_;
  for (std::uint64_t* phase : {&m.init, &m.read, &m.send_init, &m.send, &m.fin})
    *phase /= std::max<std::uint64_t>(m.requests, 1);
  return m;
}

void stream_sender::happen(const event& e, ports& by) {
  transfer& t = slots_[e.slot];
  switch (e.what) {
    case stage::arrived:
      waiting_.push_back(e.slot);
      begin();
      break;
    case stage::opened:
      t.since = now_;
      if (p_.path == stream_path::synchronised) {  // its send is posted before the read
        sums_.send_init += p_.handling;
        later(p_.handling, stage::posted, e.slot);
      } else {
        read(e.slot);
      }
      break;
    case stage::posted:
      t.open = true;
      t.since = now_;
      if (p_.path == stream_path::synchronised) {
        read(e.slot);
      } else if (p_.path == stream_path::staged) {
        for (std::uint32_t b = 0; b < t.r.blocks; ++b) fetches_.waiting.push_back({e.slot, b});
        fetch();
      }
      put_on_wire(by);
      break;
    case stage::sensed: sensed(e); break;
    case stage::delivered: arrive(e, by); break;
    case stage::fetched:
      (p_.one_bus ? ways_[0] : fetches_).busy = false;
      std::memcpy(memory_of(t, e.block), t.stage.data() + std::size_t{e.block} * grain_bytes,
                  grain_bytes);
      tracker(t).arrived(e.block * grain_bytes, grain_bytes);
      fetch();
      if (p_.one_bus) deliver(0);
      put_on_wire(by);
      break;
    case stage::sent:
      wire_busy_ = false;
      t.on_wire = false;
      end_if_done(e.slot);
      put_on_wire(by);
      break;
    case stage::finished:
      free_.insert(free_.end(), t.memory.begin(), t.memory.end());
      ended_.push_back(t.r.tag);
      t = {};
      free_slots_.push_back(e.slot);
      --under_way_;
      begin();
      break;
  }
}

/// A unit has a block ready.
void stream_sender::sensed(const event& e) {
  const std::uint32_t ssd = slots_[e.slot].r.ssd;
  const grain g{e.slot, e.block};
  unit& u = unit_of(g);
  u.busy = false;
  std::deque<grain>& ready = way_of(ssd).waiting;
  // The lowest byte first; requests in turn, the oldest first.
  const auto earlier = [this](const grain& a, const grain& b) {
    const std::uint64_t x = slots_[a.slot].number;
    const std::uint64_t y = slots_[b.slot].number;
    return x != y ? x < y : a.block < b.block;
  };
  ready.insert(p_.in_order ? std::upper_bound(ready.begin(), ready.end(), g, earlier) : ready.end(),
               g);
  deliver(ssd);
  sense(u);
}

/// Requests for which the NIC has memory, in order.
void stream_sender::begin() {
  while (!waiting_.empty() && slots_[waiting_.front()].r.blocks <= free_.size()) {
    const std::uint32_t slot = waiting_.front();
    waiting_.pop_front();
    transfer& t = slots_[slot];
    t.number = number_++;
    t.busy = true;
    t.memory.assign(free_.end() - t.r.blocks, free_.end());
    free_.resize(free_.size() - t.r.blocks);
    if (p_.path == stream_path::staged) t.stage.resize(std::size_t{t.r.blocks} * grain_bytes);
    t.words.assign(chunk_tracker<thread_scope_system>::words_for(t.r.blocks), 0);
    tracker(t).clear();
    sums_.init += p_.handling;
    later(p_.handling, stage::opened, slot);
  }
}

chunk_tracker<thread_scope_system> stream_sender::tracker(transfer& t) const {
  const std::uint32_t bytes = t.r.blocks * grain_bytes;
  const bool whole = p_.path == stream_path::store_and_forward;
  return {t.words.data(), bytes, whole ? bytes : std::min(p_.chunk_bytes, bytes)};
}

stream_sender::unit& stream_sender::unit_of(const grain& g) {
  const request& r = slots_[g.slot].r;
  const std::uint64_t stripe = (r.first + std::uint64_t{g.block} * grain_bytes) / p_.stripe_bytes;
  return units_[std::size_t{r.ssd} * p_.units + stripe % p_.units];
}

void stream_sender::read(std::uint32_t slot) {
  for (std::uint32_t b = 0; b < slots_[slot].r.blocks; ++b)
    unit_of({slot, b}).waiting.push_back({slot, b});
  const std::uint32_t ssd = slots_[slot].r.ssd;
  for (std::uint32_t u = 0; u < p_.units; ++u) sense(units_[std::size_t{ssd} * p_.units + u]);
}

/// A unit works on its next block.
void stream_sender::sense(unit& u) {
  if (u.busy || u.waiting.empty()) return;
  u.busy = true;
  const grain g = u.waiting.front();
  u.waiting.pop_front();
  const auto number = static_cast<std::uint32_t>(&u - units_.data()) % p_.units;
  std::uint64_t takes =
      stream_profile::time_of(grain_bytes, number == p_.slow_unit ? p_.slow_rate : p_.unit_rate);
  if (u.served != slots_[g.slot].number) takes += p_.access;
  u.served = slots_[g.slot].number;
  later(takes, stage::sensed, g.slot, g.block);
}

/// The way from flash takes its next block.
void stream_sender::deliver(std::uint32_t ssd) {
  mover& way = way_of(ssd);
  if (way.busy || way.waiting.empty()) return;
  way.busy = true;
  const grain g = way.waiting.front();
  way.waiting.pop_front();
  const bool staged = p_.path == stream_path::staged;
  later(stream_profile::time_of(grain_bytes, staged ? p_.flash_to_memory : p_.flash_to_nic),
        stage::delivered, g.slot, g.block);
}

/// A block has come out of flash.
void stream_sender::arrive(const event& e, ports& by) {
  transfer& t = slots_[e.slot];
  const bool staged = p_.path == stream_path::staged;
  unsigned char* into =
      staged ? t.stage.data() + std::size_t{e.block} * grain_bytes : memory_of(t, e.block);
  const bool sound = by.fetch(t.r.tag, e.block, into);
  t.damaged = t.damaged || !sound;
  if (sound && !staged) tracker(t).arrived(e.block * grain_bytes, grain_bytes);
  if (++t.arrived == t.r.blocks) {
    sums_.read += now_ - t.since;
    t.since = now_;
    if (t.damaged) {
      end_if_done(e.slot);
    } else if (p_.path != stream_path::synchronised) {
      sums_.send_init += p_.handling;
      later(p_.handling, stage::posted, e.slot);
    }
  }
  way_of(t.r.ssd).busy = false;
  deliver(t.r.ssd);
  if (p_.one_bus) fetch();
  put_on_wire(by);
}

/// The NIC takes its next block out of host memory.
void stream_sender::fetch() {
  mover& way = p_.one_bus ? ways_[0] : fetches_;
  if (way.busy || fetches_.waiting.empty()) return;
  way.busy = true;
  const grain g = fetches_.waiting.front();
  fetches_.waiting.pop_front();
  later(stream_profile::time_of(grain_bytes, p_.memory_to_nic), stage::fetched, g.slot, g.block);
}

/// The wire takes a packet of the next request that has one.
void stream_sender::put_on_wire(ports& by) {
  if (wire_busy_) return;
  const auto count = static_cast<std::uint32_t>(slots_.size());
  for (std::uint32_t k = 0; k < count; ++k) {
    const std::uint32_t slot = (turn_ + k) % count;
    transfer& t = slots_[slot];
    if (!t.busy || !t.open || t.damaged || t.sent == t.r.blocks) continue;
    if (tracker(t).valid(t.sent * grain_bytes) < grain_bytes) continue;
    by.send(t.r.tag, t.sent, memory_of(t, t.sent));
    ++t.sent;
    t.on_wire = wire_busy_ = true;
    turn_ = slot + 1;
    return later(stream_profile::time_of(grain_bytes, p_.wire), stage::sent, slot);
  }
}

/// A request ends when all of it is out, or when nothing more of it comes in.
void stream_sender::end_if_done(std::uint32_t slot) {
  transfer& t = slots_[slot];
  if (t.on_wire || t.arrived != t.r.blocks) return;
  if (t.sent != t.r.blocks && !t.damaged) return;
  t.busy = false;
  sums_.send += now_ - t.since;
  sums_.fin += p_.handling;
  ++sums_.requests;
  later(p_.handling, stage::finished, slot);
}

}  // namespace gnstor::fw

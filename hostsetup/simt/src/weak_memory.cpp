#include "weak_memory.hpp"

#include <algorithm>

namespace gnstor::simt::host {

namespace {

constexpr std::size_t most_words = std::size_t{1} << 16;

bool acquires(hook_order o) { return o == hook_order::acquire || o == hook_order::acq_rel; }
bool releases(hook_order o) { return o == hook_order::release || o == hook_order::acq_rel; }

/// Versions kept per word: fewer for many lanes, so that a word never takes more than about 128
/// KiB.
std::size_t depth_for(std::uint32_t lanes) { return lanes <= 256 ? 16 : lanes <= 1024 ? 8 : 4; }

}  // namespace

weak_memory::weak_memory(std::uint32_t lanes, random& from, std::uint32_t stale_of_8)
    : random_(from), stale_of_8_(stale_of_8), depth_(depth_for(lanes)), lanes_(lanes) {
  for (std::uint32_t k = 0; k < lanes; ++k) {
    lanes_[k].now.assign(lanes, 0);
    lanes_[k].now[k] = 1;
  }
}

void weak_memory::publish(clock& to, const clock& from) const {
  if (from.empty()) return;
  if (to.empty()) {
    to = from;
    return;
  }
  for (std::size_t k = 0; k < from.size(); ++k) to[k] = std::max(to[k], from[k]);
}

weak_memory::clock weak_memory::everyone() const {
  clock all;
  for (const lane_clock& l : lanes_) publish(all, l.now);
  return all;
}

/// Forgets the history of `x`: everybody sees `value`, and an acquire of it learns `released`.
void weak_memory::restart(location& x, std::uint64_t value, const clock& released) {
  x.versions.resize(1);
  x.versions[0].value = value;
  x.versions[0].seen.clear();
  x.versions[0].released = released;
}

weak_memory::location& weak_memory::at(const void* word, std::uint64_t now) {
  if (words_.size() >= most_words) {
    // Too many words to remember: start afresh, and let every word have released all that is known
    // by now.
    base_ = everyone();
    words_.clear();
  }
  location& x = words_[word];
  if (x.versions.empty()) {
    restart(x, now, base_);
  } else if (x.versions.back().value != now) {
    // Written by a plain store or by another thread. Who did is unknown: never report what might be
    // ordered.
    restart(x, now, everyone());
  }
  return x;
}

/// The oldest version that `lane` may read: the newest one that it knows somebody has seen.
std::size_t weak_memory::oldest_legal(const location& x, std::uint32_t lane) const {
  const clock& now = lanes_[lane].now;
  const std::size_t count = now.size();
  for (std::size_t v = x.versions.size() - 1; v > 0; --v) {
    const epoch* seen = x.versions[v].seen.data();
    unsigned known = 0;
    for (std::size_t k = 0; k < count; ++k) known |= seen[k] <= now[k];
    if (known != 0) return v;
  }
  return 0;
}

void weak_memory::learn(lane_clock& l, const clock& released, bool acquire) {
  publish(acquire ? l.now : l.to_acquire, released);
}

std::uint64_t weak_memory::load(std::uint32_t lane, const void* word, std::uint64_t now,
                                hook_order order) {
  location& x = at(word, now);
  lane_clock& l = lanes_[lane];
  std::size_t pick = x.versions.size() - 1;
  const std::size_t oldest = oldest_legal(x, lane);
  if (oldest < pick && random_.below(8) < stale_of_8_) {
    pick = oldest + random_.below(static_cast<std::uint32_t>(pick - oldest + 1));
  }
  version& v = x.versions[pick];
  if (pick > 0 && v.seen[lane] == never) v.seen[lane] = l.now[lane];
  learn(l, v.released, acquires(order));
  return v.value;
}

/// A new version at the end of the modification order; the oldest is dropped when there are too
/// many.
weak_memory::version& weak_memory::append(location& x) {
  if (x.versions.size() < depth_) {
    x.versions.reserve(depth_);
    x.versions.emplace_back();
  } else {
    std::rotate(x.versions.begin(), x.versions.begin() + 1, x.versions.end());
  }
  version& v = x.versions.back();
  v.seen.assign(lanes_.size(), never);
  v.released.clear();
  return v;
}

void weak_memory::store(std::uint32_t lane, const void* word, std::uint64_t before,
                        std::uint64_t after, bool rmw, hook_order order) {
  location& x = at(word, before);
  lane_clock& l = lanes_[lane];
  if (rmw) learn(l, x.versions.back().released, acquires(order));
  if (rmw && before == after && order == hook_order::relaxed) {
    // A failed compare-exchange, or one that changes nothing: a read of the newest version.
    epoch* seen = x.versions.size() > 1 ? &x.versions.back().seen[lane] : nullptr;
    if (seen != nullptr && *seen == never) *seen = l.now[lane];
    return;
  }
  version& v = append(x);
  v.value = after;
  v.seen[lane] = l.now[lane];
  if (rmw)
    v.released = (&v - 1)->released;  // a read-modify-write hands on what it replaced had released
  publish(v.released, releases(order) ? l.now : l.released);
  if (releases(order)) ++l.now[lane];
}

void weak_memory::fence(std::uint32_t lane, hook_order order) {
  lane_clock& l = lanes_[lane];
  if (acquires(order)) {
    publish(l.now, l.to_acquire);
    l.to_acquire.clear();
  }
  if (releases(order)) {
    l.released = l.now;
    ++l.now[lane];
  }
}

void weak_memory::begin_barrier() { barrier_.clear(); }

void weak_memory::arrive(std::uint32_t lane) { publish(barrier_, lanes_[lane].now); }

void weak_memory::leave(std::uint32_t lane) {
  lanes_[lane].now = barrier_;
  ++lanes_[lane].now[lane];
}

}  // namespace gnstor::simt::host

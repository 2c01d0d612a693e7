#include "room_survey.hpp"

#include <base/log.hpp>
#include <base/start_thread.hpp>
#include <gnstor/host/error.hpp>
#include <gnstor/wire/afa/array_limits.hpp>
#include <link/allocated_blocks.hpp>

#include <algorithm>
#include <bit>
#include <utility>
#include <vector>

namespace gnstor::host {
namespace {

constexpr int rest = 9;  ///< times as long as a command took, until the next
constexpr std::chrono::microseconds least_rest{200};

}  // namespace

room_survey::~room_survey() { stop(); }

void room_survey::start() {
  thread_ = start_thread("room", "surveying an array's volumes", [this] { run(); });
}

void room_survey::halt() {
  stopping_ = true;
  changed_.notify_all();
}

void room_survey::stop() {
  {
    const std::lock_guard lock(guard_);
    halt();
  }
  if (thread_.joinable()) thread_.join();
}

std::optional<used_room> room_survey::of(const wire::afa::volume_record& r) const {
  const auto at = found_.find(r.vid);
  if (at == found_.end() || at->second.hash_factor != r.hash_factor) return std::nullopt;
  return at->second.room;
}

void room_survey::run() {
  std::unique_lock lock(guard_);
  changed_.wait_for(lock, every_ / 10, [this] { return stopping_; });
  while (!stopping_) {
    const auto next = clock::now() + every_;
    try {
      pass(lock);
    } catch (const std::exception& e) {
      if (!lock.owns_lock()) lock.lock();
      log(log_level::warning, e.what());
    }
    changed_.wait_until(lock, next, [this] { return stopping_; });
  }
}

/// Looks at every volume once. One that cannot be looked at keeps what was found of it before.
void room_survey::pass(std::unique_lock<std::mutex>& lock) {
  for (const wire::afa::volume_record& r : core_.volumes()) {
    if (stopping_) return;
    const wire::afa::volume_record* const still = core_.record_of(r.vid);
    if (still == nullptr || still->hash_factor != r.hash_factor || !core_.knows_epoch()) continue;
    const volume_info v = described(*still);
    if (const auto room = look(v, lock)) found_[r.vid] = {r.hash_factor, *room};
  }
  std::erase_if(found_, [&](const auto& f) { return core_.record_of(f.first) == nullptr; });
}

/// How a manager addresses a volume in the present epoch. With the lock.
volume_info room_survey::described(const wire::afa::volume_record& r) const {
  const daemon::membership& serving = core_.published();
  volume_info v;
  v.vid = volume_id(r.vid);
  v.client = client_id(core_.client());
  v.epoch = serving.epoch;
  v.hash_factor = r.hash_factor;
  v.capacity_blocks = r.capacity_blocks;
  v.stripe_blocks = r.stripe_blocks;
  v.replicas = r.replicas;
  v.ssd_count = r.ssd_count;
  v.set_membership(serving.absent, serving.filling, serving.others);
  return v;
}

/// Nothing: nobody can say just now.
std::optional<used_room> room_survey::look(const volume_info& v,
                                           std::unique_lock<std::mutex>& lock) {
  constexpr std::uint64_t most = allocated_blocks::most;
  const std::uint64_t parts = (v.capacity_blocks + most - 1) / most;
  const std::uint64_t some = std::min(parts, most_parts_);
  std::uint64_t looked_at = 0;
  std::uint64_t there = 0;
  for (std::uint64_t k = 0; k < some; ++k) {
    // One of those that this one stands for.
    const std::uint64_t from = parts * k / some;
    const std::uint64_t until = parts * (k + 1) / some;
    const std::uint64_t part = from + draw_() % (until - from);
    const auto blocks = static_cast<std::uint32_t>(std::min(most, v.capacity_blocks - part * most));
    const auto counted = count(v, part * most, blocks, lock);
    if (!counted) return std::nullopt;
    looked_at += blocks;
    there += *counted;
  }
  if (some == parts) return used_room{there, true};
  const double share = static_cast<double>(there) / static_cast<double>(looked_at);
  return used_room{static_cast<std::uint64_t>(share * static_cast<double>(v.capacity_blocks)),
                   false};
}

/// How many of some blocks are on any of the SSDs in sync. Nothing: all replicas of some may be on
/// others, or one does not say.
std::optional<std::uint32_t> room_survey::count(const volume_info& v, std::uint64_t first,
                                                std::uint32_t blocks,
                                                std::unique_lock<std::mutex>& lock) {
  const auto lost = std::popcount(allocated_blocks::silent_places(v));
  if (static_cast<std::uint32_t>(lost) >= v.replicas) return std::nullopt;
  const std::uint64_t silent = v.absent | v.filling;
  std::vector<bool> there(blocks, false);
  for (std::uint32_t ssd = 0; ssd < wire::afa::max_ssds; ++ssd) {
    if ((v.ssds() >> ssd & 1) == 0 || (silent >> ssd & 1) != 0) continue;
    lock.unlock();
    const auto began = clock::now();
    const status s = client_->mark_allocated(v, ssd, first, there);
    const auto took = clock::now() - began;
    lock.lock();
    changed_.wait_for(lock, std::max<clock::duration>(took * rest, least_rest),
                      [this] { return stopping_; });
    if (!s.ok() || stopping_) return std::nullopt;
  }
  return static_cast<std::uint32_t>(std::count(there.begin(), there.end(), true));
}

}  // namespace gnstor::host

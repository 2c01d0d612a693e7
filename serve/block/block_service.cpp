#include "block_service.hpp"

#include <base/start_thread.hpp>
#include <gnstor/channel/channel_set.hpp>
#include <gnstor/core/bounded.hpp>
#include <gnstor/io/callback_table.hpp>
#include <gnstor/simt/clock.hpp>

#include <control/in_epochs.hpp>

#include <algorithm>
#include <chrono>

namespace gnstor::serve {
namespace {

/// Blocks that one operation on the channel moves at most: what has more goes on when that is done,
/// so that one caller does not take all of the channel.
constexpr std::uint64_t most_blocks = 256;
/// Requests that are sent before answers are looked for again.
constexpr std::uint32_t most_at_once = 64;
/// Rounds in which nothing has moved before the thread leaves its core to others for longer.
constexpr std::uint32_t keen_rounds = 2000;
constexpr std::chrono::microseconds nap{20};
/// How often the connection may be made again while requests wait for that or for an epoch.
constexpr std::chrono::milliseconds between_looks{2};

status closed() { return status::make(status_code::closed, reporter::channel); }

}  // namespace

void block_service::ended::operator()(const io_event& e) const {
  --service->under_way_;
  service->settle(*reinterpret_cast<block_request*>(e.argument), e.outcome);
}

block_service::block_service(host::array_link& link, epoch_board* epochs,
                             const block_settings& settings)
    : link_(&link), epochs_(epochs), settings_(settings) {
  thread_ = host::start_thread("reading and writing volumes", [this] { serve(); });
}

block_service::~block_service() {
  {
    const std::lock_guard lock(guard_);
    stopping_ = true;
    has_incoming_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void block_service::submit(block_request& r) {
  r.at_ = 0;
  r.memory_lost = false;
  r.avoided_ = 0;
  r.ends_ = simt::within(settings_.patience);
  bool first = false;
  {
    const std::lock_guard lock(guard_);
    first = incoming_.empty();
    incoming_.push_back(&r);
    has_incoming_.store(true, std::memory_order_release);
  }
  if (first) changed_.notify_one();
}

// ---- the thread

void block_service::serve() {
  for (;;) {
    sleep();
    {
      const std::lock_guard lock(guard_);
      if (stopping_) break;
    }
    try {
      link_->drive([this] { carry_on(); });
    } catch (const std::exception&) {
      // Whoever owns the array says why. Nothing is answered any more.
      for (block_request* r : std::exchange(next_, {})) finish(*r, closed());
    }
  }
  (void)take_incoming();
  for (block_request* r : std::exchange(next_, {})) finish(*r, closed());
  for (block_request* r : std::exchange(waiting_, {})) finish(*r, closed());
}

/// Waits until there is something to do; a moment only while requests wait for another epoch.
void block_service::sleep() {
  std::unique_lock lock(guard_);
  const auto asked = [this] { return stopping_ || !incoming_.empty(); };
  if (!next_.empty()) return;
  if (waiting_.empty()) {
    changed_.wait(lock, asked);
  } else {
    changed_.wait_for(lock, between_looks, asked);
  }
}

/// Sends, and takes answers, until nothing is under way. Where the connection breaks nothing more
/// is sent until the next time, when it may have been made again.
void block_service::carry_on() {
  started_ = link_->fresh_starts();
  const remote_channel channel = link_->host();
  const async_io<remote_channel> io(channel);
  const callback_table calls(ended{this});
  bool sends = true;  // at first whatever state it is in: then it could not be made again
  std::uint32_t quiet = 0;
  for (bounded rounds{~std::uint64_t{0}}; rounds;) {
    bool moved = take_incoming();
    moved = finds_epoch() || moved;
    if (sends) moved = begin_some() || moved;
    for (bounded most{64}; most && io.dispatch(calls);) moved = true;
    sends = channel.phase() == channel_phase::ready;
    if (under_way_ == 0 && (next_.empty() || !sends)) return;
    quiet = moved ? 0 : quiet + 1;
    if (quiet < keen_rounds) {
      simt::pause();
    } else {
      std::this_thread::sleep_for(nap);
    }
  }
}

bool block_service::take_incoming() {
  if (!has_incoming_.load(std::memory_order_acquire)) return false;
  const std::lock_guard lock(guard_);
  if (!stopping_) has_incoming_.store(false, std::memory_order_relaxed);
  next_.insert(next_.end(), incoming_.begin(), incoming_.end());
  const bool any = !incoming_.empty();
  incoming_.clear();
  return any;
}

bool block_service::begin_some() {
  bool moved = false;
  for (bounded most{most_at_once}; most && !next_.empty(); moved = true) {
    block_request* const r = next_.front();
    next_.pop_front();
    if (begin(*r)) continue;
    next_.push_front(r);
    return moved;
  }
  return moved;
}

/// The request's volume in the epoch that is known.
volume_info block_service::present(const block_request& r) const {
  volume_info v = r.volume;
  v.epochs = nullptr;
  array_epoch now;
  if (epochs_ != nullptr && epochs_->read(now) && now.number > v.epoch) {
    v.epoch = now.number;
    v.set_membership(now.absent, now.filling);
  }
  return v;
}

/// How long one attempt may take: an SSD that falls silent is not waited for as long as there is
/// time where there is an epoch without it by then.
std::uint64_t block_service::attempt_ns() const {
  return settings_.managed ? settings_.patience.ns() / 4 : settings_.patience.ns();
}

/// Sends what comes next of a request. False if there is no room for it now.
bool block_service::begin(block_request& r) {
  if (r.ends_.expired(simt::now_ns())) {  // nothing of it is under way
    finish(r, status::make(status_code::no_memory, reporter::channel));
    return true;
  }
  volume_info v = present(r);
  if (r.sent_in_ != v.epoch || r.sent_by_ != started_) r.avoided_ = 0;
  r.sent_in_ = v.epoch;
  r.sent_by_ = started_;
  v.filling |= v.plain() ? 0 : r.avoided_;
  const remote_volume volume(v, channel_set<remote_channel>(&link_->host(), 1),
                             rendezvous_placement(v.ssd_count));
  const completion_call then{callback_table<ended>::id<ended>(),
                             reinterpret_cast<std::uint64_t>(&r)};
  ++under_way_;
  const result<io_ticket> begun = send(r, volume, then);
  if (begun) return true;
  --under_way_;
  if (begun.status.code == status_code::would_block) return false;
  settle(r, begun.status);
  return true;
}

result<io_ticket> block_service::send(block_request& r, const remote_volume& volume,
                                      completion_call then) {
  const deadline d = deadline::after(0, std::min(r.ends_.at_ns(), simt::now_ns() + attempt_ns()));
  if (r.what == block_request::kind::flush) return volume.flush_async(d, then);
  r.under_way_ = std::min(r.blocks - r.at_, most_blocks);
  const vba first(static_cast<std::uint32_t>(r.first + r.at_));
  const auto blocks = static_cast<std::uint32_t>(r.under_way_);
  if (r.what == block_request::kind::write_zeroes)
    return volume.deallocate_async(first, blocks, d, then);
  const io_buffer part = r.memory.slice(r.at_ * block_bytes, r.under_way_ * block_bytes);
  if (r.what == block_request::kind::read) return volume.read_async(first, blocks, part, d, then);
  return volume.write_async(first, blocks, part, d, then);
}

/// One operation of a request has ended.
void block_service::settle(block_request& r, status s) {
  if (!s.ok() && wakes(r, s)) return;
  if (s.ok() && r.what != block_request::kind::flush) {
    r.at_ += r.under_way_;
    if (r.at_ < r.blocks) return next_.push_back(&r);
  }
  finish(r, s);
}

/// Sees to it that a request which failed so is sent again. False if that would not help.
bool block_service::wakes(block_request& r, status s) {
  const bool reads = r.what == block_request::kind::read;
  if (s.left_behind() && reads) {
    // A late answer would change what a second one delivers: it goes elsewhere, from its start.
    const std::optional<io_buffer> other = r.other_memory();
    r.memory_lost = !other.has_value();
    if (!other) return false;
    r.memory = *other;
    r.at_ = 0;
  } else if (s.left_behind()) {
    // The SSD may still read it; what it writes then counts no more when it is sent again.
    r.memory_lost = true;
  }
  if (r.ends_.expired(simt::now_ns())) return false;
  if (s.code == status_code::buffer_in_use) {
    r.avoided_ |= s.ssd < 64 ? std::uint64_t{1} << s.ssd : 0;
    next_.push_back(&r);
    return true;
  }
  if (!may_be_sent_again(s)) return false;
  if (epochs_ != nullptr) epochs_->wish();
  r.outcome = s;
  waiting_.push_back(&r);
  return true;
}

/// True if a request that failed so may succeed in another epoch, or by another connection.
bool block_service::may_be_sent_again(status s) const {
  if (settings_.managed && host::may_pass(s)) return true;
  if (host::is_own(s, wire::afa::status::stale_epoch)) return true;
  return settings_.reconnects &&
         (s.code == status_code::flushed || s.code == status_code::closed ||
          s.code == status_code::transport_error || s.code == status_code::not_ready);
}

/// Has what waits sent again for which another epoch, or another connection, is there.
bool block_service::finds_epoch() {
  if (waiting_.empty()) return false;
  const std::uint64_t now = simt::now_ns();
  array_epoch known;
  const bool any = epochs_ != nullptr && epochs_->read(known);
  const auto stays = [&](block_request* r) {
    return !(any && known.number > r->sent_in_) && r->sent_by_ == started_;
  };
  const auto goes = std::stable_partition(waiting_.begin(), waiting_.end(), stays);
  const bool moved = goes != waiting_.end();
  next_.insert(next_.end(), goes, waiting_.end());
  waiting_.erase(goes, waiting_.end());
  give_up_waiting(now);
  if (!waiting_.empty() && epochs_ != nullptr) epochs_->wish();
  return moved;
}

void block_service::give_up_waiting(std::uint64_t now_ns) {
  const auto late =
      std::stable_partition(waiting_.begin(), waiting_.end(),
                            [&](const block_request* r) { return !r->ends_.expired(now_ns); });
  const std::vector<block_request*> over(late, waiting_.end());
  waiting_.erase(late, waiting_.end());
  for (block_request* r : over) finish(*r, r->outcome);
}

void block_service::finish(block_request& r, status s) {
  r.outcome = s;
  r.done();
}

}  // namespace gnstor::serve

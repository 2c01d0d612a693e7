#include "block_engine.hpp"

#include <gnstor/channel/channel_set.hpp>
#include <gnstor/core/bounded.hpp>
#include <gnstor/io/callback_table.hpp>
#include <gnstor/simt/clock.hpp>

#include <control/in_epochs.hpp>
#include <unistd.h>

#include <algorithm>
#include <chrono>

namespace gnstor::serve {
namespace {

/// Blocks that one operation on the channel moves at most: what has more goes on when that is done,
/// so that one caller does not take all of the channel.
constexpr std::uint64_t most_blocks = 256;
/// Between two looks at a connection that is lost.
constexpr std::uint64_t pause_ns = 5'000'000;
/// Requests that are sent before answers are looked for again.
constexpr std::uint32_t most_at_once = 64;

status closed() { return status::make(status_code::closed, reporter::channel); }

}  // namespace

block_engine::block_engine(host::array_link& link, std::uint32_t channel,
                           host::epoch_watcher* epochs, const block_settings& settings,
                           std::shared_ptr<ssd_shares> shares)
    : link_(&link),
      channel_(channel),
      epochs_(epochs),
      settings_(settings),
      shares_(std::move(shares)) {}

std::shared_ptr<ssd_shares> block_engine::shares_of(const host::array_link& link) {
  return std::make_shared<ssd_shares>(link.host().queue().depth());
}

block_engine::~block_engine() {
  if (event_fd_ >= 0) link_->wake(channel_, event_fd_, false);
}

bool block_engine::wakes(int event_fd) {
  if (!link_->can_wake()) return false;
  link_->wake(channel_, event_fd, true);
  event_fd_ = event_fd;
  return true;
}

/// An operation has ended: perhaps another engine's, which uses the same channel.
void block_engine::ended::operator()(const io_event& e) const {
  auto& r = *reinterpret_cast<block_request*>(e.argument);
  block_engine& owner = *r.engine_;
  if (&owner == engine) return engine->operation_ended(r, e.outcome);
  const std::lock_guard lock(owner.guard_);
  owner.handed_over_.emplace_back(&r, e.outcome);
  owner.any_handed_over_.store(true, std::memory_order_release);
  if (owner.event_fd_ < 0) return;
  constexpr std::uint64_t one = 1;
  (void)!::write(owner.event_fd_, &one, sizeof one);  // it may sleep
}

void block_engine::submit(block_request& r) {
  r.engine_ = this;
  r.at_ = 0;
  r.memory_lost = false;
  r.avoided_ = 0;
  r.ends_ = simt::within(settings_.patience);
  next_.push_back(&r);
}

bool block_engine::progress() {
  if (away_ && simt::now_ns() < next_try_ns_) return false;
  bool moved = false;
  try {
    away_ = !link_->try_drive([&] {
      failed_ = false;
      moved = round();
    });
  } catch (const std::exception&) {
    // Whoever owns the link says why.
    away_ = settings_.reconnects;
    failed_ = !away_;
  }
  if (away_) {
    next_try_ns_ = simt::now_ns() + pause_ns;
    end_former_life();
    end_expired();
  } else if (failed_) {
    moved = round();  // what is under way has been broken with its queue pairs
  }
  return moved;
}

/// Where the connection has broken nothing more is sent until what is under way has ended: it may
/// be made again then.
bool block_engine::round() {
  started_ = link_->fresh_starts();
  end_former_life();
  const remote_channel channel = link_->host_of(channel_);
  const async_io<remote_channel> io(channel);
  const callback_table calls(ended{this});
  bool moved = take_handed_over();
  moved = finds_epoch() || moved;
  if (failed_) give_up();
  if (sends_ || under_way_.empty()) moved = begin_some() || moved;
  for (bounded most{most_at_once * 4}; most && io.poll();) moved = true;
  for (bounded most{most_at_once}; most && io.dispatch(calls);) moved = true;
  sends_ = channel.phase() == channel_phase::ready;
  return moved;
}

/// Where the channel was made anew it knows nothing of what was under way. The target may have said
/// that nothing of that can happen any more.
void block_engine::end_former_life() {
  const std::uint64_t now = link_->lives();
  if (now == std::exchange(life_, now)) return;
  (void)take_handed_over();  // it was the former life's
  const std::vector<block_request*> lost(under_way_.begin(), under_way_.end());
  for (block_request* r : lost) {
    const bool over = r->sent_by_ != started_;
    operation_ended(*r,
                    status::make(over ? status_code::reset : status_code::flushed, reporter::nic));
  }
}

/// Ends what waits and whose time is up.
void block_engine::end_expired() {
  const std::uint64_t now = simt::now_ns();
  end_late_waiters(now);
  std::vector<block_request*> over;
  std::erase_if(next_, [&](block_request* r) {
    if (!r->ends_.expired(now)) return false;
    over.push_back(r);
    return true;
  });
  for (block_request* r : over) finish(*r, status::make(status_code::flushed, reporter::nic));
}

bool block_engine::take_handed_over() {
  if (!any_handed_over_.load(std::memory_order_acquire)) return false;
  std::vector<std::pair<block_request*, status>> all;
  {
    const std::lock_guard lock(guard_);
    all.swap(handed_over_);
    any_handed_over_.store(false, std::memory_order_relaxed);
  }
  for (const auto& [r, s] : all) operation_ended(*r, s);
  return !all.empty();
}

void block_engine::give_up() {
  for (block_request* r : std::exchange(next_, {})) finish(*r, closed());
  for (block_request* r : std::exchange(waiting_, {})) finish(*r, closed());
}

/// Sends what there is room for, in order. What has to wait for an SSD's share holds up what asks
/// that SSD, and nothing else.
bool block_engine::begin_some() {
  bool moved = false;
  std::size_t at = 0;
  std::uint64_t lacking = 0;
  for (bounded most{most_at_once}; most && at < next_.size();) {
    block_request* const r = next_[at];
    next_.erase(next_.begin() + static_cast<std::ptrdiff_t>(at));
    const beginning b = begin(*r, lacking);
    if (b != beginning::done) next_.insert(next_.begin() + static_cast<std::ptrdiff_t>(at), r);
    if (b == beginning::no_room) break;
    if (b == beginning::no_share) ++at;
    moved = moved || b == beginning::done;
  }
  return moved;
}

/// Sends what comes next of a request, if there is room for it.
block_engine::beginning block_engine::begin(block_request& r, std::uint64_t& lacking) {
  if (r.ends_.expired(simt::now_ns())) {  // nothing of it is under way
    finish(r, status::make(status_code::no_memory, reporter::channel));
    return beginning::done;
  }
  volume_info v = epochs_ != nullptr ? epochs_->present(r.volume) : r.volume;
  v.epochs = nullptr;  // the engine follows them
  if (r.sent_in_ != v.epoch || r.sent_by_ != started_) r.avoided_ = 0;
  r.sent_in_ = v.epoch;
  r.sent_by_ = started_;
  v.filling |= v.plain() ? 0 : r.avoided_;
  const remote_volume volume(v, channel_set<remote_channel>(&link_->host_of(channel_), 1),
                             rendezvous_placement(v.ssd_count));
  const completion_call then{callback_table<ended>::id<ended>(),
                             reinterpret_cast<std::uint64_t>(&r)};
  r.asks_ = asks_of(r, v);
  if ((r.asks_.ssds() & lacking) != 0) return beginning::no_share;
  std::uint64_t lacks = 0;
  const ssd_shares::outcome got = shares_->take(r.asks_, lacks);
  lacking |= lacks;
  if (got == ssd_shares::outcome::no_room) return beginning::no_room;
  if (got == ssd_shares::outcome::no_share) return beginning::no_share;
  if (under_way_.empty()) use_ = link_->use();
  under_way_.insert(&r);
  const result<io_ticket> begun = send(r, volume, then);
  if (begun) return beginning::done;
  forget(r);
  if (begun.status.code == status_code::would_block) return beginning::no_room;
  settle(r, begun.status);
  return beginning::done;
}

/// The commands of what comes next of a request.
ssd_asks block_engine::asks_of(const block_request& r, const volume_info& v) {
  using kind = block_request::kind;
  if (r.what == kind::flush) return ssd_asks::of_flush(v);
  const std::uint64_t blocks = std::min(r.blocks - r.at_, most_blocks);
  const std::uint32_t most = r.what == kind::write_zeroes ? v.stripe_blocks : v.max_transfer_blocks;
  return {v, r.first + r.at_, blocks, most, r.what == kind::read};
}

result<io_ticket> block_engine::send(block_request& r, const remote_volume& volume,
                                     completion_call then) {
  const std::uint64_t attempt =
      settings_.attempt.ns() != 0 ? settings_.attempt.ns() : settings_.patience.ns();
  const deadline d = deadline::after(0, std::min(r.ends_.at_ns(), simt::now_ns() + attempt));
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

void block_engine::operation_ended(block_request& r, status s) {
  forget(r);
  settle(r, s);
}

/// Nothing of a request is under way any more.
void block_engine::forget(block_request& r) {
  under_way_.erase(&r);
  if (under_way_.empty()) use_.reset();
  shares_->give(r.asks_);
}

/// One operation of a request has ended, or could not be begun.
void block_engine::settle(block_request& r, status s) {
  if (!s.ok() && goes_on(r, s)) return;
  if (s.ok() && r.what != block_request::kind::flush) {
    r.at_ += r.under_way_;
    if (r.at_ < r.blocks) return next_.push_back(&r);
  }
  finish(r, s);
}

/// Sees to it that a request which failed so is sent again. False if that would not help.
bool block_engine::goes_on(block_request& r, status s) {
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
bool block_engine::may_be_sent_again(status s) const {
  if (settings_.managed && host::may_pass(s)) return true;
  if (host::is_own(s, wire::afa::status::stale_epoch)) return true;
  return settings_.reconnects &&
         (s.code == status_code::reset || s.code == status_code::flushed ||
          s.code == status_code::closed || s.code == status_code::transport_error ||
          s.code == status_code::not_ready);
}

/// Has what waits sent again for which another epoch, or another connection, is there.
bool block_engine::finds_epoch() {
  if (waiting_.empty()) return false;
  const std::uint64_t now = simt::now_ns();
  array_epoch known;
  const bool any = epochs_ != nullptr && epochs_->board().read(known);
  const auto stays = [&](block_request* r) {
    return !(any && known.number > r->sent_in_) && r->sent_by_ == started_;
  };
  const auto goes = std::stable_partition(waiting_.begin(), waiting_.end(), stays);
  const bool moved = goes != waiting_.end();
  next_.insert(next_.end(), goes, waiting_.end());
  waiting_.erase(goes, waiting_.end());
  end_late_waiters(now);
  if (!waiting_.empty() && epochs_ != nullptr) epochs_->wish();
  return moved;
}

void block_engine::end_late_waiters(std::uint64_t now_ns) {
  const auto late =
      std::stable_partition(waiting_.begin(), waiting_.end(),
                            [&](const block_request* r) { return !r->ends_.expired(now_ns); });
  const std::vector<block_request*> over(late, waiting_.end());
  waiting_.erase(late, waiting_.end());
  for (block_request* r : over) finish(*r, r->outcome);
}

void block_engine::finish(block_request& r, status s) {
  r.outcome = s;
  r.done();
}

}  // namespace gnstor::serve

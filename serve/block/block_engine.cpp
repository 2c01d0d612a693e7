#include "block_engine.hpp"

#include "lost_commands.hpp"
#include <gnstor/channel/channel_set.hpp>
#include <gnstor/core/bounded.hpp>
#include <gnstor/io/callback_table.hpp>
#include <gnstor/simt/clock.hpp>

#include <control/in_epochs.hpp>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <chrono>

namespace gnstor::serve {
namespace {

/// Blocks that one operation on the channel moves at most: what has more goes on when that is done,
/// so that one caller does not take all of the channel.
constexpr std::uint64_t most_blocks = 256;
/// Between two looks at a connection that is lost.
constexpr std::uint64_t pause_ns = 5'000'000;
/// Between two looks at what asks an SSD that is silent.
constexpr std::uint64_t silent_pause_ns = 2'000'000;
/// Requests that are sent before answers are looked for again.
constexpr std::uint32_t most_at_once = 64;

status closed() { return status::make(status_code::closed, reporter::channel); }

}  // namespace

block_engine::block_engine(host::array_link& link, std::uint32_t channel,
                           host::epoch_watcher* epochs, const block_settings& settings,
                           std::shared_ptr<ssd_shares> shares)
    : link_(&link),
      channel_(channel),
      listener_(channel),
      epochs_(epochs),
      settings_(settings),
      shares_(std::move(shares)),
      order_(settings.order ? settings.order : std::make_shared<write_order>()) {}

std::shared_ptr<ssd_shares> block_engine::shares_of(const host::array_link& link) {
  return std::make_shared<ssd_shares>(link.host().queue().depth());
}

block_engine::~block_engine() { listener_.end(*link_); }

bool block_engine::wakes(int event_fd) { return listener_.wakes(*link_, event_fd); }

void block_engine::arm() { listener_.arm(*link_, wants_answers()); }

/// An operation has ended: perhaps another engine's, which uses the same channel.
void block_engine::ended::operator()(const io_event& e) const {
  auto& r = *reinterpret_cast<block_request*>(e.argument);
  block_engine& owner = *r.engine_;
  if (&owner == engine) return engine->operation_ended(r, e.outcome);
  const std::lock_guard lock(owner.guard_);
  owner.handed_over_.emplace_back(&r, e.outcome);
  owner.any_handed_over_.store(true, std::memory_order_release);
  owner.listener_.wake();
}

void block_engine::submit(block_request& r) {
  r.engine_ = this;
  r.at_ = 0;
  r.memory_lost = false;
  r.avoided_ = 0;
  const std::uint64_t now = simt::now_ns();
  r.ends_ = deadline::after(now, settings_.patience.ns());
  r.submitted_ns_ = now;
  r.in_phase_ = false;
  turn(r, request_phase::queued, now);
  if (r.has_turn()) {
    {
      const std::lock_guard lock(guard_);
      come_.reserve(behind_.size() + 1);
    }
    if (!order_->enter(r, r.volume.vid, r.first, r.blocks)) {
      behind_.insert(&r);
      return;
    }
  }
  next_.push_back(&r);
}

void block_request::comes() noexcept { engine_->turn_comes(*this); }

/// What a request had to wait for has ended, perhaps in another engine: its own one finds it soon.
void block_engine::turn_comes(block_request& r) {
  {
    const std::lock_guard lock(guard_);
    come_.push_back(&r);  // it has room for all
    any_handed_over_.store(true, std::memory_order_release);
  }
  listener_.wake();
}

/// A request comes to a phase, from another or from none.
void block_engine::turn(block_request& r, request_phase to, std::uint64_t now_ns) {
  if (r.in_phase_ && r.phase_ == to) return;
  leave(r, now_ns);
  r.in_phase_ = true;
  r.phase_ = to;
  r.since_ns_ = now_ns;
  if (settings_.phases != nullptr) settings_.phases->enter(to);
}

/// A request leaves the phase that it is in, if any.
void block_engine::leave(block_request& r, std::uint64_t now_ns) {
  if (!std::exchange(r.in_phase_, false)) return;
  if (settings_.phases != nullptr) settings_.phases->leave(r.phase_, now_ns - r.since_ns_);
  r.since_ns_ = now_ns;
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
  if (!behind_.empty()) end_late_behind(simt::now_ns());
  if (shares_->has_lost()) shares_->settle(lost_commands(channel));
  const bool looks = look_at_silent();
  if (sends_ || under_way_.empty()) moved = begin_some() || moved;
  // Else what comes is others', who look for it.
  if (!wants_answers() && !looks) return moved;
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
  end_late_behind(now);
  next_.insert(next_.end(), withheld_.begin(), withheld_.end());
  withheld_.clear();
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
  bool moved = false;
  {
    const std::lock_guard lock(guard_);
    all.swap(handed_over_);
    for (block_request* r : come_) {
      behind_.erase(r);
      next_.push_back(r);
      moved = true;
    }
    come_.clear();
    any_handed_over_.store(false, std::memory_order_relaxed);
  }
  for (const auto& [r, s] : all) operation_ended(*r, s);
  return moved || !all.empty();
}

void block_engine::give_up() {
  for (block_request* r : std::exchange(next_, {})) finish(*r, closed());
  for (block_request* r : std::exchange(waiting_, {})) finish(*r, closed());
  for (block_request* r : std::exchange(withheld_, {})) finish(*r, closed());
  for (; !behind_.empty();) finish(**behind_.begin(), closed());
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
    moved = moved || b == beginning::done;
    if (b == beginning::silent) {
      turn(*r, request_phase::waiting, simt::now_ns());
      withheld_.push_back(r);
    }
    if (b == beginning::done || b == beginning::silent) continue;
    next_.insert(next_.begin() + static_cast<std::ptrdiff_t>(at), r);
    if (b == beginning::no_room) break;
    ++at;
  }
  return moved;
}

/// Sends what comes next of a request, if there is room for it.
block_engine::beginning block_engine::begin(block_request& r, std::uint64_t& lacking) {
  const std::uint64_t now = simt::now_ns();
  if (r.ends_.expired(now)) {  // nothing of it is under way
    finish(r, status::make(status_code::no_memory, reporter::channel));
    return beginning::done;
  }
  volume_info v = epochs_ != nullptr ? epochs_->present(r.volume) : r.volume;
  v.epochs = nullptr;  // the engine follows them
  if (r.sent_in_ != v.epoch || r.sent_by_ != started_) r.avoided_ = 0;
  r.sent_in_ = v.epoch;
  r.sent_by_ = started_;
  if (!v.plain()) v.filling |= r.avoided_ | avoidable(r, v);
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
  if (got == ssd_shares::outcome::no_share)
    return (lacks & shares_->silent()) != 0 ? beginning::silent : beginning::no_share;
  if (under_way_.empty()) use_ = link_->use();
  under_way_.insert(&r);
  const result<io_ticket> begun = send(r, volume, then, now);
  if (begun) {
    turn(r, request_phase::flash, now);
    return beginning::done;
  }
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
                                     completion_call then, std::uint64_t now_ns) {
  const std::uint64_t attempt =
      settings_.attempt.ns() != 0 ? settings_.attempt.ns() : settings_.patience.ns();
  const deadline d = deadline::after(0, std::min(r.ends_.at_ns(), now_ns + attempt));
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
  if (s.code == status_code::timed_out || s.code == status_code::buffer_in_use) {
    // Where several have failed it does not say which.
    const bool named = s.ssd < max_ssds && (r.asks_.ssds() >> s.ssd & 1) != 0;
    shares_->lose(r.asks_, named ? std::uint64_t{1} << s.ssd : r.asks_.ssds());
  }
  forget(r);
  leave(r, simt::now_ns());
  settle(r, s);
}

/// SSDs that are silent, where a read can do without.
std::uint64_t block_engine::avoidable(const block_request& r, const volume_info& v) const {
  const std::uint64_t silent = shares_->silent();
  if (silent == 0 || r.what != block_request::kind::read) return 0;
  const std::uint64_t without = silent | v.absent | v.filling | r.avoided_;
  return static_cast<std::uint32_t>(std::popcount(without)) < v.replicas ? silent : 0;
}

/// Has what asks silent SSDs sent where they are no longer, and ended when its time is up. Not each
/// time: others are not to wait for that. True if it has looked: late answers may have come, though
/// nothing is under way.
bool block_engine::look_at_silent() {
  if (withheld_.empty()) return false;
  const std::uint64_t now = simt::now_ns();
  if (now < next_look_ns_) return false;
  next_look_ns_ = now + silent_pause_ns;
  next_.insert(next_.end(), withheld_.begin(), withheld_.end());
  withheld_.clear();
  return true;
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
    if (r.at_ < r.blocks) return queue(r);
  }
  finish(r, s);
}

/// Puts what goes on behind what waits already.
void block_engine::queue(block_request& r) {
  turn(r, request_phase::queued, r.since_ns_);
  next_.push_back(&r);
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
    queue(r);
    return true;
  }
  if (!may_be_sent_again(s)) return false;
  if (epochs_ != nullptr) epochs_->wish();
  r.outcome = s;
  turn(r, request_phase::waiting, r.since_ns_);
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
  const auto stays = [&](block_request* r) {
    const bool later = epochs_ != nullptr && epochs_->present(r->volume).epoch > r->sent_in_;
    return !later && r->sent_by_ == started_;
  };
  const auto goes = std::stable_partition(waiting_.begin(), waiting_.end(), stays);
  const bool moved = goes != waiting_.end();
  for (auto r = goes; r != waiting_.end(); ++r) turn(**r, request_phase::queued, now);
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

/// Ends what still waits for its turn and whose time is up.
void block_engine::end_late_behind(std::uint64_t now_ns) {
  std::vector<block_request*> over;
  for (block_request* r : behind_)
    if (r->ends_.expired(now_ns)) over.push_back(r);
  for (block_request* r : over) finish(*r, status::make(status_code::no_memory, reporter::channel));
}

void block_engine::finish(block_request& r, status s) {
  if (r.has_turn()) order_->leave(r);
  if (!behind_.empty() && behind_.erase(&r) != 0) {
    const std::lock_guard lock(guard_);
    std::erase(come_, &r);
  }
  if (r.in_phase_) leave(r, simt::now_ns());
  if (settings_.phases != nullptr) settings_.phases->finish(s.ok());
  r.outcome = s;
  r.done();
}

}  // namespace gnstor::serve

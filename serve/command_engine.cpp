#include "command_engine.hpp"

#include <gnstor/core/bounded.hpp>
#include <gnstor/simt/clock.hpp>
#include <gnstor/wire/nvme/keyed_sgl.hpp>
#include <serve/block/lost_commands.hpp>

#include <algorithm>
#include <exception>
#include <utility>

namespace gnstor::serve {
namespace {

/// Completions that are taken before commands are looked at again.
constexpr std::uint32_t most_answers = 256;

}  // namespace

command_engine::~command_engine() { listener_.end(user_->link()); }

bool command_engine::wakes(int event_fd) { return listener_.wakes(user_->link(), event_fd); }

void command_engine::arm() { listener_.arm(user_->link(), !is_idle()); }

bool command_engine::may_ask(std::uint32_t nsid) {
  ssd_shares& shares = user_->shares();
  if (shares.has_lost()) shares.settle(lost_commands(user_->link().host()));
  return (ssd_asks::of_command(nsid).ssds() & shares.owing()) == 0;
}

void command_engine::submit(ssd_command& c) {
  const std::uint64_t now = simt::now_ns();
  c.submitted_ns_ = now;
  c.ends_ = deadline::after(now, patience_.ns());
  c.memory_lost = false;
  c.asks_ = ssd_asks::of_command(c.entry.nsid);
  c.entry.flags = wire::nvme::flags_sgl;
  c.entry.dptr =
      c.memory.bytes == 0
          ? wire::nvme::make_empty_sgl()
          : wire::nvme::make_keyed_sgl(c.memory.address, static_cast<std::uint32_t>(c.memory.bytes),
                                       c.memory.rkey);
  next_.push_back(&c);
}

bool command_engine::progress() {
  if (is_idle()) return false;
  bool moved = false;
  try {
    user_->link().drive([&] {
      failed_ = false;
      moved = round();
    });
  } catch (const std::exception&) {
    failed_ = true;   // whoever owns the array says why
    moved = round();  // what is under way has been broken with its queue pair
  }
  return moved;
}

bool command_engine::round() {
  const remote_channel& channel = user_->link().host();
  if (failed_) give_up();
  if (user_->shares().has_lost()) user_->shares().settle(lost_commands(channel));
  bool moved = begin_some(channel);
  for (bounded most{most_answers}; most && channel.poll();) moved = true;
  return take_answers(channel) || moved;
}

/// Sends what there is room for; what asks an SSD that has none lets others pass.
bool command_engine::begin_some(const remote_channel& channel) {
  bool moved = false;
  const std::uint64_t now = next_.empty() ? 0 : simt::now_ns();
  std::uint64_t lacking = 0;  // SSDs that earlier commands wait for, by bit
  std::deque<ssd_command*> left;
  for (bool room = true; !next_.empty();) {
    ssd_command& c = *next_.front();
    next_.pop_front();
    if (c.ends_.expired(now)) {
      finish(c, status::make(status_code::no_memory, reporter::channel), false);
      moved = true;
      continue;
    }
    std::uint64_t lacks = c.asks_.ssds() & lacking;
    const auto got =
        !room || lacks != 0 ? ssd_shares::outcome::no_share : user_->shares().take(c.asks_, lacks);
    if (got == ssd_shares::outcome::taken) {
      const result<ticket> sent = channel.submit(c.entry);
      if (sent) {
        if (under_way_.empty()) use_ = user_->link().use();
        c.ticket_ = sent.value;
        under_way_.push_back(&c);
        moved = true;
        continue;
      }
      user_->shares().give(c.asks_);
      if (sent.status.code != status_code::would_block) {
        finish(c, sent.status);
        moved = true;
        continue;
      }
      room = false;
    } else if (got == ssd_shares::outcome::no_room) {
      room = false;
    } else {
      lacking |= lacks;
    }
    left.push_back(&c);
  }
  next_.swap(left);
  const std::uint64_t silent = user_->shares().silent();
  withheld_ = std::all_of(next_.begin(), next_.end(),
                          [&](const ssd_command* c) { return (c->asks_.ssds() & silent) != 0; });
  return moved;
}

/// Ends what was answered, by whichever engine's look, and what was not in time.
bool command_engine::take_answers(const remote_channel& channel) {
  const bool broken = channel.phase() != channel_phase::ready;
  const std::uint64_t now = under_way_.empty() ? 0 : simt::now_ns();
  std::vector<ssd_command*> over;
  over.reserve(under_way_.size());
  std::erase_if(under_way_, [&](ssd_command* c) {
    status s = broken ? channel.try_wait(c->ticket_) : channel.take(c->ticket_);
    if (s.code == status_code::would_block) {
      if (!c->ends_.expired(now)) return false;
      s = channel.wait(c->ticket_, c->ends_);
    }
    user_->shares().give(c->asks_);
    if (s.left_behind()) {
      c->memory_lost = true;
      user_->shares().lose(c->asks_, c->asks_.ssds());
    }
    c->outcome = s;
    over.push_back(c);
    return true;
  });
  if (under_way_.empty()) use_.reset();
  for (ssd_command* c : over) finish(*c, c->outcome);
  return !over.empty();
}

void command_engine::give_up() {
  const std::deque<ssd_command*> all = std::exchange(next_, {});
  for (ssd_command* c : all)
    finish(*c, status::make(status_code::closed, reporter::channel), false);
}

/// @param sent else nobody hears of it
void command_engine::finish(ssd_command& c, status s, bool sent) {
  c.outcome = s;
  c.ended_ns_ = simt::now_ns();
  if (sent) user_->ended(c);
  c.done();
}

}  // namespace gnstor::serve

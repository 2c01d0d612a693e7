/// Blocks of a volume, which a queue's engine moves.

#include "rdma_movement.hpp"
#include <base/log.hpp>
#include <gnstor/core/bounded.hpp>
#include <gnstor/host/error.hpp>
#include <gnstor/simt/clock.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <utility>

namespace gnstor::serve {

/// The hosts of a volume move its blocks without a thread's waiting for them.
void rdma_queue::prepare_engine() {
  const auto& c = queue_.association();
  if (queue_.id() == 0) return;
  if (c->of().kind == subsystem_kind::array && c->manager() == nullptr) return prepare_relay();
  if (c->of().kind != subsystem_kind::volume || !c->of().store->blocks()) return;
  std::unique_ptr<block_engine> engine = array_->make_engine();
  if (engine == nullptr) return;
  movements_ = std::vector<movement>(memory_.entries());
  parted_ = std::vector<parts>(memory_.entries());
  arrived_.reserve(memory_.entries());
  moved_.reserve(memory_.entries());
  reach_ = array_->register_memory(memory_.staging().data(), memory_.staging().size());
  mover_ = std::move(engine);
  engine_ = mover_.get();
  wakes_ = engine_->wakes(wake_up_);
}

/// The hosts of the array have their commands passed on likewise.
void rdma_queue::prepare_relay() {
  std::unique_ptr<command_engine> engine =
      array_->make_command_engine(queue_.association()->host().client);
  if (engine == nullptr) return;
  try {
    reach_ = engine->register_memory(memory_.staging().data(), memory_.staging().size());
  } catch (const host::error& e) {
    host::log(host::log_level::info, fmt::format("{}: by workers: {}", name_, e.what()));
    return;  // the array's tables are full
  }
  relayings_ = std::vector<relaying>(memory_.entries());
  relayed_.reserve(memory_.entries());
  relay_ = std::move(engine);
  engine_ = relay_.get();
  wakes_ = engine_->wakes(wake_up_);
}

void rdma_queue::give_memory_back() {
  engine_ = nullptr;
  const bool lost = stages_.lost() != 0;
  if (relay_ != nullptr) {
    relay_->give_back(reach_, memory_.release(), lost);
    relay_.reset();
  } else if (mover_ != nullptr) {
    mover_.reset();
    array_->unregister_memory(reach_, memory_.release(), lost);
  }
}

/// A command whose blocks an engine moves comes to a phase; the engine counts its own.
void rdma_queue::turn(command& c, request_phase to) {
  phase_counts* const counts = array_->phases();
  if (counts == nullptr || !moves(c) || (c.in_phase && c.phase == to)) return;
  leave(c);
  c.in_phase = true;
  c.phase = to;
  c.since_ns = simt::now_ns();
  counts->enter(to);
}

/// And leaves the phase that it is in, if any.
void rdma_queue::leave(command& c) {
  if (!std::exchange(c.in_phase, false)) return;
  array_->phases()->leave(c.phase, simt::now_ns() - c.since_ns);
}

/// Has the engine move the blocks of a command.
void rdma_queue::move_blocks(std::uint32_t k) {
  command& c = commands_[k];
  movement& m = movements_[k];
  m.of(*this, k);
  m.ranges.clear();
  if (c.what.entry.opcode == std::uint8_t(wire::nvme::nvm_opcode::dataset_management)) {
    c.outcome = queue_.ranges_of(c.what, data_of(c, k), m.ranges);
    std::reverse(m.ranges.begin(), m.ranges.end());
    if (!moves_range(c, m)) respond(k);
    return;
  }
  if (!queue_.prepare(c.what, memory_of(c, k), m, c.outcome)) return respond(k);
  const bool read = c.what.data == data_phase::send;
  if (sends_parts_ && read && c.what.bytes > parted_read::part_bytes) return move_parts(k);
  mover_->submit(m);
}

/// Has the engine deallocate the next range of a command. False: there is none, or it has failed.
bool rdma_queue::moves_range(command& c, movement& m) {
  if (c.outcome.status != 0 || m.ranges.empty()) return false;
  c.outcome = queue_.prepare_range(m, m.ranges.back());
  m.ranges.pop_back();
  if (c.outcome.status != 0) return false;
  mover_->submit(m);
  return true;
}

/// The memory of a command as the array reaches it, with what the host has sent.
io_buffer rdma_queue::memory_of(command& c, std::uint32_t k) {
  if (c.what.bytes == 0) return {};
  if (c.what.data == data_phase::in_capsule)
    std::memcpy(staged_data(c).data(), data_of(c, k).data(), c.what.bytes);
  return reach_.slice(std::uint64_t{c.stage.first} * block_bytes, c.what.bytes);
}

/// Has the engine pass a command on, unless that could cost much of the staging memory: of what
/// asks one SSD half of it at most, and nothing of one that owes answers already. Workers have
/// memory of their own.
void rdma_queue::choose_way(command& c) {
  const std::uint32_t ssd = c.what.entry.nsid - 1;
  if (!c.what.relayed || relay_ == nullptr || ssd >= max_ssds) return;
  const std::uint32_t blocks = std::max((c.what.bytes + block_bytes - 1) / block_bytes, 1u);
  std::uint32_t& all = relayed_blocks_[ssd];
  if (all + blocks > stages_.size() / 2 || !relay_->may_ask(c.what.entry.nsid)) return;
  c.relayed = blocks;
  all += blocks;
}

void rdma_queue::end_relay(command& c) {
  relayed_blocks_[c.what.entry.nsid - 1] -= std::exchange(c.relayed, 0);
}

/// Has the engine pass a command on.
void rdma_queue::relay(std::uint32_t k) {
  command& c = commands_[k];
  relaying& r = relayings_[k];
  r.of(*this, k);
  if (queue_.relay(c.what, memory_of(c, k), r, c.outcome)) return relay_->submit(r);
  end_relay(c);
  respond(k);
}

/// Has it move them in parts, whose data leaves while others are still on their way.
void rdma_queue::move_parts(std::uint32_t k) {
  command& c = commands_[k];
  parts& all = parted_[k];
  const movement& whole = movements_[k];
  c.parted = true;
  c.began_ns = simt::now_ns();
  all.state.begin(c.what.bytes);
  all.outcome = {};
  all.under_way = parted_read::parts_of(c.what.bytes);
  while (all.requests.size() < all.under_way) all.requests.emplace_back();
  for (std::uint32_t p = 0; p < all.under_way; ++p) {
    const std::uint32_t bytes = all.state.bytes_of(p);
    const std::uint64_t at = std::uint64_t{p} * parted_read::part_bytes;
    movement& m = all.requests[p];
    m.of(*this, k, p);
    m.what = whole.what;
    m.volume = whole.volume;
    m.first = whole.first + at / block_bytes;
    m.blocks = bytes / block_bytes;
    m.memory = whole.memory.slice(at, bytes);
  }
  for (std::uint32_t p = 0, count = all.under_way; p < count; ++p) mover_->submit(all.requests[p]);
}

void rdma_queue::part_ended(std::uint32_t k, std::uint32_t part, status outcome) {
  parts& all = parted_[k];
  if (outcome.ok()) {
    all.state.arrived(part);
  } else if (all.outcome.ok()) {
    all.outcome = outcome;
  }
  if (--all.under_way == 0) {
    movements_[k].outcome = all.outcome;
    moved_.push_back(k);  // it has room for all
  } else if (all.outcome.ok() && !all.waits) {
    all.waits = true;
    arrived_.push_back(k);
  }
}

/// Posts writes of what may leave of a command, a write for each run in one piece of memory.
/// @param early more of it is on its way: what there is no room for goes with that
void rdma_queue::send_parts(std::uint32_t k, bool early) {
  command& c = commands_[k];
  parts& all = parted_[k];
  for (std::uint32_t ready = all.state.ready(); ready != 0; ready = all.state.ready()) {
    if (early && early_writes_ >= most_early_writes) return;
    const std::uint32_t first = all.state.sent();
    const std::uint64_t address = all.requests[first / parted_read::part_bytes].memory.address;
    std::uint32_t bytes = 0;
    for (std::uint32_t p = first / parted_read::part_bytes;
         bytes < ready && all.requests[p].memory.address == address + bytes; ++p)
      bytes += all.state.bytes_of(p);
    host::verbs::work write;
    write.address =
        reinterpret_cast<std::uint64_t>(memory_.staging().data()) + (address - reach_.address);
    write.bytes = bytes;
    write.lkey = memory_.staging_key();
    write.remote_address = c.what.address + first;
    write.rkey = c.what.key;
    write.signalled = false;
    post(host::verbs::work_kind::write, write);
    all.state.send(bytes);
    ++c.writes;
    ++early_writes_;
  }
}

/// A silent SSD may write this memory yet: it stays taken.
void rdma_queue::lose_stage(command& c, const io_buffer& memory) {
  const std::uint64_t first = (memory.address - reach_.address) / block_bytes;
  const auto own = std::find_if(c.more_stages.begin(), c.more_stages.end(),
                                [&](const stage_range& r) { return r.first == first; });
  if (own != c.more_stages.end()) {
    stages_.lose(*own);
    c.more_stages.erase(own);
  } else {
    stages_.lose(c.stage);
    c.stage = {};
  }
}

/// Other memory for a command, or for a part of it.
std::optional<stage_range> rdma_queue::other_stage(command& c, std::uint64_t bytes) {
  if (!c.parted) return take_stage(c) ? std::optional(c.stage) : std::nullopt;
  const std::optional<stage_range> found =
      stages_.take(static_cast<std::uint32_t>(bytes / block_bytes));
  if (found) c.more_stages.push_back(*found);
  return found;
}

/// Notes what the engine has ended of a command. True if that goes on: it has more ranges, or what
/// is to last is flushed behind it.
/// @param answers else nobody waits for it
bool rdma_queue::goes_on(std::uint32_t k, bool answers) {
  command& c = commands_[k];
  movement& m = movements_[k];
  const std::uint64_t took = c.parted ? simt::now_ns() - c.began_ns : m.took_ns();
  c.outcome = queue_.conclude(m, std::chrono::nanoseconds(took));
  if (answers && moves_range(c, m)) return true;
  const bool flushes = m.what == block_request::kind::flush;
  if (!answers || !c.what.lasting || flushes || c.outcome.status != 0) return false;
  c.outcome = queue_.prepare_flush(m);
  if (c.outcome.status != 0) return false;
  mover_->submit(m);
  return true;
}

/// Notes what the engine has ended, and answers it; sends the parts that have come.
void rdma_queue::take_moved(bool answers) {
  for (const std::uint32_t k : arrived_) {
    parted_[k].waits = false;
    if (answers && broken_ == nullptr && parted_[k].under_way != 0 && parted_[k].outcome.ok())
      send_parts(k, true);
  }
  arrived_.clear();
  for (const std::uint32_t k : moved_) {
    if (goes_on(k, answers)) continue;
    if (answers && broken_ == nullptr) respond(k);
  }
  moved_.clear();
  for (const std::uint32_t k : relayed_) {
    end_relay(commands_[k]);
    commands_[k].outcome = target_queue::conclude(relayings_[k]);
    if (answers && broken_ == nullptr) respond(k);
  }
  relayed_.clear();
}

}  // namespace gnstor::serve

#include "repair_worker.hpp"

#include <base/log.hpp>
#include <base/start_thread.hpp>
#include <gnstor/wire/afa/io_opcode.hpp>
#include <gnstor/wire/afa/slba.hpp>
#include <gnstor/wire/afa/status.hpp>
#include <gnstor/wire/nvme/read_write.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

namespace gnstor::host {
namespace {

const char* name_of(daemon::repair_kind kind) {
  switch (kind) {
    case daemon::repair_kind::converge: return "converge";
    case daemon::repair_kind::fill: return "fill";
    case daemon::repair_kind::scrub: return "scrub";
    case daemon::repair_kind::mend: return "mend";
    case daemon::repair_kind::spread: return "spread";
    case daemon::repair_kind::drain: return "drain";
    case daemon::repair_kind::forget: return "forget";
    case daemon::repair_kind::watch: return "watch";
  }
  return "repair";
}

/// Stripes that a repair deals with at a time, where it has many.
constexpr std::uint32_t most_parts = 4;

/// Blocks of a repair for which another part is worth it. To converge has mostly little to do, and
/// each part asks for that.
std::uint64_t blocks_of_part(daemon::repair_kind kind) {
  return kind == daemon::repair_kind::converge ? 16384 : 512;
}

repair_state waiting(const daemon::repair_order& order) {
  repair_state s;
  s.kind = name_of(order.kind);
  s.vid = order.vid;
  s.ssd = order.ssd;
  s.waits = true;
  return s;
}

bool asks_regions(const daemon::repair_step& p) {
  using kind = daemon::repair_step::kind;
  return p.what == kind::regions || p.what == kind::regions_since;
}

/// The command of a step, without its data.
wire::nvme::submission_entry command_of(const daemon::repair_step& p, client_id client) {
  using kind = daemon::repair_step::kind;
  const auto opcode =
      p.what == kind::read ? wire::nvme::nvm_opcode::read : wire::nvme::nvm_opcode::write;
  auto command = wire::nvme::make_read_write(
      opcode, 0, p.ssd + 1, wire::afa::pack_slba(volume_id(p.vid), client, p.first), p.blocks,
      wire::nvme::make_empty_sgl());
  command.cdw12 |= wire::nvme::force_unit_access;
  command.cdw2 = p.epoch;
  if (p.what == kind::spoil) command.cdw13 = wire::afa::fill_unreadable;
  if (p.what == kind::fill || p.what == kind::spoil)
    command.opcode = static_cast<std::uint8_t>(wire::afa::io_opcode::fill);
  if (asks_regions(p))
    command.opcode = static_cast<std::uint8_t>(wire::afa::io_opcode::dirty_regions);
  if (p.what == kind::regions_since) command.cdw13 = wire::afa::dirty_regions_since_taken;
  if (p.what == kind::forget)
    command.opcode = static_cast<std::uint8_t>(wire::afa::io_opcode::forget);
  return command;
}

}  // namespace

repair_worker::repair_worker(array_client& client, const employer& e, std::uint64_t bytes_per_s)
    : client_(&client), manager_(e), as_(manager_.core.client()), bytes_per_s_(bytes_per_s) {}

repair_worker::~repair_worker() { stop(); }

void repair_worker::start() {
  thread_ = start_thread("repairs", "repairs of an array", [this] { run(); });
}

void repair_worker::halt() {
  stopping_ = cancelled_ = true;
  changed_.notify_all();
}

void repair_worker::stop() {
  {
    const std::lock_guard lock(manager_.guard);
    halt();
  }
  if (thread_.joinable()) thread_.join();
}

void repair_worker::add(const daemon::repair_order& order) {
  waiting_.push_back(order);
  changed_.notify_all();
}

void repair_worker::cancel(std::uint64_t repair) {
  std::erase_if(waiting_, [&](const daemon::repair_order& r) { return r.id == repair; });
  if (repair != current_) return;
  cancelled_ = true;
  changed_.notify_all();
}

std::vector<repair_state> repair_worker::state() const {
  std::vector<repair_state> all;
  if (current_ != 0) all.push_back(now_);
  for (const daemon::repair_order& r : waiting_) all.push_back(waiting(r));
  return all;
}

bool repair_worker::has_scrub(std::uint16_t vid) const {
  const auto is = [vid](const daemon::repair_order& r) {
    return r.kind == daemon::repair_kind::scrub && r.vid == vid;
  };
  return (current_ != 0 && !cancelled_ && is(order_)) ||
         std::any_of(waiting_.begin(), waiting_.end(), is);
}

void repair_worker::run() {
  std::unique_lock lock(manager_.guard);
  while (!stopping_) {
    if (waiting_.empty() || !manager_.core.knows_epoch()) {
      changed_.wait(lock);
      continue;
    }
    const daemon::repair_order order = waiting_.front();
    waiting_.pop_front();
    current_ = order.id;
    order_ = order;
    cancelled_ = false;
    now_ = waiting(order);
    now_.waits = false;
    carry_out(lock, order);
    current_ = 0;
  }
}

void repair_worker::carry_out(std::unique_lock<std::mutex>& lock,
                              const daemon::repair_order& order) {
  if (failures_ != 0 && !order.urgent) {  // of the same or another one: not at once again
    const auto pause = std::chrono::milliseconds(20) * (1u << std::min(failures_, 8u));
    changed_.wait_for(lock, pause, [&] { return cancelled_; });
  }
  if (cancelled_) return;
  parts all = parts_of(order);
  now_.total = all.front().work.to_look_at();
  gives_up_ = false;
  std::vector<std::thread> helpers;
  helpers.reserve(all.size());
  try {
    for (std::size_t k = 1; k < all.size(); ++k) {
      helpers.push_back(start_thread("repairs", "repairs of an array", [this, &all, k] {
        std::unique_lock own(manager_.guard);
        work_on(own, all, all[k]);
      }));
    }
  } catch (const std::exception&) {
    // Then it is done one part after another.
  }
  work_on(lock, all, all.front());
  for (std::size_t k = helpers.size() + 1; k < all.size(); ++k) work_on(lock, all, all[k]);
  lock.unlock();
  for (std::thread& t : helpers) t.join();
  lock.lock();
  if (cancelled_) return;
  daemon::repair& work = all.front().work;
  for (std::size_t k = 1; k < all.size(); ++k) work.join(all[k].work);
  failures_ = work.ok() ? 0 : failures_ + 1;
  manager_.core.finished(order.id, work.ok(), work.damaged(), work.forgotten());
  if (manager_.ended) manager_.ended(work);
  manager_.wake();
}

repair_worker::parts repair_worker::parts_of(const daemon::repair_order& order) {
  using kind = daemon::repair_kind;
  std::vector<wire::afa::volume_record> volumes;
  if (order.kind == kind::fill || order.kind == kind::forget) {
    volumes = manager_.core.volumes();
  } else if (const auto* r = manager_.core.record_of(order.vid)) {
    volumes.push_back(*r);
  }
  std::uint64_t blocks = order.kind == kind::mend ? order.blocks.size() : 0;
  if (order.kind != kind::mend)
    for (const wire::afa::volume_record& r : volumes) blocks += r.capacity_blocks;
  daemon::repair_order own = order;
  const std::uint32_t depth =
      manager_.depth ? std::clamp(manager_.depth(), 1u, most_parts) : most_parts;
  const bool whole = order.kind == kind::forget || order.kind == kind::watch;
  own.parts = whole ? 1
                    : static_cast<std::uint32_t>(
                          std::clamp<std::uint64_t>(blocks / blocks_of_part(order.kind), 1, depth));
  parts all;
  for (; own.part < own.parts; ++own.part) {
    if (memory_.size() == own.part)
      memory_.emplace_back(std::size_t{daemon::repair::memory_blocks} * block_bytes);
    std::vector<std::byte>& memory = memory_[own.part];
    all.push_back({memory, daemon::repair(own, manager_.core.published(),
                                          static_cast<std::uint32_t>(manager_.core.ssds()), volumes,
                                          reinterpret_cast<char*>(memory.data()))});
  }
  return all;
}

/// Goes through a part's steps, until it is over, or some part has failed.
void repair_worker::work_on(std::unique_lock<std::mutex>& lock, parts& all, part& one) {
  using kind = daemon::repair_step::kind;
  daemon::repair& work = one.work;
  ++at_work_;
  while (work.step() && !cancelled_ && !gives_up_) {
    const daemon::repair_step p = *work.step();
    status broken;
    lock.unlock();
    const daemon::step_end how = step(p, one.memory, broken);
    lock.lock();
    if (cancelled_) break;
    // An SSD that is back may be late where the machine is busy: it is asked once more.
    const bool again = work.order().kind == daemon::repair_kind::forget && failures_ == 0;
    if (!broken.ok() && !again) manager_.failed(p.ssd, broken);
    work.answered(how);
    now_.done = now_.mended = 0;
    for (const part& other : all) {
      now_.done += other.work.looked_at() / all.size();
      now_.mended += other.work.mended();
    }
    if (!order_.urgent && p.what != kind::read && !asks_regions(p) && p.what != kind::forget)
      pace(lock, std::uint64_t{p.blocks} * block_bytes * at_work_);
  }
  --at_work_;
  gives_up_ = gives_up_ || !work.ok();
}

daemon::step_end repair_worker::step(const daemon::repair_step& p, std::span<std::byte> memory,
                                     status& broken) {
  const std::size_t bytes =
      p.what == daemon::repair_step::kind::forget ? 0 : std::size_t{p.blocks} * block_bytes;
  const auto data = memory.subspan(std::size_t{p.buffer} * block_bytes, bytes);
  status s;
  try {
    // One shard after another has its turn for it.
    s = asks_regions(p) ? client_->io(command_of(p, as_), data, std::chrono::seconds(5))
                        : client_->io(command_of(p, as_), data);
  } catch (const error& e) {  // no memory for it here: the repair is ordered again
    log(log_level::warning, e.what());
    return daemon::step_end::failed;
  }
  if (s.ok()) return daemon::step_end::done;
  using type = wire::nvme::status_code_type;
  const bool answered = s.code == status_code::nvme_error;
  if (answered && s.nvme_type == static_cast<std::uint8_t>(type::media))
    return daemon::step_end::damaged;
  if (answered && s.nvme_type == static_cast<std::uint8_t>(type::vendor_specific) &&
      s.nvme_code == static_cast<std::uint8_t>(wire::afa::status::unknown_volume))
    return daemon::step_end::gone;
  // A target of before this release does not know how to forget: its SSDs are filled whole.
  const bool unknown =
      p.what == daemon::repair_step::kind::forget &&
      s.nvme_code == static_cast<std::uint8_t>(wire::nvme::generic_status::invalid_opcode);
  if (s.code == status_code::timed_out ||
      (answered && !unknown && s.nvme_type == static_cast<std::uint8_t>(type::generic)))
    broken = s;
  s.ssd = static_cast<std::uint16_t>(p.ssd);
  log(log_level::warning, fmt::format("repairing volume {}: {}", p.vid, to_string(s)));
  return daemon::step_end::failed;
}

/// Waits so long that no more than the limit is written per second.
void repair_worker::pace(std::unique_lock<std::mutex>& lock, std::uint64_t bytes) {
  if (bytes_per_s_ == 0) return;
  const std::chrono::nanoseconds pause(bytes * 1'000'000'000 / bytes_per_s_);
  changed_.wait_for(lock, pause, [&] { return cancelled_; });
}

}  // namespace gnstor::host

#pragma once

#include <gnstor/core/bounded.hpp>
#include <gnstor/qp/member_nsid.hpp>
#include <gnstor/qp/nvme_striped_memory.hpp>
#include <gnstor/qp/queue_bar.hpp>

namespace gnstor::detail {

/// The indices of a queue pair that reaches several controllers, and where its commands go: each to
/// the queue of the controller that its NSID names (`member_nsid`), under an entry of that one.
///
/// A queue of a controller needs no credit of its own. Its submission queue has twice as many
/// entries as commands may be under way at all controllers together, and entries are fetched in
/// order: so of the last 2 * depth commands of a queue some id was used twice, by x and then by y,
/// and the entry before x's was fetched. Who took x's answer released the id to y's lane, which
/// released the queue's `reserved` to whoever moves it later: the lane that writes that entry again
/// comes after its fetch.
class nvme_striped_rings {
 public:
  using queue = nvme_pcie_queue_pair<>;

  /// @param memory zero-filled, `nvme_striped_layout::of(depth, count)`, with the queues in it
  GNSTOR_HD nvme_striped_rings(unsigned char* memory, std::uint32_t depth, std::uint32_t count)
      : memory_(memory), depth_(depth), count_(count) {}

  GNSTOR_HD std::uint32_t depth() const { return depth_; }
  GNSTOR_HD std::uint32_t count() const { return count_; }
  GNSTOR_HD nvme_striped_state& state() const {
    return *reinterpret_cast<nvme_striped_state*>(memory_);
  }
  GNSTOR_HD std::uint64_t& reservation(std::uint64_t index) const {
    return reinterpret_cast<std::uint64_t*>(memory_ + layout().reservations)[index & (depth_ - 1)];
  }
  /// The queue of controller `k`.
  GNSTOR_HD const queue& at(std::uint32_t k) const {
    return reinterpret_cast<const queue*>(memory_ + layout().queues)[k];
  }

  /// Writes a command into the queue of the controller that its NSID names, and publishes it there.
  /// One for a controller that is gone, or that there is not, goes to another one's namespace 0,
  /// whose refusal reaches the caller.
  /// @par Callers the lane that owns the reserved index
  GNSTOR_HD void write_send(std::uint64_t, wire::nvme::submission_entry command) const {
    const member_nsid to = member_nsid::unpack(command.nsid);
    const std::uint32_t lost = device_word<std::uint32_t>(state().lost).load(relaxed);
    std::uint32_t k = to.controller;
    command.nsid = to.nsid;
    if (k >= count_ || (lost >> k & 1) != 0) {
      k = static_cast<std::uint32_t>(cuda::std::countr_one(lost)) % count_;
      command.opcode = static_cast<std::uint8_t>(wire::nvme::nvm_opcode::flush);
      command.nsid = 0;
      command.dptr = {};
    }
    const queue& q = at(k);
    // Acquired and released: see above.
    const std::uint64_t entry = reserved(k).fetch_add(1, acq_rel);
    q.write_send(entry, command);
    q.publish(entry, 1);
  }
  /// Nothing: no controller has to know of an index that carries no command.
  GNSTOR_HD void write_nop(std::uint64_t) const {}
  /// Of no command: a controller's completions name commands, and never an index that failed.
  GNSTOR_HD command_id sent_id(std::uint64_t) const { return command_id(0xffff); }
  /// The send indices handed out of controller `k`'s queue.
  GNSTOR_HD device_word<std::uint64_t> reserved(std::uint32_t k) const {
    return device_word<std::uint64_t>(at(k).rings().state().reserved);
  }

  class life;
  GNSTOR_HD life restarting() const;

 private:
  GNSTOR_HD nvme_striped_layout layout() const { return nvme_striped_layout::of(depth_, count_); }

  unsigned char* memory_;
  std::uint32_t depth_;
  std::uint32_t count_;
};

/// From one life of such a queue pair to the next, as `nvme_pcie_restart`: the queues of all
/// controllers at once.
class nvme_striped_rings::life {
 public:
  GNSTOR_HD explicit life(const nvme_striped_rings& rings) : rings_(rings) {}

  GNSTOR_HD queue_bar bar() const {
    queue_bar b;
    b.end = reserved().load(relaxed);
    for (bounded tries{65536}; tries;) {
      b.next = b.end + rings_.depth();
      if (reserved().compare_exchange(b.end, b.next, acq_rel)) return b;
    }
    return queue_bar{};
  }
  GNSTOR_HD bool open(std::uint64_t next) const {
    return reserved().compare_exchange(next, next + 1, relaxed);
  }
  /// False while a lane rings: queues that are ready by then are made ready again the next time.
  GNSTOR_HD bool restart(std::uint64_t next) const {
    for (std::uint32_t k = 0; k < rings_.count(); ++k)
      if (!rings_.at(k).restart(rings_.at(k).bar().next)) return false;
    device_word<std::uint64_t>(rings_.state().announced).store(next, relaxed);
    device_word<std::uint64_t>(rings_.state().closed).store(next, relaxed);
    // Paired with the acquire load of whoever rings: the queues are those of this life.
    device_word<std::uint64_t>(rings_.state().published).exchange(next, acq_rel);
    return true;
  }

 private:
  GNSTOR_HD device_word<std::uint64_t> reserved() const {
    return device_word<std::uint64_t>(rings_.state().reserved);
  }

  nvme_striped_rings rings_;
};

GNSTOR_HD inline nvme_striped_rings::life nvme_striped_rings::restarting() const {
  return life(*this);
}

}  // namespace gnstor::detail

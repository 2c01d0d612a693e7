#pragma once

#include <afa/node.hpp>
#include <gnstor/simt/clock.hpp>
#include <gnstor/simt/group.hpp>
#include <gnstor/wire/nvme/nvm_opcode.hpp>
#include <gnstor/wire/nvme/read_write.hpp>

#include <timing/paced_ssd.hpp>

namespace gnstor::fw {

/// Holds the I/O commands of one SSD back until its timing model says that they have ended.
///
/// Data, mapping and rights are done with when a command comes here: only its answer waits. Time is
/// the owner's clock: wall-clock time of CPU threads, virtual time of simulated lanes.
class pace_engine {
 public:
  pace_engine(const node& n, std::uint32_t ssd) : node_(&n), ssd_(ssd), pace_(n.paced_ssds[ssd]) {}

  /// One round. True while commands are under way, so that the owner does not sleep.
  /// @par Callers every lane of `g`, converged; always the same owner
  bool tick(const simt::group& g) const {
    bool busy = false;
    if (g.leads()) {
      const std::uint64_t now = simt::now_ns();
      pace_->arbitrate(device_word<std::uint32_t>(node_->arbitrations[ssd_]).load(relaxed));
      if (take(now) || !pace_->is_idle()) pace_->moved(now, node_->ssds[ssd_].moved_pages());
      for (const timed_completion& c : pace_->run(now)) {
        const auto handle = static_cast<std::uint32_t>(c.tag);
        node_->done_ring(node_->commands[handle].queue).push(handle);
      }
      busy = !pace_->is_idle();
    }
    return g.broadcast(static_cast<std::uint32_t>(busy)) != 0;
  }

 private:
  static constexpr std::uint32_t most = 32;  ///< commands per round

  bool take(std::uint64_t now) const {
    const handle_ring arrived = node_->paced_ring(ssd_);
    std::uint64_t head = arrived.head();
    std::uint32_t handle = 0;
    for (std::uint32_t k = 0; k < most && arrived.peek(head, handle); ++k, ++head) {
      const io_command& c = node_->commands[handle];
      const device_word<std::uint32_t> priority(node_->priorities[c.queue]);
      pace_->submit(now, static_cast<queue_class>(priority.load(relaxed)), timed(c, handle));
    }
    const bool any = head != arrived.head();
    arrived.advance(head);
    return any;
  }

  /// The command as the model sees it. One that was refused costs the firmware's time alone.
  timed_command timed(const io_command& c, std::uint32_t handle) const {
    using wire::nvme::nvm_opcode;
    const auto opcode = static_cast<nvm_opcode>(c.entry.opcode);
    timed_command t;
    t.queue = c.queue;
    t.tag = handle;
    t.what = opcode == nvm_opcode::flush  ? timed_command::kind::flush
             : opcode == nvm_opcode::read ? timed_command::kind::read
                                          : timed_command::kind::write;
    if (opcode == nvm_opcode::flush || opcode == nvm_opcode::write_zeroes || c.status != 0)
      return t;
    t.force_unit_access = (c.entry.cdw12 & wire::nvme::force_unit_access) != 0;
    const std::uint32_t* const pages = node_->pages(handle);
    for (std::uint32_t k = 0; k < c.where.blocks; ++k) {
      if (pages[k] != node::ssd::no_page) t.pages.push_back(pages[k]);
    }
    return t;
  }

  const node* node_;
  std::uint32_t ssd_;
  paced_ssd* pace_;
};

}  // namespace gnstor::fw

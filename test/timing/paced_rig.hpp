#pragma once
/// An array node whose SSDs, and NIC, take their time, on a clock that jumps from event to event.

#include "simulation/connection.hpp"
#include <gnstor/simt_host/lone_lane.hpp>
#include <gnstor/wire/afa/slba.hpp>

#include <doctest/doctest.h>

namespace gnstor::test {

/// One SSD, its clients' queues, and a clock that jumps from event to event: the work of NIC and
/// firmware takes no time.
class paced_rig {
 public:
  static constexpr std::uint32_t depth = simulated_array::depth;
  static constexpr std::uint32_t volume_blocks = 8192;
  static constexpr std::uint16_t vid = 1;

  /// One SSD that takes its time. @param pages of flash
  static swarm swarm_of(const fw::ssd_profile& profile, std::uint32_t pages = 4 * volume_blocks) {
    swarm s;
    s.ssds = 1;
    s.replicas = 1;
    s.pages = pages;
    s.pages_per_block = 64;
    s.timing = profile;
    return s;
  }

  /// @param how of `swarm_of`
  paced_rig(const swarm& how, std::vector<fw::queue_class> classes, std::uint32_t stripe = 16)
      : array_(how, static_cast<std::uint32_t>(classes.size())), stripe_(stripe) {
    wire::afa::volume_record r{};
    r.version = wire::afa::payload_version;
    r.vid = vid;
    r.replicas = 1;
    r.capacity_blocks = volume_blocks;
    r.stripe_blocks = stripe_;
    r.client_count = 1;
    r.clients[0] = {1, wire::afa::right_read | wire::afa::right_write};
    REQUIRE(array_.ssd(0).volume_add(1, r) == 0);
    for (std::uint32_t k = 0; k < classes.size(); ++k) {
      lines_.push_back(std::make_unique<connection>(k, client_id(1), depth * stripe_));
      lines_[k]->try_open(array_);
      array_.node().priorities[k] = static_cast<std::uint32_t>(classes[k]);
      if (classes[k] == fw::queue_class::admin) array_.queue(k).joined.queue_id = 0;
    }
  }

  struct ended {
    std::uint32_t queue;
    std::uint32_t what;  ///< as `send` was given
    std::uint64_t took;  ///< ns
    std::uint16_t status;
  };
  /// Sends a command on a queue. @param what comes back when it has ended
  void send(std::uint32_t queue, wire::nvme::submission_entry e, std::uint32_t what = 0) {
    e.cdw2 = 1;
    const auto t = lines_[queue]->channel().submit(e);
    REQUIRE(t);
    under_way_.push_back({queue, what, t.value, now_});
  }
  wire::nvme::submission_entry io(std::uint32_t queue, wire::nvme::nvm_opcode op,
                                  std::uint32_t block, std::uint32_t blocks,
                                  std::uint32_t flags = 0, std::uint32_t memory = 0) {
    const io_buffer b = lines_[queue]->buffer(memory, blocks);
    auto e = wire::nvme::make_read_write(
        op, 0, 1, wire::afa::pack_slba(volume_id(vid), client_id(1), vba(block)), blocks,
        wire::nvme::make_keyed_sgl(b.address, blocks * block_bytes, b.rkey));
    e.cdw12 |= flags;
    return e;
  }
  /// Block of a queue's memory. `io` uses those from block `memory` on.
  char* memory(std::uint32_t queue, std::uint32_t block) { return lines_[queue]->data(block); }
  /// Lets time pass until something ends; what.
  std::vector<ended> wait() {
    std::vector<ended> all;
    for (int jumps = 0; all.empty(); ++jumps) {
      REQUIRE(jumps < 10'000);
      work(all);
      if (!all.empty()) break;
      REQUIRE(array_.next_event() != fw::ssd_model::never);
      now_ = std::max(now_, array_.next_event());
    }
    return all;
  }
  /// The time one command alone takes, in ns.
  std::uint64_t alone(const wire::nvme::submission_entry& e, std::uint32_t queue = 0) {
    while (!under_way_.empty()) (void)wait();
    now_ += 1'000'000;
    send(queue, e);
    const ended one = wait().at(0);
    CHECK(one.status == 0);
    return one.took;
  }
  void write_everything() {
    std::uint32_t next = 0;
    while (next < volume_blocks || !under_way_.empty()) {
      while (next < volume_blocks && under_way_.size() < depth / 2) {
        send(0, io(0, wire::nvme::nvm_opcode::write, next, stripe_));
        next += stripe_;
      }
      for (const ended& e : wait()) REQUIRE(e.status == 0);
    }
  }
  std::uint64_t now() const { return now_; }
  /// Dword 0 of the last response on a queue that has one command at a time.
  std::uint32_t last_result(std::uint32_t queue) const {
    const fw::node& n = array_.node();
    const std::uint32_t top = n.shape.max_depth - 1;
    return n.commands[queue * depth + n.free_slots[queue * depth + top]].result;
  }
  std::size_t queues() const { return lines_.size(); }
  simulated_array& array() { return array_; }

 private:
  struct running {
    std::uint32_t queue;
    std::uint32_t what;
    ticket t;
    std::uint64_t since;
  };
  /// Everything that can be done now.
  void work(std::vector<ended>& all) {
    const std::uint32_t pacers = array_.node().shape.first_pacer();
    for (int quiet = 0; quiet < 3; ++quiet) {
      for (std::uint32_t role = 0; role < array_.roles(); ++role) {
        lane_.set_now_ns(now_);
        const bool busy = array_.tick(role);
        if (busy && role < pacers) quiet = 0;
      }
      for (const auto& line : lines_) (void)line->channel().poll();
      for (std::size_t k = 0; k < under_way_.size();) {
        const running r = under_way_[k];
        const status s = lines_[r.queue]->channel().take(r.t);
        if (s.code == status_code::would_block) {
          ++k;
          continue;
        }
        quiet = 0;
        all.push_back({r.queue, r.what, now_ - r.since,
                       s.ok() ? std::uint16_t{0} : std::uint16_t(0x8000 | s.nvme_code)});
        under_way_.erase(under_way_.begin() + static_cast<std::ptrdiff_t>(k));
      }
    }
  }

  simt::host::lone_lane lane_;
  simulated_array array_;
  std::uint32_t stripe_;
  std::vector<std::unique_ptr<connection>> lines_;
  std::vector<running> under_way_;
  std::uint64_t now_ = 1'000'000;
};

}  // namespace gnstor::test

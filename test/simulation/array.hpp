#pragma once
/// An array node with its SSDs in this process, one engine per step: its power may go at any store.

#include "circumstances.hpp"
#include "deengine/power_model.hpp"
#include "qp/memory_image.hpp"
#include "qp/queue_fixture.hpp"
#include "swarm.hpp"
#include "twin_blocks.hpp"
#include <afa/service.hpp>
#include <daemon/manager.hpp>
#include <deengine/format.hpp>
#include <deengine/recover.hpp>
#include <gnstor/simt_host/lone_lane.hpp>

#include <timing/stream_sender.hpp>

#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

namespace gnstor::test {

/// What a seed must never show.
struct broken_promise {
  std::string what;
};

/// NIC and SSDs. What the NIC knows is gone with its power; SSDs keep what flash keeps.
class simulated_array {
 public:
  static constexpr std::uint32_t depth = 32;
  static constexpr client_id manager{1};

  circumstances befell;

  simulated_array(const swarm& s, std::uint32_t queues)
      : befell(s.ssds),
        swarm_(s),
        shape_{.pages = s.pages,
               .shards = s.shards,
               .pages_per_block = s.pages_per_block,
               .max_volumes = 8},
        queues_(queues) {
    for (std::uint32_t k = 0; k < s.ssds; ++k) {
      disks_.push_back(std::make_unique<disk>(shape_));
      format(k, 1);
    }
    power_up();
  }

  const fw::node& node() const { return node_; }
  fw::node::ssd& ssd(std::uint32_t k) { return node_.ssds[k]; }
  std::uint32_t ssds() const { return swarm_.ssds; }
  fw::queue_context& queue(std::uint32_t k) { return node_.queues[k]; }

  /// One round of one engine. True if there was something to do.
  bool tick(std::uint32_t role) {
    if (stalled_[role] != 0) {
      if (--stalled_[role] == 0) befell.goes_on(role);
      return false;
    }
    const simt::group me = simt::group::self();
    const fw::node_shape& s = node_.shape;
    if (role < s.copy_workers) return fw::copy_engine::tick(node_, role, me);
    if (role >= s.first_sender()) return fw::send_engine(node_, role - s.first_sender()).tick(me);
    if (role >= s.first_pacer()) return fw::pace_engine(node_, role - s.first_pacer()).tick(me);
    if (role >= s.first_queue()) return fw::queue_engine::tick(node_, role - s.first_queue(), me);
    const std::uint32_t shard = role - s.copy_workers;
    fw::shard_engine engine(node_, shard / s.shards, shard % s.shards);
    const bool busy = engine.tick(me);
    ++rounds_;
    return engine.tend(me, 256, rounds_ % 64 == 0 ? 63 : 0) || busy;
  }
  const fw::stream_sender& sender() const { return *senders_[0]; }
  /// When an SSD or the NIC ends something next, where they take their time.
  std::uint64_t next_event() const {
    std::uint64_t at = fw::ssd_model::never;
    for (const auto& p : pacers_) at = std::min(at, p->next());
    for (const auto& s : senders_) at = std::min(at, s->next());
    return at;
  }
  std::uint32_t roles() const { return node_.shape.roles(); }
  /// The role of some shard's engine.
  std::uint32_t some_shard(draws& d) const {
    return node_.shape.copy_workers + d.below(swarm_.ssds * swarm_.shards);
  }
  /// An engine does nothing for so many rounds.
  void stall(std::uint32_t role, std::uint32_t rounds) {
    if (stalled_[role] == 0) befell.stands_still(role);
    stalled_[role] = std::max(stalled_[role], rounds);
  }

  /// True if no command is on its way through the node.
  bool is_idle() const {
    for (std::uint32_t q = 0; q < queues_; ++q) {
      const fw::queue_context& c = node_.queues[q];
      const auto life = static_cast<fw::queue_life>(c.active);
      if (life != fw::queue_life::serving && life != fw::queue_life::draining) continue;
      if (c.free_commands + c.lost_commands != depth) return false;
    }
    return true;
  }

  /// Its queue pairs, for a report.
  std::string describe_queues() const {
    std::string all;
    for (std::uint32_t q = 0; q < queues_; ++q) {
      const fw::queue_context& c = node_.queues[q];
      all += " [life " + std::to_string(c.active) + ", " + std::to_string(c.free_commands) +
             " free, " + std::to_string(c.lost_commands) + " lost, " +
             (c.broken != 0 ? "broken, " : "") + "sends " + std::to_string(c.send_head) +
             ", receives " + std::to_string(c.receive_head) + "]";
      for (std::uint32_t k = 0; k < depth; ++k) {
        const std::uint32_t* slots = node_.free_slots + q * depth;
        if (std::find(slots, slots + c.free_commands, k) != slots + c.free_commands) continue;
        const fw::io_command& one = node_.commands[q * depth + k];
        all += " (opcode " + std::to_string(one.entry.opcode) + " for SSD " +
               std::to_string(one.ssd) + " at stage " +
               std::to_string(static_cast<int>(one.stage)) + ", status " +
               std::to_string(one.status) + ")";
      }
    }
    return all;
  }

  // ---- faults

  void set_fault(std::uint32_t k, fw::ssd_fault f) {
    node_.faults[k] = static_cast<std::uint32_t>(f);
    befell.fault_is(k, f);
  }
  fw::ssd_fault fault(std::uint32_t k) const { return static_cast<fw::ssd_fault>(node_.faults[k]); }
  /// A new SSD in place `k`. Nothing of the former one may be under way.
  void replace(std::uint32_t k) {
    format(k, 1);
    node_.ssds[k] = reference(k);
    befell.replaced(k);
  }
  /// The one in place `k` answers again, with what it had. Which volumes it knows.
  std::vector<std::uint16_t> bring_back(std::uint32_t k) {
    std::vector<std::uint16_t> all;
    std::uint16_t next = 1;
    for (bounded n{1000}; next != 0 && n;) {
      wire::afa::volume_list some{};
      if (ssd(k).volume_list(ssd(k).epoch(), volume_id(next), some) != 0)
        throw broken_promise{"SSD " + std::to_string(k) + " does not list its volumes"};
      for (std::uint32_t c = 0; c < some.count; ++c) all.push_back(some.records[c].vid);
      next = some.next_vid;
    }
    befell.returns(k);
    return all;
  }
  /// Power goes, and comes back. Which SSDs have lost what they had acknowledged, by bit.
  /// @param weak SSDs, by bit, whose capacitors have energy for fewer pages than they hold
  std::uint64_t power_cycle(draws& d, std::uint64_t weak) {
    std::vector<std::uint32_t> faults(node_.faults, node_.faults + swarm_.ssds);
    std::uint64_t lost = 0;
    for (std::uint32_t k = 0; k < swarm_.ssds; ++k) {
      power_budget budget;
      budget.buffered = swarm_.timing ? pacers_[k]->buffered() : newest_pages(k, 1 + d.below(12));
      if ((weak >> k & 1) != 0)
        budget.pages = d.below(static_cast<std::uint32_t>(budget.buffered.size()) + 1);
      if (!power_model{}.cut(disks_[k]->meta.data(), disks_[k]->data.data(), budget))
        lost |= std::uint64_t{1} << k;
      const auto said = fw::recover(disks_[k]->meta.data(), fw::layout::of(shape_).bytes, shape_,
                                    {k, swarm_.ssds, 1});
      if (said != fw::mount_status::ok)
        throw broken_promise{"SSD " + std::to_string(k) +
                             " does not mount after a power cut: " + fw::to_string(said)};
    }
    power_up();
    befell.all_go_on();
    for (std::uint32_t k = 0; k < swarm_.ssds; ++k) node_.faults[k] = faults[k];
    return lost;
  }
  /// Lets an SSD finish what it drops.
  void sweep(std::uint32_t k) {
    for (std::uint32_t s = 0; s < shape_.shards; ++s) {
      for (bounded n{std::uint64_t{4} * shape_.blocks()}; ssd(k).tend(s, 8) && n;) continue;
    }
  }
  /// Flips a bit of some page that is live, half of the time of one that many ask for. False: there
  /// is none.
  bool damage(draws& d, std::uint32_t k) {
    const std::uint32_t below = d.one_in(2) ? 8 : ~0u;
    for (int tries = 0; tries < 200; ++tries) {
      const std::uint32_t page = d.below(shape_.pages);
      const fw::oob_entry& e = ssd(k).parts().oob()[page];
      if (e.state != fw::page_state::valid || (tries < 180 && e.block.value >= below)) continue;
      disks_[k]->data[std::size_t{page} * block_bytes + d.below(block_bytes)] ^= 1;
      return true;
    }
    return false;
  }

  // ---- queues

  /// A queue pair of a client, as if it had connected.
  void join(std::uint32_t k, const fw::queue_attributes& at, client_id client, bool admin) {
    fw::queue_context& c = node_.queues[k];
    const std::uint64_t done = c.done_head;
    c = fw::queue_context{};
    c.done_head = done;
    c.at = at;
    c.free_commands = depth;
    const std::uint16_t queue_id = admin ? 0 : 1;
    c.joined = {1, queue_id, static_cast<std::uint16_t>(k + 1), client, client};
    c.active = static_cast<std::uint32_t>(fw::queue_life::serving);
  }
  void drain(std::uint32_t k) {
    if (node_.queues[k].active == static_cast<std::uint32_t>(fw::queue_life::serving))
      node_.queues[k].active = static_cast<std::uint32_t>(fw::queue_life::draining);
  }
  bool is_drained(std::uint32_t k) const {
    const auto life = static_cast<fw::queue_life>(node_.queues[k].active);
    return life == fw::queue_life::drained || life == fw::queue_life::absent;
  }
  /// Opens memory for the queues of one domain; the key.
  std::uint32_t open_memory(std::uint32_t region, void* base, std::uint64_t bytes,
                            std::uint32_t domain) {
    const std::uint32_t key = (region + 1) << 8 | 1;
    node_.regions[region + 1] = {reinterpret_cast<std::uint64_t>(base),
                                 bytes,
                                 fw::local_write | fw::remote_read | fw::remote_write,
                                 domain,
                                 key,
                                 0};
    return key;
  }

  /// What the SSD has answered its clients of volumes and epochs.
  daemon::ssd_report report(std::uint32_t k) {
    daemon::ssd_report r;
    const fw::membership_record m = ssd(k).membership();
    r.serving = {m.epoch, m.absent, m.filling, ssd(k).others()};
    const auto table = ssd(k).parts().volumes_table<thread_scope_device>();
    for (std::uint32_t v = 0; v < shape_.max_volumes; ++v) {
      if (table.read(v).vid != 0) r.volumes.push_back(table.read(v));
    }
    return r;
  }
  /// The value of a block on SSD `k`: its page's 8 bytes, 0 if it was never written; nothing if the
  /// page is damaged.
  std::optional<std::uint64_t> look(std::uint32_t k, const wire::afa::volume_record& r,
                                    std::uint32_t block) {
    const auto table = ssd(k).parts().volumes_table<thread_scope_device>();
    fw::volume_grant grant;
    if (table.find(volume_id(r.vid), client_id(0), grant) !=
        fw::permission_table<thread_scope_device>::answer::found)
      return std::nullopt;
    fw::admission a;
    a.vid = volume_id(r.vid);
    a.shard = ssd(k).shard_of(a.vid, block / r.stripe_blocks);
    a.generation = grant.generation;
    a.first = vba(block);
    a.blocks = 1;
    std::uint32_t page = 0;
    ssd(k).lookup(a, &page);
    if (page == fw::node::ssd::no_page) return 0;
    ssd(k).unpin(page);
    const void* bytes = ssd(k).page(page);
    if (gnstor::detail::page_crc_here(bytes) != ssd(k).seal_of(page)) return std::nullopt;
    std::uint64_t value = 0;
    std::memcpy(&value, bytes, sizeof value);
    return value;
  }

 private:
  struct disk {
    explicit disk(const fw::geometry& g)
        : meta(fw::layout::of(g).bytes), data(std::size_t{g.pages} * block_bytes + 64) {}
    aligned_memory meta;
    std::vector<char> data;
  };

  void format(std::uint32_t k, std::uint32_t epoch) {
    const auto said = fw::format(disks_[k]->meta.data(), fw::layout::of(shape_).bytes, shape_,
                                 {k, swarm_.ssds, epoch});
    GNSTOR_VERIFY(said == fw::mount_status::ok);
    if (swarm_.twins) {
      fw::metadata meta(disks_[k]->meta.data(), shape_);
      meta.header().next_generation = twin_generation(shape_, *swarm_.twins);
    }
  }
  fw::node::ssd reference(std::uint32_t k) {
    return {disks_[k]->meta.data(), shape_, disks_[k]->data.data(), node_.quiescence()};
  }
  /// The pages that were committed last, in order.
  std::vector<std::uint32_t> newest_pages(std::uint32_t k, std::uint32_t count) {
    const fw::oob_entry* oob = ssd(k).parts().oob();
    std::vector<std::uint32_t> pages;
    for (std::uint32_t p = 0; p < shape_.pages; ++p) {
      if (oob[p].is_sealed()) pages.push_back(p);
    }
    std::sort(pages.begin(), pages.end(), [oob](std::uint32_t a, std::uint32_t b) {
      return oob[a].sequence < oob[b].sequence;
    });
    if (pages.size() > count) pages.erase(pages.begin(), pages.end() - count);
    return pages;
  }

  void power_up() {
    control_ =
        std::make_unique<memory_image>(96 * 1024 + queues_ * depth * 2048 +
                                       swarm_.ssds * (swarm_.shards + 1) * queues_ * depth * 32 +
                                       queues_ * depth * swarm_.transfer_blocks * 32);
    memory_image& m = *control_;
    node_ = fw::node{};
    node_.shape = {.max_queues = queues_,
                   .max_depth = depth,
                   .max_regions = 2 * queues_ + 2,
                   .max_hosts = 1,
                   .ssd_count = swarm_.ssds,
                   .shards = swarm_.shards,
                   .copy_workers = 1,
                   .paced = swarm_.timing ? 1u : 0u,
                   .sends = swarm_.sends ? 1u : 0u,
                   .transfer_blocks = swarm_.transfer_blocks};
    const fw::node_shape& s = node_.shape;
    node_.regions = m.take<fw::memory_region>(s.max_regions);
    node_.region_changes = m.take<std::uint32_t>();
    node_.hosts = m.take<fw::known_host>(s.max_hosts);
    *node_.hosts = {{1}, 1, 1, manager.value, 1, fw::known_host::may_manage};
    node_.subsystem = m.take<char>(256);
    node_.queues = m.take<fw::queue_context>(s.max_queues);
    node_.free_slots = m.take<std::uint32_t>(s.commands());
    node_.commands = m.take<fw::io_command>(s.commands());
    node_.ssds = m.take<fw::node::ssd>(s.ssd_count);
    node_.faults = m.take<std::uint32_t>(s.ssd_count);
    node_.priorities = m.take<std::uint32_t>(s.max_queues);
    node_.arbitrations = m.take<std::uint32_t>(s.ssd_count);
    node_.ring_ends = m.take<fw::handle_ring::ends>(s.rings());
    node_.done_cells = m.take<std::uint64_t>(s.commands());
    node_.inbox_cells =
        m.take<std::uint64_t>(std::size_t{s.inboxes()} * fw::node::power_of_two(s.commands()));
    node_.copy_cells = m.take<std::uint64_t>(fw::node::copy_cell_count(s));
    node_.tickets = m.take<std::uint64_t>(s.copy_workers);
    node_.paced_cells =
        m.take<std::uint64_t>(std::size_t{s.pacers()} * fw::node::power_of_two(s.commands()));
    node_.paced_ssds = m.take<fw::paced_ssd*>(s.pacers());
    pacers_.clear();
    for (std::uint32_t k = 0; k < s.pacers(); ++k) {
      pacers_.push_back(std::make_unique<fw::paced_ssd>(*swarm_.timing));
      node_.paced_ssds[k] = pacers_.back().get();
      node_.arbitrations[k] = fw::arbitration{.burst_log2 = 3}.pack();
    }
    if (s.transfer_blocks > fw::max_transfer_blocks)
      node_.long_pages = m.take<std::uint32_t>(std::size_t{s.commands()} * s.transfer_blocks);
    node_.send_cells =
        m.take<std::uint64_t>(std::size_t{s.senders()} * fw::node::power_of_two(s.commands()));
    node_.stream_senders = m.take<fw::stream_sender*>(s.senders());
    senders_.clear();
    for (std::uint32_t k = 0; k < s.senders(); ++k) {
      senders_.push_back(std::make_unique<fw::stream_sender>(*swarm_.sends, s.ssd_count));
      node_.stream_senders[k] = senders_.back().get();
    }
    node_.quiescence_words =
        m.take<std::uint64_t>(fw::reader_quiescence<thread_scope_device>::words_for(s.max_queues));
    node_.stop = m.take<std::uint32_t>();
    stalled_.assign(s.roles(), 0);
    for (std::uint32_t k = 0; k < s.commands(); ++k) node_.free_slots[k] = k % s.max_depth;
    for (std::uint32_t k = 0; k < swarm_.ssds; ++k) node_.ssds[k] = reference(k);
  }

  swarm swarm_;
  fw::geometry shape_;
  std::uint32_t queues_;
  std::vector<std::unique_ptr<disk>> disks_;
  std::unique_ptr<memory_image> control_;
  std::vector<std::unique_ptr<fw::paced_ssd>> pacers_;
  std::vector<std::unique_ptr<fw::stream_sender>> senders_;
  fw::node node_;
  std::vector<std::uint32_t> stalled_;  ///< rounds that each engine stands still
  std::uint32_t rounds_ = 0;
};

}  // namespace gnstor::test

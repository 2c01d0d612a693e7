#pragma once

#include "client.hpp"
#include "order_line.hpp"
#include <daemon/next_term.hpp>
#include <daemon/repair.hpp>

#include <deque>
#include <functional>

namespace gnstor::test {

/// Carries out what the manager wants: orders to SSDs, late or twice, and repairs through a queue
/// pair of its own. The manager may crash, and another one take over.
class manager_driver {
 public:
  /// @param queue of repairs; the next one is that of orders
  manager_driver(const swarm& s, const daemon::manager_options& o, std::uint32_t queue)
      : options(o),
        manager(o),
        line(queue, client_id(o.client), daemon::repair::memory_blocks),
        orders(queue + 1, client_id(o.client)),
        swarm_(s) {
    for (std::uint32_t k = s.places(); k < s.ssds; ++k) {
      manager.set_aim(k, daemon::ssd_aim::spare);
      manager.ssd_failed(k);
    }
  }

  daemon::manager_options options;
  daemon::manager manager;
  connection line;
  order_line orders;
  std::vector<daemon::reply> replies;
  std::uint64_t repairs_done = 0;
  std::uint64_t scrubs_done = 0;
  std::uint64_t lost_blocks = 0;
  std::uint64_t kept = 0;         ///< volumes that an SSD which came back still had
  std::uint64_t kept_partly = 0;  ///< likewise, but for what others had changed
  std::uint64_t forgotten = 0;    ///< stripes that it was taken
  std::uint64_t fences = 0;       ///< times that nobody could write until all was
  std::uint64_t late = 0;         ///< orders of former managers that came after all
  std::uint64_t refused = 0;      ///< of these, by SSDs that followed another one
  std::uint64_t refusals = 0;     ///< of what the manager ordered
  bool refuses = true;            ///< SSDs may refuse some of it

  void step(draws& d, simulated_array& array, std::uint64_t now_ns) {
    deliver_late(array, now_ns);
    if (down_until_ > now_ns) return;
    if (down_until_ != 0) take_over(d, array, now_ns);
    manager.tick(now_ns);
    const daemon::orders out = manager.take_orders();
    for (const std::uint32_t k : out.detached)
      front_end_.push_back({k, true, now_ns + d.below(20'000)});
    for (const std::uint32_t k : out.attached) front_end_.push_back({k, false, now_ns});
    for (const auto& o : out.ssds) orders.add(o, now_ns + d.below(20'000), refusal_of(d, o));
    for (const std::uint64_t id : out.cancelled) {
      std::erase_if(jobs_, [id](const daemon::repair_order& r) { return r.id == id; });
      if (repair_ && repair_->order().id == id) drop_repair();
    }
    for (const auto& r : out.repairs) {
      kept += r.left_out.size();
      kept_partly += r.kind == daemon::repair_kind::fill ? r.kept.regions.size() : 0;
      fences += r.fenced != 0 ? 1 : 0;
      jobs_.push_back(r);
    }
    for (const auto& r : out.replies) replies.push_back(r);
    if (manager.knows_epoch()) serving_ = manager.published();
    array.befell.published(serving_.epoch);
    change_front_end(array, now_ns);
    serve_orders(d, array, now_ns);
    serve_repair(array, now_ns);
  }
  /// An engine has worked: what it did for an order is noted.
  void watch(simulated_array& array) const {
    if (const auto ssd = orders.asked()) array.befell.sees(*ssd, array.report(*ssd));
  }
  /// The manager's process ends, or stands still for so long that another one takes over: what it
  /// was about to order may come much later.
  void crash(draws& d, simulated_array& array, std::uint64_t now_ns) {
    down_until_ = now_ns + 1 + d.below(200'000);
    array.befell.manager_forgets();
    for (const daemon::ssd_order& o : orders.end(array)) {
      if (d.one_in(2)) late_.push_back({o, term_, now_ns + d.below(2'000'000)});
    }
    front_end_.clear();
    jobs_.clear();
    drop_repair();
  }
  bool is_down(std::uint64_t now_ns) const { return down_until_ > now_ns; }
  bool is_idle() const {
    return down_until_ == 0 && manager.idle() && jobs_.empty() && !repair_ && orders.is_idle() &&
           front_end_.empty();
  }
  void lose_power(std::uint64_t now_ns) {
    orders.lose_power(now_ns);
    front_end_cut_until_ = 0;
    line.lose();
    under_way_ = false;
    if (repair_) fail_repair();
  }
  /// An SSD does not answer. True if the manager is informed.
  bool complain(circumstances& befell, std::uint32_t ssd) {
    if (!may_fail(ssd)) return false;
    // One that is on its way back is absent already: this is none of the failures to come.
    const bool is_absent = (manager.serving().absent >> ssd & 1) != 0;
    manager.ssd_failed(ssd);
    if (!is_absent) befell.manager_hears(ssd);
    return true;
  }
  /// Until then no front end hears what it is to refuse, or to serve again.
  void cut_front_end(circumstances& befell, std::uint64_t until_ns) {
    front_end_cut_until_ = until_ns;
    befell.stands_still(front_end_role);
  }
  bool is_front_end_cut() const { return front_end_cut_until_ != 0; }
  /// An SSD that is there again follows this manager, and no former one.
  void follow(simulated_array& array, std::uint32_t ssd) {
    wire::afa::admin_command c;
    c.opcode = wire::afa::admin_opcode::array_describe;
    c.nsid = ssd + 1;
    c.term = term_;
    if (const std::uint16_t status = carry_out(array, c, {}); status != 0)
      throw broken_promise{"SSD " + std::to_string(ssd) + " does not follow the manager: status " +
                           std::to_string(status)};
    followed_[ssd] = term_;
  }
  /// An SSD without a past has another one's place.
  void replaced(std::uint32_t ssd) { followed_[ssd] = 0; }
  /// What is being repaired, for a report.
  std::string standing() const {
    std::string all = manager.standing() + orders.standing() + ", " +
                      std::to_string(front_end_.size()) + " changes of front ends, " +
                      std::to_string(jobs_.size()) + " repairs wait";
    if (!repair_) return all;
    all += ", one of kind " + std::to_string(static_cast<int>(repair_->order().kind)) +
           " of volume " + std::to_string(repair_->order().vid) + " for SSD " +
           std::to_string(repair_->order().ssd) + " goes on";
    if (!repair_->step()) return all;
    return all + " with step " + std::to_string(static_cast<int>(repair_->step()->what)) +
           " at SSD " + std::to_string(repair_->step()->ssd) +
           (under_way_ ? ", under way" : ", to be sent");
  }
  /// The epoch that was published last, by whichever manager.
  const daemon::membership& serving() const { return serving_; }
  /// Whether an SSD may be given up: never so many that data is lost.
  std::function<bool(std::uint32_t)> may_fail;
  /// Clients that have no connection: whoever takes the array over asks its front end.
  std::function<std::vector<std::uint16_t>(std::uint64_t now_ns)> vanished;
  /// SSDs that do not answer orders, by bit: their electronics are gone.
  std::uint64_t broken = 0;
  std::uint64_t doomed = 0;  ///< SSDs that have lost what they had acknowledged, and refuse all

 private:
  struct late_order {
    daemon::ssd_order what;
    std::uint64_t term;
    std::uint64_t at_ns;
  };
  struct front_end_change {
    std::uint32_t ssd;
    bool detaches;
    std::uint64_t at_ns;
  };

  static std::uint64_t term_of(simulated_array& array, std::uint32_t ssd) {
    return fw::manager_term<thread_scope_device>(array.ssd(ssd).parts().header()).latest();
  }
  /// What an SSD says to an order to change a volume for which it has no room, now and then.
  std::uint16_t refusal_of(draws& d, const daemon::ssd_order& o) {
    using wire::afa::admin_opcode;
    const bool changes = o.opcode == admin_opcode::volume_add ||
                         o.opcode == admin_opcode::volume_chmod ||
                         o.opcode == admin_opcode::volume_delete;
    if (!refuses || !changes || !d.one_in(swarm_.refusals)) return 0;
    ++refusals;
    return wire::afa::make_status(wire::afa::status::too_many_clients);
  }
  /// Its front end serves it again; one that is broken stays so.
  void attach(simulated_array& array, std::uint32_t ssd) const {
    if (((broken | doomed) >> ssd & 1) == 0) array.set_fault(ssd, fw::ssd_fault::none);
  }
  void take_over(draws& d, simulated_array& array, std::uint64_t now_ns) {
    const auto reaches = [&](std::uint32_t k) {
      return (broken >> k & 1) == 0 && !orders.is_cut(k, now_ns);
    };
    for (std::uint32_t k = 0; k < swarm_.ssds; ++k)
      term_ = std::max(term_, reaches(k) ? term_of(array, k) : 0);
    term_ = daemon::next_term(term_, static_cast<std::uint16_t>(d.below(1 << 16)));
    std::vector<std::optional<daemon::ssd_report>> reports;
    for (std::uint32_t k = 0; k < swarm_.ssds; ++k) {
      const bool answers = reaches(k);
      if (answers) follow(array, k);
      reports.push_back(answers ? std::optional(array.report(k)) : std::nullopt);
      if (!answers) array.befell.manager_hears(k);
    }
    manager = daemon::manager(options);
    manager.recover(reports, now_ns);
    for (std::uint32_t k = swarm_.places(); k < swarm_.ssds; ++k)
      manager.set_aim(k, daemon::ssd_aim::spare);
    for (const std::uint16_t client : vanished(now_ns)) manager.client_gone(client);
    down_until_ = 0;
  }
  /// Its front end refuses an SSD's I/O, or no longer, before any order goes on.
  void change_front_end(simulated_array& array, std::uint64_t now_ns) {
    if (front_end_cut_until_ > now_ns) return;
    if (std::exchange(front_end_cut_until_, 0) != 0) array.befell.goes_on(front_end_role);
    while (!front_end_.empty() && front_end_.front().at_ns <= now_ns) {
      const front_end_change c = front_end_.front();
      front_end_.pop_front();
      if (c.detaches) array.set_fault(c.ssd, fw::ssd_fault::dead);
      if (!c.detaches) attach(array, c.ssd);
    }
  }
  void serve_orders(draws& d, simulated_array& array, std::uint64_t now_ns) {
    const auto o = orders.step(array, term_, broken, front_end_.empty(), now_ns);
    if (!o) return;
    if (o->status && d.one_in(swarm_.lost_answers)) return orders.add(o->order, now_ns + 50'000);
    if (o->status == wire::afa::make_status(wire::afa::status::stale_term))
      throw broken_promise{"an SSD follows another manager than the one there is"};
    if (o->status) return manager.answered(o->order.id, *o->status);
    if (complain(array.befell, o->order.ssd)) return orders.forget(o->order.ssd);
    orders.add(o->order, now_ns);
  }
  /// What former managers have ordered comes late: an SSD that follows another one refuses it.
  void deliver_late(simulated_array& array, std::uint64_t now_ns) {
    for (std::size_t k = 0; k < late_.size(); ++k) {
      if (late_[k].at_ns > now_ns) continue;
      const late_order o = late_[k];
      late_.erase(late_.begin() + static_cast<std::ptrdiff_t>(k));
      if ((broken >> o.what.ssd & 1) != 0) return;
      const bool is_former = followed_[o.what.ssd] > o.term;
      const std::uint16_t status =
          carry_out(array, daemon::command_of(o.what, o.term), daemon::payload_of(o.what));
      ++late;
      if (!is_former) return;
      ++refused;
      if (status != wire::afa::make_status(wire::afa::status::stale_term))
        throw broken_promise{"SSD " + std::to_string(o.what.ssd) +
                             " carries out what a former manager ordered"};
      return;
    }
  }

  // ---- repairs, one at a time, one command at a time

  void serve_repair(simulated_array& array, std::uint64_t now_ns) {
    if (must_reset_) line.reset(array);
    must_reset_ = false;
    if (!line.is_usable()) {
      if (repair_ && under_way_) fail_repair();
      line.reset(array);
      return line.try_open(array);
    }
    if (!repair_) {
      // It waits for the epoch that everybody knows.
      if (jobs_.empty()) return;
      if (!manager.knows_epoch()) return;
      repair_.emplace(jobs_.front(), manager.published(), swarm_.ssds, manager.volumes(),
                      line.data(0));
      jobs_.pop_front();
      steps_ = 0;
    }
    if (!under_way_) {
      if (!repair_->step()) return finish_repair();
      if (orders.is_cut(repair_->step()->ssd, now_ns)) {
        (void)complain(array.befell, repair_->step()->ssd);
        return fail_repair();
      }
      return send(*repair_->step(), now_ns);
    }
    (void)line.channel().poll();
    const status s = line.channel().try_wait(ticket_);
    if (s.code == status_code::would_block) {
      if (now_ns < give_up_ns_) return;
      (void)complain(array.befell, repair_->step()->ssd);
      line.reset(array);
      return fail_repair();
    }
    under_way_ = false;
    if (s.ok()) return repair_->answered(daemon::step_end::done);
    using nvme_type = wire::nvme::status_code_type;
    const bool vendor = s.nvme_type == static_cast<std::uint8_t>(nvme_type::vendor_specific);
    const auto code = static_cast<wire::afa::status>(s.nvme_code);
    if (s.code == status_code::nvme_error && vendor && code == wire::afa::status::unknown_volume)
      return repair_->answered(daemon::step_end::gone);
    if (s.code == status_code::nvme_error &&
        s.nvme_type == static_cast<std::uint8_t>(nvme_type::media))
      return repair_->answered(daemon::step_end::damaged);
    const std::uint32_t ssd = repair_->step()->ssd;
    const bool fails = s.code == status_code::nvme_error && s.nvme_type == 0;
    // Where the manager ended that had it refused, and it must not be given up, somebody sees to
    // it.
    if (fails && !complain(array.befell, ssd) && (manager.serving().absent >> ssd & 1) == 0)
      attach(array, ssd);
    fail_repair();
  }
  void send(const daemon::repair_step& p, std::uint64_t now_ns) {
    ++steps_;
    const io_buffer b = line.buffer(0, daemon::repair::memory_blocks);
    const bool forgets = p.what == daemon::repair_step::kind::forget;
    auto command = wire::nvme::make_read_write(
        p.what == daemon::repair_step::kind::read ? wire::nvme::nvm_opcode::read
                                                  : wire::nvme::nvm_opcode::write,
        0, p.ssd + 1, wire::afa::pack_slba(volume_id(p.vid), line.client(), p.first), p.blocks,
        forgets ? wire::nvme::make_empty_sgl()
                : wire::nvme::make_keyed_sgl(b.address + std::uint64_t{p.buffer} * block_bytes,
                                             p.blocks * block_bytes, b.rkey));
    command.cdw12 |= wire::nvme::force_unit_access;
    command.cdw2 = p.epoch;
    if (p.what == daemon::repair_step::kind::spoil) command.cdw13 = wire::afa::fill_unreadable;
    if (p.what == daemon::repair_step::kind::fill || p.what == daemon::repair_step::kind::spoil)
      command.opcode = static_cast<std::uint8_t>(wire::afa::io_opcode::fill);
    const bool since = p.what == daemon::repair_step::kind::regions_since;
    if (since || p.what == daemon::repair_step::kind::regions)
      command.opcode = static_cast<std::uint8_t>(wire::afa::io_opcode::dirty_regions);
    if (since) command.cdw13 = wire::afa::dirty_regions_since_taken;
    forgotten += forgets ? 1 : 0;
    if (forgets) command.opcode = static_cast<std::uint8_t>(wire::afa::io_opcode::forget);
    const result<ticket> t = line.channel().submit(command);
    if (!t) return;
    ticket_ = t.value;
    under_way_ = true;
    give_up_ns_ = now_ns + 3'000'000;
  }
  void finish_repair() {
    const bool ok = repair_->ok();
    lost_blocks += repair_->lost();
    repairs_done += ok ? 1 : 0;
    const daemon::repair_kind kind = repair_->order().kind;
    std::vector<std::uint32_t> damaged = repair_->damaged();
    const bool mended = kind == daemon::repair_kind::mend;
    const bool sound = kind == daemon::repair_kind::scrub && damaged.empty();
    if (ok && (mended || sound)) ++scrubs_done;
    const std::uint64_t id = repair_->order().id;
    const daemon::regions_by_volume forgotten = repair_->forgotten();
    repair_.reset();
    manager.finished(id, ok, std::move(damaged), forgotten);
  }
  void fail_repair() {
    const std::uint64_t id = repair_->order().id;
    drop_repair();
    manager.finished(id, false);
  }
  void drop_repair() {
    if (under_way_) must_reset_ = true;
    under_way_ = false;
    repair_.reset();
  }

  swarm swarm_;
  daemon::membership serving_;
  std::uint64_t term_ = 1;
  std::deque<front_end_change> front_end_;
  std::uint64_t front_end_cut_until_ = 0;  ///< 0: it is not
  std::vector<late_order> late_;
  std::uint64_t followed_[max_ssds] = {};  ///< the term in which each SSD heard of its manager
  std::deque<daemon::repair_order> jobs_;
  std::optional<daemon::repair> repair_;
  bool under_way_ = false;
  bool must_reset_ = false;
  ticket ticket_{};
  std::uint64_t give_up_ns_ = 0;
  std::uint64_t steps_ = 0;
  std::uint64_t down_until_ = 0;
};

}  // namespace gnstor::test

#pragma once

#include "connection.hpp"
#include <afa/admin_commands.hpp>
#include <daemon/order_bytes.hpp>

#include <cstring>
#include <span>

namespace gnstor::test {

/// True of the SSDs' engines that carry admin commands out.
inline bool carries_orders(const fw::node_shape& s, std::uint32_t role) {
  return role >= s.copy_workers && role < s.first_queue() &&
         (role - s.copy_workers) % s.shards == 0;
}

/// Carries a manager's command out at once, and notes what the SSD knows then. Its status.
inline std::uint16_t carry_out(simulated_array& array, const wire::afa::admin_command& c,
                               std::span<const std::byte> payload) {
  std::uint64_t data[block_bytes / 8] = {};
  std::memcpy(data, payload.data(), payload.size());
  fw::command_head head{};
  head.entry = c.pack();
  head.entry.dptr.address = reinterpret_cast<std::uint64_t>(data);
  head.client = simulated_array::manager;
  const std::uint32_t k = c.nsid - 1;
  const std::uint16_t status = fw::admin_commands(array.node(), k).execute(head);
  array.befell.sees(k, array.report(k));
  return status;
}

/// The way of a manager's orders to its SSDs: one after another, as admin commands under its term,
/// over an association of its own. An SSD may be cut off from it: orders do not reach it, or its
/// answers do not reach the manager.
class order_line {
 public:
  /// What became of an order. Without a status: no answer came in time.
  struct outcome {
    daemon::ssd_order order;
    std::optional<std::uint16_t> status;
  };

  /// @param manager its client id
  order_line(std::uint32_t queue, client_id manager) : line_(queue, manager, 1, true) {}

  /// @param refusal what the SSD says to it, and does nothing; 0: it looks at it
  void add(const daemon::ssd_order& o, std::uint64_t at_ns, std::uint16_t refusal = 0) {
    waiting_.push_back({o, at_ns, refusal});
  }
  bool is_idle() const { return waiting_.empty() && !sent_; }
  /// What is to be ordered, for a report.
  std::string standing() const {
    std::string all;
    const auto name = [](const daemon::ssd_order& o) {
      return ", " + std::to_string(static_cast<int>(o.opcode)) + " for SSD " +
             std::to_string(o.ssd) + " in epoch " + std::to_string(o.epoch);
    };
    for (const order& o : waiting_) all += name(o.what);
    return sent_ ? all + name(*sent_) + (is_on_its_way_ ? " under way" : " sent") : all;
  }
  /// The SSD that may carry an order out just now, also one that nobody waits for any more.
  std::optional<std::uint32_t> asked() const { return asked_; }

  /// @param answers_only its orders still reach it
  void cut(std::uint32_t ssd, std::uint64_t until_ns, bool answers_only) {
    cuts_[ssd] = {until_ns, answers_only};
  }
  bool is_cut(std::uint32_t ssd, std::uint64_t now_ns) const {
    return cuts_[ssd].until_ns > now_ns;
  }

  /// Sends the next order, or looks what became of the one that was sent.
  /// @param gone SSDs, by bit, that no order reaches
  /// @param may_send false: what comes before orders is not done yet
  std::optional<outcome> step(simulated_array& array, std::uint64_t term, std::uint64_t gone,
                              bool may_send, std::uint64_t now_ns) {
    if (!line_.is_usable()) {
      if (is_on_its_way_) send_again(now_ns);
      line_.reset(array);
      line_.try_open(array);
      if (line_.is_usable()) asked_.reset();
      return {};
    }
    if (!sent_) {
      if (may_send) send_next(term, gone, now_ns);
      return {};
    }
    if (is_on_its_way_) {
      (void)line_.channel().poll();
      const status s = line_.channel().try_wait(ticket_);
      if (s.code != status_code::would_block) {
        is_on_its_way_ = false;
        asked_.reset();
        if (s.ok() || s.code == status_code::nvme_error) {
          if (!is_cut(sent_->ssd, now_ns)) return ended(status_of(s));
          give_up_ns_ = std::min(give_up_ns_, now_ns + without_answer_ns);
        } else {
          send_again(now_ns);
          return {};
        }
      }
    }
    if (refusal_ != 0) return ended(std::exchange(refusal_, 0));
    if (now_ns < give_up_ns_) return {};
    if (is_on_its_way_) line_.reset(array);
    is_on_its_way_ = false;
    return ended({});
  }

  /// Nobody waits for an SSD's orders any more.
  void forget(std::uint32_t ssd) {
    std::erase_if(waiting_, [ssd](const order& o) { return o.what.ssd == ssd; });
  }
  /// The manager's process ends: the orders whose answers it had not heard.
  std::vector<daemon::ssd_order> end(simulated_array& array) {
    std::vector<daemon::ssd_order> all;
    if (sent_) all.push_back(*sent_);
    for (const order& o : waiting_) all.push_back(o.what);
    waiting_.clear();
    sent_.reset();
    refusal_ = 0;
    if (is_on_its_way_) line_.reset(array);
    is_on_its_way_ = false;
    return all;
  }
  /// The array's power has gone.
  void lose_power(std::uint64_t now_ns) {
    line_.lose();
    if (sent_) send_again(now_ns);
  }

 private:
  static constexpr std::uint64_t patience_ns = 3'000'000;  ///< engines may stand still
  static constexpr std::uint64_t without_answer_ns = 300'000;

  struct order {
    daemon::ssd_order what;
    std::uint64_t at_ns;
    std::uint16_t refusal = 0;
  };
  struct partition {
    std::uint64_t until_ns = 0;
    bool answers_only = false;
  };

  void send_next(std::uint64_t term, std::uint64_t gone, std::uint64_t now_ns) {
    const auto next = std::find_if(waiting_.begin(), waiting_.end(),
                                   [now_ns](const order& o) { return o.at_ns <= now_ns; });
    if (next == waiting_.end()) return;
    const daemon::ssd_order o = next->what;
    const bool is_dead = (gone >> o.ssd & 1) != 0;
    const bool cut_off = is_cut(o.ssd, now_ns);
    give_up_ns_ = now_ns + (is_dead || cut_off ? without_answer_ns : patience_ns);
    refusal_ = is_dead || cut_off ? std::uint16_t{0} : next->refusal;
    if (refusal_ == 0 && !is_dead && !(cut_off && !cuts_[o.ssd].answers_only)) {
      const std::vector<std::byte> payload = daemon::payload_of(o);
      wire::afa::admin_command c = daemon::command_of(o, term);
      if (!payload.empty()) {
        const io_buffer b = line_.buffer(0, 1);
        std::memcpy(line_.data(0), payload.data(), payload.size());
        c.payload = wire::nvme::make_keyed_sgl(b.address,
                                               static_cast<std::uint32_t>(payload.size()), b.rkey);
      }
      const result<ticket> t = line_.channel().submit(c.pack());
      if (!t) return;
      ticket_ = t.value;
      is_on_its_way_ = true;
      asked_ = o.ssd;
    }
    sent_ = o;
    waiting_.erase(next);
  }
  void send_again(std::uint64_t now_ns) {
    waiting_.insert(waiting_.begin(), {*sent_, now_ns});
    sent_.reset();
    refusal_ = 0;
    is_on_its_way_ = false;
  }
  outcome ended(std::optional<std::uint16_t> status) {
    outcome o{*sent_, status};
    sent_.reset();
    return o;
  }
  /// As the manager takes it: an SSD that fails has said nothing.
  static std::optional<std::uint16_t> status_of(status s) {
    using nvme_type = wire::nvme::status_code_type;
    const bool said = s.nvme_type == static_cast<std::uint8_t>(nvme_type::vendor_specific);
    if (!s.ok() && !said) return std::nullopt;
    return s.ok() ? std::uint16_t{0} : wire::nvme::make_status(s.nvme_type, s.nvme_code);
  }

  connection line_;
  std::vector<order> waiting_;
  std::optional<daemon::ssd_order> sent_;
  std::uint16_t refusal_ = 0;  ///< what its SSD is about to say
  bool is_on_its_way_ = false;
  std::optional<std::uint32_t> asked_;
  ticket ticket_{};
  std::uint64_t give_up_ns_ = 0;
  partition cuts_[max_ssds];
};

}  // namespace gnstor::test

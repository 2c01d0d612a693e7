#pragma once

#include <gnstor/wire/intel/descriptor.hpp>

#include <nic/nic_node.hpp>

namespace gnstor::fw {

/// What the engines of both directions do with a ring: find its descriptors by the registers, and
/// report them in order.
class ring_engine {
 public:
  using registers = wire::intel::ring_registers;
  using descriptor = wire::intel::descriptor;

  GNSTOR_HD ring_engine(const nic_node& node, nic_port& port, const registers& where,
                        ring_position& position)
      : node_(&node), port_(&port), where_(where), position_(&position) {}

  /// Looks at the control register. False if the ring is disabled: then all descriptors have been
  /// reported, and the driver may have it.
  template <class Report>
  GNSTOR_HD bool is_enabled(const Report& report) {
    const asked now = look();
    if (now.closes()) {
      report_all(report);
      let_go();
    }
    return now.wanted;
  }

  /// What the driver wants of the ring, and what the NIC has said of it.
  struct asked {
    bool wanted;
    bool open;
    /// The driver waits until all descriptors have been reported, and the NIC has let go.
    GNSTOR_HD bool closes() const { return open && !wanted; }
  };
  GNSTOR_HD asked look() {
    // Before the control register, which a driver writes first: a ring that is found open and not
    // wanted was closed, and not just opened.
    const bool open = is_open();
    return {(port_->at(where_.control).load(acquire) & where_.enable) != 0, open};
  }
  /// Paired with the acquire of a driver that waits for it.
  GNSTOR_HD void let_go() { system_word<std::uint32_t>(position_->enabled).store(0, release); }

  /// True from when the driver has enabled the ring until the NIC has let go of it.
  GNSTOR_HD bool is_open() {
    return (system_word<std::uint32_t>(position_->enabled).load(acquire) & where_.enable) != 0;
  }

  /// The next descriptor that the driver has given; null if there is none.
  /// @par Order as `given`
  GNSTOR_HD descriptor* next() { return given() == 0 ? nullptr : entry(position_->head); }

  /// How many descriptors the driver has given, from `head` on.
  /// @par Order acquires what the driver wrote before the tail
  GNSTOR_HD std::uint32_t given() {
    const std::uint32_t depth = this->depth();
    // Paired with the release of who wrote it.
    const std::uint32_t tail = port_->at(where_.tail).load(acquire);
    if (tail >= depth) {
      if (depth != 0) nic_counters::add(port_->counters.bad_tails);
      return 0;
    }
    return (tail + depth - position_->head) % depth;
  }

  /// The `n` descriptors from `head` on are used up; their done bits may come later.
  GNSTOR_HD void use(std::uint32_t n = 1) {
    position_->head = (position_->head + n) % depth();
    port_->at(where_.head).store(position_->head, relaxed);
    const std::uint64_t first = position_->used;
    position_->used += n;
    for (std::uint32_t k = 0; node_->faults.late != 0 && k < n; ++k) {
      const std::uint32_t delay = node_->faults.delay_of(first + k);
      if (delay > position_->delay) position_->delay = delay;
    }
  }

  /// What the leader of a team finds when a round begins.
  struct round {
    bool is_mine;  ///< else somebody else serves the ring just now
    asked now;
    std::uint32_t depth;
    std::uint32_t head;
    std::uint32_t given;     ///< from `head` on
    std::uint32_t reported;  ///< before this one all are
    std::uint32_t due;       ///< to be reported now, from there on
    descriptor* entries;     ///< all of them; null: to be looked for one by one
  };
  /// @param locks the ring, as others serve it, too
  GNSTOR_HD round begin(bool locks) {
    round r{};
    r.is_mine = !locks || try_lock();
    if (!r.is_mine) return r;
    r.now = look();
    r.depth = depth();
    r.entries = entries(r);
    r.head = position_->head;
    r.given = r.now.wanted ? given() : 0;
    r.reported = position_->reported;
    if (r.reported == r.head || r.depth == 0) return r;
    if (position_->delay == 0 || r.now.closes()) {
      r.due = (r.head + r.depth - r.reported) % r.depth;
    } else {
      --position_->delay;
    }
    return r;
  }
  /// Reports what is due, a descriptor per lane, and lets go of a ring that is to close.
  /// @param report is given a descriptor
  /// @par Callers every lane of `team`, after `begin` by the leader
  template <class Team, class Report>
  GNSTOR_HD void report(const Team& team, const round& r, const Report& report) {
    for (std::uint32_t k = team.rank(); k < r.due; k += team.size()) {
      descriptor* const d = entry(r, r.reported + k);
      if (d != nullptr) report(*d);
    }
    team.sync();
    if (!team.leads()) return;
    if (r.due != 0) {
      position_->reported = r.head;
      position_->delay = 0;
    }
    if (!r.now.closes()) return;
    entries_ = nullptr;
    let_go();
  }

  /// Whoever else may serve the ring leaves it alone until `unlock`. False: it is served.
  GNSTOR_HD bool try_lock() {
    // Paired with the release of `unlock`.
    return device_word<std::uint32_t>(position_->lock).exchange(1, acquire) == 0;
  }
  GNSTOR_HD void unlock() { device_word<std::uint32_t>(position_->lock).store(0, release); }

  GNSTOR_HD std::uint32_t depth() const {
    return port_->at(where_.bytes).load(relaxed) / sizeof(descriptor);
  }
  /// The descriptor `index`, less than twice the depth, modulo that; null, and counted, if its
  /// address is nobody's.
  GNSTOR_HD descriptor* entry(const round& r, std::uint32_t index) {
    const std::uint32_t k = index < r.depth ? index : index - r.depth;
    return r.entries != nullptr ? r.entries + k : entry(k);
  }
  GNSTOR_HD descriptor* entry(std::uint32_t index) {
    constexpr std::uint32_t bytes = sizeof(descriptor);
    unsigned char* const there = node_->find(base() + std::uint64_t{index} * bytes, bytes);
    if (there == nullptr) nic_counters::add(port_->counters.faults);
    return reinterpret_cast<descriptor*>(there);
  }

  /// Reports what is used up, if it is time. True if there is more to report.
  template <class Report>
  GNSTOR_HD bool report_due(const Report& report) {
    if (position_->reported == position_->head) return false;
    if (position_->delay == 0) {
      report_all(report);
      return false;
    }
    --position_->delay;
    return true;
  }

 private:
  GNSTOR_HD std::uint64_t base() const {
    return port_->at(where_.base_low).load(relaxed) |
           std::uint64_t{port_->at(where_.base_high).load(relaxed)} << 32;
  }
  /// The ring's memory, which stays where it is for as long as the ring is open.
  GNSTOR_HD descriptor* entries(const round& r) {
    if (!r.now.open) {
      entries_ = nullptr;
    } else if (entries_ == nullptr) {
      unsigned char* const there = node_->find(base(), std::uint64_t{r.depth} * sizeof(descriptor));
      entries_ = reinterpret_cast<descriptor*>(there);
    }
    return entries_;
  }
  template <class Report>
  GNSTOR_HD void report_all(const Report& report) {
    const std::uint32_t n = depth();
    for (; position_->reported != position_->head;
         position_->reported = (position_->reported + 1) % n) {
      descriptor* const d = entry(position_->reported);
      if (d != nullptr) report(*d);
    }
    position_->delay = 0;
  }

  const nic_node* node_;
  nic_port* port_;
  registers where_;
  ring_position* position_;
  descriptor* entries_ = nullptr;  ///< what `entries` has found
};

}  // namespace gnstor::fw

#pragma once

#include <gnstor/wire/intel/descriptor.hpp>

#include <nic/nic_node.hpp>

namespace gnstor::fw {

/// What the engines of both directions do with a ring: find its descriptors by the registers, and
/// report them in order.
class ring_engine {
 public:
  using registers = wire::intel::ring_registers;

  GNSTOR_HD ring_engine(const nic_node& node, nic_port& port, const registers& where,
                        ring_position& position)
      : node_(&node), port_(&port), where_(where), position_(&position) {}

  /// Looks at the control register. False if the ring is disabled: then all descriptors have been
  /// reported, and the driver may have it.
  template <class Report>
  GNSTOR_HD bool is_enabled(const Report& report) {
    // Before the control register, which a driver writes first: a ring that is found open and not
    // wanted was closed, and not just opened.
    const bool open = is_open();
    const bool wanted = (port_->at(where_.control).load(acquire) & where_.enable) != 0;
    if (!wanted && open) {
      report_all(report);
      // Paired with the acquire of a driver that waits for it.
      system_word<std::uint32_t>(position_->enabled).store(0, release);
    }
    return wanted;
  }

  /// True from when the driver has enabled the ring until the NIC has let go of it.
  GNSTOR_HD bool is_open() {
    return (system_word<std::uint32_t>(position_->enabled).load(acquire) & where_.enable) != 0;
  }

  /// The next descriptor that the driver has given; null if there is none.
  /// @par Order acquires what the driver wrote before the tail
  GNSTOR_HD wire::intel::descriptor* next() {
    const std::uint32_t depth = this->depth();
    // Paired with the release of who wrote it.
    const std::uint32_t tail = port_->at(where_.tail).load(acquire);
    if (tail >= depth) {
      if (depth != 0) nic_counters::add(port_->counters.bad_tails);
      return nullptr;
    }
    return tail == position_->head ? nullptr : entry(position_->head);
  }

  /// The descriptor that `next` gave is used up; its done bit may come later.
  GNSTOR_HD void use() {
    position_->head = (position_->head + 1) % depth();
    port_->at(where_.head).store(position_->head, relaxed);
    const std::uint32_t delay = node_->faults.delay_of(position_->used++);
    if (delay > position_->delay) position_->delay = delay;
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
  GNSTOR_HD std::uint32_t depth() const {
    return port_->at(where_.bytes).load(relaxed) / sizeof(wire::intel::descriptor);
  }
  GNSTOR_HD wire::intel::descriptor* entry(std::uint32_t index) {
    const std::uint64_t base = port_->at(where_.base_low).load(relaxed) |
                               std::uint64_t{port_->at(where_.base_high).load(relaxed)} << 32;
    constexpr std::uint32_t bytes = sizeof(wire::intel::descriptor);
    unsigned char* const there = node_->find(base + std::uint64_t{index} * bytes, bytes);
    if (there == nullptr) nic_counters::add(port_->counters.faults);
    return reinterpret_cast<wire::intel::descriptor*>(there);
  }
  template <class Report>
  GNSTOR_HD void report_all(const Report& report) {
    const std::uint32_t n = depth();
    for (; position_->reported != position_->head;
         position_->reported = (position_->reported + 1) % n) {
      wire::intel::descriptor* const d = entry(position_->reported);
      if (d != nullptr) report(*d);
    }
    position_->delay = 0;
  }

  const nic_node* node_;
  nic_port* port_;
  registers where_;
  ring_position* position_;
};

}  // namespace gnstor::fw

#pragma once
/// Memory channels against the model NIC, on the host runtime.

#include "exchange_rig.hpp"
#include "qp/seed_sweep.hpp"
#include "word_nic.hpp"

namespace gnstor::test {

/// The owner of everything that an exchange with the model NIC needs.
class word_rig : public exchange_rig {
 public:
  word_rig(exchange_size s, std::uint32_t seed) : exchange_rig(s, s.channels * 1024) {
    queues = image.take<word_queue>(s.channels);
    for (std::uint32_t k = 0; k < s.channels; ++k) {
      queues[k] = word_queue{};
      queues[k].at = attributes[k];
      queues[k].next_index = s.first_index;
    }
    nic.queues = queues;
    nic.regions = fw::region_table(regions, most_regions);
    nic.stop = stop;
    nic.seed = seed;
  }

  /// What the NIC saw that must not be; nothing if all is well.
  std::string judge_nic() const {
    for (std::uint32_t k = 0; k < size.channels; ++k) {
      if (queues[k].overruns != 0) return "a doorbell beyond the ring, or back";
      if (queues[k].bad_entries != 0) return "the NIC met an entry that was not complete";
    }
    return {};
  }

  word_queue* queues = nullptr;
  word_nic nic;
};

/// One exchange; `prepare` may spoil something, `judge` says what is wrong, or nothing.
template <class Prepare, class Judge>
std::string exchanged(host::options chosen, exchange_size s, const Prepare& prepare,
                      const Judge& judge) {
  word_rig r(s, static_cast<std::uint32_t>(chosen.seed));
  prepare(r);
  chosen.step_budget = 10'000'000;
  host::executor machine(chosen);
  machine.spawn(s.blocks, s.lanes, r.client);
  machine.serve_in(s.same_device ? simt::domain::gpu0 : simt::domain::nic, 1, s.channels, *r.stop,
                   r.nic);
  std::string fault = run_to_end(machine);
  if (fault.empty()) fault = r.judge_nic();
  return fault.empty() ? judge(r) : fault;
}
/// One exchange in which all goes well.
inline std::string exchanged(host::options chosen, exchange_size s = {}) {
  return exchanged(
      chosen, s, [](word_rig&) {}, [](word_rig& r) { return r.judge_all_done(); });
}

}  // namespace gnstor::test

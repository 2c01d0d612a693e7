/// Memory channels over proxy queue pairs: a CPU thread posts their transfers to a model NIC.
#include "proxy/proxy_lane.hpp"
#include "word_rig.hpp"
#include <proxy/emulated_port.hpp>
#include <proxy/proxy_engine.hpp>

#include <doctest/doctest.h>

#include <memory>

using namespace gnstor;
using namespace gnstor::test;

namespace {

/// The NIC's queues are the ports'; the lanes have proxy queue pairs.
class proxied_rig : public word_rig {
 public:
  using engine = gnstor::host::proxy_engine<gnstor::host::emulated_port>;

  proxied_rig(exchange_size s, std::uint32_t seed) : word_rig(s, seed) {
    for (std::uint32_t k = 0; k < s.channels; ++k) {
      memory_.push_back(std::make_unique<aligned_memory>(proxy_queue_layout::of(s.depth).bytes));
      unsigned char* rings = memory_.back()->data();
      engines_.push_back(std::make_unique<engine>(rings, s.depth, *channels[k].queue().nic()));
      tasks.push_back(engines_.back().get());
      channels[k] = remote_memory_channel(proxy_queue_pair<>(rings, s.depth), &channels[k].state());
    }
    client.channels = channels.data();
  }

  std::vector<gnstor::host::proxy_task*> tasks;
  std::uint32_t stop_proxy = 0;

 private:
  std::vector<std::unique_ptr<aligned_memory>> memory_;
  std::vector<std::unique_ptr<engine>> engines_;
};

template <class Prepare, class Judge>
std::string proxied(simt::host::options chosen, exchange_size s, const Prepare& prepare,
                    const Judge& judge) {
  proxied_rig r(s, static_cast<std::uint32_t>(chosen.seed));
  prepare(r);
  chosen.step_budget = 20'000'000;
  simt::host::executor machine(chosen);
  machine.spawn(s.blocks, s.lanes, r.client);
  machine.serve_in(simt::domain::cpu, 1, s.channels, r.stop_proxy,
                   proxy_lane{r.tasks.data(), &r.stop_proxy});
  machine.serve_in(simt::domain::nic, 1, s.channels, *r.stop, r.nic);
  std::string fault = run_to_end(machine);
  if (fault.empty()) fault = r.judge_nic();
  return fault.empty() ? judge(r) : fault;
}
std::string proxied(simt::host::options chosen, exchange_size s = {}) {
  return proxied(
      chosen, s, [](proxied_rig&) {}, [](proxied_rig& r) { return r.judge_all_done(); });
}
std::string broken(simt::host::options o) {
  const exchange_size s;
  return proxied(
      o, s, [&](proxied_rig& r) { r.queues[0].break_at = mix64(o.seed) % 12; },
      [](proxied_rig& r) -> std::string {
        const std::string fault = r.judge();
        if (!fault.empty()) return fault;
        const lane_record t = r.total();
        if (r.channels[0].phase() != channel_phase::error) return "the channel does not know it";
        if (t.failed + t.flushed + t.unsent == 0) return "no lane was informed";
        if (t.failed > 1) return "two transfers killed one queue pair";
        return {};
      });
}

constexpr std::uint64_t share = 100;

}  // namespace

TEST_CASE("every lane reads back what it wrote through a proxy, fast") {
  CHECK(proxied({}) == "");
  CHECK(proxied({}, {.blocks = 3, .lanes = 32, .rounds = 9, .channels = 2, .depth = 64}) == "");
}

TEST_CASE("every lane reads back what it wrote through a proxy, seeded") {
  sweep(simt::host::mode::seeded, share, [](simt::host::options o) { return proxied(o); });
}

TEST_CASE("every lane reads back what it wrote through a proxy, weak") {
  sweep(simt::host::mode::weak, share, [](simt::host::options o) { return proxied(o); });
}

TEST_CASE("a queue pair that dies behind a proxy ends every transfer, seeded") {
  sweep(simt::host::mode::seeded, share, [](simt::host::options o) { return broken(o); });
}

TEST_CASE("a queue pair that dies behind a proxy ends every transfer, weak") {
  sweep(simt::host::mode::weak, share, [](simt::host::options o) { return broken(o); });
}

/// Whole channels over proxy queue pairs: answers, refusals, silence, duplicates and dead ports.
#include "exchange_image.hpp"
#include "proxy_lane.hpp"
#include "qp/seed_sweep.hpp"

namespace gnstor::test {
namespace {

/// One exchange; `prepare` may spoil something. Says what went wrong, or nothing.
template <class Prepare>
std::string exchanged(host::options chosen, const proxy_exchange_shape& s, Prepare prepare) {
  // A lane that the seed makes slow, and that reads the channel's phase late, polls for long.
  chosen.step_budget *= 5;
  proxy_exchange f(s, static_cast<std::uint32_t>(chosen.seed));
  prepare(f);
  std::uint32_t stop = 0;
  host::executor machine(chosen);
  machine.spawn(s.blocks, s.lanes, f.client);
  machine.serve_in(simt::domain::cpu, 1, s.channels, stop, proxy_lane{f.tasks.data(), &stop});
  const std::string fault = run_to_end(machine);
  return fault.empty() ? f.judge() : fault;
}
std::string exchanged(host::options chosen, const proxy_exchange_shape& s = {}) {
  return exchanged(chosen, s, [](proxy_exchange&) {});
}

/// Any request of a default exchange, by seed.
std::uint32_t any_request(host::options o) {
  return static_cast<std::uint32_t>(mix64(o.seed) % proxy_exchange_shape{}.requests());
}
std::string broken(host::options o, ask how, bool throws) {
  const auto why = throws ? wire::mlx5::syndrome::local_queue_pair_error
                          : wire::mlx5::syndrome::remote_access_error;
  return exchanged(o, {.script = {.in_order = false, .throws = throws}},
                   [&](proxy_exchange& f) { f.break_at(any_request(o), how, why); });
}

constexpr std::uint64_t seeded_share = 200;
constexpr std::uint64_t weak_share = 150;

/// A port that has no room at times, and at times does nothing.
constexpr port_script moody{.in_order = false, .refuses_of_8 = 3, .idles_of_8 = 3};

}  // namespace

TEST_CASE("every request gets its own answer, whatever lanes run beside it, fast") {
  CHECK(exchanged({}) == "");
  CHECK(exchanged({}, {.blocks = 3, .lanes = 8, .rounds = 40, .channels = 1, .depth = 8}) == "");
  CHECK(exchanged({}, {.blocks = 2, .lanes = 32, .rounds = 20, .channels = 3, .depth = 4}) == "");
  CHECK(exchanged({}, {.blocks = 2, .lanes = 32, .rounds = 20, .channels = 2, .depth = 128}) == "");
}

TEST_CASE("every request gets its own answer, whatever lanes run beside it, seeded") {
  sweep(host::mode::seeded, 2 * seeded_share, [](host::options o) { return exchanged(o); });
}

TEST_CASE("every request gets its own answer, whatever lanes run beside it, weak") {
  sweep(host::mode::weak, 2 * weak_share, [](host::options o) { return exchanged(o); });
}

TEST_CASE("a port that is slow and out of room delays answers and loses none, seeded") {
  sweep(host::mode::seeded, seeded_share,
        [](host::options o) { return exchanged(o, {.script = moody}); });
}

TEST_CASE("a port that is slow and out of room delays answers and loses none, weak") {
  sweep(host::mode::weak, weak_share,
        [](host::options o) { return exchanged(o, {.script = moody}); });
}

TEST_CASE("more lanes than request slots get through a full channel, seeded") {
  sweep(host::mode::seeded, seeded_share / 2, [](host::options o) {
    return exchanged(o, {.blocks = 2, .lanes = 5, .rounds = 3, .channels = 1, .depth = 4});
  });
}

TEST_CASE("silence times out for the lane that asked and for no other, seeded") {
  sweep(host::mode::seeded, seeded_share, [](host::options o) {
    return exchanged(o, {}, [&](proxy_exchange& f) { f.client.silent = any_request(o); });
  });
}

TEST_CASE("the request that kills a queue pair learns why, and the others are flushed, seeded") {
  sweep(host::mode::seeded, seeded_share,
        [](host::options o) { return broken(o, ask::break_send, false); });
}

TEST_CASE("the request that kills a queue pair learns why, and the others are flushed, weak") {
  sweep(host::mode::weak, weak_share,
        [](host::options o) { return broken(o, ask::break_send, false); });
}

TEST_CASE("a dead connection ends every request in flight with its syndrome, seeded") {
  sweep(host::mode::seeded, seeded_share,
        [](host::options o) { return broken(o, ask::break_receive, false); });
}

TEST_CASE("a port that throws ends every request in flight, seeded") {
  sweep(host::mode::seeded, seeded_share,
        [](host::options o) { return broken(o, ask::break_receive, true); });
}

TEST_CASE("a port that throws ends every request in flight, weak") {
  sweep(host::mode::weak, weak_share,
        [](host::options o) { return broken(o, ask::break_receive, true); });
}

}  // namespace gnstor::test

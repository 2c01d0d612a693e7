/// Batches of warps against a scripted peer that answers in any order, late, or not at all.
#include "batch_fixture.hpp"
#include "qp/seed_sweep.hpp"

using namespace gnstor;
using namespace gnstor::test;

namespace {

template <std::uint32_t Warps, class Channel = mlx5_channel>
std::string batched(host::options chosen, batch_shape s) {
  batch_fixture<Warps, Channel> f(s, static_cast<std::uint32_t>(chosen.seed));
  chosen.step_budget = 20'000'000;
  host::executor machine(chosen);
  machine.spawn(s.blocks, s.threads, f.client);
  machine.serve_in(simt::domain::nic, 1, 1, *f.peer.stop, f.peer);
  const std::string fault = run_to_end(machine);
  return fault.empty() ? f.judge() : fault;
}

}  // namespace

TEST_CASE("a batch handles each request once, whole warps and parts of them, fast") {
  for (std::uint64_t seed = 1; seed <= (under_tsan ? 1 : 10); ++seed) {
    CAPTURE(seed);
    host::options o;
    o.seed = seed;
    CHECK(batched<1>(o, {.threads = 32}) == "");
    CHECK(batched<2>(o, {.threads = 40, .of_each = 3}) == "");
    CHECK(batched<4>(o, {.blocks = 2, .threads = 128, .rounds = 3}) == "");
    CHECK(batched<32>(o, {.threads = 1024, .rounds = 2, .of_each = 2}) == "");
  }
}

TEST_CASE("a batch handles each request once, whole warps and parts of them, seeded") {
  sweep(host::mode::seeded, 60, [](host::options o) {
    return batched<2>(o, {.threads = 36,
                          .rounds = 3,
                          .of_each = 1 + static_cast<std::uint32_t>(o.seed % 3),
                          .depth = 8});
  });
}

TEST_CASE("a batch handles each request once, whole warps and parts of them, weak") {
  sweep(host::mode::weak, 40, [](host::options o) {
    return batched<2>(o, {.threads = 36,
                          .rounds = 2,
                          .of_each = 1 + static_cast<std::uint32_t>(o.seed % 3),
                          .depth = 8});
  });
}

TEST_CASE("a batch on a channel of a session's kind handles each request once, seeded and weak") {
  const auto one = [](host::options o) {
    return batched<2, nic_channel>(o, {.threads = 36,
                                       .rounds = 2,
                                       .of_each = 1 + static_cast<std::uint32_t>(o.seed % 3),
                                       .depth = 8});
  };
  sweep(host::mode::seeded, 40, one);
  sweep(host::mode::weak, 30, one);
}

TEST_CASE("the thread of a pending request skips submits, and its warp goes on") {
  host::options o;
  batch_fixture<1> f({.threads = 32, .rounds = 4}, 1);
  host::executor machine(o);
  machine.spawn(1, 32, f.client);
  machine.serve_in(simt::domain::nic, 1, 1, *f.peer.stop, f.peer);
  REQUIRE(run_to_end(machine) == "");
  CHECK(f.judge() == "");
  CHECK(f.tally().skipped != 0);
}

TEST_CASE("a request without an answer is given up by the drain, and by that alone") {
  for (const std::uint32_t never : {0u, 5u, 31u}) {
    CAPTURE(never);
    CHECK(batched<1>({.run = host::mode::seeded}, {.threads = 32, .rounds = 1, .never = never}) ==
          "");
  }
}

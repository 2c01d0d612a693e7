/// One proxy queue pair, many lanes, and an engine that serves it as one more lane. GNSTOR_SEEDS
/// and GNSTOR_FIRST_SEED as `qp/seed_sweep.hpp` says.
#include "proxy_fixture.hpp"
#include "proxy_lane.hpp"
#include "qp/seed_sweep.hpp"
#include "qp/traffic.hpp"
#include "scripted_port.hpp"

namespace gnstor::test {
namespace {

struct shape {
  std::uint32_t depth = 4;
  std::uint32_t blocks = 2;
  std::uint32_t lanes = 2;
  std::uint32_t rounds = 3;
  std::uint32_t one_sided_of_8 = 0;
  std::uint32_t nops_of_8 = 0;
  port_script script{};
};

/// Runs traffic through one queue pair. Says what went wrong, or nothing.
std::string ran(host::options chosen, shape s = {}) {
  const std::uint32_t total = s.blocks * s.lanes * s.rounds;
  std::vector<letter> letters(total);
  std::vector<parcel> parcels(total);
  std::vector<std::uint64_t> owners(total);
  traffic_record record;
  s.script.letters = letters.data();
  s.script.letter_count = total;
  s.script.seed = static_cast<std::uint32_t>(chosen.seed);
  proxy_fixture<scripted_port> queue(s.depth, s.script);
  gnstor::host::proxy_task* task = &queue.engine;
  std::uint32_t stop = 0;

  const traffic<proxy_queue_pair<>> body{.queue = queue.ref(),
                                         .rounds = s.rounds,
                                         .one_sided_of_8 = s.one_sided_of_8,
                                         .nops_of_8 = s.nops_of_8,
                                         .seed = static_cast<std::uint32_t>(chosen.seed),
                                         .letters = letters.data(),
                                         .parcels = parcels.data(),
                                         .owners = owners.data(),
                                         .record = &record};
  host::executor machine(chosen);
  machine.spawn(s.blocks, s.lanes, body);
  machine.serve_in(simt::domain::cpu, 1, 1, stop, proxy_lane{&task, &stop});
  const std::string fault = run_to_end(machine);
  if (!queue.engine.fault().empty()) return queue.engine.fault();
  if (!fault.empty()) return fault;
  const port_record& seen = queue.engine.port().seen;
  if (seen.bad_order != 0) return "requests reached the port out of order";
  if (seen.bad_letters != 0) return "a request reached the port before its data";
  if (record.stuck != 0) return "a request was never completed";
  if (record.unknown != 0) return "a completion of no request";
  if (record.wrong_kind != 0) return "a failure that nobody caused";
  if (record.bad_replies != 0) return "a completion came before its data";
  for (const parcel& p : parcels) {
    if (p.delivered != 1) return "a completion was delivered twice, or not at all";
  }
  if (seen.posts != total) return "the port did not see every request";
  if (queue.state().consumed - queue.released() >= s.depth)
    return "fewer than depth completions are free at the end";
  return {};
}

/// Takes one completion a lane.
struct taker {
  struct shared {};
  proxy_queue_pair<> queue;
  std::uint32_t* taken = nullptr;

  template <class Lane>
  void operator()(Lane& lane) const {
    for (bounded tries{100'000}; tries;) {
      if (queue.poll(simt::group::active()).kind != completion_kind::none) {
        device_word<std::uint32_t>(*taken).fetch_add(1, relaxed);
        return;
      }
      lane.pause();
    }
  }
};

/// Lanes empty a full completion ring, the last of each half all at once. Says what went wrong, or
/// nothing.
std::string announced(host::options chosen) {
  constexpr std::uint32_t depth = 2;
  aligned_memory memory(proxy_queue_layout::of(depth).bytes);
  gnstor::host::proxy_rings rings(memory.data(), depth);
  completion c;
  c.kind = completion_kind::sent;
  for (std::uint32_t k = 0; k < 2 * depth; ++k) rings.put(c);
  std::uint32_t taken = 0;
  host::executor machine(chosen);
  machine.spawn(2, depth, taker{proxy_queue_pair<>(memory.data(), depth), &taken});
  const std::string fault = run_to_end(machine);
  if (!fault.empty()) return fault;
  if (taken != 2 * depth) return "a lane got no completion";
  if (rings.room() != 2 * depth) return "an announcement took another one back";
  return {};
}

constexpr std::uint64_t seeded_share = 800;
constexpr std::uint64_t weak_share = 300;

/// A port that keeps no order, has no room at times, and at times does nothing.
constexpr port_script moody{.in_order = false, .refuses_of_8 = 3, .idles_of_8 = 3};

}  // namespace

TEST_CASE("every request is completed exactly once over many laps, fast") {
  CHECK(ran({}, {.depth = 4, .blocks = 2, .lanes = 4, .rounds = 200}) == "");
  CHECK(ran({}, {.depth = 8, .blocks = 3, .lanes = 8, .rounds = 60, .one_sided_of_8 = 4}) == "");
  CHECK(ran({}, {.depth = 32,
                 .blocks = 2,
                 .lanes = 32,
                 .rounds = 20,
                 .one_sided_of_8 = 3,
                 .nops_of_8 = 2,
                 .script = moody}) == "");
}

TEST_CASE("tags come round many times, fast") {
  constexpr std::uint32_t rounds = under_tsan ? 200 : 2000;
  CHECK(ran({}, {.depth = 2, .blocks = 1, .lanes = 2, .rounds = rounds, .one_sided_of_8 = 3}) ==
        "");
}

TEST_CASE("every request is completed exactly once, seeded") {
  sweep(host::mode::seeded, seeded_share, [](host::options o) { return ran(o); });
}

TEST_CASE("every request is completed exactly once, weak") {
  sweep(host::mode::weak, weak_share, [](host::options o) { return ran(o, {.rounds = 8}); });
}

TEST_CASE("more lanes than slots share a queue of four, seeded") {
  sweep(host::mode::seeded, seeded_share / 4,
        [](host::options o) { return ran(o, {.blocks = 3, .lanes = 4, .rounds = 4}); });
}

TEST_CASE("sends, one-sided transfers and given-up entries mix, seeded") {
  sweep(host::mode::seeded, seeded_share, [](host::options o) {
    return ran(o, {.depth = 8, .lanes = 4, .one_sided_of_8 = 3, .nops_of_8 = 2});
  });
}

TEST_CASE("sends, one-sided transfers and given-up entries mix, weak") {
  sweep(host::mode::weak, weak_share, [](host::options o) {
    return ran(o, {.lanes = 3, .rounds = 8, .one_sided_of_8 = 3, .nops_of_8 = 2});
  });
}

TEST_CASE("a port without order, room or haste loses nothing, seeded") {
  sweep(host::mode::seeded, seeded_share, [](host::options o) {
    return ran(o, {.lanes = 3, .rounds = 4, .one_sided_of_8 = 2, .nops_of_8 = 1, .script = moody});
  });
}

TEST_CASE("a port without order, room or haste loses nothing, weak") {
  sweep(host::mode::weak, weak_share, [](host::options o) {
    return ran(o, {.lanes = 3, .rounds = 4, .one_sided_of_8 = 2, .nops_of_8 = 1, .script = moody});
  });
}

TEST_CASE("no lane takes an entry of an earlier lap for a new one, seeded") {
  sweep(host::mode::seeded, seeded_share,
        [](host::options o) { return ran(o, {.depth = 2, .blocks = 3, .lanes = 2, .rounds = 8}); });
}

TEST_CASE("no lane takes an entry of an earlier lap for a new one, weak") {
  sweep(host::mode::weak, weak_share, [](host::options o) {
    return ran(o, {.depth = 2, .blocks = 2, .lanes = 2, .rounds = 12});
  });
}

TEST_CASE("the last announcement of taken completions is the largest, seeded") {
  sweep(host::mode::seeded, 15 * seeded_share, announced);
}

TEST_CASE("a queue of entries that were all given up comes round, seeded") {
  sweep(host::mode::seeded, seeded_share / 4,
        [](host::options o) { return ran(o, {.rounds = 5, .nops_of_8 = 8}); });
}

}  // namespace gnstor::test

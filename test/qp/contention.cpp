/// One queue pair, many lanes, and a peer that takes the mlx5 bytes as a NIC does. GNSTOR_SEEDS and
/// GNSTOR_FIRST_SEED as `seed_sweep.hpp` says.
#include "queue_fixture.hpp"
#include "scripted_peer.hpp"
#include "seed_sweep.hpp"
#include "traffic.hpp"
#include <gnstor/qp/capsule/by_pointer.hpp>
#include <gnstor/qp/capsule/in_entry.hpp>

using namespace gnstor;
using namespace gnstor::test;

namespace {

struct shape {
  std::uint32_t depth = 4;
  std::uint32_t blocks = 2;
  std::uint32_t lanes = 2;
  std::uint32_t rounds = 3;
  std::uint64_t first_index = 0;
  std::uint32_t one_sided_of_8 = 0;
  std::uint32_t nops_of_8 = 0;
  bool scatter = false;
};

/// Runs traffic through one queue pair. Says what went wrong, or nothing.
template <capsule_placement Capsule = capsule::by_pointer>
std::string ran(host::options chosen, shape s = {}) {
  using pair = mlx5_queue_pair<thread_scope_system, sharing::shared, Capsule>;
  basic_queue_fixture<pair> queue(s.depth, 0x1234, s.first_index, s.scatter);
  const std::uint32_t total = s.blocks * s.lanes * s.rounds;
  std::vector<letter> letters(total);
  std::vector<parcel> parcels(total);
  std::vector<std::uint64_t> owners(total);
  traffic_record record;
  peer_queue served{queue.attributes(), {}};
  served.seen.next_index = s.first_index * Capsule::blocks;
  std::uint32_t stop = 0;

  const traffic<pair> body{.queue = queue.ref(),
                           .rounds = s.rounds,
                           .one_sided_of_8 = s.one_sided_of_8,
                           .nops_of_8 = s.nops_of_8,
                           .seed = static_cast<std::uint32_t>(chosen.seed),
                           .key = queue_fixture::key,
                           .letters = letters.data(),
                           .parcels = parcels.data(),
                           .owners = owners.data(),
                           .first_index = s.first_index,
                           .record = &record};
  const scripted_peer peer{.queues = &served,
                           .regions = queue.regions(),
                           .letters = letters.data(),
                           .letter_count = total,
                           .stop = &stop};
  host::executor machine(chosen);
  machine.spawn(s.blocks, s.lanes, body);
  machine.serve_in(simt::domain::nic, 1, 1, stop, peer);
  const std::string fault = run_to_end(machine);
  if (!fault.empty()) return fault;
  if (served.seen.overruns != 0) return "a doorbell beyond the ring, or back";
  if (served.seen.bad_entries != 0) return "the NIC met an entry that was not complete";
  if (served.seen.bad_letters != 0) return "the NIC met a request before its data";
  if (record.stuck != 0) return "a request was never completed";
  if (record.unknown != 0) return "a completion of no request";
  if (record.wrong_kind != 0) return "a failure that nobody caused";
  if (record.bad_replies != 0) return "a completion came before its data";
  for (const parcel& p : parcels) {
    if (p.delivered != 1) return "a completion was delivered twice, or not at all";
  }
  if (served.seen.next_index != (s.first_index + total) * Capsule::blocks)
    return "the NIC did not see every request";
  const auto posted = static_cast<std::uint16_t>(
      wire::mlx5::record_index(queue.state().doorbell_record.receive) - served.seen.sends);
  if (posted > mlx5_queue_layout::receive_entries(s.depth)) return "a receive was given twice";
  return {};
}

constexpr std::uint64_t seeded_share = 800;
constexpr std::uint64_t weak_share = 300;

/// A lane that publishes one entry and looks back no more.
struct one_entry {
  mlx5_queue_pair<> queue;

  template <class Lane>
  GNSTOR_HD void operator()(Lane&) const {
    const result<std::uint64_t> at = queue.try_reserve(1);
    GNSTOR_VERIFY(at);
    queue.write_nop(at.value);
    queue.publish(at.value, 1);
  }
};

/// How many of the entries of `lanes` lanes are published when the last of them has returned.
std::string all_published(host::options chosen, std::uint32_t lanes) {
  queue_fixture queue(8);
  host::executor machine(chosen);
  machine.spawn(lanes, 1, one_entry{queue.ref()});
  const std::string fault = run_to_end(machine);
  if (!fault.empty()) return fault;
  return queue.state().published == lanes ? "" : "an entry was left behind";
}

}  // namespace

TEST_CASE("every request is completed exactly once over many laps, fast") {
  CHECK(ran({}, {.depth = 4, .blocks = 2, .lanes = 4, .rounds = 100}) == "");
  CHECK(ran({}, {.depth = 8, .blocks = 3, .lanes = 8, .rounds = 60, .one_sided_of_8 = 4}) == "");
  CHECK(ran({}, {.depth = 32,
                 .blocks = 2,
                 .lanes = 32,
                 .rounds = 20,
                 .one_sided_of_8 = 3,
                 .nops_of_8 = 2}) == "");
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

TEST_CASE("no lane takes an entry of an earlier lap for a new one, seeded") {
  sweep(host::mode::seeded, seeded_share,
        [](host::options o) { return ran(o, {.depth = 2, .blocks = 3, .lanes = 2, .rounds = 8}); });
}

TEST_CASE("no lane takes an entry of an earlier lap for a new one, weak") {
  sweep(host::mode::weak, weak_share, [](host::options o) {
    return ran(o, {.depth = 2, .blocks = 6, .lanes = 2, .rounds = 12});
  });
}

TEST_CASE("responses that lie in their completions are whole and nobody else's, seeded") {
  sweep(host::mode::seeded, seeded_share / 2, [](host::options o) {
    return ran(o, {.depth = 2, .blocks = 3, .lanes = 2, .rounds = 8, .scatter = true});
  });
}

TEST_CASE("responses that lie in their completions are whole and nobody else's, weak") {
  sweep(host::mode::weak, weak_share / 2, [](host::options o) {
    return ran(o, {.rounds = 8, .one_sided_of_8 = 2, .scatter = true});
  });
}

TEST_CASE("a queue of entries that were all given up comes round, seeded") {
  sweep(host::mode::seeded, seeded_share / 4,
        [](host::options o) { return ran(o, {.rounds = 5, .nops_of_8 = 8}); });
}

TEST_CASE("indices keep their 64 bits where the wire's 16 wrap, seeded") {
  for (const std::uint64_t wrap : {std::uint64_t{1} << 16, std::uint64_t{1} << 32}) {
    CAPTURE(wrap);
    sweep(host::mode::seeded, seeded_share / 8, [&](host::options o) {
      return ran(o, {.rounds = 5, .first_index = wrap - 6, .one_sided_of_8 = 8});
    });
  }
}

TEST_CASE("completions and receives come round past 65,536, fast") {
  constexpr std::uint32_t rounds = under_tsan ? 500 : 8192 + 700;
  CHECK(ran({}, {.depth = 16, .blocks = 1, .lanes = 8, .rounds = rounds}) == "");
  CHECK(ran({}, {.depth = 16, .blocks = 1, .lanes = 8, .rounds = rounds, .one_sided_of_8 = 8}) ==
        "");
}

TEST_CASE("capsules inside their entries are whole, beside given-up entries, seeded") {
  sweep(host::mode::seeded, seeded_share / 2, [](host::options o) {
    return ran<capsule::in_entry>(o, {.depth = 8, .lanes = 4, .nops_of_8 = 3});
  });
  for (const std::uint64_t wrap : {std::uint64_t{1} << 15, std::uint64_t{1} << 31}) {
    CAPTURE(wrap);
    sweep(host::mode::seeded, seeded_share / 8, [&](host::options o) {
      return ran<capsule::in_entry>(o, {.rounds = 5, .first_index = wrap - 6, .nops_of_8 = 4});
    });
  }
}

TEST_CASE("capsules inside their entries are whole, weak") {
  sweep(host::mode::weak, weak_share / 2,
        [](host::options o) { return ran<capsule::in_entry>(o, {.rounds = 8, .nops_of_8 = 1}); });
}

TEST_CASE("when the last of the lanes that publish at once returns, all is published, seeded") {
  sweep(host::mode::seeded, 2000, [](host::options o) { return all_published(o, 4); });
}

TEST_CASE("when the last of the lanes that publish at once returns, all is published, weak") {
  sweep(host::mode::weak, 500, [](host::options o) { return all_published(o, 3); });
}

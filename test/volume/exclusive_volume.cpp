/// Volumes over channels that belong to one warp each, end to end.
// label: thorough
#include "owned_requests.hpp"
#include "session_rig.hpp"

using namespace gnstor;
using namespace gnstor::test;
namespace host = gnstor::host;

namespace {

using what = owned_request::what;

/// A volume of two blocks per lane of one warp, and that warp.
struct one_warp {
  explicit one_warp(std::uint32_t replicas)
      : session("emu:?capacity=16M&runner=sim", {.channels = 1}),
        volume(session.create_volume(
            {.bytes = 64 * block_bytes, .replicas = replicas, .stripe_blocks = 4})),
        bytes(random_bytes(64 * block_bytes, replicas)),
        run(session, 64, 1, 1) {
    session.write(volume, 0, bytes.data(), bytes.size());
  }
  /// Lane k asks for the blocks 2k and 2k + 1.
  void ask(what kind, std::uint64_t timeout_ns) {
    for (std::uint32_t k = 0; k < 32; ++k) run.requests[k] = {kind, 2 * k, 2, 2 * k};
    run.run(volume,
            {.timeout_ns = timeout_ns, .again = false});  // no second read that hides the first
  }
  bool holds(std::uint32_t block, std::uint32_t ssd) const {
    return rendezvous_placement(volume.ssd_count)
        .replicas(volume.vid, volume.hash_factor, block / volume.stripe_blocks, volume.replicas)
        .contains(ssd_index(static_cast<std::uint16_t>(ssd)));
  }
  host::session session;
  volume_info volume;
  std::vector<unsigned char> bytes;
  owned_run run;
};

}  // namespace

TEST_CASE("a warp with a channel of its own reads what it wrote and cleared, in any sizes") {
  for (const std::string endpoint : runners) {
    for (const std::uint32_t replicas : {1u, 2u, 3u})
      owned_volumes_hold_what_was_written(endpoint, replicas, replicas == 2 ? 4 : 64);
  }
}

TEST_CASE(
    "a warp with a channel of its own reads from the other replica, whatever ails the first") {
  for (const std::string fault : {"media_error", "dead", "silent"}) {
    for (std::uint32_t ssd = 0; ssd < 4; ++ssd) {
      CAPTURE(fault);
      CAPTURE(ssd);
      one_warp w(2);
      w.session.inject_fault(ssd, fault);
      w.ask(what::read, 300'000'000);
      for (const owned_request& r : w.run.requests) {
        const status s = status::unpack(r.outcome);
        CHECK((s.ok() || (fault == "silent" && s == status::in_use(std::uint16_t(ssd)))));
      }
      CHECK((w.run.data() == w.bytes));
    }
  }
}

TEST_CASE("on a warp's own channel each lane gets the errors of its own blocks") {
  for (const std::string fault : {"dead", "silent"}) {
    for (const what kind : {what::read, what::write}) {
      CAPTURE(fault);
      CAPTURE(static_cast<int>(kind));
      one_warp w(kind == what::read ? 1 : 2);
      w.session.inject_fault(2, fault);
      w.run.put(w.bytes);
      w.ask(kind, 300'000'000);
      std::uint32_t failed = 0;
      for (std::uint32_t k = 0; k < 32; ++k) {
        const status s = status::unpack(w.run.requests[k].outcome);
        const bool concerned = w.holds(2 * k, 2);
        const auto expected = fault == "dead" ? status_code::nvme_error : status_code::timed_out;
        CHECK(s.code == (concerned ? expected : status_code::ok));
        if (concerned && fault == "dead") CHECK(s.ssd == 2);
        failed += concerned ? 1 : 0;
      }
      CHECK(failed > 0);
      CHECK(failed < 32);
    }
  }
}

TEST_CASE("on a warp's own channel a silent SSD costs nobody else's time") {
  struct scene {
    std::uint32_t replicas, blocks, depth;
    what kind;
  };
  for (const scene& now : {scene{1, 8, 128, what::read}, scene{1, 8, 128, what::write},
                           scene{1, 1, 16, what::write}, scene{2, 64, 128, what::read}}) {
    CAPTURE(now.replicas);
    CAPTURE(now.blocks);
    CAPTURE(static_cast<int>(now.kind));
    const std::uint32_t blocks = 32 * now.blocks;
    host::session s("emu:?capacity=64M&runner=sim", {.channels = 1, .depth = now.depth});
    const volume_info v = s.create_volume(
        {.bytes = blocks * block_bytes, .replicas = now.replicas, .stripe_blocks = 4});
    const std::vector<unsigned char> bytes = random_bytes(blocks * block_bytes, 1);
    s.write(v, 0, bytes.data(), bytes.size());
    owned_run r(s, blocks, 1, 1);
    r.put(bytes);
    s.inject_fault(2, "silent");
    for (std::uint32_t k = 0; k < 32; ++k)
      r.requests[k] = {now.kind, k * now.blocks, now.blocks, k * now.blocks};
    r.run(v, {.timeout_ns = 1'000'000'000, .again = false});
    for (std::uint32_t k = 0; k < 32; ++k) {
      bool only_there = false;  // some block of the lane lies on that SSD, and not elsewhere
      for (std::uint32_t b = 0; b < now.blocks; ++b) {
        const auto where =
            rendezvous_placement(v.ssd_count)
                .replicas(v.vid, v.hash_factor, (k * now.blocks + b) / 4, now.replicas);
        only_there = only_there || (now.replicas == 1 && where.contains(ssd_index(2)));
      }
      CHECK(status::unpack(r.requests[k].outcome).failed() == only_there);
    }
  }
}

TEST_CASE("a warp with a channel of its own is refused what a volume does not have") {
  one_warp w(2);
  for (std::uint32_t k = 0; k < 32; ++k) w.run.requests[k] = {what::write, 2 * k, 2, 2 * k};
  w.run.requests[5].first = 63;
  w.run.put(w.bytes);
  w.run.run(w.volume);
  for (std::uint32_t k = 0; k < 32; ++k) {
    CHECK(status::unpack(w.run.requests[k].outcome).code ==
          (k == 5 ? status_code::out_of_range : status_code::ok));
  }
}

/// Warps with a channel of their own begin operations and take them later.
// label: thorough
#include "own_batch.hpp"
#include "session_rig.hpp"

#include <qp/seeds.hpp>

using namespace gnstor;
using namespace gnstor::test;
namespace host = gnstor::host;

namespace {

/// Begins one read per lane, and gives the channel back without taking it.
struct begin_and_leave {
  struct shared {};
  template <class Lane>
  GNSTOR_HD void operator()(Lane& lane, remote_volume v, io_buffer buffer) const {
    const simt::group g = lane.warp();
    async_exclusive_volume own(g, v);
    (void)own.read_async(g, vba(lane.global_thread()), 1,
                         buffer.slice(lane.global_thread() * block_bytes, block_bytes),
                         simt::within(60'000'000'000));
    own.release(g);
  }
};

/// Reads one block per lane over the shared channel, which takes late answers, too.
struct read_shared {
  struct shared {};
  template <class Lane>
  GNSTOR_HD void operator()(Lane& lane, remote_volume v, io_buffer buffer) const {
    (void)v.read(vba(lane.global_thread()), 1,
                 buffer.slice(lane.global_thread() * block_bytes, block_bytes),
                 simt::within(20'000'000'000));
  }
};

/// Asks what must be refused; lane 0 notes the codes.
struct ask_in_vain {
  struct shared {};
  template <class Lane>
  GNSTOR_HD void operator()(Lane& lane, remote_volume v, io_buffer buffer,
                            std::uint32_t* codes) const {
    const simt::group g = lane.warp();
    async_exclusive_volume own(g, v);
    const deadline d = simt::within(20'000'000'000);
    const auto code = [&](const result<io_ticket>& t) {
      return static_cast<std::uint32_t>(t.status.code);
    };
    const auto beyond = own.read_async(g, vba(v.info().capacity_blocks), 1, buffer, d);
    const auto none = own.write_async(g, vba(0), 0, buffer, d);
    const auto unwanted = own.deallocate_async(g, vba(0), 1, d, false);
    if (lane.global_thread() == 0) {
      codes[0] = code(beyond);
      codes[1] = code(none);
      codes[2] = unwanted && unwanted.value.is_nothing() ? 1 : 0;
    }
    const status waited = own.wait(g, io_ticket::nothing(), d);
    if (lane.global_thread() == 0) codes[3] = static_cast<std::uint32_t>(waited.code);
    own.release(g);
  }
};

bool holds(const async_owned_run& r, std::uint32_t block, std::uint32_t ssd) {
  return rendezvous_placement(r.volume.ssd_count)
      .replicas(r.volume.vid, r.volume.hash_factor, block / r.volume.stripe_blocks,
                r.volume.replicas)
      .contains(ssd_index(static_cast<std::uint16_t>(ssd)));
}

}  // namespace

TEST_CASE("a warp with a channel of its own takes what it began, in any order") {
  for (const std::string endpoint : runners) {
    for (const std::uint32_t replicas : {1u, 2u, 3u})
      async_owned_volumes_hold_what_was_written(endpoint, replicas, replicas == 2 ? 16 : 128);
  }
}

TEST_CASE("a warp with a channel of its own takes what it began, under any schedule") {
  for (const auto mode : {simt::host::mode::seeded, simt::host::mode::weak}) {
    for (std::uint64_t seed = 1; seed <= seeds_of(2); ++seed) {
      CAPTURE(static_cast<int>(mode));
      CAPTURE(seed);
      async_owned_run r("emu:?capacity=16M&runner=sim&lanes=2", 2, seed == 1 ? 16 : 128);
      host::executor machine({.run = mode, .seed = seed, .step_budget = 2'000'000'000});
      for (const async_record& one : r.run_on(machine, begin_and_take{})) {
        CHECK(one.outcome == 0);
        CHECK(one.called == 1);
      }
      CHECK((r.data() == r.bytes));
    }
  }
}

TEST_CASE("what a warp reads ahead comes from the other replica, whatever ails the first") {
  for (const std::string fault : {"media_error", "dead", "silent"}) {
    for (std::uint32_t ssd = 0; ssd < 4; ++ssd) {
      CAPTURE(fault);
      CAPTURE(ssd);
      async_owned_run r("emu:?capacity=16M&runner=sim", 2, 128);
      r.session.write(r.volume, 0, r.bytes.data(), r.bytes.size());
      r.session.inject_fault(ssd, fault);
      std::uint32_t in_use = 0;
      for (const async_record& one :
           r.run(begin_and_take{.writes = false, .timeout_ns = 1'000'000'000})) {
        const status s = status::unpack(one.outcome);
        const bool beside = fault == "silent" && s == status::in_use(std::uint16_t(ssd));
        CHECK((s.ok() || beside));
        CHECK(one.called == 1);
        in_use += beside ? 1 : 0;
      }
      if (fault == "silent") CHECK(in_use > 0);
      CHECK((r.data() == r.bytes));
    }
  }
}

TEST_CASE("beside a damaged and a silent SSD every read that a warp began ends, on few slots") {
  std::uint32_t begun = 0;
  for (std::uint64_t seed = 0; seed < seeds_of(12); ++seed) {
    CAPTURE(seed);
    async_owned_run r("emu:?capacity=16M&runner=sim&lanes=2", 3, seed % 2 == 0 ? 32 : 64);
    r.session.write(r.volume, 0, r.bytes.data(), r.bytes.size());
    const auto damaged = static_cast<std::uint32_t>(seed % 4);
    r.session.inject_fault(damaged, "media_error");
    r.session.inject_fault((damaged + 1 + seed % 3) % 4, "silent");
    host::executor machine(
        {.run = simt::host::mode::seeded, .seed = seed + 1, .step_budget = 2'000'000'000});
    for (const async_record& one :
         r.run_on(machine, begin_and_take{.writes = false, .timeout_ns = 20'000'000})) {
      const status s = status::unpack(one.outcome);
      // Slots of unanswered requests stay taken: what found none in time was not sent.
      CHECK((s.ok() || s.left_behind()));
      CHECK(one.called == one.begun);
      begun += one.begun;
    }
  }
  CHECK(begun > 8 * seeds_of(12));
}

TEST_CASE("what a warp began for an SSD that is gone fails for the lanes concerned alone") {
  for (const std::string fault : {"dead", "silent"}) {
    CAPTURE(fault);
    async_owned_run r("emu:?capacity=16M&runner=sim", 1, 128);
    r.session.write(r.volume, 0, r.bytes.data(), r.bytes.size());
    r.session.inject_fault(2, fault);
    const auto records = r.run(begin_and_take{.writes = false, .timeout_ns = 1'000'000'000});
    std::uint32_t failed = 0;
    for (std::uint32_t k = 0; k < r.lanes; ++k) {
      bool concerned = false;
      for (std::uint32_t b = 0; b < r.area; ++b)
        concerned = concerned || holds(r, k * r.area + b, 2);
      const status s = status::unpack(records[k].outcome);
      CHECK(s.ok() == !concerned);
      if (concerned && fault == "dead") CHECK(s.ssd == 2);
      if (concerned && fault == "silent") CHECK(s.left_behind());
      failed += concerned ? 1 : 0;
    }
    CHECK(failed > 0);
    CHECK(failed < r.lanes);
  }
}

TEST_CASE("a channel that a warp gives back with reads under way is anybody's") {
  for (const std::string fault : {"none", "silent"}) {
    CAPTURE(fault);
    host::session s("emu:?capacity=16M&runner=sim", {.channels = 1, .asynchronous = true});
    const volume_info v = s.create_volume({.bytes = 32 * block_bytes});
    const auto bytes = random_bytes(32 * block_bytes, 1);
    s.write(v, 0, bytes.data(), bytes.size());
    registered memory(s, 32 * block_bytes);
    for (std::uint32_t ssd = 0; ssd < 4; ++ssd) s.inject_fault(ssd, fault);
    run(s, 1, 32, begin_and_leave{}, s.ref(v), memory.buffer);
    for (std::uint32_t ssd = 0; ssd < 4; ++ssd) s.inject_fault(ssd, "none");
    CHECK(async_io(s.ref(v).channels()[0]).in_use() == 0);
    std::vector<unsigned char> read(bytes.size());
    s.read(v, 0, read.data(), read.size());
    CHECK((read == bytes));
    run(s, 1, 32, begin_and_leave{}, s.ref(v), memory.buffer);
    CHECK(async_io(s.ref(v).channels()[0]).in_use() == 0);
    for (std::uint32_t k = 0; k < 4; ++k) run(s, 1, 32, read_shared{}, s.ref(v), memory.buffer);
    // Late answers free their slots; of those that never come the slots stay taken.
    CHECK(s.ref(v).channels()[0].requests().in_use() == (fault == "none" ? 0 : 32));
  }
}

TEST_CASE("what a warp may not begin is refused, and what it does not want is no operation") {
  for (const std::string endpoint : runners) {
    CAPTURE(endpoint);
    for (const bool asynchronous : {true, false}) {
      host::session s(endpoint, {.channels = 1, .asynchronous = asynchronous});
      const volume_info v = s.create_volume({.bytes = 32 * block_bytes});
      registered memory(s, 2 * block_bytes);
      auto* codes = reinterpret_cast<std::uint32_t*>(memory.bytes() + block_bytes);
      run(s, 1, 32, ask_in_vain{}, s.ref(v), memory.buffer.slice(0, block_bytes), codes);
      CHECK(codes[0] == static_cast<std::uint32_t>(status_code::out_of_range));
      CHECK(codes[1] == static_cast<std::uint32_t>(status_code::invalid_argument));
      CHECK(codes[2] == 1);
      CHECK(codes[3] == static_cast<std::uint32_t>(status_code::ok));
    }
  }
}

TEST_CASE("a batch of warps with channels of their own reads every block once") {
  for (const std::string endpoint : runners) {
    for (const std::uint32_t depth : {16u, 128u}) own_batches_read_every_block(endpoint, depth);
  }
}

TEST_CASE("what a batch over an own channel is not answered is handled when it is drained") {
  async_owned_run r("emu:?capacity=16M&runner=sim", 2, 128);
  for (std::uint32_t ssd = 0; ssd < 4; ++ssd) r.session.inject_fault(ssd, "silent");
  for (const async_record& one : r.run(read_in_batches{.timeout_ns = 100'000'000}, 1)) {
    CHECK(one.called >= 1);
    CHECK(status::unpack(one.outcome).code == status_code::timed_out);
  }
}

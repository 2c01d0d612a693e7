/// All I/O queues of a session over a ConnectX: this CPU's, which the proxy drives, and its
/// kernels'.
#include "fabrics/eventually.hpp"
#include "session_rig.hpp"
#include <gnstor/simt/clock.hpp>
#include <gnstor/wire/nvme/read_write.hpp>
#include <remote/fabrics_queues.hpp>

#include <doctest/doctest.h>

using namespace gnstor;
using namespace gnstor::test;
using host::fabrics_queues;
using host::transport_kind;

namespace {

bool reads(const remote_channel& c) {
  const auto command = wire::nvme::make_read_write(wire::nvme::nvm_opcode::read, 0, 9, 0, 1, {});
  return c.execute(command, simt::within(5'000'000'000)).code == status_code::nvme_error;
}

}  // namespace

TEST_CASE("this CPU reads through the proxy while kernels have queues of the NIC's own") {
  fake_machine& m = fake_machine::get();
  m.reset();
  {
    session_rig r;
    const fabrics_queues all(r.controller, r.way, r.wanted(transport_kind::automatic, 3));
    CHECK(all.notes().empty());
    CHECK(all.kernel_count() == 3);
    CHECK(r.proxied() == std::vector<std::uint16_t>{0, 1});
    CHECK(m.count(0x500) == 3);
    CHECK(r.connects.at(0).queue_id == 2);
    CHECK(reads(all.host()));
    for (std::uint32_t k = 0; k < 3; ++k) CHECK(all.kernels()[k].phase() == channel_phase::ready);
  }
  CHECK(m.left_over() == "");
}

TEST_CASE("a target that grants fewer queues leaves fewer for kernels, and that is noted") {
  fake_machine::get().reset();
  session_rig r;  // grants 4
  const fabrics_queues all(r.controller, r.way, r.wanted(transport_kind::nic, 9));
  CHECK(all.kernel_count() == 3);
  REQUIRE(all.notes().size() == 1);
  CHECK(all.notes()[0] == "kernels get 3 channels instead of 9: the target grants 4 I/O queues");
}

TEST_CASE("the only queue is shared, and so the proxy's") {
  fake_machine& m = fake_machine::get();
  m.reset();
  session_rig r(1);
  const std::size_t calls = m.calls.size();
  CHECK_THROWS_WITH_AS(fabrics_queues(r.controller, r.way, r.wanted(transport_kind::nic, 2)),
                       doctest::Contains("grants one I/O queue"), host::error);
  fabrics_queues all(r.controller, r.way, r.wanted(transport_kind::automatic, 2));
  CHECK(m.calls.size() == calls);
  REQUIRE(all.kernel_count() == 1);
  CHECK(&all.kernels()->counters() == &all.host().counters());
  CHECK(all.notes().size() == 1);
  r.target.drop_all();
  CHECK(eventually([&] { return r.controller.association() == 2; }));
  CHECK_FALSE(all.revive_host());  // kernels may be using it
  CHECK(all.revive_all());
  CHECK(reads(all.host()));
}

TEST_CASE("a session without kernels has this CPU's queue alone") {
  fake_machine& m = fake_machine::get();
  m.reset();
  session_rig r;
  const std::size_t calls = m.calls.size();
  const fabrics_queues all(r.controller, r.way, r.wanted(transport_kind::nic, 0));
  CHECK(m.calls.size() == calls);
  CHECK(all.kernels() == nullptr);
  CHECK(all.kernel_count() == 0);
  CHECK(all.notes().empty());
  CHECK(reads(all.host()));
}

TEST_CASE("the note of the proxy is one of the session's") {
  fake_machine& m = fake_machine::get();
  m.reset();
  session_rig r;
  m.fail_named = {"mlx5dv_is_supported"};
  const fabrics_queues all(r.controller, r.way, r.wanted(transport_kind::automatic, 2));
  REQUIRE(all.notes().size() == 1);
  CHECK(all.notes()[0].find("mlx5_0 is no ConnectX") != std::string::npos);
  CHECK(all.kernel_count() == 2);
  CHECK(reads(all.kernels()[1]));
}

TEST_CASE("lost queues come back together, whichever died first, and kernels find them") {
  fake_machine& m = fake_machine::get();
  m.reset();
  {
    session_rig r;
    fabrics_queues all(r.controller, r.way, r.wanted(transport_kind::nic, 2));
    CHECK_FALSE(all.revive_all());
    // The last dies alone: the association goes with it, and the others with that.
    all.kernels()[1].counters().phase = static_cast<std::uint32_t>(channel_phase::error);
    CHECK(all.revive_all());
    CHECK(r.controller.association() == 2);
    CHECK_FALSE(all.revive_all());
    CHECK(reads(all.host()));
    CHECK(m.count(0x500) == 4);
    for (std::uint32_t k = 0; k < 2; ++k) {
      CHECK(all.kernels()[k].phase() == channel_phase::ready);
      CHECK(all.kernels()[k].counters().submitted == 1);
      // The one that died alone was made first.
      REQUIRE(all.kernels()[k].submit({}));
      CHECK(m.doorbell[0] == wire::mlx5::doorbell_value(4, m.queue_number - k));
    }
  }
  CHECK(m.left_over() == "");
}

TEST_CASE("lanes that connect a queue again do not revive the others on the way") {
  fake_machine& m = fake_machine::get();
  m.reset();
  session_rig r;
  fabrics_queues* there = nullptr;
  std::uint32_t nested = 0;
  const auto connect = r.lanes.connect;
  r.lanes.connect = [&](const host::channel_outcomes& to, const connect_options& said,
                        std::uint64_t timeout_ns) {
    if (there != nullptr && there->revive_all()) ++nested;
    connect(to, said, timeout_ns);
  };
  fabrics_queues all(r.controller, r.way, r.wanted(transport_kind::nic, 2));
  there = &all;
  r.target.drop_all();
  CHECK(eventually([&] { return r.controller.association() == 2; }));
  CHECK(all.revive_all());
  CHECK(nested == 0);
  CHECK(m.count(0x500) == 4);
}

TEST_CASE("queues that were ended stay so until they are revived") {
  fake_machine::get().reset();
  session_rig r;
  fabrics_queues all(r.controller, r.way, r.wanted(transport_kind::nic, 1));
  all.end();
  CHECK(eventually([&] {
    return all.host().phase() == channel_phase::error || r.controller.association() != 1;
  }));
  CHECK(all.revive_all());
  CHECK(reads(all.host()));
}

/// Queues of the NIC's own that are lost: who notices, what is flushed, and how they come back.
// label: thorough
#include "fabrics/eventually.hpp"
#include "session_rig.hpp"

#include <doctest/doctest.h>

#include <algorithm>

using namespace gnstor;
using namespace gnstor::test;
using host::transport_kind;

namespace {

constexpr std::chrono::milliseconds patience{20'000};
constexpr std::uint32_t to_error = 0x507;

bool all_ended(const host::mlx5::kernel_queues& made) {
  return std::all_of(made.queues.begin(), made.queues.end(),
                     [](const auto& queue) { return queue->ended(); });
}

/// Makes lost queues again, as a session does before kernels use them; each then takes requests.
void check_revival(session_rig& r, const host::mlx5::kernel_queues& made) {
  for (const auto& queue : made.queues) {
    queue->reopen(patience);
    CHECK_FALSE(queue->ended());
    CHECK(queue->channel().phase() == channel_phase::ready);
    CHECK(queue->channel().counters().submitted == 1);  // Connect
  }
  CHECK(r.controller.association() >= 2);
}

}  // namespace

TEST_CASE("a peer that ends a queue ends the association, and all queues are made again") {
  fake_machine& m = fake_machine::get();
  m.reset();
  {
    session_rig r;
    const auto made = r.make(transport_kind::nic);
    SUBCASE("the target's queue dies") { m.tell({RDMA_CM_EVENT_DISCONNECTED, 0, {}}); }
    SUBCASE("the admin queue dies alone") { r.target.drop_admin(); }
    SUBCASE("a user ends it") { made.queues[0]->end(); }
    CHECK(eventually([&] { return all_ended(made); }));
    CHECK(eventually([&] { return m.count("rdma_disconnect") == 2; }));
    CHECK(m.count(to_error) == 2);
    check_revival(r, made);
    CHECK(m.count(0x500) == 4);
    CHECK(r.connects.size() == 4);
    CHECK(m.count("mlx5dv_devx_umem_reg_ex") == 1);
  }
  CHECK(m.left_over() == "");
}

TEST_CASE("a queue that the NIC breaks off is lost though its connection stands") {
  fake_machine& m = fake_machine::get();
  m.reset();
  {
    session_rig r;
    const auto made = r.make(transport_kind::nic);
    made.queues[1]->channel().counters().phase = static_cast<std::uint32_t>(channel_phase::error);
    CHECK_FALSE(made.queues[0]->ended());
    CHECK(made.queues[1]->ended());
    made.queues[1]->reopen(patience);
    CHECK(made.queues[0]->ended());
    check_revival(r, made);
  }
  CHECK(m.left_over() == "");
}

TEST_CASE("a queue that lives is left alone") {
  fake_machine& m = fake_machine::get();
  m.reset();
  session_rig r;
  const auto made = r.make(transport_kind::nic);
  for (const auto& queue : made.queues) queue->reopen(patience);
  CHECK(m.count(0x500) == 2);
  CHECK(r.controller.association() == 1);
}

TEST_CASE("a queue that could not be made again is tried again later") {
  fake_machine& m = fake_machine::get();
  m.reset();
  {
    session_rig r;
    const auto made = r.make(transport_kind::nic, 1);
    r.target.drop_all();
    CHECK(eventually([&] { return all_ended(made); }));
    SUBCASE("it could not be joined") { m.fail_named = {"rdma_establish"}; }
    SUBCASE("its Connect got no answer") { r.unanswered = true; }
    CHECK_THROWS_AS(made.queues[0]->reopen(patience), host::error);
    CHECK(made.queues[0]->ended());
    CHECK(m.alive["object"] == 0);
    m.fail_named.clear();
    r.unanswered = false;
    check_revival(r, made);
  }
  CHECK(m.left_over() == "");
}

TEST_CASE("a NIC that was removed and takes no command ends its queues all the same") {
  fake_machine& m = fake_machine::get();
  m.reset();
  session_rig r;
  const auto made = r.make(transport_kind::nic);
  m.fail_named = {"mlx5dv_devx_obj_modify"};
  m.tell({RDMA_CM_EVENT_DEVICE_REMOVAL, 0, {}});
  CHECK(eventually([&] { return all_ended(made); }));
  CHECK(eventually([&] { return r.controller.association() != 1; }));
}

TEST_CASE("queues may go in any order, and the controller forgets each") {
  fake_machine& m = fake_machine::get();
  m.reset();
  {
    session_rig r;
    auto made = r.make(transport_kind::nic, 3);
    made.queues.erase(made.queues.begin() + 1);
    CHECK(r.controller.take_queue_id() == 2);
    r.controller.give_queue_id(2);
    CHECK(m.count("rdma_disconnect") == 1);
    CHECK(r.controller.association() == 1);
  }
  CHECK(m.count("rdma_disconnect") == 3);
  CHECK(m.left_over() == "");
}

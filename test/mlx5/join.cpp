/// Joining a ConnectX queue to an NVMe-oF target through the RDMA connection manager.
#include "rig.hpp"
#include <gnstor/wire/fabrics/private_data.hpp>
#include <verbs/connect_error.hpp>

#include <doctest/doctest.h>

#include <cstring>

using namespace gnstor;
using namespace gnstor::test;
using host::verbs::connect_error;
using host::verbs::connect_failure;

namespace {

/// How the set-up fails on a fake machine that `prepare` has changed.
template <class Prepare>
connect_error failure(Prepare prepare, std::chrono::milliseconds patience) {
  fake_machine& m = fake_machine::get();
  m.reset();
  try {
    const host::verbs::protection_domain domain(
        host::verbs::device::towards(rig::peer(), std::chrono::milliseconds(1000)));
    auto block = std::make_shared<const host::mlx5::queue_block>(
        std::make_shared<const host::mlx5::nic>(domain, fake_gpu()), rig::depth, 1u);
    prepare(m);
    const host::mlx5::connected_queue queue(block, 0, rig::peer(), {}, patience);
  } catch (const connect_error& e) {
    CHECK(m.left_over() == "");
    return e;
  }
  FAIL("connected");
  return {connect_failure::rejected, ""};
}

template <class Prepare>
connect_error failure(Prepare prepare) {
  return failure(prepare, std::chrono::milliseconds(1000));
}

bool has(const connect_error& e, const char* part) {
  return std::string(e.what()).find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("the target is sent the queue, its controller and its size, and whom to answer") {
  fake_machine& m = fake_machine::get();
  m.reset();
  const rig r;
  REQUIRE(m.private_data.size() == 32);
  wire::fabrics::connection_request said{};
  std::memcpy(&said, m.private_data.data(), sizeof said);
  CHECK(said.recfmt == 0);
  CHECK(said.qid == 3);
  CHECK(said.cntlid == 9);
  CHECK(said.hrqsize == 8);
  CHECK(said.hsqsize == 7);
  CHECK(m.asked.qp_num == 0xbeef);
  CHECK(m.asked.responder_resources == 16);  // 255 were asked for, the NIC serves 16
  CHECK(m.asked.initiator_depth == 0);
  CHECK(m.asked.retry_count == 7);
  CHECK(m.asked.rnr_retry_count == 7);
  CHECK(m.asked.srq == 0);
  CHECK(r.queue->target_receives() == 77);
}

TEST_CASE("a queue uses its own part of the block, the NIC's doorbell and the block's key") {
  fake_machine& m = fake_machine::get();
  m.reset();
  const rig r;
  const nic_queue_pair q = r.queue->ref();
  CHECK(q.depth() == rig::depth);
  CHECK(q.number() == 0xbeef);
  CHECK(r.block->queue(1) - r.block->queue(0) == static_cast<std::ptrdiff_t>(r.block->offset(1)));
  CHECK(r.block->lkey() == 0x101);
  (void)q.try_reserve(1);
  q.write_nop(0);
  q.publish(0, 1);
  q.ring();
  CHECK(m.doorbell[0] == wire::mlx5::doorbell_value(2, 0xbeef));
}

TEST_CASE("a target that refuses is quoted") {
  const connect_error e = failure([](fake_machine& m) {
    m.answer = {RDMA_CM_EVENT_REJECTED, 28, {0, 0, 6, 0}};
  });
  CHECK(e.kind() == connect_failure::rejected);
  CHECK(e.reason() == 6);
  CHECK_MESSAGE(has(e, "no resources"), e.what());
}

TEST_CASE("nobody listening, nobody answering and no time left are distinguished") {
  const connect_error refused = failure([](fake_machine& m) {
    m.answer = {RDMA_CM_EVENT_REJECTED, 8, {}};
  });
  CHECK(refused.kind() == connect_failure::refused);
  const connect_error unreachable = failure([](fake_machine& m) {
    m.answer = {RDMA_CM_EVENT_UNREACHABLE, -110, {}};
  });
  CHECK(unreachable.kind() == connect_failure::unreachable);
  const connect_error late =
      failure([](fake_machine& m) { m.silent = true; }, std::chrono::milliseconds(20));
  CHECK(late.kind() == connect_failure::timed_out);
  CHECK_MESSAGE(has(late, "resolving the address"), late.what());
}

TEST_CASE("a peer behind another device is refused with the remedy") {
  const connect_error e = failure([](fake_machine& m) { m.another_way = true; });
  CHECK_MESSAGE(has(e, "open the device towards this address"), e.what());
}

TEST_CASE("a connection that ends is noticed, answered and flushed once") {
  for (const rdma_cm_event_type end : {RDMA_CM_EVENT_DISCONNECTED, RDMA_CM_EVENT_DEVICE_REMOVAL}) {
    fake_machine& m = fake_machine::get();
    m.reset();
    const rig r;
    CHECK(r.queue->alive());
    m.tell({RDMA_CM_EVENT_TIMEWAIT_EXIT, 0, {}});
    CHECK(r.queue->alive());
    m.tell({end, 0, {}});
    CHECK_FALSE(r.queue->alive());
    CHECK_FALSE(r.queue->alive());
    CHECK(m.last(0x507).word(8) == 0xbeef);
    int answered = 0;
    for (const std::string& call : m.calls) answered += call == "rdma_disconnect";
    CHECK(answered == 1);
  }
  CHECK(fake_machine::get().left_over() == "");
}

TEST_CASE("a NIC that was removed and takes no command leaves a queue that is not alive") {
  fake_machine& m = fake_machine::get();
  m.reset();
  const rig r;
  m.fail_named = {"mlx5dv_devx_obj_modify"};
  m.tell({RDMA_CM_EVENT_DEVICE_REMOVAL, 0, {}});
  CHECK_FALSE(r.queue->alive());
}

TEST_CASE("a queue's place can be taken by another connection, and its memory is then as new") {
  fake_machine& m = fake_machine::get();
  m.reset();
  rig r;
  const nic_queue_pair before = r.queue->ref();
  before.post_receives();
  REQUIRE(before.try_reserve(3));
  r.queue.reset();
  r.queue = std::make_unique<host::mlx5::connected_queue>(
      r.block, rig::index, rig::peer(), host::mlx5::fabric_queue{}, std::chrono::seconds(1));
  const auto all = r.queue->ref().try_reserve(rig::depth);
  REQUIRE(all);
  CHECK(all.value == 0);
}

TEST_CASE("a moved queue still ends its connection, once") {
  fake_machine& m = fake_machine::get();
  m.reset();
  {
    rig r;
    host::mlx5::connected_queue moved = std::move(*r.queue);
    r.queue.reset();
    CHECK(moved.alive());
    CHECK(moved.ref().number() == 0xbeef);
  }
  int ended = 0;
  for (const std::string& call : m.calls) ended += call == "rdma_disconnect";
  CHECK(ended == 1);
  CHECK(m.left_over() == "");
}

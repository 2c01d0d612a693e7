/// What the emulated NIC does with entries that hold their capsules, beside others, step by step.
#include "afa/node_fixture.hpp"
#include "wire/random_fields.hpp"
#include <gnstor/qp/capsule/in_entry.hpp>
#include <gnstor/wire/nvme/read_write.hpp>

#include <set>

using namespace gnstor;
using namespace gnstor::test;
using wire::mlx5::syndrome;

namespace {

using inline_queue_pair = mlx5_queue_pair<thread_scope_system, sharing::shared, capsule::in_entry>;

/// A node whose only queue pair has capsules inside its entries, in memory that a key opens.
struct rig {
  static constexpr std::uint32_t depth = 8;

  rig() : f({.ssds = 1, .depth = depth}) {
    f.node.regions[1].base = 0;
    f.node.regions[1].bytes = ~std::uint64_t{0};
    f.node.queues[0].joined = {1, 1, node_fixture::controller, node_fixture::client,
                               node_fixture::client};
    f.node.queues[0].at = memory.attributes();
  }

  /// Writes one entry: a Flush, a NOP, or (as our own lanes never do) two entries of one block in
  /// its place, a silent NOP and an RDMA READ.
  void write(std::uint64_t index, std::uint32_t kind) {
    if (kind == 0) return queue.write_nop(index);
    if (kind == 1) return write_two(index);
    queue.write_send(index, wire::nvme::make_flush(static_cast<std::uint16_t>(index), 1));
  }
  void write_two(std::uint64_t index) {
    using namespace wire::mlx5;
    const auto block = static_cast<std::uint16_t>(2 * index);
    const auto address = [](std::uint64_t& w) { return reinterpret_cast<std::uint64_t>(&w); };
    struct {
      control_segment nop;
      unsigned char unused[48];
      control_segment read;
      remote_address_segment from;
      data_segment to;
      unsigned char rest[16];
    } bytes{make_control(opcode::nop, block, 1, 1, completion_on_error),
            {},
            make_control(opcode::rdma_read, static_cast<std::uint16_t>(block + 1), 1, 3,
                         completion_always),
            make_remote_address(address(there), node_fixture::key),
            make_data(address(here), node_fixture::key, 8),
            {}};
    static_assert(sizeof bytes == 128);
    std::memcpy(reinterpret_cast<void*>(memory.attributes().send_ring + index % depth * 128),
                &bytes, sizeof bytes);
  }
  completion poll() { return queue.poll(simt::group::self()); }

  node_fixture f;
  basic_queue_fixture<inline_queue_pair> memory{depth, 1};
  inline_queue_pair queue = memory.ref();
  std::uint64_t here = 0;
  std::uint64_t there = 0x5eed;
};

}  // namespace

TEST_CASE("entries of one and of two blocks are taken in any order, each once") {
  rig r;
  random_fields fields("entries of one and two blocks");
  for (int round = 0; round < 400; ++round) {
    CAPTURE(round);
    const std::uint32_t n = 1 + fields.draw<std::uint32_t>() % rig::depth;
    const auto first = r.queue.try_reserve(n);
    REQUIRE(first);
    std::set<std::uint64_t> answers;
    std::set<std::uint64_t> sent;
    for (std::uint64_t k = first.value; k < first.value + n; ++k) {
      const std::uint32_t kind = fields.draw<std::uint32_t>(2);
      r.write(k, kind);
      (kind < 2 ? sent : answers).insert(kind < 2 ? k : k & 0xffff);
    }
    r.queue.publish(first.value, n);
    r.queue.ring();
    r.f.step(8 * n + 8);  // one entry may take several rounds
    for (std::uint32_t k = 0; k < n; ++k) {
      const completion c = r.poll();
      if (c.kind == completion_kind::sent) {
        CHECK(sent.erase(c.index) == 1);
      } else {
        REQUIRE(c.kind == completion_kind::response);
        CHECK(c.response.status == 0);
        CHECK(answers.erase(c.response.command_id) == 1);
      }
    }
    REQUIRE(sent.empty());
    REQUIRE(answers.empty());
    CHECK(r.poll().kind == completion_kind::none);
    r.queue.retire(first.value + n - 1);
  }
  CHECK(r.here == r.there);
}

TEST_CASE("an entry whose capsule has another length fails, and what follows is flushed once") {
  rig r;
  REQUIRE(r.queue.try_reserve(3));
  for (std::uint64_t k = 0; k < 3; ++k) r.write(k, 2);
  reinterpret_cast<unsigned char*>(r.memory.attributes().send_ring)[128 + 19] = 63;
  r.queue.publish(0, 3);
  r.queue.ring();
  r.f.step();
  std::uint32_t responses = 0;
  for (std::uint64_t index = 1; index < 3;) {
    const completion c = r.poll();
    REQUIRE(c.kind != completion_kind::none);
    if (c.kind == completion_kind::response) {
      ++responses;
      continue;
    }
    CHECK(c.kind == completion_kind::failed);
    CHECK(c.index == index);
    const auto why = index == 1 ? syndrome::local_length_error : syndrome::flushed;
    CHECK(c.outcome.syndrome == static_cast<std::uint8_t>(why));
    ++index;
  }
  CHECK(r.poll().kind == completion_kind::none);
  CHECK(responses <= 1);
}

TEST_CASE("a doorbell in the middle of an entry breaks the queue pair, and nothing is made of it") {
  rig r;
  REQUIRE(r.queue.try_reserve(1));
  r.write(0, 2);
  r.memory.state().doorbell_record.send = wire::mlx5::record_value(1);
  r.memory.state().doorbell = wire::mlx5::doorbell_value(1, 1);
  r.f.step();
  const completion c = r.poll();
  CHECK(c.kind == completion_kind::failed);
  CHECK(c.outcome.syndrome == static_cast<std::uint8_t>(syndrome::local_queue_pair_error));
  CHECK(r.poll().kind == completion_kind::none);
}

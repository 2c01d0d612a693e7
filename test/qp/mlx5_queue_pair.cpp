/// The queue pair by one thread: its bounds, its bytes against rdma-core's, its completions.
#include "queue_fixture.hpp"
#include "wire/hex.hpp"
#include "wire/random_fields.hpp"
#include <gnstor/qp/capsule/by_pointer.hpp>
#include <gnstor/qp/capsule/in_entry.hpp>
#include <hca/queue_reader.hpp>

#include <doctest/doctest.h>
#include <endian.h>
#include <infiniband/mlx5dv.h>

#include <array>
#include <bit>
#include <cstring>
#include <memory>

using namespace gnstor;
using namespace gnstor::test;

namespace {

/// The NIC's next completion on a fixture's queue.
struct nic {
  explicit nic(queue_fixture& q) : at(q.attributes()), reader(at, q.regions()) {}

  void respond(std::uint16_t command, std::uint16_t status = 0) {
    wire::nvme::completion_entry response{};
    response.command_id = command;
    response.status = status;
    REQUIRE(posted() > 0);
    REQUIRE(reader.respond(completion++, receive++, response));
  }
  std::uint32_t posted() const {
    return static_cast<std::uint16_t>(reader.receive_tail() - static_cast<std::uint16_t>(receive));
  }

  fw::queue_attributes at;
  fw::queue_reader reader;
  std::uint64_t receive = 0;
  std::uint64_t completion = 0;
};

completion poll(queue_fixture& q) { return q.ref().poll(simt::group::self()); }

using inline_queue_pair = mlx5_queue_pair<thread_scope_system, sharing::shared, capsule::in_entry>;

std::string entry_bytes(queue_fixture& q, std::uint64_t index) {
  const auto at = q.attributes().send_ring + index % q.depth() * 64;
  return hex(reinterpret_cast<const void*>(at), 64);
}

}  // namespace

TEST_CASE("exactly depth entries can be reserved, and one more for each that is retired") {
  for (const std::uint32_t depth : {2u, 4u, 8u, 128u}) {
    CAPTURE(depth);
    queue_fixture q(depth);
    for (std::uint32_t k = 0; k < depth; ++k) {
      const auto got = q.ref().try_reserve(1);
      REQUIRE(got);
      REQUIRE(got.value == k);
    }
    CHECK(q.ref().try_reserve(1).status.code == status_code::would_block);
    q.ref().retire(0);
    CHECK(q.ref().try_reserve(2).status.code == status_code::would_block);
    CHECK(q.ref().try_reserve(1).value == depth);
    CHECK(q.ref().try_reserve(1).status.code == status_code::would_block);
    q.ref().retire(depth);
    CHECK(q.ref().try_reserve(depth).value == depth + 1);
    CHECK(q.ref().try_reserve(1).status.code == status_code::would_block);
  }
}

TEST_CASE("retiring an earlier request after a later one takes no slot back") {
  queue_fixture q(4);
  REQUIRE(q.ref().try_reserve(4));
  q.ref().retire(3);
  q.ref().retire(1);
  CHECK(q.ref().try_reserve(4).value == 4);
}

TEST_CASE("a reservation of nothing or of more than the queue holds is an invalid argument") {
  queue_fixture q(4);
  for (const std::uint32_t n : {0u, 5u, ~0u}) {
    CHECK(q.ref().try_reserve(n).status.code == status_code::invalid_argument);
  }
  CHECK(q.ref().try_reserve(4).value == 0);
}

TEST_CASE("a depth that is no power of two, or out of bounds, is refused") {
  for (const std::uint32_t depth : {0u, 1u, 3u, 6u, 127u, 2 * mlx5_max_depth, 65536u, ~0u}) {
    CAPTURE(depth);
    CHECK_FALSE(mlx5_valid_depth(depth));
    CHECK_THROWS_AS(mlx5_format_queue(nullptr, depth), verify_error);
  }
  for (const std::uint32_t depth : {2u, 4u, 128u, mlx5_max_depth}) CHECK(mlx5_valid_depth(depth));
}

TEST_CASE("the NIC finds a receive posted for every request, at the largest depth too") {
  for (const std::uint32_t depth : {2u, 128u, mlx5_max_depth}) {
    CAPTURE(depth);
    queue_fixture q(depth);
    CHECK(nic(q).posted() == std::max(4u, depth));
  }
}

TEST_CASE(
    "a full queue that was not announced differs from one that was, at the largest depth too") {
  for (const std::uint32_t depth : {2u, 128u, mlx5_max_depth}) {
    CAPTURE(depth);
    queue_fixture q(depth);
    REQUIRE(q.ref().try_reserve(depth));
    q.ref().publish(0, depth);
    CHECK(q.ref().announced() == 0);
    q.ref().ring();
    CHECK(q.ref().announced() == depth);
  }
}

TEST_CASE("receives come back with the next doorbell") {
  queue_fixture q(16);
  nic n(q);
  std::uint32_t answered = 0;
  for (std::uint32_t lap = 0; lap < 20; ++lap) {
    const std::uint32_t count = lap % 7 + 1;
    const auto first = q.ref().try_reserve(count);
    REQUIRE(first);
    q.ref().publish(first.value, count);
    CHECK(n.posted() == 16 - answered);
    q.ref().ring();
    CHECK(n.posted() == 16);
    for (answered = 0; answered < count; ++answered) {
      n.respond(static_cast<std::uint16_t>(answered));
      CHECK(poll(q).response.command_id == answered);
    }
    q.ref().retire(first.value + count - 1);
    CHECK(n.posted() == 16 - answered);
  }
}

TEST_CASE("where no doorbell comes receives come back when half of the ring is used") {
  for (const std::uint32_t depth : {2u, 4u, 8u, 128u}) {
    CAPTURE(depth);
    queue_fixture q(depth);
    nic n(q);
    const std::uint32_t all = n.posted();
    for (std::uint32_t k = 0; k < 5 * depth + 200'000 / depth; ++k) {
      n.respond(static_cast<std::uint16_t>(k));
      REQUIRE(n.posted() >= all / 2 - 1);
      REQUIRE(poll(q).response.command_id == static_cast<std::uint16_t>(k));
      REQUIRE(n.posted() == all - (k + 1) % (all / 2));
    }
  }
}

TEST_CASE("a queue pair that breaks when everything is posted loses no completion") {
  for (const std::uint32_t depth : {2u, 8u, 128u}) {
    CAPTURE(depth);
    queue_fixture q(depth);
    nic n(q);
    REQUIRE(q.ref().try_reserve(depth));
    using wire::mlx5::cqe_opcode;
    using wire::mlx5::syndrome;
    for (std::uint32_t k = 0; k < depth; ++k) {
      n.reader.complete(n.completion++, cqe_opcode::requester_error, k, 0,
                        k == 0 ? syndrome::transport_retry_exceeded : syndrome::flushed);
    }
    const std::uint32_t receives = n.posted();
    for (std::uint32_t k = 0; k < receives; ++k) {
      n.reader.complete(n.completion++, cqe_opcode::responder_error, k, 0, syndrome::flushed);
    }
    for (std::uint32_t k = 0; k < depth; ++k) {
      const completion c = poll(q);
      REQUIRE(c.kind == completion_kind::failed);
      CHECK(c.index == k);
      CHECK((c.outcome.code == status_code::flushed) == (k != 0));
    }
    for (std::uint32_t k = 0; k < receives; ++k) {
      REQUIRE(poll(q).kind == completion_kind::broken);
    }
    CHECK(poll(q).kind == completion_kind::none);
  }
}

TEST_CASE("a queue that nobody polls takes depth responses and keeps each") {
  queue_fixture q(4);
  nic n(q);
  for (std::uint16_t lap = 0; lap < 10; ++lap) {
    for (std::uint16_t k = 0; k < 4; ++k) n.respond(static_cast<std::uint16_t>(lap * 4 + k));
    for (std::uint16_t k = 0; k < 4; ++k) CHECK(poll(q).response.command_id == lap * 4 + k);
    CHECK(poll(q).kind == completion_kind::none);
  }
}

TEST_CASE("a response in its completion is read there, and its receive stays untouched") {
  queue_fixture q(4, 7, 0, true);
  nic n(q);
  const mlx5_queue_layout layout = mlx5_queue_layout::of(4);
  const std::string before = hex(q.memory() + layout.responses, 4 * 16);
  for (std::uint16_t k = 0; k < 40; ++k) {
    n.respond(k, 0x4006);
    const auto* entry = q.memory() + layout.completions + k % 8 * 64;
    CHECK((entry[63] & 0x0c) == MLX5_INLINE_SCATTER_32);
    const completion c = poll(q);
    CHECK(c.kind == completion_kind::response);
    CHECK(c.response.command_id == k);
    CHECK(c.response.status == 0x4006);
  }
  CHECK(hex(q.memory() + layout.responses, 4 * 16) == before);
}

TEST_CASE("a receive that the NIC may not use takes no response, wherever responses lie") {
  for (const bool scatter : {false, true}) {
    queue_fixture q(2, 7, 0, scatter);
    nic n(q);
    auto* receive = reinterpret_cast<wire::mlx5::data_segment*>(n.at.receive_ring);
    const wire::mlx5::data_segment sound = receive[0];
    receive[0] = wire::mlx5::make_data(sound.address(), queue_fixture::key, 15);
    CHECK_FALSE(n.reader.respond(0, 0, {}));
    receive[0] = wire::mlx5::make_data(sound.address(), queue_fixture::key + 1, 16);
    CHECK_FALSE(n.reader.respond(0, 0, {}));
    CHECK(poll(q).kind == completion_kind::none);
    receive[0] = sound;
    CHECK(n.reader.respond(0, 0, {}));
    CHECK(poll(q).kind == completion_kind::response);
  }
}

TEST_CASE("a SEND entry has the bytes that rdma-core's builders write") {
  random_fields fields("send entry");
  for (int round = 0; round < 200; ++round) {
    const auto number = fields.draw<std::uint32_t>(24);
    const std::uint32_t depth = 2u << fields.draw<std::uint32_t>(2);
    const auto index = fields.draw<std::uint64_t>(48);
    queue_fixture q(depth, number);
    wire::nvme::submission_entry capsule{};
    capsule.cdw10 = fields.draw<std::uint32_t>();
    capsule.command_id = fields.draw<std::uint16_t>();
    q.ref().write_send(index, capsule);
    const auto* slot = q.memory() + mlx5_queue_layout::of(depth).capsules + index % depth * 64;
    struct {
      mlx5_wqe_ctrl_seg control;
      mlx5_wqe_data_seg data;
      unsigned char rest[32];
    } theirs{};
    mlx5dv_set_ctrl_seg(&theirs.control, static_cast<std::uint16_t>(index), MLX5_OPCODE_SEND, 0,
                        number, 0, 2, 0, 0);
    mlx5dv_set_data_seg(&theirs.data, 64, queue_fixture::key,
                        reinterpret_cast<std::uint64_t>(slot));
    REQUIRE(entry_bytes(q, index) == hex(theirs));
    REQUIRE(hex(slot, 64) == hex(capsule));
    REQUIRE(q.ref().sent_id(index).value == capsule.command_id);
  }
}

TEST_CASE("a SEND entry with its capsule inside has the bytes that rdma-core's builders write") {
  random_fields fields("inline send entry");
  for (int round = 0; round < 200; ++round) {
    const auto number = fields.draw<std::uint32_t>(24);
    const auto index = fields.draw<std::uint64_t>(47);
    basic_queue_fixture<inline_queue_pair> q(4, number);
    std::array<std::uint32_t, 16> words{};
    for (auto& word : words) word = fields.draw<std::uint32_t>();
    const auto capsule = std::bit_cast<wire::nvme::submission_entry>(words);
    q.ref().write_send(index, capsule);
    const auto wqe = static_cast<std::uint16_t>(2 * index);
    struct {
      mlx5_wqe_ctrl_seg control;
      mlx5_wqe_inl_data_seg data;
      std::array<std::uint32_t, 16> bytes;
      unsigned char rest[44];
    } theirs{};
    mlx5dv_set_ctrl_seg(&theirs.control, wqe, MLX5_OPCODE_SEND, 0, number, 0, 6, 0, 0);
    theirs.data.byte_count = htobe32(64 | MLX5_INLINE_SEG);
    theirs.bytes = words;
    static_assert(sizeof theirs == 128);
    const auto at = q.attributes().send_ring + index % 4 * 128;
    REQUIRE(hex(reinterpret_cast<const void*>(at), 128) == hex(theirs));
    CHECK(q.ref().sent_id(index).value == capsule.command_id);
    const fw::queue_attributes given = q.attributes();
    fw::queue_reader reader(given, q.regions());
    const fw::decoded_request r = reader.request(2 * index);
    CHECK(r.fault == wire::mlx5::syndrome::none);
    CHECK(r.blocks == 2);
    REQUIRE(hex(reader.capsule(r)) == hex(words));
  }
}

static_assert(one_sided_queue_pair<mlx5_queue_pair<>> && queue_pair<inline_queue_pair> &&
                  !one_sided_queue_pair<inline_queue_pair>,
              "a transfer would leave a block of such an entry, with a completion of its own");

TEST_CASE("a NOP is as long as the entries of its queue, and has one completion") {
  basic_queue_fixture<inline_queue_pair> q(4, 7);
  q.ref().write_nop(2);
  const fw::queue_attributes at = q.attributes();
  fw::queue_reader reader(at, q.regions());
  const fw::decoded_request r = reader.request(4);
  CHECK(r.known);
  CHECK(r.opcode == wire::mlx5::opcode::nop);
  CHECK(r.blocks == 2);
  CHECK(r.signalled);
  mlx5_wqe_ctrl_seg theirs{};
  mlx5dv_set_ctrl_seg(&theirs, 4, MLX5_OPCODE_NOP, 0, 7, MLX5_WQE_CTRL_CQ_UPDATE, 8, 0, 0);
  CHECK(hex(reinterpret_cast<const void*>(at.send_ring + 2 * 128), 16) == hex(theirs));
}

TEST_CASE("the NIC takes a NOP of one or two blocks and no other length") {
  basic_queue_fixture<inline_queue_pair> q(4, 7);
  const fw::queue_attributes at = q.attributes();
  fw::queue_reader reader(at, q.regions());
  for (std::uint32_t units = 0; units < 64; ++units) {
    CAPTURE(units);
    const auto control = wire::mlx5::make_control(wire::mlx5::opcode::nop, 4, 7,
                                                  static_cast<std::uint8_t>(units), 0);
    std::memcpy(reinterpret_cast<void*>(at.send_ring + 2 * 128), &control, sizeof control);
    const fw::decoded_request r = reader.request(4);
    CHECK(r.known == (units >= 1 && units <= 8));
    if (r.known) CHECK(r.blocks == (units + 3) / 4);
  }
}

TEST_CASE("the NIC finds a capsule inside an entry that goes on at the ring's start") {
  basic_queue_fixture<inline_queue_pair> q(2, 7);
  std::array<std::uint32_t, 16> words{};
  for (std::uint32_t k = 0; k < 16; ++k) words[k] = 0x1000 + k;
  q.ref().write_send(0, std::bit_cast<wire::nvme::submission_entry>(words));
  const fw::queue_attributes at = q.attributes();
  auto* ring = reinterpret_cast<unsigned char*>(at.send_ring);
  std::memcpy(ring + 3 * 64, ring, 64);
  std::memcpy(ring, ring + 64, 64);
  const auto control = wire::mlx5::make_control(wire::mlx5::opcode::send, 3, 7, 6, 0);
  std::memcpy(ring + 3 * 64, &control, sizeof control);
  fw::queue_reader reader(at, q.regions());
  CHECK(hex(reader.capsule(reader.request(3))) == hex(words));
  ring[3 * 64 + 19] ^= 1;
  CHECK(reader.request(3).fault == wire::mlx5::syndrome::local_length_error);
}

TEST_CASE("a one-sided entry has the bytes that rdma-core's builders write") {
  random_fields fields("one-sided entry");
  for (int round = 0; round < 200; ++round) {
    const auto number = fields.draw<std::uint32_t>(24);
    const auto index = fields.draw<std::uint64_t>(48);
    one_sided t;
    t.local_address = fields.draw<std::uint64_t>();
    t.remote_address = fields.draw<std::uint64_t>();
    t.lkey = fields.draw<std::uint32_t>();
    t.rkey = fields.draw<std::uint32_t>();
    t.bytes = fields.draw<std::uint32_t>(31);
    t.write = fields.draw<std::uint8_t>(1) != 0;
    queue_fixture q(4, number);
    q.ref().write_one_sided(index, t);
    struct {
      mlx5_wqe_ctrl_seg control;
      mlx5_wqe_raddr_seg remote;
      mlx5_wqe_data_seg data;
      unsigned char rest[16];
    } theirs{};
    mlx5dv_set_ctrl_seg(&theirs.control, static_cast<std::uint16_t>(index),
                        t.write ? MLX5_OPCODE_RDMA_WRITE : MLX5_OPCODE_RDMA_READ, 0, number,
                        MLX5_WQE_CTRL_CQ_UPDATE, 3, 0, 0);
    theirs.remote.raddr = htobe64(t.remote_address);
    theirs.remote.rkey = htobe32(t.rkey);
    mlx5dv_set_data_seg(&theirs.data, t.bytes, t.lkey, t.local_address);
    REQUIRE(entry_bytes(q, index) == hex(theirs));
  }
}

TEST_CASE("the doorbell is the record's big-endian index, then the register's index and number") {
  queue_fixture q(4, 0xabcdef, 0x1fffe);
  REQUIRE(q.ref().try_reserve(3).value == 0x1fffe);
  q.ref().publish(0x1fffe, 3);
  q.ref().ring();
  CHECK(be32toh(q.state().doorbell_record.send) == 1);
  const std::uint32_t halves[2] = {htobe32(1u << 8), htobe32(0xabcdefu << 8)};
  CHECK(hex(q.state().doorbell) == hex(halves));
}

TEST_CASE("entries published out of order are announced only when none before them is missing") {
  queue_fixture q(8);
  REQUIRE(q.ref().try_reserve(2).value == 0);
  REQUIRE(q.ref().try_reserve(1).value == 2);
  REQUIRE(q.ref().try_reserve(3).value == 3);
  nic n(q);
  const auto announced = [&] {
    q.ref().ring();
    return n.reader.send_tail();
  };
  q.ref().publish(3, 3);
  CHECK(announced() == 0);
  q.ref().publish(0, 2);
  CHECK(announced() == 2);
  q.ref().publish(2, 1);
  CHECK(announced() == 6);
}

TEST_CASE("a failed request and a failed receive are reported with syndrome and vendor syndrome") {
  using wire::mlx5::cqe_opcode;
  using wire::mlx5::syndrome;
  queue_fixture q(4, 7, 0xfffe);
  nic n(q);
  REQUIRE(q.ref().try_reserve(4));
  n.reader.complete(0, cqe_opcode::requester, 0xfffe, 8);
  n.reader.complete(1, cqe_opcode::requester_error, 0xffff, 0, syndrome::remote_access_error);
  n.reader.complete(2, cqe_opcode::requester_error, 0x10000, 0, syndrome::flushed);
  n.reader.complete(3, cqe_opcode::responder_error, 0, 0, syndrome::local_access_error);
  auto* entries = reinterpret_cast<wire::mlx5::completion_entry*>(n.at.completion_ring);
  entries[1].error_word = wire::mlx5::pack_error(0x51, syndrome::remote_access_error);

  completion c = poll(q);
  CHECK(c.kind == completion_kind::sent);
  CHECK(c.index == 0xfffe);
  c = poll(q);
  CHECK(c.kind == completion_kind::failed);
  CHECK(c.index == 0xffff);
  CHECK(c.outcome.code == status_code::transport_error);
  CHECK(c.outcome.by == reporter::nic);
  CHECK(c.outcome.syndrome == 0x13);
  CHECK(c.outcome.vendor_syndrome == 0x51);
  c = poll(q);
  CHECK(c.kind == completion_kind::failed);
  CHECK(c.index == 0x10000);
  CHECK(c.outcome.code == status_code::flushed);
  CHECK(c.outcome.syndrome == 0x05);
  c = poll(q);
  CHECK(c.kind == completion_kind::broken);
  CHECK(c.outcome.code == status_code::transport_error);
  CHECK(c.outcome.syndrome == 0x11);
  CHECK(poll(q).kind == completion_kind::none);
}

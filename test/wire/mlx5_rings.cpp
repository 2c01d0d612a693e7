/// Whole rings of a queue pair, after random traffic, against the ones rdma-core's builders fill.

#include "hex.hpp"
#include "qp/queue_fixture.hpp"
#include "random_fields.hpp"

#include <doctest/doctest.h>
#include <endian.h>
#include <infiniband/mlx5dv.h>

#include <array>
#include <cstring>

namespace {

using namespace gnstor;
using gnstor::test::hex;
using gnstor::test::random_fields;
using gnstor::test::random_rounds;

using block = std::array<unsigned char, MLX5_SEND_WQE_BB>;

/// A send ring as rdma-core would fill it. A segment that an entry does not use keeps what the last
/// lap left there, as on the side under test.
class reference_ring {
 public:
  reference_ring(std::uint32_t depth, std::uint32_t number) : blocks_(depth), number_(number) {}

  void nop(std::uint64_t index) { control(index, MLX5_OPCODE_NOP, 1, MLX5_WQE_CTRL_CQ_UPDATE); }
  void send(std::uint64_t index, std::uint64_t capsule, std::uint32_t lkey) {
    control(index, MLX5_OPCODE_SEND, 2, 0);
    data(index, 1, 64, lkey, capsule);
  }
  void transfer(std::uint64_t index, const one_sided& t) {
    const std::uint8_t operation = t.write ? MLX5_OPCODE_RDMA_WRITE : MLX5_OPCODE_RDMA_READ;
    control(index, operation, 3, MLX5_WQE_CTRL_CQ_UPDATE);
    mlx5_wqe_raddr_seg remote{};
    remote.raddr = htobe64(t.remote_address);
    remote.rkey = htobe32(t.rkey);
    put(index, 1, &remote);
    data(index, 2, t.bytes, t.lkey, t.local_address);
  }
  const std::vector<block>& blocks() const { return blocks_; }

 private:
  void control(std::uint64_t index, std::uint8_t operation, std::uint8_t ds, std::uint8_t flags) {
    mlx5_wqe_ctrl_seg segment{};
    mlx5dv_set_ctrl_seg(&segment, static_cast<std::uint16_t>(index), operation, 0, number_, flags,
                        ds, 0, 0);
    put(index, 0, &segment);
  }
  void data(std::uint64_t index, int which, std::uint32_t bytes, std::uint32_t lkey,
            std::uint64_t address) {
    mlx5_wqe_data_seg segment{};
    mlx5dv_set_data_seg(&segment, bytes, lkey, address);
    put(index, which, &segment);
  }
  void put(std::uint64_t index, int which, const void* segment) {
    std::memcpy(blocks_[index % blocks_.size()].data() + 16 * which, segment, 16);
  }

  std::vector<block> blocks_;
  std::uint32_t number_;
};

/// A queue pair of random depth, number, key and first index, beside its reference.
struct pair_of_rings {
  explicit pair_of_rings(random_fields& fields)
      : depth(2u << fields.draw<std::uint32_t>(2)),
        number(fields.draw<std::uint32_t>(24)),
        lkey(fields.draw<std::uint32_t>()),
        next(fields.draw<std::uint64_t>(47)),
        memory(mlx5_queue_layout::of(depth).bytes),
        theirs(depth, number) {
    // Half of the rounds cross the 16 bits that the wire has for an index.
    if (fields.draw<std::uint8_t>(1) != 0) next = (next | 0xffff) - fields.draw<std::uint8_t>(3);
    mlx5_format_queue(memory.data(), depth);
    state().reserved = state().published = state().retired = next;
  }

  mlx5_queue_pair<> ours() { return {memory.data(), depth, number, lkey}; }
  mlx5_queue_state& state() { return *reinterpret_cast<mlx5_queue_state*>(memory.data()); }
  fw::queue_attributes at() {
    return test::attributes_of(reinterpret_cast<std::uint64_t>(memory.data()), depth, number);
  }

  /// Writes one random entry on both sides.
  void write(random_fields& fields) {
    const auto index = next++;
    const auto kind = fields.draw<std::uint32_t>() % 4;
    if (kind == 0) {
      ours().write_nop(index);
      theirs.nop(index);
    } else if (kind == 1) {
      one_sided t;
      t.local_address = fields.draw<std::uint64_t>();
      t.remote_address = fields.draw<std::uint64_t>();
      t.lkey = fields.draw<std::uint32_t>();
      t.rkey = fields.draw<std::uint32_t>();
      t.bytes = fields.draw<std::uint32_t>(31);
      t.write = fields.draw<std::uint8_t>(1) != 0;
      ours().write_one_sided(index, t);
      theirs.transfer(index, t);
    } else {
      std::array<std::uint64_t, 8> bytes{};
      for (auto& word : bytes) word = fields.draw<std::uint64_t>();
      wire::nvme::submission_entry capsule;
      static_assert(sizeof capsule == sizeof bytes);
      std::memcpy(&capsule, bytes.data(), sizeof capsule);
      ours().write_send(index, capsule);
      const auto* slot = memory.data() + mlx5_queue_layout::of(depth).capsules + index % depth * 64;
      REQUIRE(hex(slot, 64) == hex(bytes));
      theirs.send(index, reinterpret_cast<std::uint64_t>(slot), lkey);
    }
  }

  std::uint32_t depth, number, lkey;
  std::uint64_t next;
  test::aligned_memory memory;
  reference_ring theirs;
};

TEST_CASE("a send ring, its record and its doorbell hold rdma-core's bytes after random traffic") {
  random_fields fields("send ring");
  for (int round = 0; round < random_rounds; ++round) {
    CAPTURE(round);
    pair_of_rings rings(fields);
    for (std::uint32_t burst = 0; burst < 6; ++burst) {
      const std::uint32_t n = 1 + fields.draw<std::uint32_t>() % rings.depth;
      const auto first = rings.ours().try_reserve(n);
      REQUIRE(first);
      REQUIRE(first.value == rings.next);
      for (std::uint32_t k = 0; k < n; ++k) rings.write(fields);
      rings.ours().publish(first.value, n);
      rings.ours().ring();
      REQUIRE(hex(reinterpret_cast<const void*>(rings.at().send_ring), 64ull * rings.depth) ==
              hex(rings.theirs.blocks().data(), 64ull * rings.depth));

      const auto low = static_cast<std::uint16_t>(rings.next);
      std::uint32_t record[2] = {};
      std::memcpy(record, &rings.state().doorbell_record, sizeof record);
      REQUIRE(record[MLX5_SND_DBR] == htobe32(low));
      mlx5_wqe_ctrl_seg bell{};
      mlx5dv_set_ctrl_seg(&bell, low, 0, 0, rings.number, 0, 0, 0, 0);
      REQUIRE(hex(rings.state().doorbell) == hex(&bell, 8));
      rings.ours().retire(rings.next - 1);
    }
  }
}

TEST_CASE("a receive ring and its record hold the bytes that rdma-core would post") {
  random_fields fields("receive ring");
  for (int round = 0; round < random_rounds; ++round) {
    CAPTURE(round);
    pair_of_rings rings(fields);
    rings.ours().post_receives();
    const std::uint64_t responses = reinterpret_cast<std::uint64_t>(rings.memory.data()) +
                                    mlx5_queue_layout::of(rings.depth).responses;
    std::vector<mlx5_wqe_data_seg> theirs(mlx5_queue_layout::receive_entries(rings.depth));
    for (std::uint32_t k = 0; k < theirs.size(); ++k) {
      mlx5dv_set_data_seg(&theirs[k], 16, rings.lkey, responses + 16 * k);
    }
    REQUIRE(hex(reinterpret_cast<const void*>(rings.at().receive_ring), 16 * theirs.size()) ==
            hex(theirs.data(), 16 * theirs.size()));
    std::uint32_t record[2] = {};
    std::memcpy(record, &rings.state().doorbell_record, sizeof record);
    REQUIRE(record[MLX5_RCV_DBR] == htobe32(static_cast<std::uint32_t>(theirs.size())));
    REQUIRE(record[MLX5_SND_DBR] == 0);
  }
}

}  // namespace

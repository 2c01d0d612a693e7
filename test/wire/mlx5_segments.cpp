/// The segments of work queue entries against the ones that rdma-core's own inline helpers write.

#include "hex.hpp"
#include "random_fields.hpp"
#include <gnstor/wire/mlx5/segment.hpp>

#include <doctest/doctest.h>
#include <endian.h>
#include <infiniband/mlx5dv.h>

#include <cstddef>

namespace {

namespace mlx5 = gnstor::wire::mlx5;
using gnstor::test::hex;
using gnstor::test::random_fields;
using gnstor::test::random_rounds;

TEST_CASE("a control segment has the bytes that mlx5dv_set_ctrl_seg writes") {
  random_fields fields("control segment");
  for (int round = 0; round < random_rounds; ++round) {
    const auto operation = fields.draw<std::uint8_t>();
    const auto index = fields.draw<std::uint16_t>();
    const auto qpn = fields.draw<std::uint32_t>(24);
    const auto ds = fields.draw<std::uint8_t>(6);
    const auto fm_ce_se = fields.draw<std::uint8_t>();
    const auto imm = fields.draw<std::uint32_t>();
    mlx5_wqe_ctrl_seg theirs{};
    mlx5dv_set_ctrl_seg(&theirs, index, operation, 0, qpn, fm_ce_se, ds, 0, imm);
    const mlx5::control_segment ours =
        mlx5::make_control(static_cast<mlx5::opcode>(operation), index, qpn, ds, fm_ce_se, imm);
    REQUIRE(hex(ours) == hex(theirs));
  }
}

TEST_CASE("a control segment written by rdma-core decodes to the fields it was made of") {
  random_fields fields("control segment, decoded");
  for (int round = 0; round < random_rounds; ++round) {
    const auto operation = fields.draw<std::uint8_t>();
    const auto opmod = fields.draw<std::uint8_t>();
    const auto index = fields.draw<std::uint16_t>();
    const auto qpn = fields.draw<std::uint32_t>(24);
    const auto ds = fields.draw<std::uint8_t>(6);
    const auto fm_ce_se = fields.draw<std::uint8_t>();
    const auto signature = fields.draw<std::uint8_t>();
    const auto imm = fields.draw<std::uint32_t>();
    mlx5_wqe_ctrl_seg theirs{};
    mlx5dv_set_ctrl_seg(&theirs, index, operation, opmod, qpn, fm_ce_se, ds, signature, imm);
    mlx5::control_segment ours;
    std::memcpy(&ours, &theirs, sizeof(ours));
    REQUIRE(ours.opcode() == static_cast<mlx5::opcode>(operation));
    REQUIRE(ours.opmod() == opmod);
    REQUIRE(ours.index() == index);
    REQUIRE(ours.qpn() == qpn);
    REQUIRE(ours.ds() == ds);
    REQUIRE(ours.fm_ce_se == fm_ce_se);
    REQUIRE(ours.signature == signature);
    REQUIRE(ours.imm == imm);
    REQUIRE(ours.wqebb_count() * MLX5_SEND_WQE_BB >= ds * 16u);
    REQUIRE((ours.wqebb_count() == 0 || (ours.wqebb_count() - 1) * MLX5_SEND_WQE_BB < ds * 16u));
  }
}

TEST_CASE("an entry asks for a completion exactly when rdma-core's completion bits say so") {
  const auto signaled = [](std::uint8_t fm_ce_se) {
    return mlx5::make_control(mlx5::opcode::send, 0, 1, 2, fm_ce_se).signaled();
  };
  CHECK(signaled(MLX5_WQE_CTRL_CQ_UPDATE));
  CHECK(signaled(MLX5_WQE_CTRL_CQ_UPDATE | MLX5_WQE_CTRL_SOLICITED | MLX5_WQE_CTRL_FENCE));
  CHECK_FALSE(signaled(0));
  CHECK_FALSE(signaled(MLX5_WQE_CTRL_SOLICITED | MLX5_WQE_CTRL_INITIATOR_SMALL_FENCE));
}

TEST_CASE(
    "a data segment has the bytes that mlx5dv_set_data_seg writes, and decodes to its fields") {
  random_fields fields("data segment");
  for (int round = 0; round < random_rounds; ++round) {
    const auto address = fields.draw<std::uint64_t>();
    const auto lkey = fields.draw<std::uint32_t>();
    const auto bytes = fields.draw<std::uint32_t>(31);
    mlx5_wqe_data_seg theirs{};
    mlx5dv_set_data_seg(&theirs, bytes, lkey, address);
    const mlx5::data_segment ours = mlx5::make_data(address, lkey, bytes);
    REQUIRE(hex(ours) == hex(theirs));
    REQUIRE(ours.address() == address);
    REQUIRE(ours.lkey() == lkey);
    REQUIRE(ours.bytes() == bytes);
  }
}

TEST_CASE(
    "a remote address segment has the bytes of mlx5_wqe_raddr_seg, and decodes to its fields") {
  random_fields fields("remote address segment");
  for (int round = 0; round < random_rounds; ++round) {
    const auto address = fields.draw<std::uint64_t>();
    const auto rkey = fields.draw<std::uint32_t>();
    mlx5_wqe_raddr_seg theirs{};
    theirs.raddr = htobe64(address);
    theirs.rkey = htobe32(rkey);
    const mlx5::remote_address_segment ours = mlx5::make_remote_address(address, rkey);
    REQUIRE(hex(ours) == hex(theirs));
    REQUIRE(ours.address() == address);
    REQUIRE(ours.rkey() == rkey);
  }
}

TEST_CASE("the segments' constants are rdma-core's") {
  CHECK(mlx5::wqebb_bytes == MLX5_SEND_WQE_BB);
  CHECK(mlx5::invalid_lkey == MLX5_INVALID_LKEY);
  CHECK(mlx5::completion_always == MLX5_WQE_CTRL_CQ_UPDATE);
  CHECK(mlx5::solicited_event == MLX5_WQE_CTRL_SOLICITED);
  CHECK(mlx5::small_fence == MLX5_WQE_CTRL_INITIATOR_SMALL_FENCE);
  const auto is = [](mlx5::opcode ours, int theirs) { return static_cast<int>(ours) == theirs; };
  CHECK(is(mlx5::opcode::nop, MLX5_OPCODE_NOP));
  CHECK(is(mlx5::opcode::send_invalidate, MLX5_OPCODE_SEND_INVAL));
  CHECK(is(mlx5::opcode::rdma_write, MLX5_OPCODE_RDMA_WRITE));
  CHECK(is(mlx5::opcode::rdma_write_immediate, MLX5_OPCODE_RDMA_WRITE_IMM));
  CHECK(is(mlx5::opcode::send, MLX5_OPCODE_SEND));
  CHECK(is(mlx5::opcode::send_immediate, MLX5_OPCODE_SEND_IMM));
  CHECK(is(mlx5::opcode::rdma_read, MLX5_OPCODE_RDMA_READ));
  CHECK(is(mlx5::opcode::atomic_compare_swap, MLX5_OPCODE_ATOMIC_CS));
  CHECK(is(mlx5::opcode::atomic_fetch_add, MLX5_OPCODE_ATOMIC_FA));
}

}  // namespace

/// Doorbell and doorbell record against rdma-core's words.

#include "hex.hpp"
#include "random_fields.hpp"
#include <gnstor/wire/mlx5/doorbell.hpp>

#include <doctest/doctest.h>
#include <endian.h>
#include <infiniband/mlx5dv.h>

namespace {

namespace mlx5 = gnstor::wire::mlx5;
using gnstor::test::hex;
using gnstor::test::random_fields;
using gnstor::test::random_rounds;

TEST_CASE("the doorbell is the first half of a control segment without operation and size") {
  random_fields fields("doorbell");
  for (int round = 0; round < random_rounds; ++round) {
    const auto index = fields.draw<std::uint16_t>();
    const auto qpn = fields.draw<std::uint32_t>(24);
    mlx5_wqe_ctrl_seg theirs{};
    mlx5dv_set_ctrl_seg(&theirs, index, 0, 0, qpn, 0, 0, 0, 0);
    const std::uint64_t ours = mlx5::doorbell_value(index, qpn);
    REQUIRE(hex(ours) == hex(&theirs, 8));
    REQUIRE(mlx5::doorbell_qpn(ours) == qpn);
  }
}

TEST_CASE(
    "the queue pair is read from the doorbell rdma-core rings: the last entry's own control") {
  random_fields fields("doorbell, decoded");
  for (int round = 0; round < random_rounds; ++round) {
    const auto qpn = fields.draw<std::uint32_t>(24);
    mlx5_wqe_ctrl_seg theirs{};
    mlx5dv_set_ctrl_seg(&theirs, fields.draw<std::uint16_t>(), MLX5_OPCODE_SEND, 0, qpn,
                        MLX5_WQE_CTRL_CQ_UPDATE, 2, 0, 0);
    std::uint64_t value = 0;
    std::memcpy(&value, &theirs, sizeof(value));
    REQUIRE(mlx5::doorbell_qpn(value) == qpn);
  }
}

TEST_CASE("the doorbell record's words lie and read as rdma-core's") {
  random_fields fields("doorbell record");
  for (int round = 0; round < random_rounds; ++round) {
    const auto received = fields.draw<std::uint64_t>();
    const auto sent = fields.draw<std::uint64_t>();
    mlx5::doorbell_record ours{};
    ours.receive = mlx5::record_value(received);
    ours.send = mlx5::record_value(sent);
    std::uint32_t theirs[2] = {};
    theirs[MLX5_RCV_DBR] = htobe32(static_cast<std::uint32_t>(received) & 0xffff);
    theirs[MLX5_SND_DBR] = htobe32(static_cast<std::uint32_t>(sent) & 0xffff);
    REQUIRE(hex(ours) == hex(theirs));
    REQUIRE(mlx5::record_index(ours.receive) == static_cast<std::uint16_t>(received));
    REQUIRE(mlx5::record_index(ours.send) == static_cast<std::uint16_t>(sent));
  }
}

}  // namespace

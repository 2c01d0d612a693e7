/// The completion queue entry against rdma-core's `mlx5_cqe64` and its inline readers.

#include "hex.hpp"
#include "random_fields.hpp"
#include <gnstor/wire/mlx5/cqe.hpp>

#include <doctest/doctest.h>
#include <endian.h>
#include <infiniband/mlx5dv.h>

#include <cstddef>
#include <vector>

namespace {

namespace mlx5 = gnstor::wire::mlx5;
using gnstor::test::random_fields;
using gnstor::test::random_rounds;

mlx5_cqe64 as_theirs(const mlx5::completion_entry& ours) {
  mlx5_cqe64 theirs;
  static_assert(sizeof(theirs) == sizeof(ours));
  std::memcpy(&theirs, &ours, sizeof(ours));
  return theirs;
}

TEST_CASE("rdma-core reads from a completion what was packed into it") {
  random_fields fields("completion entry");
  for (int round = 0; round < random_rounds; ++round) {
    const auto counter = fields.draw<std::uint16_t>();
    const auto kind = fields.draw<std::uint8_t>(4);
    const auto owner = fields.draw<std::uint8_t>(1);
    const auto format = fields.draw<std::uint8_t>(1);
    const auto send_opcode = fields.draw<std::uint8_t>();
    const auto qpn = fields.draw<std::uint32_t>(24);
    const auto bytes = fields.draw<std::uint32_t>();
    const auto user_index = fields.draw<std::uint32_t>(24);
    mlx5::completion_entry ours{};
    ours.user_index_be = gnstor::wire::be32(user_index);
    ours.byte_count_be = gnstor::wire::be32(bytes);
    ours.sop_drop_qpn = mlx5::pack_sop_qpn(send_opcode, qpn);
    ours.tail =
        mlx5::pack_tail(counter, static_cast<mlx5::cqe_opcode>(kind), owner != 0, format != 0);
    mlx5_cqe64 theirs = as_theirs(ours);
    REQUIRE(be16toh(theirs.wqe_counter) == counter);
    REQUIRE(mlx5dv_get_cqe_opcode(&theirs) == kind);
    REQUIRE(mlx5dv_get_cqe_owner(&theirs) == owner);
    REQUIRE(mlx5dv_get_cqe_se(&theirs) == 0);
    REQUIRE(mlx5dv_get_cqe_format(&theirs) == format);
    REQUIRE((theirs.op_own & MLX5_INLINE_SCATTER_32) == (format != 0 ? MLX5_INLINE_SCATTER_32 : 0));
    REQUIRE(theirs.signature == 0);
    REQUIRE(be32toh(theirs.sop_drop_qpn) == (std::uint32_t{send_opcode} << 24 | qpn));
    REQUIRE(be32toh(theirs.byte_cnt) == bytes);
    REQUIRE(be32toh(theirs.srqn_uidx) == user_index);
  }
}

TEST_CASE("a completion as a NIC writes it, all other bits random, decodes to its fields") {
  random_fields fields("completion entry, decoded");
  for (int round = 0; round < random_rounds; ++round) {
    unsigned char noise[64];
    for (unsigned char& byte : noise) byte = fields.draw<unsigned char>();
    mlx5_cqe64 theirs;
    std::memcpy(&theirs, noise, sizeof(theirs));
    mlx5::completion_entry ours;
    std::memcpy(&ours, noise, sizeof(ours));
    REQUIRE(mlx5::tail_counter(ours.tail) == be16toh(theirs.wqe_counter));
    REQUIRE(static_cast<int>(mlx5::tail_opcode(ours.tail)) == mlx5dv_get_cqe_opcode(&theirs));
    REQUIRE(mlx5::tail_scattered(ours.tail) == (mlx5dv_get_cqe_format(&theirs) == 1));
    REQUIRE(mlx5::tail_owner(ours.tail) == (mlx5dv_get_cqe_owner(&theirs) != 0));
    REQUIRE(mlx5::sop_qpn(ours.sop_drop_qpn) == (be32toh(theirs.sop_drop_qpn) & 0xffffff));
    REQUIRE(mlx5::sop_opcode(ours.sop_drop_qpn) == be32toh(theirs.sop_drop_qpn) >> 24);
    // The error form (mlx5_err_cqe) is not in the public header: bytes 54 and 55.
    REQUIRE(mlx5::error_vendor_syndrome(ours.error_word) == noise[54]);
    REQUIRE(static_cast<int>(mlx5::error_syndrome(ours.error_word)) == noise[55]);
  }
}

TEST_CASE("an error completion holds its syndromes in bytes 54 and 55 and nothing beside them") {
  mlx5::completion_entry ours{};
  ours.error_word = mlx5::pack_error(0x93, mlx5::syndrome::remote_access_error);
  ours.sop_drop_qpn = mlx5::pack_sop_qpn(0x0a, 0x123456);
  ours.tail = mlx5::pack_tail(0xbeef, mlx5::cqe_opcode::requester_error, true);
  const std::string text = gnstor::test::hex(ours);
  CHECK(text.substr(text.size() - 4 * 9) == " 00000000 00009313 0a123456 beef00d1");
}

TEST_CASE("the completion's words lie where mlx5_cqe64 has them") {
  CHECK(offsetof(mlx5::completion_entry, user_index_be) == offsetof(mlx5_cqe64, srqn_uidx));
  CHECK(offsetof(mlx5::completion_entry, immediate_be) == offsetof(mlx5_cqe64, imm_inval_pkey));
  CHECK(offsetof(mlx5::completion_entry, application) == offsetof(mlx5_cqe64, app));
  CHECK(offsetof(mlx5::completion_entry, byte_count_be) == offsetof(mlx5_cqe64, byte_cnt));
  CHECK(offsetof(mlx5::completion_entry, timestamp_high) == offsetof(mlx5_cqe64, timestamp));
  CHECK(offsetof(mlx5::completion_entry, error_word) == offsetof(mlx5_cqe64, timestamp) + 4);
  CHECK(offsetof(mlx5::completion_entry, sop_drop_qpn) == offsetof(mlx5_cqe64, sop_drop_qpn));
  CHECK(offsetof(mlx5::completion_entry, tail) == offsetof(mlx5_cqe64, wqe_counter));
  CHECK(offsetof(mlx5::completion_entry, tail) + 3 == offsetof(mlx5_cqe64, op_own));
}

TEST_CASE("a poller sees exactly the completions that the NIC has written, lap after lap") {
  constexpr std::uint32_t entries = 8;
  std::vector<std::uint32_t> ring(entries, mlx5::unwritten_tail);
  random_fields fields("completion ring");
  std::uint64_t produced = 0;
  std::uint64_t consumed = 0;
  for (int round = 0; round < random_rounds; ++round) {
    const bool produce = fields.draw<std::uint8_t>(1) != 0;
    if (produce && produced - consumed < entries) {
      const auto counter = static_cast<std::uint16_t>(produced);
      // The owner bit as rdma-core's mlx5 provider expects it: the parity of the lap.
      const bool owner = (produced / entries) % 2 != 0;
      ring[produced % entries] = mlx5::pack_tail(counter, mlx5::cqe_opcode::requester, owner);
      ++produced;
    }
    const std::uint32_t tail = ring[consumed % entries];
    REQUIRE(mlx5::tail_valid(tail, consumed, entries) == (consumed < produced));
    if (!produce && consumed < produced) {
      REQUIRE(mlx5::tail_counter(tail) == static_cast<std::uint16_t>(consumed));
      ++consumed;
    }
  }
  CHECK(consumed > 10 * entries);
}

TEST_CASE("an entry that the NIC never wrote is valid in no lap, though its owner bit fits") {
  for (std::uint64_t index = 0; index < 64; ++index) {
    CHECK_FALSE(mlx5::tail_valid(mlx5::unwritten_tail, index, 8));
  }
}

TEST_CASE("the completions' kinds and syndromes are rdma-core's") {
  const auto is = [](auto ours, int theirs) { return static_cast<int>(ours) == theirs; };
  CHECK(is(mlx5::cqe_opcode::requester, MLX5_CQE_REQ));
  CHECK(is(mlx5::cqe_opcode::responder_write_immediate, MLX5_CQE_RESP_WR_IMM));
  CHECK(is(mlx5::cqe_opcode::responder_send, MLX5_CQE_RESP_SEND));
  CHECK(is(mlx5::cqe_opcode::responder_send_immediate, MLX5_CQE_RESP_SEND_IMM));
  CHECK(is(mlx5::cqe_opcode::responder_send_invalidate, MLX5_CQE_RESP_SEND_INV));
  CHECK(is(mlx5::cqe_opcode::signature_error, MLX5_CQE_SIG_ERR));
  CHECK(is(mlx5::cqe_opcode::requester_error, MLX5_CQE_REQ_ERR));
  CHECK(is(mlx5::cqe_opcode::responder_error, MLX5_CQE_RESP_ERR));
  CHECK(is(mlx5::cqe_opcode::invalid, MLX5_CQE_INVALID));
  CHECK(is(mlx5::syndrome::local_length_error, MLX5_CQE_SYNDROME_LOCAL_LENGTH_ERR));
  CHECK(is(mlx5::syndrome::local_queue_pair_error, MLX5_CQE_SYNDROME_LOCAL_QP_OP_ERR));
  CHECK(is(mlx5::syndrome::local_protection_error, MLX5_CQE_SYNDROME_LOCAL_PROT_ERR));
  CHECK(is(mlx5::syndrome::flushed, MLX5_CQE_SYNDROME_WR_FLUSH_ERR));
  CHECK(is(mlx5::syndrome::memory_window_bind_error, MLX5_CQE_SYNDROME_MW_BIND_ERR));
  CHECK(is(mlx5::syndrome::bad_response_error, MLX5_CQE_SYNDROME_BAD_RESP_ERR));
  CHECK(is(mlx5::syndrome::local_access_error, MLX5_CQE_SYNDROME_LOCAL_ACCESS_ERR));
  CHECK(is(mlx5::syndrome::remote_invalid_request, MLX5_CQE_SYNDROME_REMOTE_INVAL_REQ_ERR));
  CHECK(is(mlx5::syndrome::remote_access_error, MLX5_CQE_SYNDROME_REMOTE_ACCESS_ERR));
  CHECK(is(mlx5::syndrome::remote_operation_error, MLX5_CQE_SYNDROME_REMOTE_OP_ERR));
  CHECK(is(mlx5::syndrome::transport_retry_exceeded, MLX5_CQE_SYNDROME_TRANSPORT_RETRY_EXC_ERR));
  CHECK(is(mlx5::syndrome::rnr_retry_exceeded, MLX5_CQE_SYNDROME_RNR_RETRY_EXC_ERR));
  CHECK(is(mlx5::syndrome::remote_aborted, MLX5_CQE_SYNDROME_REMOTE_ABORTED_ERR));
}

TEST_CASE("only the error kinds carry a syndrome") {
  for (int kind = 0; kind < 16; ++kind) {
    CAPTURE(kind);
    CHECK(mlx5::is_error(static_cast<mlx5::cqe_opcode>(kind)) == (kind >= 12 && kind <= 14));
  }
}

}  // namespace

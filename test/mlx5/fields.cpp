/// The tables of command fields against the PRM's way of counting and rdma-core's way of writing.
#include "wire/random_fields.hpp"
#include <mlx5/ifc/command.hpp>
#include <mlx5/ifc/completion_queue.hpp>
#include <mlx5/ifc/hca_capabilities.hpp>
#include <mlx5/ifc/mailbox.hpp>
#include <mlx5/ifc/queue_pair.hpp>

#include <doctest/doctest.h>
#include <infiniband/mlx5dv.h>

#include <cstring>
#include <vector>

namespace ifc = gnstor::host::mlx5::ifc;
using gnstor::test::random_fields;
using gnstor::test::random_rounds;

namespace {

/// A field as the PRM prints it: the byte offset of its 32-bit word, and bits 31..0 within.
struct printed {
  ifc::field f;
  std::uint32_t word;
  std::uint32_t high;
  std::uint32_t low;
};

/// Checks that the fields lie where they are printed, within `bits`, and apart from each other.
void check_table(const std::vector<printed>& table, std::uint32_t bits) {
  std::vector<bool> taken(bits);
  for (const printed& p : table) {
    CAPTURE(p.word);
    CAPTURE(p.high);
    const bool wide = p.high == 63;  // a 64-bit field from this word on
    CHECK(p.f.offset == p.word * 8 + (wide ? 0 : 31 - p.high));
    CHECK(p.f.width == p.high - p.low + 1);
    REQUIRE(p.f.offset + p.f.width <= bits);
    for (std::uint32_t k = 0; k < p.f.width; ++k) {
      CHECK_FALSE(taken[p.f.offset + k]);
      taken[p.f.offset + k] = true;
    }
  }
}

}  // namespace

TEST_CASE("a field is written where rdma-core's _devx_set writes it") {
  random_fields fields("command field");
  for (int round = 0; round < random_rounds; ++round) {
    const auto word = fields.draw<std::uint32_t>(4);
    const std::uint32_t width = 1 + fields.draw<std::uint32_t>(5);
    const std::uint32_t shift = width == 32 ? 0 : fields.draw<std::uint32_t>() % (33 - width);
    const ifc::field f{word * 32 + shift, width};
    const auto value = fields.draw<std::uint32_t>(width);
    std::uint32_t theirs[16];
    for (std::uint32_t& w : theirs) w = fields.draw<std::uint32_t>();
    unsigned char ours[64];
    std::memcpy(ours, theirs, sizeof ours);
    if (width < 32) {
      _devx_set(theirs, value, f.offset, f.width);
    } else {
      theirs[word] = htobe32(value);
    }
    ifc::put(ours, f, value);
    REQUIRE(std::memcmp(ours, theirs, sizeof ours) == 0);
    REQUIRE(ifc::get(ours, f) == value);
    if (width < 32) REQUIRE(_devx_get(ours, f.offset, f.width) == value);
  }
}

TEST_CASE("a 64-bit field is written where rdma-core's _devx_set64 writes it") {
  random_fields fields("wide command field");
  for (int round = 0; round < random_rounds; ++round) {
    const auto value = fields.draw<std::uint64_t>();
    const auto at = fields.draw<std::uint32_t>(3);
    std::uint64_t theirs[8] = {};
    unsigned char ours[64] = {};
    _devx_set64(theirs, value, at * 64);
    ifc::put(ours, {at * 64, 64}, value);
    REQUIRE(std::memcmp(ours, theirs, sizeof ours) == 0);
  }
}

TEST_CASE("a value too large for its field, and a field beyond the command, are refused") {
  unsigned char bytes[4] = {};
  CHECK_THROWS_AS(ifc::put(bytes, {5, 3}, 8), gnstor::verify_error);
  CHECK_THROWS_AS(ifc::put(bytes, {30, 3}, 0), gnstor::verify_error);
  CHECK_THROWS_AS((void)ifc::get(bytes, {32, 1}), gnstor::verify_error);
  CHECK_NOTHROW(ifc::put(bytes, {5, 3}, 7));
  CHECK(bytes[0] == 0x07);
}

TEST_CASE("the completion queue context's fields lie where the PRM prints them") {
  namespace cq = ifc::cq_context;
  check_table({{cq::doorbell_umem_valid, 0x00, 25, 25},
               {cq::entry_size, 0x00, 23, 21},
               {cq::collapsed, 0x00, 20, 20},
               {cq::ignore_overrun, 0x00, 17, 17},
               {cq::doorbell_umem, 0x04, 31, 0},
               {cq::log_entries, 0x0c, 28, 24},
               {cq::uar_page, 0x0c, 23, 0},
               {cq::event_queue, 0x14, 7, 0},
               {cq::doorbell_address, 0x38, 63, 0}},
              0x200);
  namespace create = ifc::create_cq;
  check_table({{ifc::command::opcode, 0x00, 31, 16},
               {ifc::command::modifier, 0x04, 15, 0},
               {create::ring_offset, 0x50, 63, 0},
               {create::ring_umem, 0x58, 31, 0},
               {create::ring_umem_valid, 0x5c, 31, 31}},
              create::bits);
  CHECK(create::context == 0x10 * 8);
  CHECK(create::context + 0x200 == create::ring_offset.offset);
  check_table({{ifc::answer::status, 0x00, 31, 24},
               {ifc::answer::syndrome, 0x04, 31, 0},
               {create::number, 0x08, 23, 0}},
              ifc::answer::bits);
}

TEST_CASE("the queue pair context's fields lie where the PRM prints them") {
  namespace qp = ifc::qp_context;
  check_table({{qp::service_type, 0x00, 23, 16},        {qp::migration_state, 0x00, 12, 11},
               {qp::protection_domain, 0x04, 23, 0},    {qp::mtu, 0x08, 31, 29},
               {qp::log_message_bytes, 0x08, 28, 24},   {qp::log_receive_entries, 0x08, 22, 19},
               {qp::log_receive_stride, 0x08, 18, 16},  {qp::log_send_entries, 0x08, 14, 11},
               {qp::timestamp_format, 0x08, 7, 6},      {qp::uar_page, 0x0c, 23, 0},
               {qp::user_index, 0x10, 23, 0},           {qp::remote_number, 0x14, 23, 0},
               {qp::log_ack_frequency, 0x70, 31, 28},   {qp::log_reads_sent, 0x70, 23, 21},
               {qp::retry_count, 0x70, 18, 16},         {qp::rnr_retry, 0x70, 15, 13},
               {qp::next_send_psn, 0x78, 23, 0},        {qp::send_cq, 0x7c, 23, 0},
               {qp::log_reads_served, 0x90, 23, 21},    {qp::remote_read_enable, 0x90, 15, 15},
               {qp::remote_write_enable, 0x90, 14, 14}, {qp::least_rnr_timer, 0x94, 28, 24},
               {qp::next_receive_psn, 0x94, 23, 0},     {qp::receive_cq, 0x9c, 23, 0},
               {qp::doorbell_address, 0xa0, 63, 0},     {qp::receive_queue_type, 0xac, 26, 24},
               {qp::scatter_requester, 0xc4, 15, 8},    {qp::scatter_responder, 0xc4, 7, 0},
               {qp::doorbell_umem_valid, 0xd0, 28, 28}, {qp::doorbell_umem, 0xe4, 31, 0}},
              qp::bits);
  // Two paths, of which the second is for automatic migration.
  CHECK(qp::primary_path == 0x18 * 8);
  CHECK(qp::primary_path + 2 * ifc::address_path::bits == qp::log_ack_frequency.offset);
  namespace create = ifc::create_qp;
  check_table({{create::ring_offset, 0x100, 63, 0},
               {create::ring_umem, 0x108, 31, 0},
               {create::ring_umem_valid, 0x10c, 31, 31}},
              create::bits);
  namespace modify = ifc::modify_qp;
  check_table({{modify::number, 0x08, 23, 0}, {modify::optional_mask, 0x10, 31, 0}}, modify::bits);
}

TEST_CASE("the address path's fields lie where the PRM prints them") {
  namespace path = ifc::address_path;
  check_table({{path::pkey_index, 0x00, 15, 0},
               {path::grh, 0x04, 23, 23},
               {path::path_bits, 0x04, 22, 16},
               {path::lid, 0x04, 15, 0},
               {path::ack_timeout, 0x08, 31, 27},
               {path::source_address, 0x08, 23, 16},
               {path::static_rate, 0x08, 11, 8},
               {path::hop_limit, 0x08, 7, 0},
               {path::traffic_class, 0x0c, 27, 20},
               {path::flow_label, 0x0c, 19, 0},
               {path::gid_high, 0x10, 63, 0},
               {path::gid_low, 0x18, 63, 0},
               {path::dscp, 0x20, 21, 16},
               {path::udp_source_port, 0x20, 15, 0},
               {path::ethernet_priority, 0x24, 30, 28},
               {path::service_level, 0x24, 27, 24},
               {path::port, 0x24, 23, 16},
               {path::mac_high, 0x24, 15, 0},
               {path::mac_low, 0x28, 31, 0}},
              path::bits);
}

TEST_CASE("the capabilities' fields lie where the PRM prints them") {
  namespace cap = ifc::general_capability;
  check_table({{cap::log_max_qp_entries, 0x10, 23, 16},
               {cap::log_max_cq_entries, 0x18, 23, 16},
               {cap::log_max_reads_sent, 0x28, 21, 16},
               {cap::log_max_reads_served, 0x28, 5, 0},
               {cap::log_max_message_bytes, 0x38, 28, 24},
               {cap::cqe_version, 0x3c, 3, 0},
               {cap::roce, 0x40, 2, 2},
               {cap::cq_ignore_overrun, 0x44, 31, 31},
               {cap::reliable_connection, 0x44, 0, 0},
               {cap::log_blue_flame_bytes, 0x4c, 20, 16}},
              0x8000);
  check_table({{ifc::roce_capability::qp_timestamp_format, 0x00, 1, 0}}, 0x8000);
}

/// Fabrics commands and RDMA CM private data against bytes that a Linux target accepts, written
/// out.

#include "hex.hpp"
#include "random_fields.hpp"
#include <gnstor/wire/fabrics/capsule.hpp>
#include <gnstor/wire/fabrics/connect.hpp>
#include <gnstor/wire/fabrics/private_data.hpp>
#include <gnstor/wire/fabrics/property.hpp>

#include <doctest/doctest.h>

#include <array>

namespace {

namespace fabrics = gnstor::wire::fabrics;
namespace nvme = gnstor::wire::nvme;
using gnstor::test::hex;
using gnstor::test::random_fields;
using gnstor::test::random_rounds;

TEST_CASE("an admin Connect has the bytes that Linux's target accepts") {
  // Queue 0, 32 entries, keep alive 120 s, 1024 bytes of data at 0x7f1234560000 under key
  // 0xa1b2c3d4.
  const fabrics::connect_command connect = fabrics::make_connect(
      5, 0, 32, nvme::make_keyed_sgl(0x7f1234560000, 1024, 0xa1b2c3d4), 120000);
  CHECK(hex(connect) ==
        "7f400500 01000000 00000000 00000000 00000000 00000000 00005634 127f0000 "
        "000400d4 c3b2a140 00000000 1f000000 c0d40100 00000000 00000000 00000000");
}

TEST_CASE("an I/O Connect names its queue, its size from zero and its priority class") {
  fabrics::connect_command connect =
      fabrics::make_connect(0x0102, 0x0304, 65536, nvme::make_keyed_sgl(0, 1024, 0));
  connect.cattr = fabrics::cattr_medium | fabrics::cattr_no_flow_control;
  CHECK(hex(connect) ==
        "7f400201 01000000 00000000 00000000 00000000 00000000 00000000 00000000 "
        "00040000 00000040 00000403 ffff0600 00000000 00000000 00000000 00000000");
}

TEST_CASE("a Connect travels as a capsule and is the same Connect at the other end") {
  random_fields fields("connect capsule");
  for (int round = 0; round < random_rounds; ++round) {
    const auto id = fields.draw<std::uint16_t>();
    const auto qid = fields.draw<std::uint16_t>();
    const std::uint32_t entries = fields.draw<std::uint16_t>() + 1u;
    const auto kato_ms = fields.draw<std::uint32_t>();
    const auto sgl =
        nvme::make_keyed_sgl(fields.draw<std::uint64_t>(), 1024, fields.draw<std::uint32_t>());
    const auto sent = fabrics::make_connect(id, qid, entries, sgl, kato_ms);
    const auto capsule = fabrics::capsule_cast<fabrics::command_capsule>(sent);
    REQUIRE(capsule.opcode == nvme::fabrics_opcode);
    REQUIRE((capsule.nsid & 0xff) == static_cast<unsigned>(fabrics::command_type::connect));
    REQUIRE(capsule.command_id == id);
    REQUIRE(capsule.dptr.key() == sgl.key());
    const auto got = fabrics::capsule_cast<fabrics::connect_command>(capsule);
    REQUIRE(hex(got) == hex(sent));
    REQUIRE(got.qid == qid);
    REQUIRE(got.sqsize + 1u == entries);
    REQUIRE(got.kato_ms == kato_ms);
  }
}

TEST_CASE("Connect data puts host id, controller id and the two names at 0, 16, 256 and 512") {
  constexpr char subsystem[] = "nqn.2014-08.org.nvmexpress:uuid:target";
  constexpr char host[] = "nqn.2014-08.org.nvmexpress:uuid:host";
  fabrics::connect_data data{};
  std::array<unsigned char, 1024> image{};
  for (unsigned i = 0; i < 16; ++i) data.hostid[i] = image[i] = static_cast<unsigned char>(i + 1);
  data.cntlid = fabrics::dynamic_controller;
  image[16] = image[17] = 0xff;
  std::memcpy(data.subnqn, subsystem, sizeof(subsystem));
  std::memcpy(&image[256], subsystem, sizeof(subsystem));
  std::memcpy(data.hostnqn, host, sizeof(host));
  std::memcpy(&image[512], host, sizeof(host));
  CHECK(hex(data) == hex(image));
}

TEST_CASE("a Connect's result splits into controller id and authentication request") {
  CHECK(fabrics::make_connect_result(0x1234) == 0x1234);
  CHECK(fabrics::connect_cntlid(0x00060007) == 7);
  CHECK(fabrics::connect_needs_authentication(0x00020000));
  CHECK(fabrics::connect_needs_authentication(0x00040000));
  CHECK_FALSE(fabrics::connect_needs_authentication(0x0001ffff));
  CHECK(fabrics::make_invalid_parameter(256, true) == 0x00010100);
  CHECK(fabrics::make_invalid_parameter(42, false) == 0x0000002a);
}

TEST_CASE("property commands have the bytes that Linux's target accepts") {
  using fabrics::property_offset;
  CHECK(hex(fabrics::make_property_get(1, property_offset::capabilities)) ==
        "7f400100 04000000 00000000 00000000 00000000 00000000 00000000 00000000 "
        "00000000 00000040 01000000 00000000 00000000 00000000 00000000 00000000");
  CHECK(hex(fabrics::make_property_get(2, property_offset::status)) ==
        "7f400200 04000000 00000000 00000000 00000000 00000000 00000000 00000000 "
        "00000000 00000040 00000000 1c000000 00000000 00000000 00000000 00000000");
  CHECK(hex(fabrics::make_property_set(3, property_offset::configuration, 0x00460001)) ==
        "7f400300 00000000 00000000 00000000 00000000 00000000 00000000 00000000 "
        "00000000 00000040 00000000 14000000 01004600 00000000 00000000 00000000");
}

TEST_CASE("Fabrics command types have the numbers of NVMe Base 6") {
  CHECK(static_cast<int>(fabrics::command_type::property_set) == 0x00);
  CHECK(static_cast<int>(fabrics::command_type::connect) == 0x01);
  CHECK(static_cast<int>(fabrics::command_type::property_get) == 0x04);
  CHECK(static_cast<int>(fabrics::command_type::authentication_send) == 0x05);
  CHECK(static_cast<int>(fabrics::command_type::authentication_receive) == 0x06);
  CHECK(static_cast<int>(fabrics::command_type::disconnect) == 0x08);
}

TEST_CASE("RDMA CM private data has the bytes of the RDMA transport specification") {
  const std::string zeroes16 = "00000000 00000000 00000000 00000000";
  fabrics::connection_request request{};
  request.qid = 0x0201;
  request.hrqsize = 128;
  request.hsqsize = 127;
  request.cntlid = 0x0403;
  CHECK(hex(request) == "00000102 80007f00 03040000 00000000 " + zeroes16);
  fabrics::connection_accept accept{};
  accept.crqsize = 0x0506;
  CHECK(hex(accept) == "00000605 00000000 00000000 00000000 " + zeroes16);
  fabrics::connection_reject reject{};
  reject.status = static_cast<std::uint16_t>(fabrics::reject_reason::no_resources);
  CHECK(hex(reject) == "00000600");
}

}  // namespace

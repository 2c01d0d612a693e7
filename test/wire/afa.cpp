/// GNStor's own fields, commands, payloads and statuses against the wire contract, bit by bit.

#include "hex.hpp"
#include "random_fields.hpp"
#include <gnstor/wire/afa/association_end.hpp>
#include <gnstor/wire/afa/command.hpp>
#include <gnstor/wire/afa/describe.hpp>
#include <gnstor/wire/afa/host_list.hpp>
#include <gnstor/wire/afa/slba.hpp>
#include <gnstor/wire/afa/ssd_detach.hpp>
#include <gnstor/wire/afa/status.hpp>
#include <gnstor/wire/afa/traffic_list.hpp>
#include <gnstor/wire/afa/volume.hpp>

#include <doctest/doctest.h>

#include <set>
#include <string>

namespace {

namespace afa = gnstor::wire::afa;
namespace nvme = gnstor::wire::nvme;
using gnstor::client_id;
using gnstor::ssd_index;
using gnstor::vba;
using gnstor::volume_id;
using gnstor::test::hex;
using gnstor::test::random_fields;
using gnstor::test::random_rounds;

TEST_CASE("an SLBA is VID, client and VBA from the top, and splits into the same") {
  random_fields fields("slba");
  for (int round = 0; round < random_rounds; ++round) {
    const auto volume = fields.draw<std::uint16_t>();
    const auto client = fields.draw<std::uint16_t>();
    const auto block = fields.draw<std::uint32_t>();
    const std::uint64_t word = afa::pack_slba(volume_id(volume), client_id(client), vba(block));
    REQUIRE((word >> 48) == volume);
    REQUIRE((word >> 32 & 0xffff) == client);
    REQUIRE((word & 0xffffffff) == block);
    const afa::slba back = afa::slba::unpack(word);
    REQUIRE(back.volume == volume_id(volume));
    REQUIRE(back.client == client_id(client));
    REQUIRE(back.block == vba(block));
  }
}

TEST_CASE("an I/O command carries the packed address in CDW10 and 11 and the epoch in CDW2") {
  const std::uint64_t word = afa::pack_slba(volume_id(0x1122), client_id(0x3344), vba(0x55667788));
  nvme::submission_entry entry = nvme::make_read_write(
      nvme::nvm_opcode::write, 9, afa::nsid_of(ssd_index(2)), word, 16, nvme::make_empty_sgl());
  afa::set_epoch(entry, 0xa1a2a3a4);
  CHECK(hex(entry) ==
        "01400900 03000000 a4a3a2a1 00000000 00000000 00000000 00000000 00000000 "
        "00000000 00000040 88776655 44332211 0f000000 00000000 00000000 00000000");
  CHECK(afa::epoch_of(entry) == 0xa1a2a3a4);
  CHECK(afa::address_of(entry).block == vba(0x55667788));
  CHECK(afa::ssd_of(entry.nsid) == ssd_index(2));
}

TEST_CASE("every SSD index has a namespace id of its own, and none is 0") {
  for (std::uint32_t index = 0; index < 0xffff; ++index) {
    const ssd_index ssd(static_cast<std::uint16_t>(index));
    REQUIRE(afa::nsid_of(ssd) != 0);
    REQUIRE(afa::ssd_of(afa::nsid_of(ssd)) == ssd);
  }
}

TEST_CASE("a namespace id without an SSD gives an index beyond any array") {
  for (const std::uint32_t nsid : {0u, 0x10000u, 0x10001u, 0xffffffffu}) {
    CAPTURE(nsid);
    CHECK(afa::ssd_of(nsid).value >= afa::max_array_ssds);
  }
}

TEST_CASE("an admin command's VID is in CDW10, its epoch in CDW2, and it unpacks to itself") {
  random_fields fields("admin command");
  constexpr afa::admin_opcode opcodes[] = {
      afa::admin_opcode::volume_add,     afa::admin_opcode::volume_chmod,
      afa::admin_opcode::volume_delete,  afa::admin_opcode::volume_list,
      afa::admin_opcode::array_describe, afa::admin_opcode::ssd_describe};
  for (int round = 0; round < random_rounds; ++round) {
    afa::admin_command sent;
    sent.opcode = opcodes[fields.draw<std::uint32_t>() % 6];
    sent.command_id = fields.draw<std::uint16_t>();
    sent.nsid = fields.draw<std::uint32_t>();
    sent.epoch = fields.draw<std::uint32_t>();
    sent.volume = volume_id(fields.draw<std::uint16_t>());
    sent.payload = nvme::make_keyed_sgl(fields.draw<std::uint64_t>(), 128, 77);
    const nvme::submission_entry entry = sent.pack();
    REQUIRE(entry.opcode == static_cast<std::uint8_t>(sent.opcode));
    REQUIRE(entry.flags == nvme::flags_sgl);
    REQUIRE(entry.cdw2 == sent.epoch);
    REQUIRE(entry.cdw10 == sent.volume.value);
    const afa::admin_command got = afa::admin_command::unpack(entry);
    REQUIRE(got.opcode == sent.opcode);
    REQUIRE(got.command_id == sent.command_id);
    REQUIRE(got.nsid == sent.nsid);
    REQUIRE(got.epoch == sent.epoch);
    REQUIRE(got.volume == sent.volume);
    REQUIRE(hex(got.payload) == hex(sent.payload));
  }
}

TEST_CASE("the admin opcodes are those of the wire contract, all vendor specific") {
  CHECK(static_cast<int>(afa::admin_opcode::volume_add) == 0xc1);
  CHECK(static_cast<int>(afa::admin_opcode::volume_chmod) == 0xc5);
  CHECK(static_cast<int>(afa::admin_opcode::volume_delete) == 0xc8);
  CHECK(static_cast<int>(afa::admin_opcode::volume_list) == 0xca);
  CHECK(static_cast<int>(afa::admin_opcode::array_describe) == 0xce);
  CHECK(static_cast<int>(afa::admin_opcode::ssd_describe) == 0xda);
}

TEST_CASE("no two commands of the admin queue have the same opcode") {
  std::set<int> all;
  int count = 0;
  const auto add = [&](auto opcode) {
    all.insert(static_cast<int>(opcode));
    ++count;
  };
  for (const auto op : {afa::admin_opcode::volume_add, afa::admin_opcode::volume_chmod,
                        afa::admin_opcode::volume_delete, afa::admin_opcode::array_update,
                        afa::admin_opcode::volume_list, afa::admin_opcode::array_describe,
                        afa::admin_opcode::ssd_describe})
    add(op);
  add(afa::association_end::opcode);
  add(afa::host_list::opcode);
  add(afa::ssd_detach::opcode);
  add(afa::traffic_list::opcode);
  CHECK(static_cast<int>(all.size()) == count);
}

TEST_CASE("a volume record's bytes") {
  afa::volume_record record{};
  record.version = 1;
  record.vid = 0x0102;
  record.replicas = 2;
  record.hash_factor = 0x1112131415161718;
  record.capacity_blocks = 0x2122232425262728;
  record.stripe_blocks = 0x31323334;
  record.epoch = 0x41424344;
  record.client_count = 2;
  record.name.bytes[0] = 'n';
  record.name.bytes[63] = 'z';
  record.labels.bytes[0] = 'l';
  record.clients[0] = {0x5152, afa::right_read};
  record.clients[31] = {0x6162, afa::right_read | afa::right_write};
  CHECK(hex(record) ==
        "01000000 02010200 18171615 14131211 28272625 24232221 34333231 44434241 "
        "02000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000 "
        "6e000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000 "
        "00000000 00000000 00000000 00000000 00000000 00000000 00000000 0000007a "
        "6c000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000 "
        "00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000 "
        "00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000 "
        "00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000 "
        "52510100 00000000 00000000 00000000 00000000 00000000 00000000 00000000 "
        "00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000 "
        "00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000 "
        "00000000 00000000 00000000 00000000 00000000 00000000 00000000 62610300");
}

TEST_CASE("the head of a CHMOD, of a volume list and of an array description, byte by byte") {
  afa::volume_chmod chmod{};
  chmod.version = 1;
  chmod.vid = 0x0102;
  chmod.client_count = 3;
  chmod.clients[0] = {0x0405, afa::right_write};
  CHECK(hex(&chmod, 8) == "01000000 02010300");
  chmod.sets = afa::volume_chmod::sets_labels;
  chmod.name.bytes[1] = 'n';
  chmod.labels.bytes[2] = 'l';
  CHECK(hex(reinterpret_cast<const char*>(&chmod) + 24, 4) == "02000000");
  CHECK(hex(reinterpret_cast<const char*>(&chmod) + 64, 4) == "006e0000");
  CHECK(hex(reinterpret_cast<const char*>(&chmod) + 128, 4) == "00006c00");
  CHECK(hex(reinterpret_cast<const char*>(&chmod) + 256, 4) == "05040200");

  static afa::volume_list list{};
  list.version = 1;
  list.epoch = 0x11121314;
  list.count = 2;
  list.total = 0x21222324;
  list.next_vid = 0x3132;
  list.records[9].vid = 0x4142;
  CHECK(hex(&list, 20) == "01000000 14131211 02000000 24232221 32310000");
  CHECK(hex(reinterpret_cast<const char*>(&list) + 256 + 384 * 9 + 4, 4) == "42410000");

  afa::array_description array{};
  array.version = 1;
  array.epoch = 0x11121314;
  array.ssd_count = 4;
  array.own_ssd = 0x2122;
  array.own_client = 0x3132;
  array.block_bytes = 4096;
  array.max_transfer_blocks = 0x41424344;
  array.capacity_blocks = 0x5152535455565758;
  array.free_blocks = 0x7172737475767778;
  array.moved_blocks = 0x8182838485868788;
  array.ssd_ids[0] = 0x6162636465666768;
  CHECK(hex(&array, 32) ==
        "01000000 14131211 04002221 32310000 00100000 44434241 58575655 54535251");
  CHECK(hex(reinterpret_cast<const char*>(&array) + 32, 16) ==
        "78777675 74737271 88878685 84838281");
  CHECK(hex(reinterpret_cast<const char*>(&array) + 64, 8) == "68676665 64636261");
}

TEST_CASE("each status of an SSD has a number and words of its own, in the vendor's type") {
  constexpr afa::status all[] = {
      afa::status::unknown_volume,      afa::status::not_permitted,    afa::status::wrong_client,
      afa::status::beyond_capacity,     afa::status::wrong_ssd,        afa::status::stale_epoch,
      afa::status::mapping_full,        afa::status::crosses_stripe,   afa::status::volume_exists,
      afa::status::too_many_volumes,    afa::status::too_many_clients, afa::status::writer_exists,
      afa::status::bad_payload_version, afa::status::bad_payload,      afa::status::rebuilding,
      afa::status::not_owner,           afa::status::name_exists};
  std::set<int> numbers;
  std::set<std::string> words;
  for (const afa::status code : all) {
    const std::uint16_t field = afa::make_status(code, true);
    CHECK(nvme::status_type(field) == 7);
    CHECK(nvme::status_code(field) == static_cast<std::uint8_t>(code));
    CHECK(afa::is_status(field, code));
    CHECK_FALSE(afa::is_status(nvme::make_status(0, static_cast<std::uint8_t>(code)), code));
    numbers.insert(static_cast<int>(code));
    words.insert(afa::to_string(code));
  }
  CHECK(numbers.size() == std::size(all));
  CHECK(words.size() == std::size(all));
  CHECK(numbers.count(0) == 0);
  CHECK(words.count(afa::to_string(static_cast<afa::status>(0xff))) == 0);
}

}  // namespace

/// What epochs with members add to the wire: ARRAY UPDATE, Fill, status 0Fh, and where a volume
/// lies.

#include "hex.hpp"
#include <gnstor/wire/afa/admin_command.hpp>
#include <gnstor/wire/afa/array_description.hpp>
#include <gnstor/wire/afa/array_membership.hpp>
#include <gnstor/wire/afa/command.hpp>
#include <gnstor/wire/afa/io_opcode.hpp>
#include <gnstor/wire/afa/slba.hpp>
#include <gnstor/wire/afa/status.hpp>
#include <gnstor/wire/afa/volume_chmod.hpp>
#include <gnstor/wire/nvme/completion_entry.hpp>
#include <gnstor/wire/nvme/read_write.hpp>

#include <doctest/doctest.h>

#include <string>

namespace {

namespace afa = gnstor::wire::afa;
namespace nvme = gnstor::wire::nvme;
using gnstor::client_id;
using gnstor::vba;
using gnstor::volume_id;
using gnstor::test::hex;

/// `count` bytes of `value` from `offset` on.
template <class Struct>
std::string hex_at(const Struct& value, std::size_t offset, std::size_t count) {
  return hex(reinterpret_cast<const char*>(&value) + offset, count);
}

}  // namespace

TEST_CASE("an ARRAY UPDATE and its data, byte by byte") {
  afa::admin_command command;
  command.opcode = afa::admin_opcode::array_update;
  command.command_id = 0x1122;
  command.nsid = 3;
  command.epoch = 0xa1a2a3a4;
  command.payload = nvme::make_keyed_sgl(0x0102030405060708, 24, 0x0a0b0c0d);
  const nvme::submission_entry entry = command.pack();
  CHECK(hex(entry) ==
        "c9402211 03000000 a4a3a2a1 00000000 00000000 00000000 08070605 04030201 "
        "1800000d 0c0b0a40 00000000 00000000 00000000 00000000 00000000 00000000");
  CHECK(afa::admin_command::unpack(entry).opcode == afa::admin_opcode::array_update);
  const afa::array_membership members{2, 0x11121314, 0x2122232425262728, 0x3132333435363738};
  CHECK(hex(members) == "02000000 14131211 28272625 24232221 38373635 34333231");
}

TEST_CASE("an array description says who is absent and who is filling, byte by byte") {
  afa::array_description array{};
  array.absent = 0x2122232425262728;
  array.filling = 0x3132333435363738;
  CHECK(hex_at(array, 48, 16) == "28272625 24232221 38373635 34333231");
}

TEST_CASE("a Fill, with what it may say besides, byte by byte") {
  nvme::submission_entry entry =
      nvme::make_read_write(static_cast<nvme::nvm_opcode>(afa::io_opcode::fill), 9, 3,
                            afa::pack_slba(volume_id(0x1122), client_id(0x3344), vba(0x55667788)),
                            32, nvme::make_keyed_sgl(0x0102030405060708, 0x20000, 0x0a0b0c0d));
  afa::set_epoch(entry, 0xa1a2a3a4);
  CHECK(hex(entry) ==
        "81400900 03000000 a4a3a2a1 00000000 00000000 00000000 08070605 04030201 "
        "0000020d 0c0b0a40 88776655 44332211 1f000000 00000000 00000000 00000000");
  entry.cdw13 |= afa::fill_unreadable;
  CHECK(hex_at(entry, 52, 4) == "01000000");
}

TEST_CASE("a Forget, which moves no data, byte by byte") {
  nvme::submission_entry entry =
      nvme::make_read_write(static_cast<nvme::nvm_opcode>(afa::io_opcode::forget), 9, 3,
                            afa::pack_slba(volume_id(0x1122), client_id(0x3344), vba(0x55667788)),
                            128, nvme::make_empty_sgl());
  afa::set_epoch(entry, 0xa1a2a3a4);
  const std::string bytes = hex(entry);
  CHECK(bytes.substr(0, 26) == "84400900 03000000 a4a3a2a1");
  CHECK(hex_at(entry, 40, 12) == "88776655 44332211 7f000000");
  CHECK(afa::direction_of(afa::io_opcode::forget) == nvme::transfer_direction::none);
}

TEST_CASE("a read of an SSD that is being filled ends with type 7h, code 0Fh") {
  nvme::completion_entry answer{};
  answer.sq_head = 0x1112;
  answer.command_id = 0x2122;
  answer.status = afa::make_status(afa::status::rebuilding);
  CHECK(hex(answer) == "00000000 00000000 12110000 22211e0e");
  answer.status = afa::make_status(afa::status::rebuilding, true);
  CHECK(hex(answer) == "00000000 00000000 12110000 22211e8e");
  CHECK(afa::is_status(answer.status, afa::status::rebuilding));
}

TEST_CASE("where a volume lies, in its record and in a CHMOD, byte by byte") {
  CHECK(static_cast<int>(afa::volume_spread::whole) == 0);
  CHECK(static_cast<int>(afa::volume_spread::joining) == 1);
  CHECK(static_cast<int>(afa::volume_spread::moved) == 2);
  CHECK(static_cast<int>(afa::volume_spread::dropping) == 3);
  afa::volume_record record{};
  record.client_count = 0x41424344;
  record.spread = afa::volume_spread::dropping;
  record.ssd_count = 0x51525354;
  CHECK(hex_at(record, 32, 12) == "44434241 03000000 54535251");
  afa::volume_chmod change{};
  change.ssd_count = 0x51525354;
  change.spread = afa::volume_spread::moved;
  CHECK(hex_at(change, 8, 8) == "54535251 02000000");
}

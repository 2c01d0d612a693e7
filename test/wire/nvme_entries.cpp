/// NVMe queue entries and SGLs against libnvme's structures, and against bytes laid by hand.

#include "hex.hpp"
#include "random_fields.hpp"
#include <gnstor/wire/nvme/completion_entry.hpp>
#include <gnstor/wire/nvme/read_write.hpp>
#include <gnstor/wire/nvme/sgl.hpp>

#include <doctest/doctest.h>
#include <nvme/ioctl.h>
#include <nvme/types.h>

#include <cstddef>

namespace {

namespace nvme = gnstor::wire::nvme;
using gnstor::test::hex;
using gnstor::test::random_fields;
using gnstor::test::random_rounds;

/// Bytes written one after another, least significant first: NVMe's order on any machine.
template <std::size_t Bytes>
struct little_endian_image {
  unsigned char byte[Bytes] = {};
  void put(std::size_t offset, std::size_t width, std::uint64_t value) {
    for (std::size_t i = 0; i < width; ++i) {
      byte[offset + i] = static_cast<unsigned char>(value >> (8 * i));
    }
  }
};

TEST_CASE("a submission entry's fields lie where Linux's pass-through command has them") {
  using ours = nvme::submission_entry;
  using theirs = nvme_passthru_cmd;
  CHECK(offsetof(ours, opcode) == offsetof(theirs, opcode));
  CHECK(offsetof(ours, flags) == offsetof(theirs, flags));
  CHECK(offsetof(ours, command_id) == offsetof(theirs, rsvd1));
  CHECK(offsetof(ours, nsid) == offsetof(theirs, nsid));
  CHECK(offsetof(ours, cdw2) == offsetof(theirs, cdw2));
  CHECK(offsetof(ours, cdw3) == offsetof(theirs, cdw3));
  CHECK(offsetof(ours, metadata) == offsetof(theirs, metadata));
  CHECK(offsetof(ours, dptr) == offsetof(theirs, addr));
  CHECK(offsetof(ours, cdw10) == offsetof(theirs, cdw10));
  CHECK(offsetof(ours, cdw11) == offsetof(theirs, cdw11));
  CHECK(offsetof(ours, cdw12) == offsetof(theirs, cdw12));
  CHECK(offsetof(ours, cdw13) == offsetof(theirs, cdw13));
  CHECK(offsetof(ours, cdw14) == offsetof(theirs, cdw14));
  CHECK(offsetof(ours, cdw15) == offsetof(theirs, cdw15));
}

TEST_CASE("a keyed SGL is 64 bits of address, 24 of length, 32 of key, and type 40h") {
  random_fields fields("keyed SGL");
  for (int round = 0; round < random_rounds; ++round) {
    const auto address = fields.draw<std::uint64_t>();
    const auto length = fields.draw<std::uint32_t>(24);
    const auto key = fields.draw<std::uint32_t>();
    little_endian_image<16> image;
    image.put(0, 8, address);
    image.put(8, 3, length);
    image.put(11, 4, key);
    image.put(15, 1, 0x40);
    const nvme::keyed_sgl ours = nvme::make_keyed_sgl(address, length, key);
    REQUIRE(hex(ours) == hex(image));
    REQUIRE(ours.address == address);
    REQUIRE(ours.length() == length);
    REQUIRE(ours.key() == key);
    REQUIRE(ours.type() == 0x40);
  }
}

TEST_CASE("a length beyond 24 bits does not spill into the key") {
  CHECK(nvme::make_keyed_sgl(0, 0xff000001, 0).key() == 0);
}

TEST_CASE(
    "a Read or Write has its block address in CDW10 and 11 and its zero-based count in CDW12") {
  random_fields fields("read and write");
  for (int round = 0; round < random_rounds; ++round) {
    const bool write = fields.draw<std::uint8_t>(1) != 0;
    const auto id = fields.draw<std::uint16_t>();
    const auto nsid = fields.draw<std::uint32_t>();
    const auto slba = fields.draw<std::uint64_t>();
    const std::uint32_t blocks = fields.draw<std::uint16_t>() + 1u;
    const auto address = fields.draw<std::uint64_t>();
    const auto key = fields.draw<std::uint32_t>();
    little_endian_image<64> image;
    image.put(0, 1, write ? nvme_cmd_write : nvme_cmd_read);
    image.put(1, 1, 0x40);
    image.put(2, 2, id);
    image.put(4, 4, nsid);
    image.put(24, 8, address);
    image.put(32, 3, 4096);
    image.put(35, 4, key);
    image.put(39, 1, 0x40);
    image.put(40, 8, slba);
    image.put(48, 2, blocks - 1);
    const nvme::submission_entry ours =
        nvme::make_read_write(write ? nvme::nvm_opcode::write : nvme::nvm_opcode::read, id, nsid,
                              slba, blocks, nvme::make_keyed_sgl(address, 4096, key));
    REQUIRE(hex(ours) == hex(image));
    REQUIRE(nvme::slba_of(ours) == slba);
    REQUIRE(nvme::blocks_of(ours) == blocks);
  }
}

TEST_CASE("a Flush names its namespace and describes no data by an empty keyed block") {
  CHECK(hex(nvme::make_flush(0x1234, 7)) ==
        "00403412 07000000 00000000 00000000 00000000 00000000 00000000 00000000 "
        "00000000 00000040 00000000 00000000 00000000 00000000 00000000 00000000");
}

TEST_CASE("a deallocation counts its ranges from zero and sets attribute AD") {
  const nvme::submission_entry one = nvme::make_deallocate(1, 1, 1, nvme::make_keyed_sgl(8, 16, 9));
  const nvme::submission_entry all = nvme::make_deallocate(1, 1, 256, nvme::make_empty_sgl());
  CHECK(one.opcode == nvme_cmd_dsm);
  CHECK(one.cdw10 == 0);
  CHECK(one.cdw11 == NVME_DSMGMT_AD);
  CHECK(one.dptr.length() == 16);
  CHECK(nvme::ranges_of(one) == 1);
  CHECK(nvme::deallocates(one));
  CHECK(all.cdw10 == 255);
  CHECK(nvme::ranges_of(all) == 256);
  CHECK_FALSE(nvme::deallocates(nvme::make_flush(1, 1)));
}

TEST_CASE("a deallocated range has the bytes of libnvme's nvme_dsm_range") {
  random_fields fields("dataset range");
  for (int round = 0; round < random_rounds; ++round) {
    nvme::dataset_range ours{};
    ours.attributes = fields.draw<std::uint32_t>();
    ours.blocks = fields.draw<std::uint32_t>();
    ours.slba = fields.draw<std::uint64_t>();
    const nvme_dsm_range theirs{ours.attributes, ours.blocks, ours.slba};
    REQUIRE(hex(ours) == hex(theirs));
  }
}

TEST_CASE("a completion entry's fields follow each other as NVMe Base 4.2 lists them") {
  nvme::completion_entry ours{};
  ours.dw0 = 0x03020100;
  ours.dw1 = 0x07060504;
  ours.sq_head = 0x0908;
  ours.sq_id = 0x0b0a;
  ours.command_id = 0x0d0c;
  ours.status = 0x0f0e;
  CHECK(hex(ours) == "00010203 04050607 08090a0b 0c0d0e0f");
}

}  // namespace

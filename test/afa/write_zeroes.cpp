/// Write Zeroes makes blocks unwritten again, under the same checks as a write.
#include "one_command.hpp"
#include <gnstor/wire/afa/status.hpp>

using namespace gnstor;
using namespace gnstor::test;
using wire::nvme::generic_status;
using wire::nvme::nvm_opcode;
using wire::nvme::submission_entry;

namespace {

/// One SSD, one channel, and commands for volume 9.
struct small_array {
  explicit small_array(std::uint32_t service_lanes) : lanes(service_lanes), f({.ssds = 1}) {
    f.connect(0);
  }

  /// A command on `blocks` blocks from `first` on; its data lies at the same offset of the buffer.
  submission_entry command(nvm_opcode op, std::uint32_t first, std::uint32_t blocks = 1) const {
    const bool data = op != nvm_opcode::write_zeroes;
    auto e = wire::nvme::make_read_write(
        op, 0, 1, wire::afa::pack_slba(volume_id(9), node_fixture::client, vba(first)), blocks,
        data ? wire::nvme::make_keyed_sgl(f.block(first).address, blocks * block_bytes,
                                          node_fixture::key)
             : wire::nvme::make_empty_sgl());
    e.cdw2 = 1;
    return e;
  }
  status run(const submission_entry& e) { return one_command(f, e, lanes); }
  unsigned char* bytes(std::uint32_t block) {
    return f.image.here(f.buffer) + std::size_t{block} * block_bytes;
  }
  bool all(std::uint32_t block, int value) {
    for (std::uint32_t k = 0; k < block_bytes; ++k) {
      if (bytes(block)[k] != value) return false;
    }
    return true;
  }

  std::uint32_t lanes;
  node_fixture f;
};

bool is(status s, generic_status why) {
  return s.code == status_code::nvme_error && s.nvme_type == 0 &&
         s.nvme_code == static_cast<std::uint8_t>(why);
}
bool is(status s, wire::afa::status why) {
  return s.code == status_code::nvme_error && s.nvme_type == 7 &&
         s.nvme_code == static_cast<std::uint8_t>(why);
}

}  // namespace

TEST_CASE("blocks made zero read as zeroes, and their neighbours and later writes stay") {
  for (const std::uint32_t lanes : {1u, 32u}) {
    CAPTURE(lanes);
    small_array a(lanes);
    std::memset(a.bytes(0), 0x77, 4 * block_bytes);
    REQUIRE(a.run(a.command(nvm_opcode::write, 0, 4)).ok());
    REQUIRE(a.run(a.command(nvm_opcode::write_zeroes, 1, 2)).ok());
    std::memset(a.bytes(0), 0x11, 4 * block_bytes);
    REQUIRE(a.run(a.command(nvm_opcode::read, 0, 4)).ok());
    CHECK(a.all(0, 0x77));
    CHECK(a.all(1, 0));
    CHECK(a.all(2, 0));
    CHECK(a.all(3, 0x77));
    std::memset(a.bytes(2), 0x33, block_bytes);
    REQUIRE(a.run(a.command(nvm_opcode::write, 2)).ok());
    std::memset(a.bytes(2), 0, block_bytes);
    REQUIRE(a.run(a.command(nvm_opcode::read, 2)).ok());
    CHECK(a.all(2, 0x33));
  }
}

TEST_CASE(
    "Write Zeroes gives pages back: a device far smaller than what was written stays usable") {
  small_array a(1);
  for (int round = 0; round < 200; ++round) {  // 800 pages through a device of 64
    CAPTURE(round);
    REQUIRE(a.run(a.command(nvm_opcode::write, 0, 4)).ok());
    REQUIRE(a.run(a.command(nvm_opcode::write_zeroes, 0, 4)).ok());
  }
}

TEST_CASE("Write Zeroes carries no data, obeys rights, capacity and stripes, and any length") {
  small_array a(1);
  auto with_data = a.command(nvm_opcode::write_zeroes, 0);
  with_data.dptr = a.command(nvm_opcode::read, 0).dptr;
  CHECK(is(a.run(with_data), generic_status::invalid_sgl_length));
  CHECK(is(a.run(a.command(nvm_opcode::write_zeroes, 3, 2)), wire::afa::status::crosses_stripe));
  // Longer than any read or write may be: only the stripe is in the way.
  CHECK(is(a.run(a.command(nvm_opcode::write_zeroes, 0, 33)), wire::afa::status::crosses_stripe));
  CHECK(is(a.run(a.command(nvm_opcode::write_zeroes, 256)), wire::afa::status::beyond_capacity));
  wire::afa::volume_chmod change{};
  change.version = wire::afa::payload_version;
  change.vid = 9;
  change.client_count = 1;
  change.clients[0] = {node_fixture::client.value, wire::afa::right_read};
  REQUIRE(a.f.drive(0).volume_chmod(1, change) == 0);
  CHECK(is(a.run(a.command(nvm_opcode::write_zeroes, 0)), wire::afa::status::not_permitted));
  CHECK(a.run(a.command(nvm_opcode::read, 0)).ok());
}

/// Get LBA Status through an admin queue: what an SSD of several shards has, and bad requests.
#include "sharded_ssd.hpp"
#include <gnstor/wire/afa/status.hpp>
#include <gnstor/wire/nvme/lba_status.hpp>

#include <vector>

using namespace gnstor;
using namespace gnstor::test;
using wire::nvme::generic_status;
using wire::nvme::lba_status_descriptor;
using wire::nvme::lba_status_list;
using wire::nvme::nvm_opcode;
using wire::nvme::submission_entry;

namespace {

constexpr std::uint32_t blocks = sharded_ssd::stripes * sharded_ssd::stripe_blocks;

/// An SSD that is asked by channel 0, an admin queue, and written by channel 1.
struct asked_ssd : sharded_ssd {
  explicit asked_ssd(std::uint32_t service_lanes) : sharded_ssd(service_lanes, 2) {
    f.image.here(f.node.queues)[0].joined.queue_id = 0;
  }
  void write(std::uint32_t block) { REQUIRE(run(command(nvm_opcode::write, block), 1).ok()); }
  submission_entry asking(std::uint32_t first, std::uint32_t count,
                          std::uint32_t bytes = block_bytes) const {
    auto e = wire::nvme::make_get_lba_status(0, 1, slba(first), count, bytes);
    e.cdw2 = 1;
    e.dptr = wire::nvme::make_keyed_sgl(f.block(1).address, bytes, node_fixture::key);
    return e;
  }
  /// The blocks that an answer names, after its completion.
  std::vector<std::uint32_t> said() {
    lba_status_list list;
    std::memcpy(&list, answer(), sizeof list);
    std::vector<std::uint32_t> all{list.completion};
    for (std::uint32_t k = 0; k < list.descriptors; ++k) {
      lba_status_descriptor d;
      std::memcpy(&d, answer() + sizeof list + k * sizeof d, sizeof d);
      for (std::uint32_t n = 0; n < d.blocks; ++n)
        all.push_back(static_cast<std::uint32_t>(d.slba + n - slba(0)));
    }
    return all;
  }
};

bool refused(status s, generic_status why) {
  return s.code == status_code::nvme_error && s.nvme_type == 0 &&
         s.nvme_code == static_cast<std::uint8_t>(why);
}
bool refused(status s, wire::afa::status why) {
  return s.code == status_code::nvme_error && s.nvme_type == 7 &&
         s.nvme_code == static_cast<std::uint8_t>(why);
}

}  // namespace

TEST_CASE("an SSD says which blocks of a range it has, whatever shards they lie in") {
  for (const std::uint32_t lanes : {1u, 32u}) {
    asked_ssd ssd(lanes);
    REQUIRE(ssd.run(ssd.asking(0, blocks)).ok());
    CHECK(ssd.said() == std::vector<std::uint32_t>{wire::nvme::lba_status_whole});
    for (const std::uint32_t block : {0u, 1u, 2u, 3u, 4u, 17u, 63u, 64u, 100u, 159u})
      ssd.write(block);
    REQUIRE(ssd.run(ssd.asking(0, blocks)).ok());
    CHECK(ssd.said() == std::vector<std::uint32_t>{2, 0, 1, 2, 3, 4, 17, 63, 64, 100, 159});
    REQUIRE(ssd.run(ssd.asking(2, 62)).ok());
    CHECK(ssd.said() == std::vector<std::uint32_t>{2, 2, 3, 4, 17, 63});
  }
}

TEST_CASE("an answer that does not fit says so, and names what fits") {
  asked_ssd ssd(1);
  for (const std::uint32_t block : {0u, 9u, 20u}) ssd.write(block);
  REQUIRE(ssd.run(ssd.asking(0, blocks, 8 + 2 * 16)).ok());
  CHECK(ssd.said() == std::vector<std::uint32_t>{wire::nvme::lba_status_full, 0, 9});
  REQUIRE(ssd.run(ssd.asking(0, blocks, 8)).ok());
  CHECK(ssd.said() == std::vector<std::uint32_t>{wire::nvme::lba_status_full});
}

TEST_CASE("an SSD that is being filled does not say what it has") {
  asked_ssd ssd(1);
  ssd.write(5);
  REQUIRE(ssd.f.drive(0).array_update({wire::afa::payload_version, 2, 0, 1}) == 0);
  auto e = ssd.asking(0, 8);
  e.cdw2 = 2;
  CHECK(refused(ssd.run(e), wire::afa::status::rebuilding));
}

TEST_CASE("what is wrong with a Get LBA Status is said in its own status") {
  asked_ssd ssd(1);
  CHECK(refused(ssd.run(ssd.asking(0, 0)), generic_status::invalid_field));
  CHECK(refused(ssd.run(ssd.asking(0, 1025)), generic_status::invalid_field));
  CHECK(refused(ssd.run(ssd.asking(0, blocks + 1)), wire::afa::status::beyond_capacity));
  CHECK(refused(ssd.run(ssd.asking(blocks, 1)), wire::afa::status::beyond_capacity));
  auto e = ssd.asking(0, 1);
  e.cdw13 = 0x10u << 24 | 1;
  CHECK(refused(ssd.run(e), generic_status::invalid_field));
  e = ssd.asking(0, 1);
  e.cdw2 = 9;
  CHECK(refused(ssd.run(e), wire::afa::status::stale_epoch));
  e = ssd.asking(0, 1);
  e.cdw12 = 0;
  CHECK(refused(ssd.run(e), generic_status::invalid_sgl_length));
  e = ssd.asking(0, 1);
  e.cdw12 = block_bytes / 4;  // a dword more than the host has room for
  CHECK(refused(ssd.run(e), generic_status::invalid_sgl_length));
  const auto of = [&](volume_id vid, client_id client) {
    auto other = ssd.asking(0, 1);
    const std::uint64_t at = wire::afa::pack_slba(vid, client, vba(0));
    other.cdw10 = static_cast<std::uint32_t>(at);
    other.cdw11 = static_cast<std::uint32_t>(at >> 32);
    return other;
  };
  CHECK(
      refused(ssd.run(of(volume_id(11), node_fixture::client)), wire::afa::status::unknown_volume));
  CHECK(refused(ssd.run(of(volume_id(10), client_id(9))), wire::afa::status::wrong_client));
}

/// DIRTY REGIONS through a queue pair: what an SSD of several shards has marked, and bad requests.
// label: thorough
#include "sharded_ssd.hpp"
#include <gnstor/wire/afa/io_opcode.hpp>

using namespace gnstor;
using namespace gnstor::test;
using wire::afa::dirty_regions;
using wire::nvme::generic_status;
using wire::nvme::nvm_opcode;
using wire::nvme::submission_entry;

namespace {

/// An SSD that is asked for dirty regions.
struct asked_ssd : sharded_ssd {
  using sharded_ssd::sharded_ssd;
  submission_entry of_stripe(nvm_opcode op, std::uint32_t stripe) const {
    return command(op, stripe * stripe_blocks);
  }
  submission_entry asking(std::uint32_t at = 0, std::uint32_t bytes = block_bytes,
                          std::uint32_t key = node_fixture::key) const {
    auto e = command(nvm_opcode::read, 0);
    e.opcode = static_cast<std::uint8_t>(wire::afa::io_opcode::dirty_regions);
    e.dptr = wire::nvme::make_keyed_sgl(f.block(1).address + at, bytes, key);
    return e;
  }
  dirty_regions said() {
    dirty_regions d;
    std::memcpy(&d, answer(), sizeof d);
    return d;
  }
};

bool is(status s, generic_status why) {
  return s.code == status_code::nvme_error && s.nvme_type == 0 &&
         s.nvme_code == static_cast<std::uint8_t>(why);
}

}  // namespace

TEST_CASE("an SSD says where a volume is dirty, whichever of its shards has changed it") {
  for (const std::uint32_t lanes : {1u, 32u}) {
    CAPTURE(lanes);
    asked_ssd a(lanes);
    std::memset(a.f.image.here(a.f.buffer) + block_bytes, 0xa5, block_bytes);
    std::uint32_t shards = 0;
    for (std::uint32_t s = 0; s < asked_ssd::stripes; s += 2) {
      REQUIRE(a.run(a.of_stripe(nvm_opcode::write, s)).ok());
      shards |= 1u << a.f.drive(0).shard_of(volume_id(10), s);
    }
    REQUIRE(shards == 0xf);
    CHECK(a.run(a.of_stripe(nvm_opcode::read, 1)).ok());
    REQUIRE(a.run(a.asking()).ok());
    const dirty_regions d = a.said();
    CHECK(d.version == wire::afa::payload_version);
    CHECK(d.vid == 10);
    for (std::uint32_t k = 0; k < wire::afa::dirty_region_count; ++k)
      CHECK(d.holds(k) == (k < asked_ssd::stripes && k % 2 == 0));
  }
}

TEST_CASE("an SSD answers once each of its shards has had its turn, and not before") {
  for (std::uint32_t stalled = 0; stalled < 4; ++stalled) {
    CAPTURE(stalled);
    asked_ssd a(1);
    const auto turn = [&](bool all) {
      const simt::group me = simt::group::self();
      for (std::uint32_t rounds = 0; rounds < 20; ++rounds) {
        for (std::uint32_t q = 0; q < a.f.node.shape.max_queues; ++q)
          fw::queue_engine::tick(a.f.node, q, me);
        for (std::uint32_t s = 0; s < 4; ++s) {
          if (all || s != stalled) fw::shard_engine(a.f.node, 0, s).tick(me);
        }
        (void)a.f.refs[0].poll();
      }
    };
    const result<ticket> sent = a.f.refs[0].submit(a.asking());
    REQUIRE(bool(sent));
    turn(false);
    CHECK(a.f.refs[0].try_wait(sent.value).code == status_code::would_block);
    turn(true);
    CHECK(a.f.refs[0].try_wait(sent.value).ok());
  }
}

TEST_CASE("room for an answer that is short, crooked or not open is refused") {
  asked_ssd a(1);
  CHECK(is(a.run(a.asking(0, sizeof(dirty_regions) - 8)), generic_status::invalid_sgl_length));
  CHECK(is(a.run(a.asking(4, 256)), generic_status::invalid_sgl_offset));
  CHECK(a.run(a.asking(0, sizeof(dirty_regions))).ok());
  CHECK_FALSE(a.run(a.asking(0, 256, node_fixture::foreign_key)).ok());  // and breaks the queue
}

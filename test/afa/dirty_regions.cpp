/// DIRTY REGIONS through a queue pair: what an SSD of several shards has marked, and bad requests.
#include "one_command.hpp"
#include <gnstor/wire/afa/io_opcode.hpp>
#include <gnstor/wire/nvme/read_write.hpp>

using namespace gnstor;
using namespace gnstor::test;
using wire::afa::dirty_regions;
using wire::nvme::generic_status;
using wire::nvme::nvm_opcode;
using wire::nvme::submission_entry;

namespace {

constexpr std::uint32_t stripe_blocks = 4;
constexpr std::uint32_t stripes = 40;

/// One SSD of four shards, whose volume a client may read, write and fill.
struct sharded_ssd {
  explicit sharded_ssd(std::uint32_t service_lanes)
      : lanes(service_lanes), f({.ssds = 1, .shards = 4, .depth = 8, .pages = 512}) {
    wire::afa::volume_record r{};
    r.version = wire::afa::payload_version;
    r.vid = 10;
    r.replicas = 1;
    r.hash_factor = 77;
    r.capacity_blocks = stripes * stripe_blocks;
    r.stripe_blocks = stripe_blocks;
    r.epoch = 1;
    r.client_count = 1;
    r.clients[0] = {node_fixture::client.value,
                    wire::afa::right_read | wire::afa::right_write | wire::afa::right_fill};
    REQUIRE(f.drive(0).volume_add(1, r) == 0);
    f.connect(0);
  }
  submission_entry command(nvm_opcode op, std::uint32_t stripe) const {
    auto e = wire::nvme::make_read_write(
        op, 0, 1,
        wire::afa::pack_slba(volume_id(10), node_fixture::client, vba(stripe * stripe_blocks)), 1,
        wire::nvme::make_keyed_sgl(f.block(0).address, block_bytes, node_fixture::key));
    e.cdw2 = 1;
    return e;
  }
  submission_entry asking(std::uint32_t at = 0, std::uint32_t bytes = block_bytes,
                          std::uint32_t key = node_fixture::key) const {
    auto e = command(nvm_opcode::read, 0);
    e.opcode = static_cast<std::uint8_t>(wire::afa::io_opcode::dirty_regions);
    e.dptr = wire::nvme::make_keyed_sgl(f.block(1).address + at, bytes, key);
    return e;
  }
  status run(const submission_entry& e) { return one_command(f, e, lanes); }
  dirty_regions said() {
    dirty_regions d;
    std::memcpy(&d, f.image.here(f.buffer) + block_bytes, sizeof d);
    return d;
  }

  std::uint32_t lanes;
  node_fixture f;
};

bool is(status s, generic_status why) {
  return s.code == status_code::nvme_error && s.nvme_type == 0 &&
         s.nvme_code == static_cast<std::uint8_t>(why);
}

}  // namespace

TEST_CASE("an SSD says where a volume is dirty, whichever of its shards has changed it") {
  for (const std::uint32_t lanes : {1u, 32u}) {
    CAPTURE(lanes);
    sharded_ssd a(lanes);
    std::memset(a.f.image.here(a.f.buffer) + block_bytes, 0xa5, block_bytes);
    std::uint32_t shards = 0;
    for (std::uint32_t s = 0; s < stripes; s += 2) {
      REQUIRE(a.run(a.command(nvm_opcode::write, s)).ok());
      shards |= 1u << a.f.drive(0).shard_of(volume_id(10), s);
    }
    REQUIRE(shards == 0xf);
    CHECK(a.run(a.command(nvm_opcode::read, 1)).ok());
    REQUIRE(a.run(a.asking()).ok());
    const dirty_regions d = a.said();
    CHECK(d.version == wire::afa::payload_version);
    CHECK(d.vid == 10);
    for (std::uint32_t k = 0; k < wire::afa::dirty_region_count; ++k)
      CHECK(d.holds(k) == (k < stripes && k % 2 == 0));
  }
}

TEST_CASE("an SSD answers once each of its shards has had its turn, and not before") {
  for (std::uint32_t stalled = 0; stalled < 4; ++stalled) {
    CAPTURE(stalled);
    sharded_ssd a(1);
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
  sharded_ssd a(1);
  CHECK(is(a.run(a.asking(0, sizeof(dirty_regions) - 8)), generic_status::invalid_sgl_length));
  CHECK(is(a.run(a.asking(4, 256)), generic_status::invalid_sgl_offset));
  CHECK(a.run(a.asking(0, sizeof(dirty_regions))).ok());
  CHECK_FALSE(a.run(a.asking(0, 256, node_fixture::foreign_key)).ok());  // and breaks the queue
}

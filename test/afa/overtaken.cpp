/// Reads that are under way while their volume is spread over another SSD.
#include "node_fixture.hpp"
#include "qp/seed_sweep.hpp"
#include <gnstor/simt_host/lone_lane.hpp>
#include <gnstor/wire/afa/status.hpp>

using namespace gnstor;
using namespace gnstor::test;
using wire::afa::volume_spread;
using wire::nvme::nvm_opcode;

namespace {

constexpr std::uint16_t vid = 5;
constexpr std::uint32_t stripe = 4;

/// Three SSDs, and a volume over the first two of them; the third joins.
struct joined_array {
  joined_array() : f({.ssds = 3}) {
    f.connect(0);
    wire::afa::volume_record r{};
    r.version = wire::afa::payload_version;
    r.vid = vid;
    r.replicas = 2;
    r.hash_factor = 77;
    r.capacity_blocks = 256;
    r.stripe_blocks = stripe;
    r.ssd_count = 2;
    r.client_count = 1;
    r.clients[0] = {node_fixture::client.value, wire::afa::right_read | wire::afa::right_write};
    REQUIRE(f.drive(0).volume_add(1, r) == 0);
    while (rendezvous_placement(3).holds(volume_id(vid), 77, moving / stripe, 2, ssd_index(0)))
      moving += stripe;
  }
  /// Sends a command on blocks of the stripe that SSD 0 gives up; the NIC has it then.
  ticket send(nvm_opcode op, std::uint32_t blocks) {
    io_buffer b = f.block(0);
    auto e = wire::nvme::make_read_write(
        op, 0, 1, wire::afa::pack_slba(volume_id(vid), node_fixture::client, vba(moving)), blocks,
        wire::nvme::make_keyed_sgl(b.address, blocks * block_bytes, node_fixture::key));
    e.cdw2 = 1;
    const result<ticket> t = f.refs[0].submit(e);
    REQUIRE(t.status.ok());
    fw::queue_engine::tick(f.node, 0, simt::group::self());
    fw::queue_engine::tick(f.node, 0, simt::group::self());
    return t.value;
  }
  status finish(const ticket& t) {
    status s;
    for (std::uint32_t k = 0; k < 100; ++k) {
      f.step();
      (void)f.refs[0].poll();
      s = f.refs[0].try_wait(t);
      if (s.code != status_code::would_block) break;
    }
    return s;
  }
  void spread(volume_spread how, std::uint32_t epoch) {
    wire::afa::volume_chmod change{};
    change.version = wire::afa::payload_version;
    change.vid = vid;
    change.ssd_count = 3;
    change.spread = how;
    REQUIRE(f.drive(0).volume_chmod(epoch, change) == 0);
  }

  node_fixture f;
  std::uint32_t moving = 0;
};

/// A warp that serves the copies of one read.
struct copying_warp {
  template <class Lane>
  void operator()(Lane&, const fw::node* n) const {
    const simt::group g = simt::group::whole_warp();
    for (std::uint32_t k = 0; k < 2 * stripe; ++k) fw::copy_engine::tick(*n, 0, g);
  }
};
struct next_epoch {
  template <class Lane>
  void operator()(Lane&, const fw::node* n) const {
    (void)n->ssds[0].array_update({wire::afa::payload_version, 2, 0, 0});
  }
};

/// Blocks that were never written are read while the epoch changes: no page is half zeroes.
std::string overtaken_by_half(host::options chosen) {
  joined_array a;
  unsigned char* bytes = a.f.image.here(a.f.buffer);
  std::memset(bytes, 0x11, stripe * block_bytes);
  {
    simt::host::lone_lane lane;
    (void)a.send(nvm_opcode::read, stripe);
    for (std::uint32_t k = 0; k < a.f.node.shape.shards; ++k)
      fw::shard_engine(a.f.node, 0, k).tick(simt::group::self());
  }
  host::executor machine(chosen);
  machine.spawn(1, 32, copying_warp{}, &a.f.node);
  machine.spawn(1, 1, next_epoch{}, &a.f.node);
  if (std::string fault = run_to_end(machine); !fault.empty()) return fault;
  for (std::uint32_t k = 0; k < stripe; ++k) {
    const unsigned char* page = bytes + std::size_t{k} * block_bytes;
    if (std::memcmp(page, page + 1, block_bytes - 1) != 0) return "half of a page was cleared";
  }
  return a.f.drive(0).epoch() == 2 ? "" : "the epoch did not change";
}

}  // namespace

TEST_CASE("the lanes of a warp agree whether an epoch has overtaken their read") {
  sweep(host::mode::seeded, 200, overtaken_by_half);
}

TEST_CASE("a read that another epoch overtakes ends with an error where its blocks have gone") {
  for (const std::uint32_t blocks : {2u, stripe}) {
    for (const int orders : {0, 1, 2}) {
      CAPTURE(blocks);
      CAPTURE(orders);
      simt::host::lone_lane lane;
      joined_array a;
      unsigned char* bytes = a.f.image.here(a.f.buffer);
      std::memset(bytes, 0x77, blocks * block_bytes);
      REQUIRE(a.finish(a.send(nvm_opcode::write, blocks)).ok());
      std::memset(bytes, 0x11, blocks * block_bytes);
      const ticket t = a.send(nvm_opcode::read, blocks);
      if (orders > 0) a.spread(volume_spread::moved, 1);
      REQUIRE(a.f.drive(0).array_update({wire::afa::payload_version, 2, 0, 0}) == 0);
      if (orders > 1) a.spread(volume_spread::dropping, 2);
      while (a.f.drive(0).tend(0, 8)) continue;
      const status s = a.finish(t);
      if (orders == 2) {
        CHECK(s.code == status_code::nvme_error);
        CHECK(s.nvme_type == 7);
        CHECK(s.nvme_code == static_cast<std::uint8_t>(wire::afa::status::stale_epoch));
        // Another SSD's answer may be there.
        for (std::uint32_t k = 0; k < blocks * block_bytes; ++k) REQUIRE(bytes[k] == 0x11);
      } else {
        CHECK(s.ok());
        for (std::uint32_t k = 0; k < blocks * block_bytes; ++k) REQUIRE(bytes[k] == 0x77);
      }
    }
  }
}

TEST_CASE("a read of what was never written gives zeroes, as long as its epoch lasts") {
  simt::host::lone_lane lane;
  joined_array a;
  unsigned char* bytes = a.f.image.here(a.f.buffer);
  std::memset(bytes, 0x11, stripe * block_bytes);
  REQUIRE(a.finish(a.send(nvm_opcode::read, stripe)).ok());
  for (std::uint32_t k = 0; k < stripe * block_bytes; ++k) REQUIRE(bytes[k] == 0);
}

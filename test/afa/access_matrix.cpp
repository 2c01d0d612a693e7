/// Who may do what: every right by every command by every set of forged fields, sent through a
/// queue pair. What must be refused is, with the status of the first check that fails, in the order
/// that `engine_ref::check` documents; what is allowed succeeds.
#include "courier.hpp"
#include "node_fixture.hpp"
#include "qp/seed_sweep.hpp"
#include <gnstor/wire/afa/io_opcode.hpp>
#include <gnstor/wire/nvme/read_write.hpp>

using namespace gnstor;
using namespace gnstor::test;
using wire::nvme::nvm_opcode;

constexpr auto fill = static_cast<nvm_opcode>(wire::afa::io_opcode::fill);
constexpr auto regions = static_cast<nvm_opcode>(wire::afa::io_opcode::dirty_regions);
constexpr auto forget = static_cast<nvm_opcode>(wire::afa::io_opcode::forget);

namespace {

constexpr std::uint16_t unlisted = 8;  ///< rights of a client that the volume does not know

/// Fields of a command that can be wrong, in the order in which they are looked at.
enum forgery : std::uint32_t {
  another_client = 1,
  old_epoch = 2,
  unknown_vid = 4,
  // the right comes here
  behind_the_end = 8,
  across_stripes = 16,
  another_ssd = 32,
  all_forgeries = 64,
};

/// A node of four SSDs and a volume that this client has `rights` to.
struct bench {
  explicit bench(std::uint16_t rights) : f({.depth = 8}) {
    const auto set = rendezvous_placement(4).replicas(volume_id(9), 77, 0, 2);
    for (std::uint16_t s = 0; s < 4; ++s) (set.contains(ssd_index(s)) ? right : wrong) = s;
    for (std::uint32_t s = 0; s < 4; ++s) {
      wire::afa::volume_record r{};
      REQUIRE(f.drive(s).volume_delete(1, volume_id(9)) == 0);
      r.version = wire::afa::payload_version;
      r.vid = 9;
      r.replicas = 2;
      r.hash_factor = 77;
      r.capacity_blocks = 64;
      r.stripe_blocks = 4;
      r.epoch = 1;
      r.client_count = rights == 0 ? 0 : 1;
      if (rights == unlisted) {
        r.clients[0] = {8, wire::afa::right_read | wire::afa::right_write};
      } else if (rights != 0) {
        r.clients[0] = {node_fixture::client.value, rights};
      }
      REQUIRE(f.drive(s).volume_add(1, r) == 0);
    }
    f.connect(0);
  }

  courier_request command(nvm_opcode op, std::uint32_t forged) const {
    const bool crosses = (forged & across_stripes) != 0;
    const std::uint32_t blocks = crosses ? 2 : 1;
    // The last block of a stripe: one more is in the next.
    const std::uint32_t first = ((forged & behind_the_end) != 0 ? 64u : 0u) + (crosses ? 3 : 0);
    const bool moves = op != nvm_opcode::write_zeroes && op != forget;
    auto e = wire::nvme::make_read_write(
        op, 0, 1u + ((forged & another_ssd) != 0 ? wrong : right),
        wire::afa::pack_slba(volume_id((forged & unknown_vid) != 0 ? 8 : 9),
                             (forged & another_client) != 0 ? client_id(8) : node_fixture::client,
                             vba(first)),
        blocks,
        moves ? wire::nvme::make_keyed_sgl(f.block(0).address, blocks * block_bytes,
                                           node_fixture::key)
              : wire::nvme::make_keyed_sgl(0, 0, 0));
    e.cdw2 = (forged & old_epoch) != 0 ? 0 : 1;
    return {e};
  }

  node_fixture f;
  std::uint16_t right = 0;
  std::uint16_t wrong = 0;
};

/// Why a command must be refused; 0 where it must succeed.
std::uint8_t reason(std::uint16_t rights, nvm_opcode op, std::uint32_t forged) {
  const auto code = [](wire::afa::status s) { return static_cast<std::uint8_t>(s); };
  if ((forged & another_client) != 0) return code(wire::afa::status::wrong_client);
  // The epoch is compared after the volume was looked up, and reported before what was found.
  if ((forged & old_epoch) != 0) return code(wire::afa::status::stale_epoch);
  if ((forged & unknown_vid) != 0) return code(wire::afa::status::unknown_volume);
  const bool fills = op == fill || op == regions || op == forget;
  const std::uint16_t needs = op == nvm_opcode::read ? wire::afa::right_read
                              : fills                ? wire::afa::right_fill
                                                     : wire::afa::right_write;
  if (rights == unlisted || (rights & needs) == 0) return code(wire::afa::status::not_permitted);
  if (op == regions) return 0;  // it is about the volume as a whole
  if ((forged & behind_the_end) != 0) return code(wire::afa::status::beyond_capacity);
  if ((forged & across_stripes) != 0) return code(wire::afa::status::crosses_stripe);
  if ((forged & another_ssd) != 0) return code(wire::afa::status::wrong_ssd);
  return op == forget ? code(wire::afa::status::not_permitted) : 0;  // this SSD is in sync
}

}  // namespace

TEST_CASE("every command with every right and every set of forged fields ends as documented") {
  std::uint32_t allowed = 0;
  std::uint32_t refused = 0;
  for (std::uint16_t rights = 0; rights <= unlisted; ++rights) {
    bench b(rights);
    for (const nvm_opcode op :
         {nvm_opcode::read, nvm_opcode::write, nvm_opcode::write_zeroes, fill, regions, forget}) {
      std::vector<courier_request> requests;
      for (std::uint32_t forged = 0; forged < all_forgeries; ++forged)
        requests.push_back(b.command(op, forged));
      *b.f.node.stop = 0;
      host::executor machine;
      machine.spawn(
          1, 1,
          courier{b.f.channels, requests.data(), static_cast<std::uint32_t>(requests.size())});
      machine.serve_in(simt::domain::nic, b.f.node.shape.roles(), 1, *b.f.node.stop,
                       fw::service{b.f.node});
      machine.run();
      for (std::uint32_t forged = 0; forged < all_forgeries; ++forged) {
        CAPTURE(rights);
        CAPTURE(static_cast<int>(op));
        CAPTURE(forged);
        const gnstor::status& said = requests[forged].outcome;
        const std::uint8_t why = reason(rights, op, forged);
        (why == 0 ? allowed : refused) += 1;
        CHECK(said.ok() == (why == 0));
        CHECK(said.nvme_type == (why == 0 ? 0 : 7));
        CHECK(said.nvme_code == why);
      }
    }
  }
  CHECK(allowed == 16 + 4 * 8);
  CHECK(refused == 9 * 6 * all_forgeries - allowed);
}

TEST_CASE("an SSD that is gone says nothing of rights, epochs or volumes, which it may not know") {
  bench b(unlisted);
  b.f.node.faults[b.right] = static_cast<std::uint32_t>(fw::ssd_fault::dead);
  b.f.node.faults[b.wrong] = static_cast<std::uint32_t>(fw::ssd_fault::dead);
  std::vector<courier_request> requests;
  for (const nvm_opcode op : {nvm_opcode::read, nvm_opcode::write}) {
    for (std::uint32_t forged = 0; forged < all_forgeries; ++forged)
      requests.push_back(b.command(op, forged));
  }
  host::executor machine;
  machine.spawn(
      1, 1, courier{b.f.channels, requests.data(), static_cast<std::uint32_t>(requests.size())});
  machine.serve_in(simt::domain::nic, b.f.node.shape.roles(), 1, *b.f.node.stop,
                   fw::service{b.f.node});
  machine.run();
  for (const courier_request& r : requests) {
    CHECK(r.outcome.nvme_type == 0);
    CHECK(r.outcome.nvme_code ==
          static_cast<std::uint8_t>(wire::nvme::generic_status::internal_error));
  }
}

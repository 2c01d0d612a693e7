/// Bits that flip in flash: whoever reads them gets an error, alone or in a larger command, before
/// and after garbage collection has moved them.
// label: thorough
#include "courier.hpp"
#include "node_fixture.hpp"
#include "qp/seed_sweep.hpp"
#include <gnstor/wire/nvme/read_write.hpp>

using namespace gnstor;
using namespace gnstor::test;
using wire::nvme::nvm_opcode;

namespace {

/// A node of one SSD, and commands to it.
struct bench {
  explicit bench(host::options o) : f({.ssds = 1, .pages = 64}), how(o) { f.connect(0); }

  courier_request io(nvm_opcode op, std::uint32_t first, std::uint32_t count,
                     std::uint32_t buffer = 0) const {
    auto e = wire::nvme::make_read_write(
        op, 0, 1, wire::afa::pack_slba(volume_id(9), node_fixture::client, vba(first)), count,
        wire::nvme::make_keyed_sgl(f.block(buffer).address, count * block_bytes,
                                   node_fixture::key));
    e.cdw2 = f.node.shape.epoch;
    return {e};
  }
  std::string run(std::vector<courier_request>& requests) {
    *f.node.stop = 0;
    how.step_budget = 50'000'000;
    host::executor machine(how);
    machine.spawn(
        1, 1, courier{f.channels, requests.data(), static_cast<std::uint32_t>(requests.size())});
    machine.serve_in(simt::domain::nic, f.node.shape.roles(), 1, *f.node.stop, fw::service{f.node});
    return run_to_end(machine);
  }
  /// The page of a block of the volume.
  std::uint32_t page_of(std::uint32_t block) {
    fw::request r;
    r.vid = volume_id(9);
    r.client = r.bound_client = node_fixture::client;
    r.first = vba(block);
    r.blocks = 1;
    r.epoch = f.node.shape.epoch;
    const fw::admission a = f.drive(0).check(r);
    std::uint32_t page = 0;
    f.drive(0).lookup(a, &page);
    if (page != fw::node::ssd::no_page) f.drive(0).unpin(page);
    return page;
  }

  node_fixture f;
  host::options how;
};

bool ok(const courier_request& e) { return e.outcome.ok(); }
bool damaged(const courier_request& e) {
  return e.outcome.code == status_code::nvme_error && e.outcome.nvme_type == 2 &&
         e.outcome.nvme_code == 0x81;
}

/// Four blocks are written and a bit of the third flips.
std::string flipped(host::options chosen) {
  bench b(chosen);
  for (std::uint32_t k = 0; k < 4 * block_bytes; ++k)
    b.f.buffer[k] = static_cast<unsigned char>(mix64(k + chosen.seed));
  std::vector<courier_request> writes{b.io(nvm_opcode::write, 0, 4)};
  if (std::string fault = b.run(writes); !fault.empty()) return fault;
  if (!ok(writes[0])) return "the write failed";
  const std::uint64_t draw = mix64(chosen.seed);
  auto* page = static_cast<unsigned char*>(b.f.drive(0).page(b.page_of(2)));
  page[draw % block_bytes] ^= static_cast<unsigned char>(1u << ((draw >> 32) % 8));
  std::vector<courier_request> reads;
  for (std::uint32_t k = 0; k < 4; ++k) reads.push_back(b.io(nvm_opcode::read, k, 1, 4));
  reads.push_back(b.io(nvm_opcode::read, 0, 4, 4));
  reads.push_back(b.io(nvm_opcode::read, 1, 2, 4));
  reads.push_back(b.io(nvm_opcode::read, 0, 2, 4));
  if (std::string fault = b.run(reads); !fault.empty()) return fault;
  for (std::uint32_t k = 0; k < 7; ++k) {
    const bool holds_it = k == 2 || k == 4 || k == 5;
    if (holds_it ? !damaged(reads[k]) : !ok(reads[k]))
      return "read " + std::to_string(k) + " ended with " +
             std::to_string(reads[k].outcome.nvme_code);
  }
  // What is written anew is whole again.
  std::vector<courier_request> again{b.io(nvm_opcode::write, 2, 1),
                                     b.io(nvm_opcode::read, 0, 4, 4)};
  if (std::string fault = b.run(again); !fault.empty()) return fault;
  return ok(again[0]) && ok(again[1]) ? "" : "the block stayed damaged";
}

/// A block with a flipped bit is moved by garbage collection, and so is one without.
std::string moved(host::options chosen) {
  bench b(chosen);
  constexpr std::uint32_t live = 15;  // of the 16 that the SSD's volumes can hold
  std::vector<courier_request> fill;
  for (std::uint32_t k = 0; k < live; ++k) fill.push_back(b.io(nvm_opcode::write, k, 1));
  if (std::string fault = b.run(fill); !fault.empty()) return fault;
  const std::uint32_t before = b.page_of(0);
  const std::uint32_t sound_before = b.page_of(1);
  static_cast<unsigned char*>(b.f.drive(0).page(before))[chosen.seed % block_bytes] ^= 4;
  std::vector<courier_request> overwrites;
  for (std::uint32_t k = 0; k < 200; ++k)
    overwrites.push_back(b.io(nvm_opcode::write, static_cast<std::uint32_t>(2 + mix64(k) % 13), 1));
  if (std::string fault = b.run(overwrites); !fault.empty()) return fault;
  if (b.page_of(0) == before || b.page_of(1) == sound_before) return "the pages were not moved";
  std::vector<courier_request> reads{b.io(nvm_opcode::read, 0, 1, 4),
                                     b.io(nvm_opcode::read, 1, 1, 4)};
  if (std::string fault = b.run(reads); !fault.empty()) return fault;
  if (!damaged(reads[0])) return "a move hid the damage";
  return ok(reads[1]) ? "" : "a page that was moved is no longer what it was";
}

/// An SSD that cannot tell which blocks were never written.
std::string doubtful(host::options chosen) {
  bench b(chosen);
  for (std::uint32_t k = 0; k < 4 * block_bytes; ++k)
    b.f.buffer[k] = static_cast<unsigned char>(mix64(k + chosen.seed));
  std::vector<courier_request> writes{b.io(nvm_opcode::write, 0, 1), b.io(nvm_opcode::write, 3, 1)};
  if (std::string fault = b.run(writes); !fault.empty()) return fault;
  b.f.drive(0).parts().header().doubts = fw::doubt_record::of(~std::uint64_t{0}, 0, ~0u);
  std::memset(b.f.buffer + 4 * block_bytes, 0x5a, 4 * block_bytes);
  std::vector<courier_request> reads;
  for (std::uint32_t k = 0; k < 4; ++k) reads.push_back(b.io(nvm_opcode::read, k, 1, 4 + k));
  if (std::string fault = b.run(reads); !fault.empty()) return fault;
  for (std::uint32_t k = 0; k < 4; ++k) {
    const bool known = k == 0 || k == 3;
    if (known ? !ok(reads[k]) : !damaged(reads[k]))
      return "read " + std::to_string(k) + " ended with " +
             std::to_string(reads[k].outcome.nvme_code);
    if (!known && b.f.buffer[(4 + k) * block_bytes] != 0x5a) return "zeroes were given";
  }
  std::vector<courier_request> all{b.io(nvm_opcode::read, 0, 4, 4)};
  if (std::string fault = b.run(all); !fault.empty()) return fault;
  if (!damaged(all[0])) return "the command that reads them with others succeeded";
  // What is written or deallocated since is known.
  auto zeroes =
      wire::nvme::make_read_write(nvm_opcode::write_zeroes, 0, 1,
                                  wire::afa::pack_slba(volume_id(9), node_fixture::client, vba(2)),
                                  2, wire::nvme::make_empty_sgl());
  zeroes.cdw2 = b.f.node.shape.epoch;
  std::vector<courier_request> mends{b.io(nvm_opcode::write, 1, 1), {zeroes}};
  if (std::string fault = b.run(mends); !fault.empty()) return fault;
  std::vector<courier_request> again{b.io(nvm_opcode::read, 0, 4, 4)};
  if (std::string fault = b.run(again); !fault.empty()) return fault;
  if (!ok(mends[0]) || !ok(mends[1]) || !ok(again[0])) return "the blocks stayed unreadable";
  for (std::uint32_t k = 0; k < 2 * block_bytes; ++k) {
    if (b.f.buffer[6 * block_bytes + k] != 0) return "what was deallocated is not zero";
  }
  return "";
}

}  // namespace

TEST_CASE("a flipped bit is reported to those who read it, and to nobody else") {
  CHECK(flipped({.run = host::mode::fast}) == "");
  sweep(host::mode::seeded, 10, flipped);
  sweep(host::mode::weak, 10, flipped);
}

TEST_CASE("a flipped bit is not hidden by garbage collection") {
  CHECK(moved({.run = host::mode::fast}) == "");
  sweep(host::mode::seeded, 3, moved);
}

TEST_CASE("what an SSD cannot tell is a media error and not zeroes, until it is written") {
  CHECK(doubtful({.run = host::mode::fast}) == "");
  sweep(host::mode::seeded, 10, doubtful);
  sweep(host::mode::weak, 10, doubtful);
}

TEST_CASE("what was damaged does not reach the client's memory") {
  bench b({.run = host::mode::fast});
  for (std::uint32_t k = 0; k < 4 * block_bytes; ++k)
    b.f.buffer[k] = static_cast<unsigned char>(mix64(k));
  std::vector<courier_request> writes{b.io(nvm_opcode::write, 0, 4)};
  REQUIRE(b.run(writes) == "");
  static_cast<unsigned char*>(b.f.drive(0).page(b.page_of(1)))[77] ^= 1;
  for (const std::uint32_t blocks : {1u, 3u}) {
    CAPTURE(blocks);
    unsigned char* to = b.f.buffer + 4 * block_bytes;
    std::memset(to, 0x5a, 3 * block_bytes);  // as another replica has answered
    std::vector<courier_request> reads{b.io(nvm_opcode::read, 1, blocks, 4)};
    REQUIRE(b.run(reads) == "");
    CHECK(damaged(reads[0]));
    for (std::uint32_t k = 0; k < block_bytes; ++k) REQUIRE(to[k] == 0x5a);
    if (blocks > 1)
      CHECK(std::memcmp(to + block_bytes, b.f.buffer + 2 * block_bytes, 2 * block_bytes) == 0);
  }
}

TEST_CASE("an SSD that is set not to check gives what is there") {
  bench b({.run = host::mode::fast});
  b.f.node.shape.check_reads = 0;
  std::vector<courier_request> writes{b.io(nvm_opcode::write, 0, 4)};
  REQUIRE(b.run(writes) == "");
  static_cast<unsigned char*>(b.f.drive(0).page(b.page_of(1)))[77] ^= 1;
  std::vector<courier_request> reads{b.io(nvm_opcode::read, 1, 1, 4),
                                     b.io(nvm_opcode::read, 0, 4, 4)};
  REQUIRE(b.run(reads) == "");
  CHECK(ok(reads[0]));
  CHECK(ok(reads[1]));
}

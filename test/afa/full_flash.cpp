/// Writes to an SSD whose flash is all taken: by blocks that wait for readers to pass by, and by
/// blocks that each hold something.
// label: thorough
#include "courier.hpp"
#include "node_fixture.hpp"
#include "qp/seed_sweep.hpp"
#include <gnstor/wire/nvme/read_write.hpp>

using namespace gnstor;
using namespace gnstor::test;
using wire::nvme::nvm_opcode;

namespace {

constexpr std::uint32_t blocks = 4;  ///< of a command: half an erase block of the fixture

wire::nvme::submission_entry write(const node_fixture& f, vba first, std::uint32_t count = blocks) {
  auto e = wire::nvme::make_read_write(
      nvm_opcode::write, 0, 1, wire::afa::pack_slba(volume_id(9), node_fixture::client, first),
      count,
      wire::nvme::make_keyed_sgl(f.block(0).address, count * block_bytes, node_fixture::key));
  e.cdw2 = f.node.shape.epoch;
  return e;
}

/// Three clients overwrite what is theirs again and again, four blocks of the 16 that volumes can
/// hold on an SSD of eight erase blocks: by the time the last is full, others have only stale
/// pages, and wait until every queue engine has been quiet.
std::string overwritten(host::options chosen) {
  constexpr std::uint32_t clients = 3;
  constexpr std::uint32_t times = 20;
  node_fixture f({.ssds = 1, .queues = clients, .pages = 64});
  std::vector<courier_request> requests;
  for (std::uint32_t c = 0; c < clients; ++c) {
    f.connect(c);
    requests.insert(requests.end(), times, {write(f, vba(c * blocks))});
  }
  *f.node.stop = 0;
  chosen.step_budget = 50'000'000;
  host::executor machine(chosen);
  for (std::uint32_t c = 0; c < clients; ++c)
    machine.spawn(1, 1, courier{f.channels + c, requests.data() + c * times, times});
  machine.serve_in(simt::domain::nic, f.node.shape.roles(), 1, *f.node.stop, fw::service{f.node});
  const std::string fault = run_to_end(machine);
  if (!fault.empty()) return fault;
  for (const courier_request& e : requests) {
    if (!e.outcome.ok()) return "a write was refused: " + std::to_string(e.outcome.nvme_code);
  }
  return {};
}

/// One lane that overwrites `blocks` blocks at random, and reads others back. A block's words are
/// its number and how often it was written.
struct overwriter {
  struct shared {};
  static constexpr std::uint32_t blocks = 15;  ///< of the 16 that the SSD's volumes can hold
  static constexpr std::uint32_t steps = 250;

  const mlx5_channel* channel;
  wire::nvme::submission_entry write;
  wire::nvme::submission_entry read;
  unsigned char* data;  ///< a block to write, and one to read into
  std::uint64_t seed;
  std::uint64_t* wrong;  ///< the first step that failed, plus 1

  template <class Lane>
  GNSTOR_HD void operator()(Lane&) const {
    std::uint64_t holds[blocks] = {};
    for (std::uint32_t k = 0; k < steps && *wrong == 0; ++k) {
      const std::uint64_t draw = mix64(seed << 20 | k);
      const auto b = static_cast<std::uint32_t>(k < blocks ? k : draw % blocks);
      auto* words = reinterpret_cast<std::uint64_t*>(data);
      for (std::uint32_t w = 0; w < block_bytes / 8; ++w) words[w] = std::uint64_t{k} << 32 | b;
      holds[b] = words[0];
      bool right = channel->execute(at(write, b), deadline::never()).ok();
      const auto other = static_cast<std::uint32_t>((draw >> 32) % (k < blocks ? k + 1 : blocks));
      right = right && channel->execute(at(read, other), deadline::never()).ok();
      for (std::uint32_t w = block_bytes / 8; w < block_bytes / 4; ++w)
        right = right && words[w] == holds[other];
      if (!right) *wrong = k + 1;
    }
  }

 private:
  static wire::nvme::submission_entry at(wire::nvme::submission_entry e, std::uint32_t b) {
    e.cdw10 += b;
    return e;
  }
};

/// Every erase block holds something live, so that each must be collected for another to be
/// written.
std::string collected(host::options chosen) {
  node_fixture f({.ssds = 1, .queues = 2, .pages = 64});
  f.connect(0);
  wire::nvme::submission_entry one[2];
  for (const std::uint32_t k : {0u, 1u}) {
    one[k] = wire::nvme::make_read_write(
        k == 0 ? nvm_opcode::write : nvm_opcode::read, 0, 1,
        wire::afa::pack_slba(volume_id(9), node_fixture::client, vba(0)), 1,
        wire::nvme::make_keyed_sgl(f.block(k).address, block_bytes, node_fixture::key));
    one[k].cdw2 = f.node.shape.epoch;
  }
  std::uint64_t wrong = 0;
  *f.node.stop = 0;
  chosen.step_budget = 100'000'000;
  host::executor machine(chosen);
  machine.spawn(1, 1, overwriter{f.channels, one[0], one[1], f.buffer, chosen.seed, &wrong});
  machine.serve_in(simt::domain::nic, f.node.shape.roles(), 1, *f.node.stop, fw::service{f.node});
  const std::string fault = run_to_end(machine);
  if (!fault.empty()) return fault;
  if (wrong != 0) return "step " + std::to_string(wrong - 1) + " failed or read wrong bytes";
  const fw::shard_state& s = f.drive(0).parts().shard(0);
  return s.moved > 0 ? "" : "nothing was moved";
}

/// One shard has all the garbage and nothing to do, the other wants pages all the time, and one
/// thread serves both.
std::string neighbours(host::options chosen) {
  node_fixture f({.ssds = 1, .shards = 2, .queues = 1, .pages = 128});
  f.connect(0);
  std::vector<std::uint32_t> stripes[2];
  for (std::uint32_t k = 0; k < 64; ++k) stripes[fw::shard_of(volume_id(9), k, 2)].push_back(k);
  // Single blocks of a shard, stripe by stripe.
  const auto block_of = [&](std::uint32_t shard, std::uint32_t k) {
    return vba(stripes[shard].at(k / 4) * 4 + k % 4);
  };
  std::vector<courier_request> requests;
  for (std::uint32_t k = 0; k < 88; ++k) requests.push_back({write(f, block_of(0, 0), 1)});
  for (std::uint32_t k = 0; k < 24; ++k) requests.push_back({write(f, block_of(1, k), 1)});
  for (std::uint32_t k = 0; k < 60; ++k) requests.push_back({write(f, block_of(1, k % 24), 1)});
  *f.node.stop = 0;
  chosen.step_budget = 100'000'000;
  host::executor machine(chosen);
  machine.spawn(1, 1,
                courier{f.channels, requests.data(), static_cast<std::uint32_t>(requests.size())});
  machine.serve_in(simt::domain::nic, 1, 1, *f.node.stop, fw::service{f.node});
  const std::string fault = run_to_end(machine);
  if (!fault.empty()) return fault;
  for (std::size_t k = 0; k < requests.size(); ++k) {
    if (!requests[k].outcome.ok()) return "write " + std::to_string(k) + " was refused";
  }
  return {};
}

}  // namespace

TEST_CASE("a write waits for flash that only readers still hold back, seeded") {
  sweep(host::mode::seeded, 40, overwritten);
}

TEST_CASE("an SSD that is full goes on taking overwrites, seeded") {
  sweep(host::mode::seeded, 20, collected);
}

TEST_CASE("an SSD that is full goes on taking overwrites, in weak memory") {
  sweep(host::mode::weak, 10, collected);
}

TEST_CASE("a shard without work collects for a neighbour that never rests, seeded") {
  sweep(host::mode::seeded, 5, neighbours);
}

/// Writes to an SSD whose flash is all taken, by blocks that wait for readers to pass by.
#include "courier.hpp"
#include "node_fixture.hpp"
#include "qp/seed_sweep.hpp"
#include <gnstor/wire/nvme/read_write.hpp>

using namespace gnstor;
using namespace gnstor::test;
using wire::nvme::nvm_opcode;

namespace {

constexpr std::uint32_t blocks = 4;  ///< of a command: half an erase block of the fixture

wire::nvme::submission_entry command(const node_fixture& f, nvm_opcode op) {
  auto e = wire::nvme::make_read_write(
      op, 0, 1, wire::afa::pack_slba(volume_id(9), node_fixture::client, vba(0)), blocks,
      wire::nvme::make_keyed_sgl(f.block(0).address, blocks * block_bytes, node_fixture::key));
  e.cdw2 = f.node.shape.epoch;
  return e;
}

/// Overwrites the same four blocks again and again on an SSD of two erase blocks: by the time one
/// is full, the other has only stale pages, and waits until every queue engine has been quiet.
std::string overwritten(host::options chosen) {
  node_fixture f({.ssds = 1, .queues = 3, .pages = 16});
  f.connect(0);
  std::vector<errand_of_courier> errands(20, {command(f, nvm_opcode::write)});
  *f.node.stop = 0;
  chosen.step_budget = 50'000'000;
  host::executor machine(chosen);
  machine.spawn(1, 1,
                courier{f.channels, errands.data(), static_cast<std::uint32_t>(errands.size())});
  machine.serve_in(simt::domain::nic, f.node.shape.roles(), 1, *f.node.stop, fw::service{f.node});
  const std::string fault = run_to_end(machine);
  if (!fault.empty()) return fault;
  for (const errand_of_courier& e : errands) {
    if (!e.outcome.ok()) return "a write was refused: " + std::to_string(e.outcome.nvme_code);
  }
  return {};
}

}  // namespace

TEST_CASE("a write waits for flash that only readers still hold back, seeded") {
  sweep(host::mode::seeded, 40, overwritten);
}

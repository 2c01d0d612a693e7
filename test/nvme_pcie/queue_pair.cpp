/// The queue pair over PCIe by one thread: its PRPs, its doorbells, its phases.
#include "nvme_rig.hpp"

#include <doctest/doctest.h>

#include <random>

using namespace gnstor;
using namespace gnstor::test;

namespace {

using wire::nvme::nvm_opcode;

completion poll(nvme_fixture& f) { return f.queue().poll(simt::group::self()); }

void ring(nvme_fixture& f, std::uint64_t index, const wire::nvme::submission_entry& command) {
  f.queue().write_send(index, command);
  f.queue().publish(index, 1);
  f.queue().ring();
}

/// The pages of a command, as the controller reads them: the DMA address of each byte run.
std::vector<std::uint64_t> pages_of(nvme_rig& rig, const wire::nvme::submission_entry& e,
                                    std::uint32_t bytes) {
  const wire::nvme::prp_pair p = wire::nvme::prp_of(e);
  std::vector<std::uint64_t> pages{p.prp1};
  const std::uint32_t more = wire::nvme::prp_entries(p.prp1, bytes) - 1;
  if (more == 1) pages.push_back(p.prp2);
  if (more <= 1) return pages;
  const auto* list = reinterpret_cast<const std::uint64_t*>(rig.host_memory(p.prp2, 8ull * more));
  REQUIRE(list != nullptr);
  pages.insert(pages.end(), list, list + more);
  return pages;
}

}  // namespace

TEST_CASE("a command names each page of its buffer once, wherever it begins and however long") {
  const host::memory_block data(host::place::host, 64 << 10);
  nvme_fixture f({.max_transfer = 32 << 10}, data.data(), data.bytes());
  std::mt19937 draw(7);
  const std::uint64_t dma = f.regions[1].dma;
  for (int round = 0; round < 500; ++round) {
    const std::uint32_t bytes = (1 + draw() % 64) * 512;
    const std::uint32_t offset = draw() % ((32 << 10) / 4) * 4;
    CAPTURE(bytes);
    CAPTURE(offset);
    const auto address = reinterpret_cast<std::uint64_t>(data.data()) + offset;
    f.queue().write_send(0, wire::nvme::make_read_write(
                                nvm_opcode::read, 5, 1, 0, bytes / 512,
                                wire::nvme::make_keyed_sgl(address, bytes, nvme_fixture::key)));
    const auto e = f.entry(0);
    REQUIRE((e.flags & wire::nvme::flags_data_mask) == 0);
    const auto pages = pages_of(f.rig, e, bytes);
    REQUIRE(pages.size() == wire::nvme::prp_entries(dma + offset, bytes));
    for (std::size_t k = 0; k < pages.size(); ++k)
      REQUIRE(pages[k] == (k == 0 ? dma + offset : (dma + offset) / 4096 * 4096 + k * 4096));
  }
}

TEST_CASE("a buffer that is scattered in the device's address space is named granule by granule") {
  const host::memory_block data(host::place::host, 320 << 10);
  nvme_fixture f({.max_transfer = 128 << 10}, data.data(), data.bytes());
  constexpr std::uint64_t granule = 64 << 10;
  const auto start = reinterpret_cast<std::uint64_t>(data.data());
  const std::uint64_t base = (start + granule - 1) / granule * granule;
  // Four granules, the last first; the buffer begins within the first.
  std::uint64_t table[4];
  for (std::uint64_t k = 0; k < 4; ++k)
    table[k] = f.regions[1].dma + (base - start) + (3 - k) * granule;
  f.regions[2] = {base + (20 << 10), 4 * granule - (20 << 10),
                  reinterpret_cast<std::uint64_t>(table), 0x302, 16};
  const std::uint64_t address = base + (60 << 10);
  f.queue().write_send(
      0, wire::nvme::make_read_write(nvm_opcode::read, 5, 1, 0, 8,
                                     wire::nvme::make_keyed_sgl(address, 32 << 10, 0x302)));
  const auto pages = pages_of(f.rig, f.entry(0), 32 << 10);
  REQUIRE(pages.size() == 8);
  CHECK(pages[0] == table[0] + (60 << 10));
  for (std::size_t k = 1; k < 8; ++k) CHECK(pages[k] == table[1] + (k - 1) * 4096);
}

TEST_CASE("a list belongs to its command's id, not to its entry: a later command leaves it alone") {
  const host::memory_block data(host::place::host, 64 << 10);
  nvme_fixture f({.depth = 4}, data.data(), data.bytes());
  const auto base = reinterpret_cast<std::uint64_t>(data.data());
  const auto command = [&](std::uint16_t id, std::uint32_t page) {
    return wire::nvme::make_read_write(
        nvm_opcode::read, id, 1, 0, 4,
        wire::nvme::make_keyed_sgl(base + page * 4096, 16 << 10, nvme_fixture::key));
  };
  f.queue().write_send(0, command(1, 0));
  const auto first = pages_of(f.rig, f.entry(0), 16 << 10);
  // Entry 4 is another lap of the ids, but id 1 is under way still: the next ones are 2, 3 and 4.
  f.queue().write_send(4, command(2, 8));
  f.queue().write_send(5, command(4, 4));
  CHECK(pages_of(f.rig, f.entry(0), 16 << 10) == first);
}

TEST_CASE("a buffer that no key opens reaches no memory, and its command ends with an error") {
  const host::memory_block data(host::place::host, 16 << 10);
  nvme_fixture f({}, data.data(), data.bytes());
  const auto base = reinterpret_cast<std::uint64_t>(data.data());
  const std::pair<std::uint64_t, std::uint32_t> bad[] = {
      {base, nvme_fixture::key + 0x100},           // of a former generation
      {base, 0x305},                               // of none
      {base + (12 << 10) + 4, nvme_fixture::key},  // beyond its end
      {base - 4096, nvme_fixture::key}};
  for (const auto& [address, key] : bad) {
    const status s = [&] {
      const auto sent = f.line().submit(wire::nvme::make_read_write(
          nvm_opcode::read, 0, 1, 0, 1, wire::nvme::make_keyed_sgl(address, 4096, key)));
      REQUIRE(sent);
      f.line().commit();
      f.rig.serve();
      return f.line().wait(sent.value, simt::within(1'000'000'000));
    }();
    CHECK(s.code == status_code::nvme_error);
    CHECK(s.nvme_code == static_cast<std::uint8_t>(wire::nvme::generic_status::invalid_namespace));
  }
  CHECK(f.rig.served().reads == 0);
}

TEST_CASE("no doorbell is written with the value that it has") {
  nvme_fixture f;
  *f.rig.doorbell(2) = 0xdead;
  *f.rig.doorbell(3) = 0xdead;
  f.queue().ring();
  CHECK(*f.rig.doorbell(2) == 0xdead);
  CHECK(*f.rig.doorbell(3) == 0xdead);
  REQUIRE(f.queue().try_reserve(1));
  ring(f, 0, wire::nvme::make_flush(3, 1));
  CHECK(*f.rig.doorbell(2) == 1);
  f.queue().ring();
  CHECK(*f.rig.doorbell(3) == 0xdead);
}

TEST_CASE("answers are taken once each over many laps of both rings, and their entries come back") {
  for (const std::uint32_t depth : {2u, 4u, 16u}) {
    CAPTURE(depth);
    nvme_fixture f({.depth = depth});
    for (std::uint64_t index = 0; index < 20 * depth; ++index) {
      REQUIRE(f.queue().try_reserve(1).value == index);
      REQUIRE(poll(f).kind == completion_kind::none);
      ring(f, index, wire::nvme::make_flush(static_cast<std::uint16_t>(index), 1));
      f.rig.serve();
      const completion c = poll(f);
      REQUIRE(c.kind == completion_kind::response);
      REQUIRE(c.response.command_id == static_cast<std::uint16_t>(index));
      REQUIRE(c.response.status == 0);
      REQUIRE(c.response.sq_head == (index + 1) % (2 * depth));
      f.queue().retire(index);
      // What was taken and not given back stays below half of the ring.
      const std::uint32_t given = *f.rig.doorbell(3);
      REQUIRE(((index + 1 - given) & (2 * depth - 1)) <= depth / 2);
    }
  }
}

TEST_CASE("depth commands are under way at most, and a controller that answers none blocks them") {
  nvme_fixture f({.depth = 4});
  for (std::uint64_t k = 0; k < 4; ++k) REQUIRE(f.queue().try_reserve(1).value == k);
  CHECK(f.queue().try_reserve(1).status.code == status_code::would_block);
  f.queue().retire(0);
  CHECK(f.queue().try_reserve(1).value == 4);
}

TEST_CASE("a NOP is refused by the controller, and the command behind it is answered") {
  nvme_fixture f({.depth = 4});
  REQUIRE(f.queue().try_reserve(2));
  f.queue().write_nop(0);
  f.queue().publish(0, 1);
  ring(f, 1, wire::nvme::make_flush(7, 1));
  f.rig.serve();
  completion c = poll(f);
  CHECK(c.kind == completion_kind::response);
  CHECK(wire::nvme::status_code(c.response.status) ==
        static_cast<std::uint8_t>(wire::nvme::generic_status::invalid_namespace));
  c = poll(f);
  CHECK(c.response.command_id == 7);
  CHECK(c.response.status == 0);
}

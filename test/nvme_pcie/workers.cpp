/// What the controller's workers make of commands that are wrong, and of hosts that are.
#include "nvme_rig.hpp"
#include <gnstor/core/hash.hpp>
#include <gnstor/simt_host/executor.hpp>

#include <doctest/doctest.h>

#include <numeric>

using namespace gnstor;
using namespace gnstor::test;

namespace {

using wire::nvme::generic_status;
using wire::nvme::nvm_opcode;

/// Sends an entry as it is, and returns the status field of its answer.
std::uint16_t answer_to(nvme_fixture& f, const wire::nvme::submission_entry& e) {
  const auto index = f.queue().try_reserve(1);
  REQUIRE(index);
  std::memcpy(f.memory() + f.layout.submissions +
                  index.value % nvme_pcie_queue_layout::entries(f.queue().depth()) * sizeof e,
              &e, sizeof e);
  f.queue().publish(index.value, 1);
  f.queue().ring();
  f.rig.serve();
  const completion c = f.queue().poll(simt::group::self());
  REQUIRE(c.kind == completion_kind::response);
  f.queue().retire(index.value);
  return c.response.status;
}

std::uint16_t code(generic_status s) { return wire::nvme::make_status(s, true); }

/// A read of `blocks` blocks of 512 bytes into these pages.
wire::nvme::submission_entry read_into(wire::nvme::prp_pair pages, std::uint32_t blocks,
                                       std::uint64_t slba = 0) {
  auto e = wire::nvme::make_read_write(nvm_opcode::read, 1, 1, slba, blocks, {});
  wire::nvme::set_prp(e, pages);
  return e;
}

struct filled_fixture {
  host::memory_block data{host::place::host, 512 << 10};
  nvme_fixture f{
      {.block_bytes = 512, .bytes = 1 << 20, .max_transfer = 256 << 10}, data.data(), data.bytes()};
  filled_fixture() {
    auto* words = reinterpret_cast<std::uint32_t*>(f.rig.media());
    std::iota(words, words + (1 << 18), 1u);
  }
  std::uint64_t dma(std::uint64_t offset) const { return f.regions[1].dma + offset; }
  unsigned char* at(std::uint64_t offset) const {
    return static_cast<unsigned char*>(data.data()) + offset;
  }
};

}  // namespace

TEST_CASE("a list that begins at a page's last entry goes on in the next list") {
  filled_fixture t;
  // 10 pages of data: the first by PRP1, one entry before the chain, then the rest.
  const std::uint64_t list = 64 << 10;
  const std::uint64_t next = 72 << 10;
  auto* first = reinterpret_cast<std::uint64_t*>(t.at(list + 4096 - 16));
  first[0] = t.dma(100 << 10);
  first[1] = t.dma(next);
  auto* second = reinterpret_cast<std::uint64_t*>(t.at(next));
  for (std::uint64_t k = 0; k < 8; ++k) second[k] = t.dma((200 << 10) - k * 4096);
  CHECK(answer_to(t.f, read_into({t.dma(0), t.dma(list + 4096 - 16)}, 80)) == 0);
  CHECK(std::memcmp(t.at(0), t.f.rig.media(), 4096) == 0);
  CHECK(std::memcmp(t.at(100 << 10), t.f.rig.media() + 4096, 4096) == 0);
  for (std::uint64_t k = 0; k < 8; ++k) {
    CHECK(std::memcmp(t.at((200 << 10) - k * 4096), t.f.rig.media() + (2 + k) * 4096, 4096) == 0);
  }
}

TEST_CASE("a list whose first entry is the pointer to the next one is followed") {
  filled_fixture t;
  auto* last = reinterpret_cast<std::uint64_t*>(t.at((68 << 10) - 8));
  last[0] = t.dma(72 << 10);
  auto* list = reinterpret_cast<std::uint64_t*>(t.at(72 << 10));
  list[0] = t.dma(100 << 10);
  list[1] = t.dma(108 << 10);
  CHECK(answer_to(t.f, read_into({t.dma(0), t.dma((68 << 10) - 8)}, 24)) == 0);
  CHECK(std::memcmp(t.at(108 << 10), t.f.rig.media() + 8192, 4096) == 0);
}

TEST_CASE("wrong data pointers end in the status for them, and reach no other memory") {
  filled_fixture t;
  const auto beyond = t.dma(512 << 10);
  CHECK(answer_to(t.f, read_into({0, 0}, 8)) == code(generic_status::data_transfer_error));
  CHECK(answer_to(t.f, read_into({beyond, 0}, 8)) == code(generic_status::data_transfer_error));
  CHECK(answer_to(t.f, read_into({t.dma(0), beyond}, 16)) ==
        code(generic_status::data_transfer_error));
  CHECK(answer_to(t.f, read_into({t.dma(0), t.dma(4100)}, 16)) ==
        code(generic_status::invalid_prp_offset));
  CHECK(answer_to(t.f, read_into({t.dma(0), t.dma(4097)}, 80)) ==
        code(generic_status::invalid_prp_offset));
  CHECK(answer_to(t.f, read_into({t.dma(0), ~std::uint64_t{0} - 7}, 80)) ==
        code(generic_status::data_transfer_error));
  CHECK(t.f.rig.served().faults == 4);
}

TEST_CASE("commands that no namespace or no range stands for are refused") {
  filled_fixture t;
  auto e = read_into({t.dma(0), 0}, 8);
  e.nsid = 2;
  CHECK(answer_to(t.f, e) == code(generic_status::invalid_namespace));
  e.nsid = 0;
  CHECK(answer_to(t.f, e) == code(generic_status::invalid_namespace));
  e = read_into({t.dma(0), 0}, 8);
  e.opcode = 0x7f;
  CHECK(answer_to(t.f, e) == code(generic_status::invalid_opcode));
  e = read_into({t.dma(0), 0}, 8);
  e.flags = wire::nvme::flags_sgl;
  CHECK(answer_to(t.f, e) == code(generic_status::invalid_field));
  e.flags = 1;  // fused
  CHECK(answer_to(t.f, e) == code(generic_status::invalid_field));
  CHECK(answer_to(t.f, read_into({t.dma(0), 0}, 1024)) == code(generic_status::invalid_field));
  const std::uint64_t blocks = t.f.rig.blocks().blocks;
  CHECK(answer_to(t.f, read_into({t.dma(0), 0}, 1, blocks)) ==
        code(generic_status::lba_out_of_range));
  CHECK(answer_to(t.f, read_into({t.dma(0), 0}, 2, blocks - 1)) ==
        code(generic_status::lba_out_of_range));
  CHECK(answer_to(t.f, read_into({t.dma(0), 0}, 1, ~std::uint64_t{0})) ==
        code(generic_status::lba_out_of_range));
  CHECK(answer_to(t.f, read_into({t.dma(0), 0}, 1, blocks - 1)) == 0);
}

TEST_CASE("a media error reaches the commands that touch its blocks, and no others") {
  filled_fixture t;
  t.f.rig.blocks().bad_first = 100;
  t.f.rig.blocks().bad_count = 3;
  t.f.rig.blocks().fault = static_cast<std::uint32_t>(fw::namespace_fault::media_error);
  const auto bad = wire::nvme::make_status(wire::nvme::media_status::unrecovered_read_error);
  CHECK(answer_to(t.f, read_into({t.dma(0), 0}, 8, 92)) == 0);
  CHECK(answer_to(t.f, read_into({t.dma(0), 0}, 8, 93)) == bad);
  CHECK(answer_to(t.f, read_into({t.dma(0), 0}, 1, 102)) == bad);
  CHECK(answer_to(t.f, read_into({t.dma(0), 0}, 1, 103)) == 0);
}

TEST_CASE("deallocated and zeroed blocks read as zeroes, their neighbours as before") {
  filled_fixture t;
  auto* ranges = reinterpret_cast<wire::nvme::dataset_range*>(t.at(0));
  ranges[0] = {0, 2, 10};
  ranges[1] = {0, 1, 20};
  auto e = wire::nvme::make_deallocate(1, 1, 2, {});
  wire::nvme::set_prp(e, {t.dma(0), 0});
  CHECK(answer_to(t.f, e) == 0);
  e = wire::nvme::make_read_write(nvm_opcode::write_zeroes, 1, 1, 30, 4, {});
  wire::nvme::set_prp(e, {});
  CHECK(answer_to(t.f, e) == 0);
  for (std::uint32_t block = 9; block < 36; ++block) {
    const bool cleared = (block >= 10 && block < 12) || block == 20 || (block >= 30 && block < 34);
    const auto* words = reinterpret_cast<const std::uint32_t*>(t.f.rig.media() + block * 512);
    CAPTURE(block);
    CHECK(words[0] == (cleared ? 0 : block * 128 + 1));
    CHECK(words[127] == (cleared ? 0 : block * 128 + 128));
  }
  ranges[0] = {0, 2, t.f.rig.blocks().blocks - 1};
  e = wire::nvme::make_deallocate(1, 1, 1, {});
  wire::nvme::set_prp(e, {t.dma(0), 0});
  CHECK(answer_to(t.f, e) == code(generic_status::lba_out_of_range));
}

TEST_CASE("a doorbell beyond its queue is counted and announces nothing") {
  filled_fixture t;
  *t.f.rig.doorbell(2) = 16;
  t.f.rig.serve();
  CHECK(t.f.rig.served().bad_doorbells == 1);
  CHECK(t.f.rig.served().fetched == 0);
  *t.f.rig.doorbell(2) = 0;
  CHECK(answer_to(t.f, read_into({t.dma(0), 0}, 8)) == 0);
}

TEST_CASE("a completion queue that nobody reads holds commands back instead of being overrun") {
  nvme_fixture f({.depth = 8});
  // 20 Flushes through 16 entries, without a completion given back.
  for (std::uint32_t k = 0; k < 20; ++k) {
    auto e = wire::nvme::make_flush(static_cast<std::uint16_t>(k), 1);
    wire::nvme::set_prp(e, {});
    std::memcpy(f.memory() + f.layout.submissions + k % 16 * sizeof e, &e, sizeof e);
    *f.rig.doorbell(2) = (k + 1) % 16;
    f.rig.serve();
  }
  CHECK(f.rig.served().answering == 15);
  *f.rig.doorbell(3) = 4;
  f.rig.serve();
  CHECK(f.rig.served().answering == 19);
}

TEST_CASE("queues whose memory is unmapped before they are deleted are seen as a fault") {
  filled_fixture t;
  CHECK(answer_to(t.f, read_into({t.dma(0), 0}, 8)) == 0);
  t.f.rig.unmap(t.f.rig.served().submissions);
  *t.f.rig.doorbell(2) = 2;
  t.f.rig.serve();
  CHECK(t.f.rig.served().faults == 1);
}

TEST_CASE("queues that are deleted touch nothing of their memory any more") {
  filled_fixture t;
  CHECK(answer_to(t.f, read_into({t.dma(0), 0}, 8)) == 0);
  t.f.driver.delete_queues(1);
  t.f.rig.unmap(t.f.rig.served().submissions);
  *t.f.rig.doorbell(2) = 2;
  t.f.rig.serve();
  CHECK(t.f.rig.served().faults == 0);
}

namespace {

/// Every lane reads a block at once; the odd ones into memory that the device no longer reaches.
struct read_at_once {
  struct shared {};
  nvme_channel line;
  io_buffer good;
  io_buffer bad;
  std::uint64_t* outcomes = nullptr;

  template <class Lane>
  GNSTOR_HD void operator()(Lane& lane) const {
    const std::uint32_t me = lane.global_thread();
    const io_buffer& from = me % 2 == 0 ? good : bad;
    const auto data = wire::nvme::make_keyed_sgl(from.address + me * 512, 512, from.rkey);
    outcomes[me] = line.execute(wire::nvme::make_read_write(nvm_opcode::read, 0, 1, me, 1, data),
                                simt::within(1'000'000'000))
                       .pack();
  }
};

}  // namespace

TEST_CASE("each of several commands that are fetched together gets its own status") {
  constexpr std::uint32_t lanes = 16;
  const host::memory_block good(host::place::host, lanes * 512);
  const host::memory_block bad(host::place::host, lanes * 512);
  nvme_fixture f({.depth = lanes, .block_bytes = 512}, good.data(), good.bytes());
  f.open_region(2, bad.data(), bad.bytes());
  f.rig.unmap(f.regions[2].dma);
  const auto buffer = [&](const host::memory_block& b, std::uint32_t k) {
    return io_buffer{reinterpret_cast<std::uint64_t>(b.data()), b.bytes(), f.regions[k].key,
                     f.regions[k].key};
  };
  std::vector<std::uint64_t> outcomes(lanes);
  simt::host::executor machine;
  machine.spawn(1, lanes, read_at_once{f.line(), buffer(good, 1), buffer(bad, 2), outcomes.data()});
  machine.serve_in(simt::domain::nic, 1, 8, f.rig.stop(), fw::nvme_service{f.rig.node()});
  machine.run();
  for (std::uint32_t k = 0; k < lanes; ++k) {
    CAPTURE(k);
    const status s = status::unpack(outcomes[k]);
    CHECK(s.ok() == (k % 2 == 0));
    if (k % 2 != 0) {
      CHECK(s.nvme_code ==
            static_cast<std::uint8_t>(wire::nvme::generic_status::data_transfer_error));
    }
  }
}

namespace {

/// A command of one lane: bytes of its own in the namespace and in memory.
struct own_move {
  nvm_opcode op = nvm_opcode::read;
  std::uint32_t blocks = 1;
  std::uint32_t offset = 0;  ///< into the lane's two pages

  static constexpr std::uint32_t room = 8192;
};

struct move_at_once {
  struct shared {};
  nvme_channel line;
  io_buffer memory;
  const own_move* moves = nullptr;
  std::uint64_t* outcomes = nullptr;

  template <class Lane>
  GNSTOR_HD void operator()(Lane& lane) const {
    const std::uint32_t me = lane.global_thread();
    const own_move m = moves[me];
    const std::uint64_t at = memory.address + me * own_move::room + m.offset;
    const auto data = wire::nvme::make_keyed_sgl(at, m.blocks * 512, memory.rkey);
    outcomes[me] = line.execute(wire::nvme::make_read_write(m.op, 0, 1, me * 16, m.blocks, data),
                                simt::within(1'000'000'000))
                       .pack();
  }
};

}  // namespace

TEST_CASE("commands that are fetched together move what each of them says, and nothing else") {
  constexpr std::uint32_t lanes = 16;
  const host::memory_block memory(host::place::host, lanes * own_move::room);
  nvme_fixture f({.depth = lanes, .block_bytes = 512}, memory.data(), memory.bytes());
  auto* const mine = static_cast<unsigned char*>(memory.data());
  std::vector<own_move> moves(lanes);
  std::vector<std::uint64_t> outcomes(lanes);
  const io_buffer buffer{reinterpret_cast<std::uint64_t>(mine), memory.bytes(), f.regions[1].key,
                         f.regions[1].key};
  std::uint64_t draws = 0;
  const auto draw = [&draws](std::uint32_t below) {
    return static_cast<std::uint32_t>(mix64(++draws) % below);
  };
  for (std::uint32_t round = 0; round < 60; ++round) {
    CAPTURE(round);
    // Equal sizes are moved at once; one that differs, or lies across pages, is not.
    const std::uint32_t equal = 1 + draw(8);
    for (own_move& m : moves) {
      m.op = draw(3) == 0 ? nvm_opcode::write : nvm_opcode::read;
      m.blocks = round % 3 != 0 || draw(8) != 0 ? equal : 1 + draw(16);
      m.offset = round % 4 == 0 && draw(4) == 0 ? 4 * draw(1024) : 0;
      if (m.offset + m.blocks * 512 > own_move::room) m.offset = 0;
    }
    for (std::size_t k = 0; k < memory.bytes(); ++k)
      mine[k] = static_cast<unsigned char>(draw(256));
    std::vector<unsigned char> there(f.rig.media(), f.rig.media() + lanes * 16 * 512);
    std::vector<unsigned char> here(mine, mine + memory.bytes());
    for (std::uint32_t k = 0; k < lanes; ++k) {
      unsigned char* const a = here.data() + k * own_move::room + moves[k].offset;
      unsigned char* const b = there.data() + k * 16 * 512;
      const bool reads = moves[k].op == nvm_opcode::read;
      std::memcpy(reads ? a : b, reads ? b : a, moves[k].blocks * 512);
    }
    simt::host::executor machine;
    f.rig.stop() = 0;
    machine.spawn(1, lanes, move_at_once{f.line(), buffer, moves.data(), outcomes.data()});
    machine.serve_in(simt::domain::nic, 1, 8, f.rig.stop(), fw::nvme_service{f.rig.node()});
    machine.run();
    for (const std::uint64_t o : outcomes) CHECK(status::unpack(o).ok());
    CHECK(std::memcmp(there.data(), f.rig.media(), there.size()) == 0);
    CHECK(std::memcmp(here.data(), mine, here.size()) == 0);
  }
  const fw::nvme_queue& served = f.rig.served();
  CHECK(served.reads + served.writes == 60 * lanes);
  CHECK(served.bytes_read + served.bytes_written > served.reads * 512);
}

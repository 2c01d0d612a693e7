/// Reads whose data leaves by the NIC's own memory, through queue pair, NIC and firmware: bytes,
/// and what a client waits beside the model of `stream_model.hpp`, which decides by itself.
// label: thorough

#include "paced_rig.hpp"

#include <timing/stream_model.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <deque>
#include <string>

using namespace gnstor;
using namespace gnstor::test;
using fw::stream_path;
using fw::stream_profile;
using wire::nvme::nvm_opcode;

namespace {

constexpr std::uint32_t mib = 1 << 20;
constexpr std::uint32_t most = mib / block_bytes;  ///< blocks of a command, and of a stripe
constexpr std::uint32_t volume_blocks = paced_rig::volume_blocks;
constexpr stream_path paths[] = {stream_path::staged, stream_path::store_and_forward,
                                 stream_path::synchronised};

swarm streaming(const stream_profile& p) {
  swarm s = paced_rig::swarm_of(fw::gmblock_ssd_profile());
  s.sends = p;
  s.transfer_blocks = most;
  return s;
}

/// What block `block` of the volume holds, in each of its words.
std::uint64_t stamp(std::uint32_t block) { return mix64(block) | 1; }

/// A volume that is full of stamps, on a node that streams.
struct streamed {
  explicit streamed(const stream_profile& p) : rig(streaming(p), {fw::queue_class::medium}, most) {
    for (std::uint32_t next = 0; next < volume_blocks; next += most) {
      for (std::uint32_t k = 0; k < most; ++k) fill(k, stamp(next + k));
      rig.send(0, rig.io(0, nvm_opcode::write, next, most));
      REQUIRE(rig.wait().at(0).status == 0);
    }
  }
  void fill(std::uint32_t memory, std::uint64_t word) {
    const std::vector<std::uint64_t> words(block_bytes / 8, word);
    std::memcpy(rig.memory(0, memory), words.data(), block_bytes);
  }
  /// True if memory holds what the volume does.
  bool holds(std::uint32_t memory, std::uint32_t first, std::uint32_t blocks) {
    for (std::uint32_t b = 0; b < blocks; ++b) {
      const std::vector<std::uint64_t> wanted(block_bytes / 8, stamp(first + b));
      if (std::memcmp(rig.memory(0, memory + b), wanted.data(), block_bytes) != 0) return false;
    }
    return true;
  }
  /// Reads blocks into memory that holds something else.
  void read(std::uint32_t first, std::uint32_t blocks, std::uint32_t memory = 0) {
    for (std::uint32_t b = 0; b < blocks; ++b) fill(memory + b, 0x5a5a5a5a5a5a5a5a);
    rig.send(0, rig.io(0, nvm_opcode::read, first, blocks, 0, memory), memory);
  }
  /// The flash page of a block.
  unsigned char* page_of(std::uint32_t block) {
    const std::uint64_t wanted = stamp(block);
    for (std::uint32_t p = 0; p < 4 * volume_blocks; ++p) {
      auto* bytes = static_cast<unsigned char*>(rig.array().ssd(0).page(p));
      if (std::memcmp(bytes, &wanted, 8) == 0) return bytes;
    }
    FAIL("block is nowhere");
    return nullptr;
  }
  /// Nanoseconds of so many reads, one after another in the volume.
  std::uint64_t run(std::uint32_t requests) {
    const stream_profile& p = rig.array().sender().profile();
    const std::uint32_t blocks = p.request_bytes / block_bytes;
    const std::uint64_t begun = rig.now();
    std::uint32_t sent = 0;
    const auto first_of = [&](std::uint32_t n) { return n * blocks % volume_blocks; };
    std::vector<std::uint32_t> of(p.outstanding);
    const auto send = [&](std::uint32_t memory) {
      of[memory] = first_of(sent++);
      read(of[memory], blocks, memory * blocks);
    };
    for (; sent < p.outstanding;) send(sent);
    for (std::uint32_t done = 0; done < requests;) {
      for (const paced_rig::ended& e : rig.wait()) {
        ++done;
        CHECK(e.status == 0);
        const std::uint32_t k = e.what / blocks;
        CHECK(holds(e.what, of[k], blocks));
        if (sent < requests) send(k);
      }
    }
    return rig.now() - begun;
  }

  paced_rig rig;
};

/// What the real path takes, as a part of what the model says.
double beside_model(const stream_profile& p) {
  const std::uint32_t requests = std::max(6u, 4 * p.outstanding);
  const double model = static_cast<double>(fw::stream(p, requests).elapsed) / 1000;
  return static_cast<double>(streamed(p).run(requests)) / model;
}

double mib_per_second(const stream_profile& p) {
  constexpr std::uint32_t requests = 12;
  return requests * double(p.request_bytes) / mib / (double(streamed(p).run(requests)) / 1e9);
}

}  // namespace

TEST_CASE("reads take what the model says at every size, path and number under way") {
  for (const bool modern : {false, true}) {
    for (const stream_path path : paths) {
      for (std::uint32_t bytes = 4096; bytes <= mib; bytes *= 4) {
        for (const std::uint32_t outstanding : {1u, 4u}) {
          if (bytes * outstanding > mib) continue;
          stream_profile p = modern ? fw::table2_stream_profile(path) : fw::gmblock_profile(path);
          p.request_bytes = bytes;
          p.outstanding = outstanding;
          CAPTURE(modern);
          CAPTURE(static_cast<int>(path));
          CAPTURE(bytes);
          CAPTURE(outstanding);
          CHECK(std::abs(beside_model(p) - 1) < 0.03);
        }
      }
    }
  }
}

TEST_CASE("so they do with any chunk, with eight disks, and without any") {
  for (const std::uint32_t chunk : {4096u, 65536u, 262144u}) {
    stream_profile p = fw::gmblock_profile(stream_path::synchronised);
    p.chunk_bytes = chunk;
    CAPTURE(chunk);
    CHECK(std::abs(beside_model(p) - 1) < 0.03);
  }
  for (const stream_path path : paths) {
    CAPTURE(static_cast<int>(path));
    CHECK(std::abs(beside_model(fw::of_eight_disks(fw::gmblock_profile(path))) - 1) < 0.03);
    CHECK(mib_per_second(fw::without_disks(fw::gmblock_profile(path))) > 0.95 * 462);
  }
}

TEST_CASE("one synchronised request of 1 MiB beats what waits, as far as its parts allow") {
  const double synchronised = mib_per_second(fw::gmblock_profile(stream_path::synchronised));
  const double stored = mib_per_second(fw::gmblock_profile(stream_path::store_and_forward));
  const double staged = mib_per_second(fw::gmblock_profile(stream_path::staged));
  const stream_profile p = fw::gmblock_profile(stream_path::synchronised);
  const double bound = 1e12 / static_cast<double>(fw::stream_bound(p));
  MESSAGE("synchronised " << synchronised << " MiB/s, " << synchronised / bound << " of the bound; "
                          << synchronised / stored << " x stored (the seed: "
                          << "1.44), " << synchronised / staged << " x staged (the seed: 1.81)");
  CHECK(synchronised >= 0.95 * bound);
  CHECK(synchronised >= 1.7 * stored);
  CHECK(synchronised >= 2.1 * staged);
  const double seed[] = {164, 205, 275};
  for (std::size_t k = 0; k < 3; ++k) {
    const double disks = mib_per_second(fw::of_eight_disks(fw::gmblock_profile(paths[k])));
    MESSAGE("eight disks: " << disks << " MiB/s");
    CHECK(std::abs(disks / seed[k] - 1) < 0.03);
  }
}

TEST_CASE("a damaged block ends its read with a media error, and no other") {
  for (const stream_path path : paths) {
    CAPTURE(static_cast<int>(path));
    streamed s(fw::gmblock_profile(path));
    for (const std::uint32_t block : {0u, 100u, 255u}) s.page_of(block)[7] ^= 4;
    for (int turn = 0; turn < 3; ++turn) {
      s.read(0, most);  // alone in the NIC's memory: it is given back
      CHECK(s.rig.wait().at(0).status ==
            (0x8000 | (static_cast<std::uint16_t>(fw::damaged_page >> 1) & 0xff)));
    }
    s.read(most, most);
    CHECK(s.rig.wait().at(0).status == 0);
    CHECK(s.holds(0, most, most));
    s.read(0, 1);
    CHECK(s.rig.wait().at(0).status != 0);
    s.read(1, 99);
    CHECK(s.rig.wait().at(0).status == 0);
    CHECK(s.holds(0, 1, 99));
  }
}

TEST_CASE("a unit that stalls holds up the reads that need it, and no other") {
  for (const std::uint32_t chunk : {16384u, 65536u}) {  // of the latter each has a unit of its own
    CAPTURE(chunk);
    stream_profile p = fw::gmblock_profile(stream_path::synchronised);
    p.chunk_bytes = chunk;
    p.slow_unit = 0;
    p.slow_rate = 4.0 * mib;
    streamed s(p);
    s.read(0, 128, 0);      // stripe 0 is unit 0's
    s.read(128, 128, 128);  // units 8 to 15
    const auto first = s.rig.wait();
    REQUIRE(first.size() == 1);
    CHECK(first[0].what == 128);
    CHECK(s.holds(128, 128, 128));
    const auto second = s.rig.wait();
    CHECK(second.at(0).took > 15'000'000);  // 64 KiB at 4 MiB/s
    CHECK(s.holds(0, 0, 128));
  }
}

TEST_CASE(
    "reads for which the NIC has no memory wait in order, and blocks never written are zero") {
  stream_profile p = fw::gmblock_profile(stream_path::store_and_forward);
  p.buffer_bytes = mib;
  streamed s(p);
  for (std::uint32_t k = 0; k < 4; ++k) s.read(k * most, most, k * most);
  for (std::uint32_t k = 0; k < 4; ++k) {
    const auto e = s.rig.wait();
    REQUIRE(e.size() == 1);
    CHECK(e[0].what == k * most);
    CHECK(s.holds(k * most, k * most, most));
  }
  auto zeroes = s.rig.io(0, nvm_opcode::write_zeroes, 3, 1);
  zeroes.dptr = wire::nvme::make_empty_sgl();
  s.rig.send(0, zeroes);
  REQUIRE(s.rig.wait().at(0).status == 0);
  s.read(2, 3);
  CHECK(s.rig.wait().at(0).status == 0);
  CHECK(s.holds(0, 2, 1));
  CHECK(s.holds(2, 4, 1));
  const std::vector<char> none(block_bytes, 0);
  CHECK(std::memcmp(s.rig.memory(0, 1), none.data(), none.size()) == 0);
}

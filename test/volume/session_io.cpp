/// Volumes end to end: kernels, channels, and an emulated array behind them.
#include "session_rig.hpp"
#include <gnstor/host/error.hpp>

#include <doctest/doctest.h>

#include <cstring>
#include <string>

using namespace gnstor;
using namespace gnstor::literals;
using namespace gnstor::test;
namespace host = gnstor::host;

namespace {

/// One request of a kernel.
struct request {
  std::uint32_t first = 0;
  std::uint32_t blocks = 0;
  std::uint32_t at = 0;  ///< block of the buffer
};

/// Warp w executes the requests [w * each, (w + 1) * each): together, or its first lane alone.
struct run_requests {
  bool write = false;
  bool together = false;
  std::uint32_t each = 0;

  template <class Lane>
  void operator()(Lane& lane, remote_volume v, const request* requests, io_buffer buffer,
                  std::uint64_t* outcome) const {
    const auto g = lane.warp();
    const std::uint32_t warp = simt::warp_number();
    for (std::uint32_t k = warp * each; k < (warp + 1) * each; ++k) {
      const request& r = requests[k];
      const io_buffer part =
          buffer.slice(std::uint64_t{r.at} * block_bytes, std::uint64_t{r.blocks} * block_bytes);
      const deadline d = simt::within(20'000'000'000);
      if (together) {
        const status s = write ? v.write_together(g, vba(r.first), r.blocks, part, d)
                               : v.read_together(g, vba(r.first), r.blocks, part, d);
        if (!s.ok() && g.leads()) outcome[k] = s.pack();
      } else if (g.leads()) {
        const status s = write ? v.write(vba(r.first), r.blocks, part, d)
                               : v.read(vba(r.first), r.blocks, part, d);
        outcome[k] = s.pack();
      }
      g.sync();
    }
  }
};

/// Each lane reads or writes one block of its own.
struct lane_blocks {
  bool write = false;
  template <class Lane>
  void operator()(Lane& lane, remote_volume v, io_buffer buffer, std::uint64_t timeout_ns,
                  std::uint64_t* outcome) const {
    const std::uint32_t me = lane.global_thread();
    const io_buffer part = buffer.slice(std::uint64_t{me} * block_bytes, block_bytes);
    const deadline d = simt::within(timeout_ns);
    const status s = write ? v.write(vba(me), 1, part, d) : v.read(vba(me), 1, part, d);
    outcome[me] = s.pack();
  }
};

/// A session with a short timeout, a volume of 64 blocks with known bytes, and a way to break SSDs.
/// The firmware runs on this thread: a busy machine does not make it look silent.
struct faulty {
  explicit faulty(std::uint32_t replicas = 2)
      : session("emu:?capacity=16M&runner=sim", {.channels = 1, .timeout = 300_ms}),
        volume(session.create_volume(
            {.bytes = 64 * block_bytes, .replicas = replicas, .stripe_blocks = 4})),
        bytes(random_bytes(64 * block_bytes, 3)) {
    session.write(volume, 0, bytes.data(), bytes.size());
  }
  std::vector<unsigned char> read() {
    std::vector<unsigned char> out(bytes.size());
    session.read(volume, 0, out.data(), out.size());
    return out;
  }
  replica_set where(std::uint32_t block) const {
    return rendezvous_placement(volume.ssd_count)
        .replicas(volume.vid, volume.hash_factor, block / volume.stripe_blocks, volume.replicas);
  }
  /// What writing block `block` ends with.
  status write_block(std::uint32_t block) {
    try {
      session.write(volume, std::uint64_t{block} * block_bytes, bytes.data(), block_bytes);
    } catch (const host::io_error& e) {
      return e.outcome();
    }
    return {};
  }
  status read_block(std::uint32_t block) {
    std::vector<unsigned char> out(block_bytes);
    try {
      session.read(volume, std::uint64_t{block} * block_bytes, out.data(), block_bytes);
    } catch (const host::io_error& e) {
      return e.outcome();
    }
    return {};
  }
  host::session session;
  volume_info volume;
  std::vector<unsigned char> bytes;
};

/// Whether 8 warps get all their copies through one channel of depth 4.
void write_all_copies(const std::string& endpoint) {
  CAPTURE(endpoint);
  host::session s(endpoint, {.channels = 1, .depth = 4});
  const volume_info v = s.create_volume({.bytes = 256 * block_bytes, .replicas = 3});
  registered memory(s, 256 * block_bytes);
  const auto source = random_bytes(256 * block_bytes, 9);
  std::memcpy(memory.bytes(), source.data(), source.size());
  std::vector<std::uint64_t> outcome(256);
  run(s, 8, 32, lane_blocks{true}, s.ref(v), memory.buffer, std::uint64_t{10'000'000'000},
      outcome.data());
  for (const std::uint64_t word : outcome) REQUIRE(word == 0);
  std::vector<unsigned char> all(source.size());
  s.read(v, 0, all.data(), all.size());
  CHECK(all == source);
}

}  // namespace

TEST_CASE(
    "ranges of odd offset and size come back as they were written, by a thread and by a warp") {
  constexpr std::uint32_t warps = 4;
  constexpr std::uint32_t each = 12;
  constexpr std::uint32_t area = 100;
  for (const std::string endpoint : runners) {
    for (const std::uint32_t replicas : {1u, 2u, 3u}) {
      for (const bool together : {false, true}) {
        CAPTURE(endpoint);
        CAPTURE(replicas);
        CAPTURE(together);
        host::session s(endpoint);
        const volume_info v = s.create_volume(
            {.bytes = warps * area * block_bytes, .replicas = replicas, .stripe_blocks = 16});
        registered memory(s, 2 * warps * area * block_bytes);
        std::mt19937 random(replicas);
        std::vector<request> requests(warps * each);
        for (std::uint32_t k = 0; k < warps * each; ++k) {
          requests[k].blocks = 1 + random() % 40;
          requests[k].first = k / each * area + random() % (area - requests[k].blocks + 1);
          requests[k].at = random() % (2 * warps * area - requests[k].blocks);
        }
        const auto source = random_bytes(2 * warps * area * block_bytes, 7);
        std::memcpy(memory.bytes(), source.data(), source.size());
        std::vector<unsigned char> expected(warps * area * block_bytes);
        for (const request& r : requests) {
          std::memcpy(expected.data() + r.first * block_bytes, source.data() + r.at * block_bytes,
                      r.blocks * block_bytes);
        }
        std::vector<std::uint64_t> outcome(requests.size());
        run(s, warps, 32, run_requests{true, together, each}, s.ref(v), requests.data(),
            memory.buffer, outcome.data());
        for (const std::uint64_t word : outcome) REQUIRE(word == 0);
        for (std::uint32_t k = 0; k < warps * each; ++k) requests[k].at = requests[k].first;
        std::memset(memory.bytes(), 0xee, 2 * warps * area * block_bytes);
        run(s, warps, 32, run_requests{false, together, each}, s.ref(v), requests.data(),
            memory.buffer, outcome.data());
        for (const std::uint64_t word : outcome) REQUIRE(word == 0);
        for (const request& r : requests) {
          REQUIRE(std::memcmp(memory.bytes() + r.first * block_bytes,
                              expected.data() + r.first * block_bytes,
                              r.blocks * block_bytes) == 0);
        }
        std::vector<unsigned char> all(expected.size());
        s.read(v, 0, all.data(), all.size());
        CHECK(all == expected);
      }
    }
  }
}

TEST_CASE("with any one SSD faulty every block is read from its other replica") {
  for (const std::string fault : {"media_error", "dead", "silent"}) {
    faulty f;
    for (std::uint32_t ssd = 0; ssd < 4; ++ssd) {
      CAPTURE(fault);
      CAPTURE(ssd);
      f.session.inject_fault(ssd, fault);
      CHECK(f.read() == f.bytes);
      f.session.inject_fault(ssd, "none");
    }
  }
}

TEST_CASE("a write reports the SSD that is dead, and times out on one that is silent") {
  faulty f;
  const replica_set where = f.where(0);
  for (std::uint32_t ssd = 0; ssd < 4; ++ssd) {
    const bool concerned = where.contains(ssd_index(static_cast<std::uint16_t>(ssd)));
    f.session.inject_fault(ssd, "dead");
    const status dead = f.write_block(0);
    f.session.inject_fault(ssd, "silent");
    const status silent = f.write_block(0);
    f.session.inject_fault(ssd, "none");
    CHECK(dead.code == (concerned ? status_code::nvme_error : status_code::ok));
    CHECK(dead.ssd == (concerned ? ssd : 0));
    CHECK(silent.code == (concerned ? status_code::timed_out : status_code::ok));
  }
  CHECK(f.write_block(0).ok());
}

TEST_CASE("with all replicas faulty the error names an SSD that holds the block") {
  for (const std::uint32_t replicas : {1u, 2u, 3u}) {
    faulty f(replicas);
    const replica_set where = f.where(0);
    for (std::uint32_t k = 0; k < replicas; ++k) {
      f.session.inject_fault(where.ssd[k].value, "media_error");
    }
    const status s = f.read_block(0);
    CHECK(s.code == status_code::nvme_error);
    CHECK(s.nvme_type == 2);
    CHECK(where.contains(ssd_index(s.ssd)));
    std::vector<unsigned char> out(block_bytes);
    std::string said;
    try {
      f.session.read(f.volume, 0, out.data(), block_bytes);
    } catch (const host::io_error& e) {
      said = e.what();
    }
    CHECK(said.find("SSD " + std::to_string(s.ssd)) != std::string::npos);
    CHECK(said.find("media error") != std::string::npos);
  }
}

TEST_CASE("lanes get their own errors: only those whose block lies on broken SSDs") {
  faulty f(1);
  registered memory(f.session, 64 * block_bytes);
  f.session.inject_fault(2, "dead");
  std::vector<std::uint64_t> outcome(64);
  run(f.session, 1, 64, lane_blocks{false}, f.session.ref(f.volume), memory.buffer,
      std::uint64_t{1'000'000'000}, outcome.data());
  std::uint32_t broken = 0;
  for (std::uint32_t block = 0; block < 64; ++block) {
    const bool mine = f.where(block).contains(ssd_index(2));
    const status s = status::unpack(outcome[block]);
    CHECK(s.ok() == !mine);
    if (mine) CHECK(s.ssd == 2);
    broken += mine ? 1 : 0;
    if (s.ok()) {
      CHECK(std::memcmp(memory.bytes() + block * block_bytes, f.bytes.data() + block * block_bytes,
                        block_bytes) == 0);
    }
  }
  CHECK(broken > 0);
  CHECK(broken < 64);
}

TEST_CASE("two volumes do not see each other's blocks") {
  host::session s("emu:?capacity=16M");
  const volume_info a = s.create_volume({.bytes = 40 * block_bytes});
  const volume_info b = s.create_volume({.bytes = 40 * block_bytes, .replicas = 1});
  const auto of_a = random_bytes(40 * block_bytes, 1);
  const auto of_b = random_bytes(40 * block_bytes, 2);
  std::vector<unsigned char> read(40 * block_bytes, 0xaa);
  s.write(a, 0, of_a.data(), of_a.size());
  s.read(b, 0, read.data(), read.size());
  CHECK(read == std::vector<unsigned char>(40 * block_bytes));
  s.write(b, 0, of_b.data(), of_b.size());
  s.read(a, 0, read.data(), read.size());
  CHECK(read == of_a);
  s.read(b, 0, read.data(), read.size());
  CHECK(read == of_b);
}

TEST_CASE("more lanes than request slots write all their copies") {
  for (const std::string endpoint : runners) write_all_copies(endpoint);
}

TEST_CASE("more lanes than request slots write all their copies, reported by completions alone") {
  for (const std::string endpoint : array_runners) write_all_copies(endpoint + "&responses=cqe");
}

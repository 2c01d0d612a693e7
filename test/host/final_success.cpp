/// A success is final: what an SSD that was given up still writes reaches nobody's data.
// label: thorough
#include "late_rig.hpp"
#include "sleepy_thread.hpp"
#include "under_tsan.hpp"
#include <gnstor/host/executor.hpp>
#include <gnstor/simt/clock.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

using namespace gnstor;
using namespace gnstor::test;
namespace host = gnstor::host;

namespace {

constexpr std::uint32_t readers = 24;     // lanes
constexpr std::uint32_t reads = 4;        // of each lane, each into memory of its own
constexpr std::uint32_t blocks_read = 2;  // of two stripes
constexpr std::uint64_t patience_ns = 400'000'000;
constexpr int marker = 0x5a;  // what a lane puts where it has read

/// A lane reads ranges of its own, and uses the memory for something else as soon as it knows how
/// a read ended.
struct read_and_use {
  struct shared {};
  remote_volume volume;
  io_buffer memory;
  bool asynchronous;
  const unsigned char* content;
  status* outcome;
  bool* right;

  template <class Lane>
  void operator()(Lane& lane) const {
    const std::uint32_t me = lane.global_thread();
    for (std::uint32_t k = 0; k < reads; ++k) {
      const std::uint32_t mine = me * reads + k;
      const std::uint64_t first = std::uint64_t{mine} * blocks_read;
      const io_buffer to = memory.slice(first * block_bytes, blocks_read * block_bytes);
      const deadline d = simt::within(patience_ns);
      outcome[mine] =
          asynchronous ? begin(first, to, d) : volume.read(vba(first), blocks_read, to, d);
      auto* data = static_cast<unsigned char*>(to.data());
      right[mine] = std::memcmp(data, content + first * block_bytes, to.bytes) == 0;
      std::memset(data, marker, to.bytes);
    }
  }

 private:
  status begin(std::uint64_t first, io_buffer to, deadline d) const {
    result<io_ticket> t = volume.read_async(vba(first), blocks_read, to, d);
    for (until more{d}; more && t.status.code == status_code::would_block;)
      t = volume.read_async(vba(first), blocks_read, to, d);
    return t ? volume.wait(t.value, simt::within(2 * patience_ns)) : t.status;
  }
};

/// What came of reads beside a firmware of which one thread slept.
struct sleep_report {
  std::uint32_t succeeded = 0;
  std::uint32_t wrong = 0;          ///< successes with other bytes
  std::uint32_t written_after = 0;  ///< successes whose memory was written afterwards
  std::uint32_t late = 0;           ///< others whose memory was
};

/// @param which of the firmware's threads sleeps for a second
sleep_report read_beside_a_sleeper(std::uint32_t which, bool asynchronous) {
  constexpr std::uint32_t count = readers * reads;
  constexpr std::uint64_t bytes = std::uint64_t{count} * blocks_read * block_bytes;
  const std::vector<int> before = threads_here();
  host::session s("emu:?ssds=4&replicas=2&capacity=16M&timing=table2&threads=24",
                  {.channels = 2, .asynchronous = true});
  std::vector<int> firmware;
  for (const int t : threads_here())
    if (!std::binary_search(before.begin(), before.end(), t)) firmware.push_back(t);
  REQUIRE(firmware.size() == 24);
  const volume_info v = s.create_volume({.bytes = bytes, .stripe_blocks = 1});
  const std::vector<unsigned char> content = random_bytes(bytes, 7);
  s.write(v, 0, content.data(), bytes);
  host::memory_block memory = s.allocate(bytes);
  const io_buffer to = s.register_memory(memory.data(), bytes);
  std::vector<status> outcome(count);
  const auto right = std::make_unique<bool[]>(count);
  host::executor machine;
  s.attach(machine);
  machine.spawn(
      1, readers,
      read_and_use{s.ref(v), to, asynchronous, content.data(), outcome.data(), right.get()});
  sleepy_thread sleeper;
  sleepy_thread::put_to_sleep(firmware[which], std::chrono::seconds(1));
  machine.run();
  sleepy_thread::wait();
  std::this_thread::sleep_for(std::chrono::milliseconds(300));  // what was given up is done now
  sleep_report r;
  for (std::uint32_t k = 0; k < count; ++k) {
    const auto* data = static_cast<const unsigned char*>(memory.data()) +
                       std::uint64_t{k} * blocks_read * block_bytes;
    const bool written = std::any_of(data, data + blocks_read * block_bytes,
                                     [](unsigned char b) { return b != marker; });
    if (outcome[k].ok()) {
      ++r.succeeded;
      r.wrong += right[k] ? 0 : 1;
      r.written_after += written ? 1 : 0;
    } else {
      r.late += written ? 1 : 0;
    }
  }
  s.unregister_memory(to);
  return r;
}

void demand_final(const sleep_report& r) {
  CHECK(r.succeeded > 0);
  CHECK(r.wrong == 0);
  CHECK(r.written_after == 0);
  CHECK(r.late > 0);  // of what was not called a success
}

}  // namespace

TEST_CASE("session::read gives what one replica sent, whatever a silent one writes afterwards") {
  for (std::uint32_t ssd = 0; ssd < 4; ++ssd) {
    CAPTURE(ssd);
    late_rig r;
    r.session->inject_fault(ssd, "silent");
    r.link->write_late();
    std::vector<unsigned char> read(r.bytes);
    r.session->read(r.volume, 0, read.data(), r.bytes);
    CHECK(read == r.content);
  }
}

TEST_CASE("session::read fails where two of two replicas are silent") {
  late_rig r;
  for (std::uint32_t ssd = 0; ssd < 4; ++ssd) r.session->inject_fault(ssd, "silent");
  std::vector<unsigned char> read(r.bytes);
  CHECK_THROWS_AS(r.session->read(r.volume, 0, read.data(), r.bytes), host::io_error);
}

TEST_CASE("memory that an unanswered write was to send is not written again: an SSD may read it") {
  late_rig r;
  for (std::uint32_t ssd = 0; ssd < 4; ++ssd) r.session->inject_fault(ssd, "silent");
  CHECK_THROWS_AS(r.session->write(r.volume, 0, r.content.data(), r.bytes), host::io_error);
  for (std::uint32_t ssd = 0; ssd < 4; ++ssd) r.session->inject_fault(ssd, "none");
  const std::size_t before = r.link->allocations();
  r.session->write(r.volume, 0, r.content.data(), r.bytes);
  CHECK(r.link->allocations() == before + 1);
  r.session->write(r.volume, 0, r.content.data(), r.bytes);
  CHECK(r.link->allocations() == before + 1);  // nobody else reads this one
  std::vector<unsigned char> read(r.bytes);
  r.session->read(r.volume, 0, read.data(), r.bytes);
  CHECK(read == r.content);
}

TEST_CASE("a success is final beside a firmware of which one thread sleeps for a second" *
          doctest::skip(under_tsan)) {
  for (const std::uint32_t which : {0u, 9u}) {
    CAPTURE(which);
    demand_final(read_beside_a_sleeper(which, false));
  }
}

TEST_CASE("an asynchronous success is final beside a firmware of which one thread sleeps" *
          doctest::skip(under_tsan)) {
  for (const std::uint32_t which : {0u, 9u}) {
    CAPTURE(which);
    demand_final(read_beside_a_sleeper(which, true));
  }
}

/// What a target counts of each volume, and whom it says so.
#include "emulated_rig.hpp"
#include <serve/volume_traffic.hpp>

#include <chrono>
#include <numeric>
#include <thread>
#include <vector>

using namespace gnstor;
using namespace gnstor::test;
using kind = serve::volume_traffic::kind;
using std::chrono::microseconds;
using std::chrono::nanoseconds;

namespace {

/// Of volume `vid`; zeroes where nothing was counted.
wire::afa::traffic_record of(const serve::volume_traffic& t, std::uint16_t vid) {
  for (const wire::afa::traffic_record& r : t.all())
    if (r.vid == vid) return r;
  return {};
}

std::uint64_t commands(const wire::afa::traffic_record& r) {
  return std::accumulate(std::begin(r.latencies), std::end(r.latencies), std::uint64_t{0});
}

}  // namespace

TEST_CASE("a command is counted by what it did, and by how long it took") {
  serve::volume_traffic t;
  t.note(3, kind::read, 2, 0, nanoseconds(999));
  t.note(3, kind::read, 1, 0, microseconds(1));
  t.note(3, kind::write, 4, 0, microseconds(2));
  t.note(3, kind::write, 4, 6, std::chrono::seconds(100));
  t.note(3, kind::other, 0, 0, nanoseconds(-5));
  t.note(3, kind::read, 1, wire::afa::make_status(wire::afa::status::stale_epoch),
         microseconds(1));                       // it is sent again
  t.note(4, kind::read, 1, 6, microseconds(1));  // who knows whether there is such a volume
  CHECK(t.all().size() == 1);
  const auto r = of(t, 3);
  CHECK(r.reads == 2);
  CHECK(r.read_blocks == 3);
  CHECK(r.writes == 1);
  CHECK(r.written_blocks == 4);
  CHECK(r.errors == 1);
  CHECK(r.latencies[0] == 2);
  CHECK(r.latencies[1] == 1);
  CHECK(r.latencies[2] == 1);
  CHECK(r.latencies[wire::afa::latency_classes - 1] == 1);
  CHECK(r.latency_ns == 100'000'003'999);
  t.forget(3);
  CHECK(of(t, 3).reads == 0);
}

TEST_CASE("all volumes are on the lists, each once, in order") {
  serve::volume_traffic t;
  const std::vector<std::uint16_t> some = {65535, 1, 300, 17};
  for (const std::uint16_t vid : some) t.note(vid, kind::read, vid, 0, microseconds(1));
  for (std::uint16_t vid = 1000; vid < 1040; ++vid)
    t.note(vid, kind::read, vid, 0, microseconds(1));
  std::vector<std::uint16_t> seen;
  std::uint16_t next = 0;
  do {
    const wire::afa::traffic_list l = t.list(next);
    REQUIRE(l.version == wire::afa::payload_version);
    for (std::uint32_t k = 0; k < l.count; ++k) {
      CHECK(l.records[k].read_blocks == l.records[k].vid);
      seen.push_back(l.records[k].vid);
    }
    next = l.next_vid;
  } while (next != 0 && seen.size() < 100);
  CHECK(seen.size() == 44);
  CHECK(std::is_sorted(seen.begin(), seen.end()));
  CHECK(seen.back() == 65535);
}

TEST_CASE("threads that count at once lose nothing") {
  serve::volume_traffic t;
  std::vector<std::thread> threads;
  for (int k = 0; k < 4; ++k) {
    threads.emplace_back([&t] {
      for (int n = 0; n < 1000; ++n)
        t.note(static_cast<std::uint16_t>(1 + n % 3), kind::write, 1, 0, microseconds(n));
    });
  }
  for (std::thread& one : threads) one.join();
  std::uint64_t writes = 0;
  for (const auto& r : t.all()) {
    CHECK(commands(r) == r.writes);
    writes += r.writes;
  }
  CHECK(writes == 4000);
}

TEST_CASE("a target counts what plain hosts and GNStor's own do, and what fails") {
  emulated_rig rig;
  REQUIRE(rig.volume->attach() == 0);
  const auto data = filled(3 * block_bytes, 1);
  REQUIRE(rig.volume->write(0, data) == 0);
  std::vector<std::byte> found(block_bytes);
  REQUIRE(rig.volume->read(0, found) == 0);
  auto r = of(rig.array.traffic(), 1);
  CHECK(r.writes == 1);  // whatever replicas it has
  CHECK(r.written_blocks == 3);
  CHECK(r.reads == 1);
  CHECK(r.read_blocks == 1);

  const auto admin = rig.admin(array_nqn, bob);
  const auto io = rig.io(array_nqn, bob);
  CHECK(io->send(rig.own_io(nvm_opcode::read, bob, 0)).status != 0);  // it has no right
  submission_entry stranger = rig.own_io(nvm_opcode::read, bob, 0);
  stranger.cdw11 = (stranger.cdw11 & 0xffff) | 77u << 16;
  CHECK(io->send(stranger).status != 0);  // there is no such volume, and no entry for it
  REQUIRE(rig.chmod(*admin, bob, wire::afa::right_read) == 0);
  CHECK(io->send(rig.own_io(nvm_opcode::read, bob, 0)).status == 0);
  CHECK(io->send(host_queue::command(0, 1, 0)).status == 0);  // a Flush is of no volume
  r = of(rig.array.traffic(), 1);
  CHECK(r.reads == 2);
  CHECK(r.errors == 1);
  CHECK(commands(r) == 4);
  CHECK(r.latency_ns != 0);
  CHECK(rig.array.traffic().all().size() == 1);
}

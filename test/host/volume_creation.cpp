/// Who gets which volume id, and what becomes of creations that end half-way.
#include "random_bytes.hpp"
#include "shared_sessions.hpp"
#include "temp_folder.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <thread>
#include <vector>

using namespace gnstor;
using namespace gnstor::test;
namespace host = gnstor::host;
using wire::afa::right_read;
using wire::afa::right_write;
using wire::afa::volume_spread;

namespace {

/// A record that only some SSDs are given.
wire::afa::volume_record record(std::uint16_t vid, client_id client, std::uint64_t hash_factor) {
  wire::afa::volume_record r{};
  r.version = wire::afa::payload_version;
  r.vid = vid;
  r.replicas = 2;
  r.hash_factor = hash_factor;
  r.capacity_blocks = 64;
  r.stripe_blocks = 16;
  r.epoch = 1;
  r.ssd_count = 4;
  r.client_count = 1;
  r.clients[0] = {client.value, right_read | right_write};
  return r;
}

bool holds(host::session& s, const volume_info& v, const std::vector<unsigned char>& bytes) {
  std::vector<unsigned char> read(bytes.size());
  s.read(v, 0, read.data(), read.size());
  return read == bytes;
}

}  // namespace

TEST_CASE("hosts that create volumes at once get different ones, and each keeps its data") {
  constexpr std::uint32_t races = 60;
  constexpr std::uint32_t hosts = 2;
  const shared_sessions shared("emu:?capacity=32M&runner=cpu&ssds=3");
  host::session sessions[hosts] = {shared.open("one"), shared.open("other")};
  for (std::uint32_t race = 0; race < races; ++race) {
    std::atomic<std::uint32_t> waiting{hosts};
    volume_info made[hosts];
    std::vector<std::thread> threads;
    for (std::uint32_t t = 0; t < hosts; ++t) {
      threads.emplace_back([&, t] {
        --waiting;
        while (waiting != 0) std::this_thread::yield();
        made[t] = sessions[t].create_volume({.bytes = 8 * block_bytes});
        const auto bytes = random_bytes(8 * block_bytes, 2 * race + t);
        sessions[t].write(made[t], 0, bytes.data(), bytes.size());
      });
    }
    for (std::thread& t : threads) t.join();
    REQUIRE(made[0].vid.value != made[1].vid.value);
    for (std::uint32_t t = 0; t < hosts; ++t) {
      REQUIRE(holds(sessions[t], made[t], random_bytes(8 * block_bytes, 2 * race + t)));
      sessions[t].delete_volume(made[t].vid);
    }
  }
}

TEST_CASE("more volumes than one answer lists are all listed, opened and passed over") {
  const shared_sessions shared;
  host::session s = shared.open("host");
  constexpr std::uint32_t many = 2 * wire::afa::volume_list_records + 1;
  for (std::uint32_t k = 1; k <= many; ++k)
    REQUIRE(s.create_volume({.bytes = block_bytes}).vid.value == k);
  const auto all = s.volumes();
  REQUIRE(all.size() == many);
  for (std::uint32_t k = 0; k < many; ++k) CHECK(all[k].vid == k + 1);
  CHECK(s.open_volume(volume_id(many)).writable);
  s.delete_volume(volume_id(many));
  CHECK(s.volumes().size() == many - 1);
}

TEST_CASE("a volume that the array's flash cannot hold with all replicas is not created") {
  const shared_sessions shared;
  host::session s = shared.open("host");
  const std::uint64_t flash = 4 * s.usage(0).capacity_blocks * block_bytes;
  for (const std::uint32_t replicas : {1u, 2u, 4u}) {
    CAPTURE(replicas);
    const std::uint64_t most = flash / replicas;
    CHECK_THROWS_AS((void)s.create_volume({.bytes = most + 1, .replicas = replicas}),
                    host::input_error);
    CHECK(s.volumes().empty());
    s.delete_volume(s.create_volume({.bytes = most, .replicas = replicas}).vid);
  }
}

TEST_CASE("what another creation has left on an SSD is not deleted: its volume id is passed over") {
  for (const std::uint32_t ssd : {0u, 1u, 3u}) {
    CAPTURE(ssd);
    const shared_sessions shared;
    raw_admin ghost(shared.link("ghost"));
    REQUIRE(ghost.add(ssd, record(1, ghost.client(), 77)).ok());
    host::session s = shared.open("host");
    const volume_info v = s.create_volume({.bytes = 8 * block_bytes});
    CHECK(v.vid.value == 2);
    for (std::uint32_t k = 0; k < 4; ++k) {
      const wire::afa::volume_list there = ghost.list(k);
      CHECK(there.count == (k == ssd ? 2 : 1));  // nothing of the attempt is left
      if (k == ssd) CHECK(there.records[0].hash_factor == 77);
    }
  }
}

TEST_CASE("a creation that ended half-way is on no list, and keeps its volume id") {
  const shared_sessions shared;
  raw_admin ghost(shared.link("ghost"));
  wire::afa::volume_record r = record(1, ghost.client(), 77);
  r.spread = volume_spread::creating;
  for (std::uint32_t k = 0; k < 2; ++k) REQUIRE(ghost.add(k, r).ok());
  host::session s = shared.open("host");
  CHECK(s.volumes().empty());
  CHECK_THROWS_AS((void)s.open_volume(volume_id(1)), host::input_error);
  CHECK(s.create_volume({.bytes = block_bytes}).vid.value == 2);
  REQUIRE(s.volumes().size() == 1);
  CHECK(s.volumes()[0].spread == volume_spread::whole);
}

TEST_CASE("a creation that is cut short at any command is on no list before all SSDs have it") {
  std::uint32_t listed = 0;
  for (std::uint32_t commands = 1; commands <= 9; ++commands) {
    CAPTURE(commands);
    const shared_sessions shared;
    raw_admin watcher(shared.link("watcher"));
    host::session other = shared.open("other");
    late_link* meddler = nullptr;
    host::session s = shared.open("host", &meddler);
    meddler->stop_after(commands);
    try {
      (void)s.create_volume({.bytes = block_bytes});
    } catch (const host::io_error&) {
    }
    if (other.volumes().empty()) continue;
    ++listed;
    for (std::uint32_t k = 0; k < 4; ++k) CHECK(watcher.list(k).count == 1);
  }
  CHECK(listed == 1);  // with the last command of nine
}

TEST_CASE("what a creation has left on flash files is gone when the array is opened again") {
  const temp_folder folder;
  const std::string where = "emu:?capacity=16M&runner=cpu&flash=" + std::string(folder.path());
  for (std::uint32_t commands = 2; commands <= 8; ++commands) {
    CAPTURE(commands);
    {
      const shared_sessions shared(where);
      late_link* meddler = nullptr;
      host::session s = shared.open("host", &meddler);
      meddler->stop_after(commands);
      CHECK_THROWS_AS((void)s.create_volume({.bytes = block_bytes}), host::io_error);
    }
    const shared_sessions shared(where);
    raw_admin watcher(shared.link("watcher"));
    for (std::uint32_t k = 0; k < 4; ++k) CHECK(watcher.list(k).count == 0);
  }
}

TEST_CASE("a volume is not created where an SSD does not answer, and nothing of it is left") {
  for (const std::uint32_t ssd : {0u, 1u, 3u}) {
    CAPTURE(ssd);
    const shared_sessions shared;
    raw_admin watcher(shared.link("watcher"));
    late_link* meddler = nullptr;
    host::session s = shared.open("host", &meddler);
    meddler->mute(ssd);
    CHECK_THROWS_AS((void)s.create_volume({.bytes = block_bytes}), host::error);
    for (std::uint32_t k = 0; k < 4; ++k) CHECK(watcher.list(k).count == 0);
    meddler->mute(99);
    CHECK(s.create_volume({.bytes = block_bytes}).vid.value == 1);
  }
}

TEST_CASE("a creation is taken back also from an SSD that carried it out and was not heard") {
  for (const std::uint32_t ssd : {0u, 1u, 3u}) {
    for (const std::uint32_t heard : {0u, 1u}) {  // its claim, or that the volume is whole
      CAPTURE(ssd);
      CAPTURE(heard);
      const shared_sessions shared;
      raw_admin watcher(shared.link("watcher"));
      late_link* meddler = nullptr;
      host::session s = shared.open("host", &meddler);
      meddler->lose_answers(ssd, wire::afa::admin_opcode::volume_add, heard);
      CHECK_THROWS_AS((void)s.create_volume({.bytes = block_bytes}), host::io_error);
      for (std::uint32_t k = 0; k < 4; ++k) CHECK(watcher.list(k).count == 0);
      meddler->lose_answers(99, wire::afa::admin_opcode::volume_add);
      CHECK(s.create_volume({.bytes = block_bytes}).vid.value == 1);  // the id is free again
    }
  }
}

TEST_CASE("volumes are created and deleted without an SSD that is absent") {
  const shared_sessions shared;
  raw_admin manager(shared.link("manager", true));
  wire::afa::array_membership m{wire::afa::payload_version, 2, 1, 0};
  for (std::uint32_t k = 0; k < 4; ++k) REQUIRE(manager.update(k, m).ok());
  host::session s = shared.open("host");
  const volume_info v = s.create_volume({.bytes = 8 * block_bytes});
  const auto bytes = random_bytes(8 * block_bytes, 1);
  s.write(v, 0, bytes.data(), bytes.size());
  CHECK(holds(s, v, bytes));
  CHECK(manager.list(0, 2).count == 0);
  for (std::uint32_t k = 1; k < 4; ++k) CHECK(manager.list(k, 2).count == 1);
  s.delete_volume(v.vid);
  for (std::uint32_t k = 1; k < 4; ++k) CHECK(manager.list(k, 2).count == 0);
}

TEST_CASE("a deletion that ended half-way leaves the volume listed, and may be repeated") {
  const shared_sessions shared;
  raw_admin watcher(shared.link("watcher"));
  late_link* meddler = nullptr;
  host::session s = shared.open("host", &meddler);
  const volume_info v = s.create_volume({.bytes = block_bytes});
  meddler->mute(2);
  CHECK_THROWS_AS(s.delete_volume(v.vid), host::io_error);
  // No SSD forgets it while others do not know that it goes.
  CHECK(watcher.list(1).records[0].spread == volume_spread::deleting);
  CHECK(watcher.list(0).records[0].spread == volume_spread::whole);
  CHECK(s.volumes().size() == 1);
  meddler->mute(99);
  s.delete_volume(v.vid);
  for (std::uint32_t k = 0; k < 4; ++k) CHECK(watcher.list(k).count == 0);
}

TEST_CASE("a deletion that all SSDs know of is not undone, and may be repeated") {
  const shared_sessions shared;
  raw_admin manager(shared.link("manager", true));
  host::session s = shared.open("host");
  const volume_info v = s.create_volume({.bytes = block_bytes, .name = "going"});
  wire::afa::volume_chmod going{};
  going.version = wire::afa::payload_version;
  going.vid = v.vid.value;
  going.spread = volume_spread::deleting;
  wire::afa::admin_command c;
  c.opcode = wire::afa::admin_opcode::volume_chmod;
  c.volume = v.vid;
  c.epoch = 1;
  for (std::uint32_t k = 0; k < 4; ++k) REQUIRE(manager.send(c, k, going).ok());
  CHECK(s.volumes().empty());
  CHECK_THROWS_AS((void)s.open_volume("going"), host::input_error);
  s.delete_volume(v.vid);
  for (std::uint32_t k = 0; k < 4; ++k) CHECK(manager.list(k).count == 0);
}

TEST_CASE("what an SSD that is absent says of a creation deletes nothing when the array opens") {
  const temp_folder folder;
  const std::string where = "emu:?capacity=16M&runner=cpu&flash=" + folder.path();
  const wire::afa::volume_record whole = record(1, client_id(9), 77);
  wire::afa::volume_record claimed = whole;
  claimed.spread = volume_spread::creating;
  for (const bool absent : {true, false}) {
    CAPTURE(absent);
    {
      const shared_sessions shared(where);
      raw_admin manager(shared.link("manager", true));
      const std::uint32_t epoch = absent ? 1 : 2;
      if (!absent) {  // it is there again, and has not heard the end
        const wire::afa::array_membership m{wire::afa::payload_version, 3, 0, 0};
        for (std::uint32_t k = 0; k < 4; ++k) REQUIRE(manager.update(k, m).ok());
      }
      for (std::uint32_t k = 0; k < 4 && absent; ++k) {
        REQUIRE(manager.add(k, claimed, epoch).ok());
        if (k != 3) REQUIRE(manager.add(k, whole, epoch).ok());
      }
      const wire::afa::array_membership m{wire::afa::payload_version, 2, 8, 0};
      for (std::uint32_t k = 0; k < 3 && absent; ++k) REQUIRE(manager.update(k, m).ok());
    }
    const shared_sessions shared(where);
    raw_admin manager(shared.link("manager", true));
    for (std::uint32_t k = 0; k < 3; ++k)
      CHECK(manager.list(k, absent ? 2 : 3).count == (absent ? 1 : 0));
  }
}

TEST_CASE("what an SSD that is absent says of a deletion deletes nothing when the array opens") {
  const temp_folder folder;
  const std::string where = "emu:?capacity=16M&runner=cpu&flash=" + folder.path();
  {
    const shared_sessions shared(where);
    raw_admin manager(shared.link("manager", true));
    for (std::uint32_t k = 0; k < 4; ++k)
      REQUIRE(manager.add(k, record(1, client_id(9), 77), 1).ok());
    wire::afa::volume_chmod going{};
    going.version = wire::afa::payload_version;
    going.vid = 1;
    going.spread = volume_spread::deleting;
    wire::afa::admin_command c;
    c.opcode = wire::afa::admin_opcode::volume_chmod;
    c.volume = volume_id(1);
    c.epoch = 1;
    REQUIRE(manager.send(c, 3, going).ok());  // it fails then, and the deletion is given up
    const wire::afa::array_membership m{wire::afa::payload_version, 2, 8, 0};
    for (std::uint32_t k = 0; k < 3; ++k) REQUIRE(manager.update(k, m).ok());
  }
  const shared_sessions shared(where);
  raw_admin manager(shared.link("manager", true));
  for (std::uint32_t k = 0; k < 3; ++k) CHECK(manager.list(k, 2).count == 1);
}

TEST_CASE("volumes are opened, renamed and deleted by name, by the host that owns them") {
  const shared_sessions shared;
  host::session s = shared.open("host");
  host::session other = shared.open("other");
  const volume_info v = s.create_volume({.bytes = block_bytes, .name = "edges", .labels = "a=b"});
  CHECK(s.open_volume("edges").vid == v.vid);
  CHECK(s.open_read_only("edges").vid == v.vid);
  CHECK_THROWS_WITH_AS((void)other.create_volume({.bytes = block_bytes, .name = "edges"}),
                       doctest::Contains("another volume is called \"edges\""), host::input_error);
  CHECK(s.volumes().size() == 1);
  CHECK_THROWS_AS(other.rename_volume(v.vid, "mine"), host::io_error);
  s.rename_volume(v.vid, "vertices");
  CHECK_THROWS_WITH_AS((void)s.open_volume("edges"), doctest::Contains("no volume is called"),
                       host::input_error);
  (void)other.create_volume({.bytes = block_bytes, .name = "edges"});
  CHECK_THROWS_AS(s.rename_volume(v.vid, "edges"), host::input_error);
  CHECK(s.open_volume("vertices").vid == v.vid);
  s.delete_volume("vertices");
  CHECK_THROWS_AS(s.delete_volume("vertices"), host::input_error);
  CHECK_THROWS_AS((void)s.open_volume("\xff"), host::input_error);
}

TEST_CASE("a volume without a manager grows, on all SSDs and for good, and does not shrink") {
  const temp_folder folder;
  const std::string where = "emu:?ssds=3&capacity=16M&flash=" + folder.path();
  const auto bytes = random_bytes(40 * block_bytes, 7);
  {
    host::session s(where, {.channels = 0});
    const volume_info v = s.create_volume({.bytes = 20 * block_bytes, .name = "a"});
    s.grow_volume(v.vid, 40 * block_bytes);
    CHECK_THROWS_WITH_AS(s.grow_volume(v.vid, 39 * block_bytes),
                         doctest::Contains("no volume shrinks"), host::input_error);
    CHECK_THROWS_AS(s.grow_volume(v.vid, std::uint64_t{1} << 50), host::input_error);
    CHECK_THROWS_AS(s.grow_volume(volume_id(9), 4096), host::input_error);
    const volume_info grown = s.refresh(v);
    REQUIRE(grown.capacity_blocks == 40);
    s.write(grown, 0, bytes.data(), bytes.size());
  }
  host::session s(where, {.channels = 0});
  const volume_info v = s.open_volume("a");
  REQUIRE(v.capacity_blocks == 40);
  std::vector<unsigned char> found(bytes.size());
  s.read(v, 0, found.data(), found.size());
  CHECK(found == bytes);
}

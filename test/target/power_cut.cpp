/// What a host of the target learns of a power cut, and what a Flush does about it.
// label: thorough
#include "host/disk_shadow.hpp"
#include "host/temp_folder.hpp"
#include "rig.hpp"
#include <gnstor/wire/afa/slba.hpp>
#include <gnstor/wire/nvme/media_status.hpp>
#include <serve/array_volume.hpp>
#include <serve/provide_volumes.hpp>
#include <serve/target_workers.hpp>

#include <chrono>
#include <thread>

using namespace gnstor;
using namespace gnstor::test;
using wire::nvme::nvm_opcode;

namespace {

constexpr std::uint8_t cache = 0x06;  ///< the feature

submission_entry forced(submission_entry e) {
  e.cdw12 |= wire::nvme::force_unit_access;
  return e;
}

std::vector<std::byte> filled(std::byte seed) {
  std::vector<std::byte> p(block_bytes);
  for (std::size_t k = 0; k < p.size(); ++k) p[k] = static_cast<std::byte>(k * 3) ^ seed;
  return p;
}

/// A target of an array in memory, or on files whose disk is watched, with a volume.
struct emulated_target {
  explicit emulated_target(const std::string& more = "")
      : array(host::endpoint::parse("emu:?ssds=3&capacity=4M" + more), 10'000'000'000),
        target({}, array) {
    const std::uint64_t size[] = {1 << 20};
    serve::provide_volumes(array, size);
    volume = std::make_shared<serve::array_volume>(array, record());
    target.offer({array_nqn, serve::subsystem_kind::array, {}, nullptr});
    target.offer({volume_nqn, serve::subsystem_kind::volume, {}, volume});
  }
  wire::afa::volume_record record() { return array.own().volumes(array.about()).at(0); }

  /// A host's queues, connected and enabled.
  struct host_queues {
    std::unique_ptr<host_queue> admin;
    std::unique_ptr<host_queue> io;
  };
  host_queues connect(const char* nqn) {
    host_queues q{std::make_unique<host_queue>(target, 0), std::make_unique<host_queue>(target, 1)};
    const reply r = q.admin->connect(nqn, alice);
    REQUIRE(r.status == 0);
    REQUIRE(q.admin->enable().status == 0);
    REQUIRE(q.io->connect(nqn, alice, static_cast<std::uint16_t>(r.dw0)).status == 0);
    return q;
  }

  serve::emulated_gateway array;
  serve::target_model target;
  std::shared_ptr<serve::array_volume> volume;
};

struct watched_target {
  explicit watched_target(const std::string& more = "") {
    disk.watch(folder.path());
    open(more);
  }
  ~watched_target() { disk.stop(); }
  void open(const std::string& more = "") {
    rig = std::make_unique<emulated_target>("&flash=" + folder.path() + more);
  }
  /// Ends the target, cuts the power as of `then`, and reads what is there afterwards.
  std::vector<std::byte> first_block_after(const disk_shadow::image& then) {
    rig.reset();
    disk_shadow::cut_power(then);
    open();
    return rig->connect(volume_nqn).io->send(host_queue::io(nvm_opcode::read, 0, 1)).data;
  }

  const temp_folder folder;
  disk_shadow& disk = disk_shadow::get();
  std::unique_ptr<emulated_target> rig;
};

}  // namespace

TEST_CASE("a volatile write cache is announced where a Flush has something to do, and only there") {
  const auto announced = [](emulated_target& rig, const char* nqn) {
    return rig.connect(nqn).admin->identify(1).number(525, 1);
  };
  emulated_target memory;
  CHECK(announced(memory, volume_nqn) == 6);
  CHECK(announced(memory, array_nqn) == 6);
  const watched_target files;
  CHECK(announced(*files.rig, volume_nqn) == 7);
  CHECK(announced(*files.rig, array_nqn) == 7);
  const watched_target careless("&sync=no");
  CHECK(announced(*careless.rig, volume_nqn) == 6);
}

TEST_CASE("a volume that a target has made is there after a power cut") {
  watched_target at;
  const disk_shadow::image then = at.disk.disk();
  at.rig.reset();
  disk_shadow::cut_power(then);
  serve::emulated_gateway array(
      host::endpoint::parse("emu:?ssds=3&capacity=4M&flash=" + at.folder.path()), 10'000'000'000);
  const auto volumes = array.own().volumes(array.about());
  REQUIRE(volumes.size() == 1);
  CHECK(volumes[0].capacity_blocks == 256);
}

TEST_CASE("a plain host's Flush, or its write with FUA, survives a power cut") {
  for (const bool flush : {true, false}) {
    CAPTURE(flush);
    watched_target at;
    const auto data = filled(std::byte{1});
    disk_shadow::image then;
    {
      const auto q = at.rig->connect(volume_nqn);
      const submission_entry write = host_queue::io(nvm_opcode::write, 0, 1);
      REQUIRE(q.io->send(flush ? write : forced(write), data).status == 0);
      if (flush) REQUIRE(q.io->send(host_queue::command(0, 1, 0)).status == 0);
      then = at.disk.disk();
    }
    CHECK(at.first_block_after(then) == data);
  }
}

TEST_CASE("with its cache switched off, each write of a host survives a power cut") {
  using wire::nvme::admin_opcode;
  watched_target at;
  const auto data = filled(std::byte{2});
  disk_shadow::image then;
  {
    const auto q = at.rig->connect(volume_nqn);
    host_queue& admin = *q.admin;
    CHECK(admin.feature(admin_opcode::get_features, cache).dw0 == 1);
    CHECK(admin.feature(admin_opcode::get_features, cache | 3u << 8).dw0 == 4);
    CHECK(admin.feature(admin_opcode::set_features, cache, 2).status ==
          dnr(generic_status::invalid_field));
    CHECK(admin.feature(admin_opcode::set_features, cache).status == 0);
    CHECK(admin.feature(admin_opcode::get_features, cache).dw0 == 0);
    REQUIRE(q.io->send(host_queue::io(nvm_opcode::write, 0, 1), data).status == 0);
    then = at.disk.disk();
    admin.set(wire::fabrics::property_offset::configuration, 0);
    admin.enable();
    CHECK(admin.feature(admin_opcode::get_features, cache).dw0 == 1);
  }
  CHECK(at.first_block_after(then) == data);
  emulated_target memory;
  const auto q = memory.connect(volume_nqn);
  for (const auto op : {admin_opcode::get_features, admin_opcode::set_features})
    CHECK(q.admin->feature(op, cache).status == dnr(generic_status::invalid_field));
}

TEST_CASE("an own client's Flush and FUA reach the disk of the SSD they name") {
  watched_target at;
  serve::emulated_gateway& array = at.rig->array;
  REQUIRE(
      array.set_own_rights(volume_id(1), 3, wire::afa::right_read | wire::afa::right_write).ok());
  const wire::afa::volume_record r = at.rig->record();
  const auto set = rendezvous_placement(3).replicas(volume_id(1), r.hash_factor, 0, r.replicas);
  const auto at_block_0 = [&](nvm_opcode op) {
    submission_entry e =
        host_queue::io(op, wire::afa::pack_slba(volume_id(1), array.own_client(), vba(0)), 1);
    e.nsid = set.ssd[0].value + 1u;
    e.cdw2 = array.about().epoch;
    return e;
  };
  auto data = filled(std::byte{3});
  const std::uint32_t before = at.disk.syncs;
  REQUIRE(array.own().io(at_block_0(nvm_opcode::write), data).ok());
  CHECK(at.disk.syncs == before);
  REQUIRE(array.own().io(forced(at_block_0(nvm_opcode::write)), data).ok());
  CHECK(at.disk.syncs == before + 1);
  REQUIRE(array.own().io(host_queue::command(0, set.ssd[0].value + 1u, 0), {}).ok());
  CHECK(at.disk.syncs == before + 2);
  REQUIRE(array.own().io(forced(at_block_0(nvm_opcode::read)), data).ok());
  CHECK(at.disk.syncs == before + 2);
}

TEST_CASE("others read and write while a Flush waits for the disk") {
  watched_target at;
  serve::array_volume& volume = *at.rig->volume;
  const auto data = filled(std::byte{5});
  REQUIRE(volume.attach() == 0);
  REQUIRE(volume.write(0, data) == 0);
  const std::uint32_t before = at.disk.syncs;
  at.disk.held = true;
  std::atomic<int> status{-1};
  std::thread flusher([&] { status = volume.flush(); });
  for (int k = 0; k < 10'000 && at.disk.syncs == before; ++k)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  std::vector<std::byte> back(block_bytes);
  for (std::uint64_t k = 1; k < 50; ++k) {
    CHECK(volume.write(k, data) == 0);
    CHECK(volume.read(k, back) == 0);
    CHECK(back == data);
  }
  CHECK(status == -1);
  at.disk.held = false;
  flusher.join();
  CHECK(status == 0);
  volume.detach();
}

TEST_CASE("hosts that flush leave the threads to others that wait for the array") {
  serve::target_workers workers(1);
  std::atomic<bool> over{false};
  std::atomic<std::uint32_t> done{0};
  serve::plan flush;
  flush.lasting = true;
  for (std::uint32_t k = 0; k < 2 * serve::target_workers::disk_waiters; ++k) {
    workers.of(flush).submit([&] {
      for (; !over;) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    });
  }
  workers.of({}).submit([&] { ++done; });
  for (int k = 0; k < 10'000 && done == 0; ++k)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  CHECK(done == 1);
  over = true;
}

TEST_CASE("a Flush that the disk refuses is a media error for a plain host") {
  watched_target at;
  const auto q = at.rig->connect(volume_nqn);
  at.disk.fails = true;
  CHECK((q.io->send(host_queue::command(0, 1, 0)).status & 0x7ff) ==
        (wire::nvme::make_status(wire::nvme::media_status::write_fault) & 0x7ff));
}

TEST_CASE("only what has to wait for a disk goes to the threads that do") {
  target_rig rig;
  rig.array.cached = true;
  const auto lasting = [&](const char* nqn, const submission_entry& e) {
    auto admin = rig.admin(nqn);
    const auto q = rig.io(nqn);
    std::vector<std::byte> message(sizeof e);
    std::memcpy(message.data(), &e, sizeof e);
    return q->queue().admit(message, 1000).lasting;
  };
  for (const char* nqn : {volume_nqn, array_nqn}) {
    for (const auto op : {nvm_opcode::write, nvm_opcode::write_zeroes}) {
      CHECK_FALSE(lasting(nqn, host_queue::io(op, 0, 1)));
      CHECK(lasting(nqn, forced(host_queue::io(op, 0, 1))));
    }
    CHECK(lasting(nqn, host_queue::command(0, 1, 0)));
    CHECK_FALSE(lasting(nqn, forced(host_queue::io(nvm_opcode::read, 0, 1))));
  }
  rig.array.cached = false;
  CHECK_FALSE(lasting(volume_nqn, host_queue::command(0, 1, 0)));
  CHECK_FALSE(lasting(volume_nqn, forced(host_queue::io(nvm_opcode::write, 0, 1))));
}

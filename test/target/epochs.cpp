/// The target goes along when the array comes to another epoch.
#include "rig.hpp"
#include <gnstor/wire/afa/admin_command.hpp>
#include <gnstor/wire/afa/array_membership.hpp>
#include <gnstor/wire/afa/io_opcode.hpp>
#include <serve/array_volume.hpp>
#include <serve/provide_volumes.hpp>

#include <atomic>
#include <thread>

using namespace gnstor;
using namespace gnstor::test;

namespace {

constexpr std::uint32_t ssds = 3;

/// An array of three SSDs, and volume 1 with two replicas on it.
struct epochs_rig {
  epochs_rig() : array(host::endpoint::parse("emu:?ssds=3&capacity=4M"), 10'000'000'000) {
    const std::uint64_t size[] = {1 << 20};
    serve::provide_volumes(array, size);
    volume = std::make_unique<serve::array_volume>(array, record());
  }
  wire::afa::volume_record record() { return array.own().volumes(array.about()).at(0); }
  /// What the array's manager does.
  void enter(std::uint32_t epoch, std::uint64_t absent) {
    wire::afa::array_membership next{wire::afa::payload_version, epoch, absent, 0};
    wire::afa::admin_command c;
    c.opcode = wire::afa::admin_opcode::array_update;
    for (c.nsid = 1; c.nsid <= ssds; ++c.nsid) {
      REQUIRE(array.own().admin(c.pack(), std::as_writable_bytes(std::span(&next, 1))).ok());
    }
  }

  serve::emulated_gateway array;
  std::unique_ptr<serve::array_volume> volume;
};

std::vector<std::byte> filled(std::byte value) {
  return std::vector<std::byte>(16 * block_bytes, value);
}

}  // namespace

TEST_CASE("a plain host's commands go on in the array's next epoch, around an absent SSD") {
  epochs_rig rig;
  REQUIRE(rig.volume->attach() == 0);
  std::vector<std::byte> back(16 * block_bytes);
  REQUIRE(rig.volume->write(0, filled(std::byte{1})) == 0);
  rig.enter(2, 0);
  CHECK(rig.volume->read(0, back) == 0);
  CHECK(back == filled(std::byte{1}));
  rig.enter(3, 1u << 2);
  CHECK(rig.volume->write(0, filled(std::byte{2})) == 0);
  rig.array.inject_fault(2, "dead");  // nobody asks it any more
  for (std::uint64_t at = 0; at < 256; at += 16) {
    CHECK(rig.volume->write(at, filled(std::byte{3})) == 0);
    CHECK(rig.volume->read(at, back) == 0);
    CHECK(back == filled(std::byte{3}));
  }
  rig.enter(4, 1u << 2);
  CHECK(rig.volume->write_zeroes(0, 16) == 0);
  rig.enter(5, 1u << 2);
  rig.volume->detach();  // gives the right back in that epoch
  CHECK(rig.array.about().epoch == 5);
  CHECK(rig.record().client_count == 0);
}

TEST_CASE("what the target does about once a second follows the epoch, too") {
  epochs_rig rig;
  rig.enter(7, 0);
  rig.array.refresh();
  CHECK(rig.array.about().epoch == 7);
  CHECK_FALSE(rig.volume->refresh(rig.record()));
  REQUIRE(rig.volume->attach() == 0);
  CHECK(rig.volume->write(0, filled(std::byte{4})) == 0);
}

TEST_CASE("ARRAY UPDATE and Fill of a host are refused, and change nothing") {
  epochs_rig rig;
  serve::target_model target({}, rig.array);
  target.offer({array_nqn, serve::subsystem_kind::array, {}, nullptr});
  host_queue admin(target, 0);
  const reply joined = admin.connect(array_nqn, bob);
  REQUIRE(joined.status == 0);
  REQUIRE(admin.enable().status == 0);
  host_queue io(target, 1);
  REQUIRE(io.connect(array_nqn, bob, static_cast<std::uint16_t>(joined.dw0)).status == 0);
  const wire::afa::array_membership next{wire::afa::payload_version, 2, 1, 0};
  std::vector<std::byte> payload(4096);
  std::memcpy(payload.data(), &next, sizeof next);
  wire::afa::admin_command c;
  c.opcode = wire::afa::admin_opcode::array_update;
  c.epoch = 1;
  constexpr std::uint16_t refused = wire::afa::make_status(wire::afa::status::not_permitted, true);
  for (c.nsid = 1; c.nsid <= ssds; ++c.nsid) {
    for (const std::uint32_t bytes : {std::uint32_t{sizeof next}, 4096u}) {
      c.payload = wire::nvme::make_keyed_sgl(host_queue::address, bytes, host_queue::key);
      CHECK(admin.send(c.pack(), payload).status == refused);
    }
    submission_entry fill = host_queue::io(wire::nvme::nvm_opcode::write, 0, 1);
    fill.opcode = static_cast<std::uint8_t>(wire::afa::io_opcode::fill);
    fill.nsid = c.nsid;
    CHECK(io.send(fill, payload).status == refused);
  }
  rig.array.refresh();
  CHECK(rig.array.about().epoch == 1);
  CHECK(rig.array.about().absent == 0);
  REQUIRE(rig.volume->attach() == 0);
  CHECK(rig.volume->write(0, filled(std::byte{6})) == 0);
}

TEST_CASE("threads that read and write while epochs change see no error but of the moment") {
  epochs_rig rig;
  REQUIRE(rig.volume->attach() == 0);
  REQUIRE(rig.volume->write(0, filled(std::byte{5})) == 0);
  std::atomic<bool> over{false};
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&] {
      std::vector<std::byte> back(16 * block_bytes);
      for (; !over;) {
        (void)rig.volume->write(0, filled(std::byte{5}));
        (void)rig.volume->read(0, back);
      }
    });
  }
  for (std::uint32_t epoch = 2; epoch < 30; ++epoch) rig.enter(epoch, 0);
  over = true;
  for (std::thread& t : threads) t.join();
  std::vector<std::byte> back(16 * block_bytes);
  CHECK(rig.volume->read(0, back) == 0);
  CHECK(back == filled(std::byte{5}));
}

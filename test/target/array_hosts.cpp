/// Hosts of the array: how they join and leave, and whose rights go with them.
#include "emulated_rig.hpp"
#include "host/sleepy_thread.hpp"
#include "under_tsan.hpp"
#include <gnstor/host/error.hpp>
#include <gnstor/wire/afa/volume_list.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

using namespace gnstor;
using namespace gnstor::test;
using wire::afa::right_read;
using wire::afa::right_write;

namespace {

constexpr std::uint16_t both = right_read | right_write;

serve::array_gateway::joined join(emulated_rig& rig, const std::string& nqn) {
  return rig.array.join({nqn, {}, host::client_identity::client_of(nqn)});
}
std::string guest(int k) { return "nqn.2026-11.io.gnstor:host:g" + std::to_string(k); }

submission_entry describing(std::uint32_t ssd) {
  wire::afa::admin_command c;
  c.opcode = wire::afa::admin_opcode::array_describe;
  c.nsid = ssd + 1;
  return c.pack();
}

}  // namespace

TEST_CASE("a simulated array is not served: nothing would run it") {
  try {
    const serve::emulated_gateway array(host::endpoint::parse("emu:?capacity=16M&runner=sim"),
                                        answer_timeout_ns);
    FAIL("it serves an array that stands still");
  } catch (const host::input_error& e) {
    CHECK(std::string(e.what()).find("runner=cpu") != std::string::npos);
  }
}

TEST_CASE("a host that has gone leaves its place to the next at once") {
  emulated_rig rig;
  std::vector<serve::array_gateway::joined> all;
  constexpr int most = serve::emulated_gateway::most_members;
  for (int k = 0; k < most; ++k) {
    all.push_back(join(rig, guest(k)));
    REQUIRE(all.back().refused == 0);
  }
  CHECK(join(rig, guest(most)).refused != 0);
  all.pop_back();
  CHECK(join(rig, guest(most)).refused == 0);
}

TEST_CASE("commands of a client that is not connected are refused") {
  emulated_rig rig;
  std::vector<std::byte> bytes(block_bytes);
  const submission_entry read = rig.own_io(nvm_opcode::read, bob, 0);
  client_id was{};
  {
    const auto here = join(rig, bob);
    was = here.client;
    CHECK(rig.array.admin(was, describing(0), bytes) == 0);
  }
  rig.array.tick();
  CHECK(rig.array.admin(was, describing(0), bytes) != 0);
  CHECK(rig.array.io(was, read, bytes) != 0);
  CHECK(rig.array.io(client_id(999), read, bytes) != 0);
}

TEST_CASE("a host that goes takes its own right back only: the next writer keeps his") {
  emulated_rig rig;
  const auto bobs = rig.admin(array_nqn, bob);
  auto alices = rig.admin(array_nqn, alice);
  rig.array.admit(volume_id(1), bob);
  rig.array.admit(volume_id(1), alice);
  REQUIRE(rig.chmod(*alices, alice, both) == 0);
  REQUIRE(rig.chmod(*alices, alice, right_read) == 0);
  REQUIRE(rig.chmod(*bobs, bob, both) == 0);
  REQUIRE(alices->set(wire::fabrics::property_offset::configuration, 0x00464001).status == 0);
  alices.reset();
  for (int k = 0; k < 2; ++k) rig.target.tick(0);
  REQUIRE(rig.target.associations() == 1);
  CHECK(rig.rights(bob) == both);
  CHECK(rig.rights(alice) == right_read);
}

TEST_CASE("a host that comes back while it is being let go is let go the next time") {
  emulated_rig rig;
  std::atomic<bool> stop{false};
  std::thread ticking([&] {
    for (; !stop; std::this_thread::yield()) rig.array.tick();
  });
  std::vector<std::byte> bytes(block_bytes);
  bool gone = true;
  for (int k = 0; k < 10 && gone; ++k) {
    client_id was{};
    for (int n = 0; n < 2; ++n) {
      const auto here = join(rig, bob);
      CHECK(here.refused == 0);
      was = here.client;
    }
    gone = false;
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(2);
    for (; !gone && std::chrono::steady_clock::now() < end;)
      gone = rig.array.admin(was, describing(1), bytes) != 0;
  }
  stop = true;
  ticking.join();
  CHECK(gone);
}

TEST_CASE("a host that comes back before its rights are taken back stays until it goes again" *
          doctest::skip(under_tsan)) {
  const std::vector<int> before = threads_here();
  emulated_rig rig(std::string(small_array) + "&threads=1");
  std::vector<int> firmware;
  for (const int t : threads_here())
    if (!std::binary_search(before.begin(), before.end(), t)) firmware.push_back(t);
  REQUIRE_FALSE(firmware.empty());  // the first that was started is the firmware's
  auto first = join(rig, bob);
  rig.array.admit(volume_id(1), bob);
  REQUIRE(rig.chmod(first.client, both) == 0);
  first.held->goes_in_order();
  first.held.reset();
  // The one that takes them back waits for an SSD that sleeps, and Bob for that one.
  const sleepy_thread sleeper;
  sleepy_thread::put_to_sleep(firmware[0], std::chrono::milliseconds(500));
  std::thread ticking([&] { rig.array.tick(); });
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  auto again = join(rig, bob);
  ticking.join();
  sleepy_thread::wait();
  CHECK(again.refused == 0);
  CHECK(rig.rights(bob) == right_read);
  rig.array.tick();
  std::vector<std::byte> bytes(block_bytes);
  CHECK(rig.array.admin(again.client, describing(0), bytes) == 0);
  again.held.reset();
  rig.array.tick();
  CHECK(rig.array.admin(again.client, describing(0), bytes) != 0);
}

TEST_CASE("a right to write that SSD 0 refuses is asked of no other SSD") {
  emulated_rig rig;
  wire::afa::admin_command c;
  c.opcode = wire::afa::admin_opcode::volume_delete;
  c.epoch = rig.array.about().epoch;
  c.volume = volume_id(1);
  c.nsid = 1;
  REQUIRE(rig.array.own().admin(c.pack(), {}).ok());
  CHECK_FALSE(rig.array.set_own_rights(volume_id(1), rig.array.ssds(), both).ok());
  c.opcode = wire::afa::admin_opcode::volume_list;
  for (c.nsid = 2; c.nsid <= rig.array.ssds(); ++c.nsid) {
    wire::afa::volume_list there{};
    REQUIRE(rig.array.own().admin(c.pack(), std::as_writable_bytes(std::span(&there, 1))).ok());
    REQUIRE(there.count == 1);
    CHECK(there.records[0].client_count == 0);
  }
  // Nor does the host that was to get the volume hear that it has it.
  CHECK_THROWS_AS(rig.array.reassign(volume_id(1), bob), host::error);
}

TEST_CASE("a reassigned volume's former writer reads on, and an heir that writes it goes on") {
  emulated_rig rig;
  const auto bobs = rig.admin(array_nqn, bob);
  REQUIRE(rig.chmod(*bobs, bob, both) == 0);
  rig.array.reassign(volume_id(1), bob);  // its own already, but for the name of the owner
  CHECK(rig.rights(bob) == both);
  CHECK(rig.record().owner == host::client_identity::key_of(bob));
  CHECK(rig.record().client_count == 1);
  rig.array.reassign(volume_id(1), alice);
  CHECK(rig.rights(alice) == both);
  CHECK(rig.rights(bob) == right_read);
}

TEST_CASE("a volume that an SSD refuses to reassign is not said to be the heir's") {
  emulated_rig rig;
  const auto bobs = rig.admin(array_nqn, bob);
  REQUIRE(rig.chmod(*bobs, bob, both) == 0);
  wire::afa::admin_command c;
  c.opcode = wire::afa::admin_opcode::volume_delete;
  c.epoch = rig.array.about().epoch;
  c.volume = volume_id(1);
  c.nsid = 2;
  REQUIRE(rig.array.own().admin(c.pack(), {}).ok());
  const std::uint64_t before = rig.record().owner;
  CHECK_THROWS_WITH_AS(rig.array.reassign(volume_id(1), alice),
                       doctest::Contains("giving volume 1"), host::io_error);
  // Nor is it asked of the SSD behind that one.
  c.opcode = wire::afa::admin_opcode::volume_list;
  c.nsid = 3;
  wire::afa::volume_list there{};
  REQUIRE(rig.array.own().admin(c.pack(), std::as_writable_bytes(std::span(&there, 1))).ok());
  REQUIRE(there.count == 1);
  CHECK(there.records[0].owner == before);
}

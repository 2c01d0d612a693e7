/// A target whose array has a manager: what plain hosts and GNStor's own see of it.
#include "managed_rig.hpp"
#include <gnstor/host/control_error.hpp>

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

using namespace gnstor;
using namespace gnstor::test;
using wire::afa::right_admitted;
using wire::afa::right_read;
using wire::afa::right_write;

TEST_CASE("a plain host sees no error while SSDs die, fall silent and come back") {
  managed_rig rig;
  REQUIRE(rig.volume->attach() == 0);
  std::atomic<bool> done{false};
  std::string wrong;
  int last = 0;
  std::thread plain_host([&] {
    for (int k = 1; wrong.empty() && !(done && k > 3); ++k) {
      const auto bytes = filled(64 * block_bytes, k);
      const std::uint64_t first = 64 * (k % 4);
      std::vector<std::byte> found(bytes.size());
      if (rig.volume->write(first, bytes) != 0) wrong = "a write fails";
      if (rig.volume->read(first, found) != 0) wrong = "a read fails";
      if (found != bytes) wrong = "other bytes";
      last = k;
    }
  });
  for (const auto& [ssd, fault] : {std::pair{1u, "dead"}, {2u, "silent"}, {0u, "dead"}}) {
    CAPTURE(fault);
    rig.array.inject_fault(ssd, fault);
    CHECK(rig.comes_to(ssd, host::ssd_standing::absent));
    rig.array.inject_fault(ssd, "none");
    rig.array.manager()->replace(ssd);
    CHECK(rig.comes_to(ssd, host::ssd_standing::in_sync));
  }
  done = true;
  plain_host.join();
  CHECK(wrong == "");
  CHECK(last >= 3);
  CHECK(rig.array.manager()->state().degraded == 0);
}

TEST_CASE("what a plain host wrote while an SSD was away is there when that one is in sync again") {
  managed_rig rig(quick(), 4 << 20);
  const volume_id other = rig.array.create_volume(1 << 20);
  REQUIRE(rig.volume->attach() == 0);
  int seed = 0;
  for (const std::uint32_t ssd : {1u, 2u, 3u, 0u}) {
    CAPTURE(ssd);
    REQUIRE(rig.volume->write(0, filled(1024 * block_bytes, ++seed)) == 0);
    rig.array.manager()->detach(ssd);
    REQUIRE(rig.volume->write(0, filled(1024 * block_bytes, ++seed)) == 0);
    rig.array.manager()->replace(ssd);
    REQUIRE(rig.comes_to(ssd, host::ssd_standing::in_sync));
    std::vector<std::byte> found(1024 * block_bytes);
    REQUIRE(rig.volume->read(0, found) == 0);
    CHECK(found == filled(found.size(), seed));
  }
  CHECK(rig.array.manager()->find(other.value).record.replicas == 2);
}

TEST_CASE("the target's right to write is a lease, renewed while a host is attached") {
  managed_rig rig(quick(std::chrono::milliseconds(1500)));
  const client_id own = rig.array.own_client();
  REQUIRE(rig.volume->attach() == 0);
  CHECK(rig.writer() == own);
  std::this_thread::sleep_for(std::chrono::milliseconds(3000));
  const client_id other = client_id(77);
  const auto taken = [&] {
    try {
      (void)rig.array.manager()->open(rig.vid, other, true);
      return true;
    } catch (const host::control_error& e) {
      CHECK(e.why() == host::control_reason::busy);
      return false;
    }
  };
  CHECK_FALSE(taken());
  CHECK(rig.volume->write(0, filled(block_bytes, 1)) == 0);
  rig.volume->detach();
  CHECK(rig.writer() == client_id{});
  CHECK(rig.rights(own) == 0);
  REQUIRE(taken());
  // Another client writes: plain hosts read, until that one has closed.
  REQUIRE(rig.volume->attach() == 0);
  CHECK(rig.volume->write(0, filled(block_bytes, 2)) == conflict);
  std::vector<std::byte> found(block_bytes);
  CHECK(rig.volume->read(0, found) == 0);
  CHECK(found == filled(block_bytes, 1));
  rig.array.manager()->close(rig.vid, other, true);
  CHECK(rig.volume->refresh(rig.record()));
  CHECK(rig.volume->write(0, filled(block_bytes, 2)) == 0);
  // Revoked by an administrator, it is refused by the SSDs, and taken again when it is looked for.
  rig.array.manager()->close(rig.vid, own, false);
  CHECK(rig.volume->write(0, filled(block_bytes, 3)) == conflict);
  CHECK(rig.volume->refresh(rig.record()));
  CHECK(rig.volume->write(0, filled(block_bytes, 3)) == 0);
}

TEST_CASE("a host that has joined orders no SSD of a managed array; one that goes stays admitted") {
  managed_rig rig;
  for (const char* name : {"gnstor-manager", "gnstor-target"})
    CHECK(rig.array.join({host::client_identity::named(name).nqn, {}, client_id(5)}).refused != 0);
  std::optional<serve::array_gateway::joined> host(
      rig.array.join({guest, {}, host::client_identity::client_of(guest)}));
  const client_id client = host->client;
  REQUIRE(host->refused == 0);
  (void)rig.array.manager()->admit(rig.vid, client);
  (void)rig.array.manager()->open(rig.vid, client, true);
  CHECK(rig.rights(client) == (right_admitted | right_read | right_write));

  wire::afa::volume_chmod change{};
  change.version = wire::afa::payload_version;
  change.vid = rig.vid;
  change.client_count = 1;
  change.clients[0] = {client.value, right_read};
  wire::afa::volume_record another = rig.record();
  another.vid = 9;
  another.owner = 0;
  another.client_count = 0;
  for (std::uint32_t ssd = 0; ssd < rig.array.ssds(); ++ssd) {
    wire::afa::admin_command c;
    c.nsid = ssd + 1;
    c.epoch = rig.array.about().epoch;
    c.volume = volume_id(rig.vid);
    c.opcode = wire::afa::admin_opcode::volume_chmod;
    CHECK(rig.array.admin(client, c.pack(), std::as_writable_bytes(std::span(&change, 1))) ==
          own(wire::afa::status::managed));
    c.opcode = wire::afa::admin_opcode::volume_delete;
    CHECK(rig.array.admin(client, c.pack(), {}) == own(wire::afa::status::managed));
    c.opcode = wire::afa::admin_opcode::volume_add;
    c.volume = volume_id(another.vid);
    CHECK(rig.array.admin(client, c.pack(), std::as_writable_bytes(std::span(&another, 1))) ==
          own(wire::afa::status::managed));
    c.opcode = wire::afa::admin_opcode::array_update;
    wire::afa::array_membership m{wire::afa::payload_version, 99, 1, 0};
    CHECK(rig.array.admin(client, c.pack(), std::as_writable_bytes(std::span(&m, 1))) ==
          own(wire::afa::status::not_permitted));
    c.opcode = wire::afa::admin_opcode::array_describe;
    c.term = ~std::uint64_t{0};  // nor does it depose the manager
    wire::afa::array_description d{};
    CHECK(rig.array.admin(client, c.pack(), std::as_writable_bytes(std::span(&d, 1))) ==
          own(wire::afa::status::not_permitted));
  }
  rig.array.check();
  CHECK(rig.writer() == client);
  host.reset();  // without a word, and back at once
  host.emplace(rig.array.join({guest, {}, client}));
  REQUIRE((host->refused == 0 && host->client == client));
  std::this_thread::sleep_for(std::chrono::milliseconds(600));
  rig.array.tick();
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  CHECK(rig.writer() == client);

  const auto gone = std::chrono::steady_clock::now();
  host.reset();  // and for good
  rig.array.tick();
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  const bool stalled = std::chrono::steady_clock::now() - gone > std::chrono::milliseconds(400);
  CHECK((stalled || rig.writer() == client));
  CHECK(rig.comes([&] {
    rig.array.tick();
    return rig.writer() == client_id{};
  }));
  CHECK(rig.comes([&] { return rig.rights(client) == (right_admitted | right_read); }));
  // Its last writes may have reached some replicas: who is next has them compared.
  REQUIRE(rig.volume->attach() == 0);
  CHECK(rig.volume->write(0, filled(block_bytes, 2)) == 0);
}

TEST_CASE("a host's next life does not inherit what the one before could write") {
  managed_rig rig;
  const client_id client = host::client_identity::client_of(guest);
  std::optional<serve::array_gateway::joined> host(rig.array.join({guest, {}, client}));
  REQUIRE(host->refused == 0);
  (void)rig.array.manager()->admit(rig.vid, host->client);
  (void)rig.array.manager()->open(rig.vid, host->client, true);
  CHECK(rig.writer() == host->client);
  host.reset();
  host.emplace(rig.array.join({guest, {7}, client}));
  REQUIRE(host->refused == 0);
  CHECK(rig.comes([&] { return rig.writer() == client_id{}; }));
  CHECK(rig.array.manager()->open(rig.vid, host->client, true).writer == host->client);
}

TEST_CASE("a volume of a managed array is reassigned by its manager") {
  managed_rig rig;
  (void)rig.array.manager()->open(rig.vid, client_id(77), true);
  rig.array.reassign(volume_id(rig.vid), guest);
  CHECK(rig.record().owner == host::client_identity::key_of(guest));
  CHECK(rig.writer() == client_id{});
  CHECK_THROWS_AS(rig.array.reassign(volume_id(99), guest), host::error);
  // What provide_volumes makes belongs to the target, and nobody writes it.
  const volume_id made = rig.array.create_volume(1 << 16);
  CHECK(rig.array.manager()->find(made.value).writer == client_id{});
  rig.array.admit(made, guest);
  CHECK(rig.array.manager()->find(made.value).record.client_count >= 2);
}

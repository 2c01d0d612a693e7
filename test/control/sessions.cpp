/// Sessions of an array that has a manager: they ask it, and go on when SSDs do not.
#include "rig.hpp"

#include <control/manager_control.hpp>

using namespace gnstor;
using namespace gnstor::test;
using host::ssd_standing;

namespace {

/// A session of the host `name`, which asks the manager in this process.
host::session open_managed(const managed_array& array, const std::string& name,
                           std::chrono::milliseconds timeout = std::chrono::seconds(5)) {
  auto manager = std::make_unique<host::manager_control>(
      *array.manager, host::control_role::of_host(host::client_identity::named(name).nqn), "");
  host::session_options o = shared_sessions::options(name);
  o.timeout = timeout;
  return host::session_access::over(array.shared.where, o, array.shared.link(name),
                                    std::move(manager));
}

std::vector<unsigned char> read(host::session& s, const volume_info& v, std::size_t bytes) {
  std::vector<unsigned char> found(bytes);
  s.read(v, 0, found.data(), found.size());
  return found;
}

bool is_refused(status s, wire::afa::status why) {
  return s.code == status_code::nvme_error && s.nvme_type == 7 &&
         s.nvme_code == static_cast<std::uint8_t>(why);
}

}  // namespace

TEST_CASE("sessions create, share, hand over and delete volumes by name, all by the manager") {
  managed_array array;
  const auto bytes = random_bytes(64 * block_bytes, 1);
  const auto newer = random_bytes(64 * block_bytes, 2);
  std::optional<host::session> alice(open_managed(array, "alice"));
  host::session bob = open_managed(array, "bob");
  const volume_info v =
      alice->create_volume({.bytes = bytes.size(), .name = "edges", .labels = "kind=graph"});
  CHECK(v.writable);
  alice->write(v, 0, bytes.data(), bytes.size());
  REQUIRE(alice->volumes().size() == 1);
  CHECK(host::to_string(alice->volumes()[0].labels) == "kind=graph");

  CHECK(bob.volumes().empty());
  CHECK(refused([&] { (void)bob.open_volume("edges"); }) == control_reason::not_allowed);
  alice->admit(v.vid, "bob");
  const volume_info seen = bob.open_volume("edges");
  CHECK_FALSE(seen.writable);
  CHECK(seen.writer == alice->client());
  CHECK(read(bob, seen, bytes.size()) == bytes);
  CHECK_THROWS_AS(bob.write(seen, 0, newer.data(), newer.size()), host::io_error);
  CHECK(refused([&] { bob.delete_volume("edges"); }) == control_reason::not_allowed);
  CHECK(refused([&] { bob.rename_volume(v.vid, "mine"); }) == control_reason::not_allowed);
  CHECK(refused([&] { bob.expel(v.vid, "alice"); }) == control_reason::not_allowed);

  alice->close_volume(v.vid);
  const volume_info taken = bob.open_volume("edges");
  CHECK(taken.writable);
  bob.write(taken, 0, newer.data(), newer.size());
  CHECK_THROWS_AS(alice->write(v, 0, bytes.data(), bytes.size()), host::io_error);
  CHECK(read(*alice, alice->open_read_only("edges"), bytes.size()) == newer);
  CHECK(refused([&] { alice->delete_volume("edges"); }) == control_reason::busy);
  bob.close_volume(v.vid);
  CHECK_FALSE(bob.volumes().empty());  // who was admitted comes back
  CHECK(bob.open_volume("edges").writable);
  alice->expel(v.vid, "bob");
  CHECK(bob.volumes().empty());
  CHECK(refused([&] { (void)bob.open_volume("edges"); }) == control_reason::not_allowed);

  CHECK(alice->open_volume("edges").writable);
  alice.reset();  // a session that ends gives back what it may write
  alice.emplace(open_managed(array, "alice"));
  alice->rename_volume(v.vid, "köln");
  CHECK(refused([&] { (void)alice->open_volume("edges"); }) == control_reason::unknown_volume);
  alice->delete_volume("köln");
  CHECK(array.manager->volumes().empty());
}

TEST_CASE("a session grows its volume, and another one that reads it sees that when it looks") {
  managed_array array;
  host::session alice = open_managed(array, "alice");
  host::session bob = open_managed(array, "bob");
  const volume_info v = alice.create_volume({.bytes = 1 << 16, .name = "a"});
  alice.admit(v.vid, "bob");
  const volume_info seen = bob.open_read_only("a");
  alice.grow_volume(v.vid, (1 << 17) - 1);
  CHECK(refused([&] { bob.grow_volume(v.vid, 1 << 18); }) == control_reason::not_allowed);
  const volume_info longer = alice.refresh(v);
  REQUIRE(longer.capacity_blocks == (1 << 17) / block_bytes);
  CHECK(longer.writable);
  const auto bytes = random_bytes(1 << 17, 4);
  alice.write(longer, 0, bytes.data(), bytes.size());
  CHECK(seen.capacity_blocks == (1 << 16) / block_bytes);
  CHECK(read(bob, bob.refresh(seen), bytes.size()) == bytes);
}

TEST_CASE("two hosts that want one volume: one writes it, and the other when that one ends") {
  managed_array array;
  std::optional<host::session> alice(open_managed(array, "alice"));
  host::session bob = open_managed(array, "bob");
  const volume_info v = alice->create_volume({.bytes = 1 << 16, .name = "a"});
  alice->admit(v.vid, "bob");
  CHECK_FALSE(bob.open_volume(v.vid).writable);
  alice.reset();
  CHECK(bob.open_volume(v.vid).writable);
}

TEST_CASE("a session opens a volume again that it writes, and no write of its fails for that") {
  managed_array array;
  host::session alice = open_managed(array, "alice");
  const volume_info v = alice.create_volume({.bytes = 4 << 20, .name = "a"});
  std::atomic<bool> done{false};
  std::uint32_t refused_writes = 0;
  std::thread kernel([&] {
    managed_client same(array.shared, "alice");  // the same host, beside the session's own thread
    const auto bytes = random_bytes(1 << 20, 1);
    while (!done) refused_writes += same.write(array.manager->find("a").record, bytes).ok() ? 0 : 1;
  });
  for (int k = 0; k < 20; ++k) CHECK(alice.open_volume("a").writable);
  done = true;
  kernel.join();
  CHECK(refused_writes == 0);
  CHECK(v.writable);
}

TEST_CASE("a session renews its leases, and loses one that is taken from it") {
  managed_array array;
  array.stop();
  array.settings.lease = std::chrono::milliseconds(300);
  array.start();
  host::session alice = open_managed(array, "alice");
  host::session bob = open_managed(array, "bob");
  const volume_info v = alice.create_volume({.bytes = 1 << 16, .name = "a"});
  alice.admit(v.vid, "bob");
  std::this_thread::sleep_for(std::chrono::milliseconds(900));
  CHECK_FALSE(bob.open_volume("a").writable);
  const auto bytes = random_bytes(1 << 16, 3);
  alice.write(v, 0, bytes.data(), bytes.size());
  array.manager->close(v.vid.value, alice.client(), false);  // as an administrator does
  const volume_info taken = bob.open_volume("a");
  CHECK(taken.writable);
  CHECK(read(bob, taken, bytes.size()) == bytes);
  CHECK_THROWS_AS(alice.write(v, 0, bytes.data(), bytes.size()), host::io_error);
  CHECK_FALSE(alice.open_volume("a").writable);
}

TEST_CASE("a session reads and writes on while SSDs fail and come back, without an error") {
  managed_array array;
  array.stop();
  array.settings.ssd_timeout = std::chrono::seconds(1);
  array.start();
  host::session alice = open_managed(array, "alice");
  const volume_info v = alice.create_volume({.bytes = 4 << 20, .name = "a"});
  auto front_end = array.shared.link("faults");
  std::atomic<bool> done{false};
  std::uint32_t rounds = 0;
  std::string wrong;
  std::vector<unsigned char> bytes;
  std::thread user([&] {
    try {
      for (; !done || rounds < 3; ++rounds) {
        bytes = random_bytes(4 << 20, rounds);
        alice.write(v, 0, bytes.data(), bytes.size());
        if (read(alice, v, bytes.size()) != bytes) throw std::runtime_error("other bytes");
      }
    } catch (const std::exception& e) {
      wrong = e.what();
    }
  });
  for (const std::uint32_t ssd : {1u, 3u, 0u}) {
    CAPTURE(ssd);
    front_end->inject_fault(ssd, ssd == 3 ? "silent" : "dead");
    CHECK(array.comes_to(ssd, ssd_standing::absent));
    front_end->inject_fault(ssd, "none");
    array.manager->replace(ssd);
    CHECK(array.comes_to(ssd, ssd_standing::in_sync));
  }
  done = true;
  user.join();
  CHECK(wrong == "");
  CHECK(rounds >= 3);
  CHECK(alice.refresh(v).epoch > v.epoch);
  CHECK(read(alice, alice.refresh(v), bytes.size()) == bytes);
}

TEST_CASE("an SSD that a session does not reach is looked at, and is out if it does not serve") {
  managed_array array;
  array.stop();
  array.settings.ssd_timeout = std::chrono::seconds(1);
  array.settings.look_every = std::chrono::hours(1);  // not by itself
  array.start();
  host::session alice = open_managed(array, "alice", std::chrono::seconds(20));
  const volume_info v = alice.create_volume({.bytes = 1 << 20, .name = "a"});
  auto front_end = array.shared.link("faults");
  for (const std::string fault : {"dead", "silent"}) {
    CAPTURE(fault);
    const std::uint32_t ssd = fault == "dead" ? 1 : 3;
    front_end->inject_fault(ssd, fault);
    const auto bytes = random_bytes(1 << 20, ssd);
    alice.write(v, 0, bytes.data(), bytes.size());
    CHECK(read(alice, v, bytes.size()) == bytes);
    CHECK(array.manager->state().ssds[ssd].standing == ssd_standing::absent);
    if (fault == "dead") CHECK(array.manager->state().ssds[ssd].reports != 0);
    front_end->inject_fault(ssd, "none");
    array.manager->replace(ssd);
    REQUIRE(array.comes_to(ssd, ssd_standing::in_sync));
  }
}

TEST_CASE("no host takes an SSD out by what it says of it") {
  managed_array array;
  const std::uint32_t epoch = array.manager->state().epoch;
  const auto events = [&] {
    std::size_t n = 0;
    for (const host::array_event& e : array.manager->events(0))
      n += e.words.find("serves here, but not nqn.x: as it says") != e.words.npos ? 1 : 0;
    return n;
  };
  for (int k = 0; k < 50; ++k) {
    array.manager->reported(2, "nqn.x", "as it says" + std::string(5000, 'x'));
    std::this_thread::sleep_for(std::chrono::milliseconds(4));
  }
  CHECK(array.comes([&](const host::array_state&) { return events() != 0; }));
  CHECK(events() == 1);
  const host::array_state now = array.manager->state();
  CHECK(now.epoch == epoch);
  CHECK(now.ssds[2].standing == ssd_standing::in_sync);
  CHECK(now.ssds[2].reports == 50);
  CHECK(refused([&] { array.manager->reported(4, "nqn.x", ""); }) == control_reason::unknown_ssd);
}

TEST_CASE("nobody takes the manager's own rights, and what is refused ends no lease") {
  managed_array array;
  array.stop();
  array.settings.lease = std::chrono::milliseconds(400);
  array.start();
  host::session alice = open_managed(array, "alice");
  host::session bob = open_managed(array, "bob");
  const volume_info v = alice.create_volume({.bytes = 1 << 16, .name = "a"});
  for (const bool allowed : {false, true}) {
    CHECK(refused([&] {
            allowed ? alice.admit(v.vid, "gnstor-manager") : alice.expel(v.vid, "gnstor-manager");
          }) == control_reason::not_allowed);
  }
  CHECK(refused([&] { array.manager->close(v.vid.value, array.manager->client(), false); }) ==
        control_reason::not_allowed);
  alice.admit(v.vid, "bob");
  alice.close_volume(v.vid);
  REQUIRE(bob.open_volume("a").writable);
  CHECK(refused([&] { bob.delete_volume("a"); }) == control_reason::not_allowed);
  std::this_thread::sleep_for(std::chrono::milliseconds(900));
  CHECK_FALSE(alice.open_volume("a").writable);  // bob's session has renewed its lease
}

TEST_CASE("an SSD of an array that has a manager takes volumes' changes from nobody else") {
  managed_array array;
  raw_admin stranger(array.shared.link("stranger"));
  const wire::afa::volume_record r = array.create("a", 16).record;
  array.manager->set_owner(
      r.vid, host::client_identity::key_of(host::client_identity::named("stranger").nqn));
  wire::afa::volume_record other = r;
  other.vid = 7;
  other.hash_factor = 99;
  other.name = host::volume_name("b");
  other.client_count = 0;
  other.owner = 0;
  wire::afa::volume_chmod change{};
  change.version = wire::afa::payload_version;
  change.vid = r.vid;
  change.client_count = 1;
  change.clients[0] = {stranger.client().value, wire::afa::right_read};
  const auto tries = [&](wire::afa::status why) {
    for (std::uint32_t ssd = 0; ssd < 4; ++ssd) {
      CAPTURE(ssd);
      wire::afa::admin_command c;
      c.epoch = array.manager->state().epoch;
      c.volume = volume_id(other.vid);
      c.opcode = wire::afa::admin_opcode::volume_add;
      const status added = stranger.send(c, ssd, other);
      c.volume = volume_id(r.vid);
      c.opcode = wire::afa::admin_opcode::volume_chmod;
      const status changed = stranger.send(c, ssd, change);
      c.opcode = wire::afa::admin_opcode::volume_delete;
      const status deleted = stranger.send(c, ssd, 0);
      for (const status s : {added, changed, deleted})
        CHECK((why == wire::afa::status{} ? s.ok() : is_refused(s, why)));
    }
  };
  tries(wire::afa::status::managed);
  CHECK(array.manager->volumes().size() == 1);
  const wire::afa::array_membership m{wire::afa::payload_version, 9, 1, 0};
  CHECK(is_refused(stranger.update(0, m), wire::afa::status::not_permitted));
  // Without one, hosts order the SSDs themselves, as before.
  array.stop();
  array.shared.link("late");
  wire::afa::admin_command c;
  c.opcode = wire::afa::admin_opcode::array_describe;
  REQUIRE(stranger.send(c, 0, wire::afa::array_description{}).ok());
  c.epoch = stranger.answer<wire::afa::array_description>().epoch;
  c.volume = volume_id(other.vid);
  c.opcode = wire::afa::admin_opcode::volume_add;
  CHECK(stranger.send(c, 0, other).ok());
}

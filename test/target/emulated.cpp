/// The target over a real emulated array: plain hosts and GNStor's own clients at the same volumes.
#include "emulated_rig.hpp"
#include "host/spoiled_flash.hpp"
#include "host/temp_folder.hpp"
#include <gnstor/host/error.hpp>
#include <gnstor/wire/afa/admin_command.hpp>
#include <gnstor/wire/afa/array_membership.hpp>
#include <gnstor/wire/afa/volume_chmod.hpp>
#include <serve/target_id.hpp>

#include <gnstor-target/serve.hpp>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <string>

using namespace gnstor;
using namespace gnstor::test;
using wire::afa::right_read;
using wire::afa::right_write;

namespace {

/// What the array says of itself to a host.
wire::afa::array_description described(host_queue& q) {
  wire::afa::admin_command c;
  c.opcode = wire::afa::admin_opcode::array_describe;
  c.nsid = 1;
  wire::afa::array_description d{};
  c.payload = wire::nvme::make_keyed_sgl(host_queue::address, sizeof d, host_queue::key);
  const reply r = q.send(c.pack());
  REQUIRE(r.status == 0);
  REQUIRE(r.data.size() >= sizeof d);
  std::memcpy(&d, r.data.data(), sizeof d);
  return d;
}

}  // namespace

TEST_CASE("a plain host's bytes go to all replicas and survive the death of one SSD") {
  emulated_rig rig;
  const auto admin = rig.admin(volume_nqn, alice);
  const auto q = rig.io(volume_nqn, alice);
  const auto data = filled(32 * block_bytes, 1);
  for (std::uint64_t at : {0u, 37u, 480u}) {
    REQUIRE(q->send(host_queue::io(nvm_opcode::write, at, 32), data).status == 0);
    CHECK(q->send(host_queue::io(nvm_opcode::read, at, 32)).data == data);
  }
  CHECK(q->send(host_queue::io(nvm_opcode::read, 100, 1)).data == std::vector<std::byte>(4096));
  for (std::uint32_t ssd = 0; ssd < 3; ++ssd) {
    CAPTURE(ssd);
    rig.array.inject_fault(ssd, "dead");
    for (std::uint64_t at : {0u, 37u, 480u})
      CHECK(q->send(host_queue::io(nvm_opcode::read, at, 32)).data == data);
    rig.array.inject_fault(ssd, "none");
  }
}

TEST_CASE("zeroes over many stripes reach every replica, and nothing beside them") {
  emulated_rig rig;
  const auto admin = rig.admin(volume_nqn, alice);
  const auto q = rig.io(volume_nqn, alice);
  const auto data = filled(32 * block_bytes, 9);
  for (std::uint64_t at = 0; at < 512; at += 32)
    REQUIRE(q->send(host_queue::io(nvm_opcode::write, at, 32), data).status == 0);
  REQUIRE(q->send(host_queue::io(nvm_opcode::write_zeroes, 5, 500)).status == 0);
  for (std::uint64_t at = 0; at < 512; ++at) {
    const reply r = q->send(host_queue::io(nvm_opcode::read, at, 1));
    const bool zero = r.data == std::vector<std::byte>(4096);
    CHECK(zero == (at >= 5 && at < 505));
  }
}

TEST_CASE("own clients read and write under the identity of their Connect, and no other") {
  emulated_rig rig;
  const auto admin = rig.admin(array_nqn, bob);
  const auto q = rig.io(array_nqn, bob);
  const auto data = filled(block_bytes, 4);
  using own = wire::afa::status;
  CHECK(wire::afa::is_status(q->send(rig.own_io(nvm_opcode::write, bob, 3), data).status,
                             own::not_permitted));
  REQUIRE(rig.chmod(*admin, bob, right_read | right_write) == 0);
  CHECK(q->send(rig.own_io(nvm_opcode::write, bob, 3), data).status == 0);
  CHECK(q->send(rig.own_io(nvm_opcode::read, bob, 3)).data == data);
  CHECK(wire::afa::is_status(q->send(rig.own_io(nvm_opcode::read, alice, 3)).status,
                             own::wrong_client));
  REQUIRE(rig.chmod(*admin, bob, right_read) == 0);
  CHECK(wire::afa::is_status(q->send(rig.own_io(nvm_opcode::write, bob, 3), data).status,
                             own::not_permitted));
  CHECK(q->send(rig.own_io(nvm_opcode::read, bob, 3)).status == 0);
  REQUIRE(rig.chmod(*admin, bob, 0) == 0);
  CHECK(wire::afa::is_status(q->send(rig.own_io(nvm_opcode::read, bob, 3)).status,
                             own::not_permitted));
}

TEST_CASE("nobody gets the target's own rights by taking its name") {
  emulated_rig rig;
  host_queue q(rig.target, 0);
  CHECK(q.connect(array_nqn, "nqn.2026-11.io.gnstor:host:gnstor-target").status ==
        dnr(wire::fabrics::connect_status::invalid_host));
}

TEST_CASE("the write right moves between own clients and plain hosts, one at a time") {
  emulated_rig rig;
  const auto data = filled(block_bytes, 7);
  const auto other = rig.admin(array_nqn, bob);
  REQUIRE(rig.chmod(*other, bob, right_read | right_write) == 0);
  auto admin = rig.admin(volume_nqn, alice);
  auto q = rig.io(volume_nqn, alice);
  CHECK(admin->identify(0, 1).number(99, 1) == 1);  // write protected
  CHECK(q->send(host_queue::io(nvm_opcode::write, 0, 1), data).status == conflict);
  CHECK(q->send(host_queue::io(nvm_opcode::write_zeroes, 0, 1)).status == conflict);
  CHECK(q->send(host_queue::io(nvm_opcode::read, 0, 1)).status == 0);

  REQUIRE(rig.chmod(*other, bob, right_read) == 0);
  CHECK(rig.refresh());
  CHECK(admin->identify(0, 1).number(99, 1) == 0);
  CHECK(q->send(host_queue::io(nvm_opcode::write, 0, 1), data).status == 0);
  CHECK_FALSE(rig.refresh());
  using own = wire::afa::status;
  CHECK(wire::afa::is_status(rig.chmod(*other, bob, right_read | right_write), own::writer_exists));

  q.reset();
  admin.reset();
  rig.target.tick(0);
  CHECK(rig.chmod(*other, bob, right_read | right_write) == 0);
  CHECK(rig.refresh());
  CHECK_FALSE(rig.volume->shape().writable);
}

TEST_CASE("a write right that becomes free is left to others while no plain host is attached") {
  emulated_rig rig;
  const auto other = rig.admin(array_nqn, bob);
  REQUIRE(rig.chmod(*other, bob, right_read | right_write) == 0);
  (void)rig.refresh();
  REQUIRE_FALSE(rig.volume->shape().writable);
  REQUIRE(rig.chmod(*other, bob, right_read) == 0);
  CHECK(rig.refresh());
  CHECK(rig.volume->shape().writable);  // a host that comes may write
  const wire::afa::volume_record r = rig.record();
  for (std::uint32_t k = 0; k < r.client_count; ++k) {
    CHECK((r.clients[k].rights & right_write) == 0);
    CHECK(r.clients[k].client != rig.array.own_client().value);
  }
  CHECK(rig.chmod(*other, bob, right_read | right_write) == 0);
}

TEST_CASE("a right to write is given at SSD 0 first, and withdrawn there when all others know") {
  emulated_rig rig;
  wire::afa::admin_command c;
  c.opcode = wire::afa::admin_opcode::volume_delete;
  c.epoch = rig.array.about().epoch;
  c.volume = volume_id(1);
  c.nsid = 1;
  REQUIRE(rig.array.own().admin(c.pack(), {}).ok());
  wire::afa::array_membership next{wire::afa::payload_version, c.epoch + 1, 0, 0};
  c.opcode = wire::afa::admin_opcode::array_update;
  c.nsid = 3;
  REQUIRE(rig.array.own().admin(c.pack(), std::as_writable_bytes(std::span(&next, 1))).ok());
  // SSD 0 has no such volume and SSD 2 is in another epoch: what is answered is the first refusal.
  const auto refusal = [&](std::uint16_t rights) {
    const status s = rig.array.set_own_rights(volume_id(1), rig.array.ssds(), rights);
    REQUIRE(s.code == status_code::nvme_error);
    return static_cast<wire::afa::status>(s.nvme_code);
  };
  CHECK(refusal(right_read | right_write) == wire::afa::status::unknown_volume);
  CHECK(refusal(right_read) == wire::afa::status::stale_epoch);
  CHECK(refusal(0) == wire::afa::status::stale_epoch);
}

TEST_CASE("a write right that is taken away under a plain host ends its writes at once") {
  for (const nvm_opcode op : {nvm_opcode::write, nvm_opcode::write_zeroes}) {
    CAPTURE(static_cast<int>(op));
    emulated_rig rig;
    const auto admin = rig.admin(volume_nqn, alice);
    const auto q = rig.io(volume_nqn, alice);
    const auto data = filled(block_bytes, 7);
    REQUIRE(q->send(host_queue::io(nvm_opcode::write, 0, 1), data).status == 0);
    REQUIRE(rig.array.set_own_rights(volume_id(1), rig.array.ssds(), right_read)
                .ok());  // as a daemon's fence would
    CHECK(q->send(host_queue::io(op, 0, 1), data).status == conflict);
    CHECK_FALSE(rig.volume->shape().writable);
    CHECK(q->send(host_queue::io(nvm_opcode::read, 0, 1)).data == data);
  }
}

TEST_CASE("a plain host's volume stays on its SSDs when others join the array") {
  const temp_folder folder;
  const std::string files = "&capacity=4M&replicas=2&flash=" + folder.path();
  const auto data = filled(8 * block_bytes, 5);
  for (const std::string shape : {"emu:?ssds=2", "emu:?ssds=3&grow=yes", "emu:?ssds=3"}) {
    CAPTURE(shape);
    emulated_rig rig(shape + files);
    CHECK(rig.record().ssd_count == 2);
    const auto admin = rig.admin(volume_nqn, alice);
    const auto q = rig.io(volume_nqn, alice);
    CHECK(rig.volume->shape().writable);
    REQUIRE(q->send(host_queue::io(nvm_opcode::write, 8, 8), data).status == 0);
    CHECK(q->send(host_queue::io(nvm_opcode::read, 8, 8)).data == data);
    CHECK_FALSE(rig.refresh());  // nothing has changed
  }
}

TEST_CASE("with flash files, volumes and their bytes outlive the target") {
  const temp_folder folder;
  const std::string endpoint = std::string(small_array) + "&flash=" + folder.path();
  const auto data = filled(8 * block_bytes, 2);
  {
    emulated_rig rig(endpoint);
    const auto admin = rig.admin(volume_nqn, alice);
    const auto q = rig.io(volume_nqn, alice);
    REQUIRE(q->send(host_queue::io(nvm_opcode::write, 100, 8), data).status == 0);
    REQUIRE(q->send(host_queue::io(nvm_opcode::write_zeroes, 103, 1)).status == 0);
  }
  emulated_rig rig(endpoint);
  const auto admin = rig.admin(volume_nqn, bob);
  const auto q = rig.io(volume_nqn, bob);
  CHECK(q->send(host_queue::io(nvm_opcode::read, 100, 3)).data ==
        std::vector<std::byte>(data.begin(), data.begin() + 3 * block_bytes));
  CHECK(q->send(host_queue::io(nvm_opcode::read, 103, 1)).data == std::vector<std::byte>(4096));
}

TEST_CASE("a silent SSD fails writes within the timeout, and the target recovers when it answers") {
  emulated_rig rig;
  const auto admin = rig.admin(volume_nqn, alice);
  const auto q = rig.io(volume_nqn, alice);
  const auto data = filled(16 * block_bytes, 5);
  for (std::uint32_t ssd = 0; ssd < 3; ++ssd) rig.array.inject_fault(ssd, "silent");
  rig.array.own().set_timeout(30'000'000);  // only what must fail is this short of time
  for (int k = 0; k < 20; ++k) {            // more than there are staging buffers
    const std::uint16_t status = q->send(host_queue::io(nvm_opcode::write, 0, 16), data).status;
    CHECK(status == wire::nvme::make_status(generic_status::internal_error));
  }
  for (std::uint32_t ssd = 0; ssd < 3; ++ssd) rig.array.inject_fault(ssd, "none");
  rig.array.own().set_timeout(answer_timeout_ns);
  CHECK(q->send(host_queue::io(nvm_opcode::write, 0, 16), data).status == 0);
  CHECK(q->send(host_queue::io(nvm_opcode::read, 0, 16)).data == data);
}

TEST_CASE("several threads' commands on one volume do not mix") {
  emulated_rig rig;
  const auto admin = rig.admin(volume_nqn, alice);
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      const auto data = filled(16 * block_bytes, t);
      std::vector<std::byte> back(data.size());
      for (int round = 0; round < 20; ++round) {
        if (rig.volume->write(static_cast<std::uint64_t>(t) * 100 + 3, data) != 0) ++wrong;
        if (rig.volume->read(static_cast<std::uint64_t>(t) * 100 + 3, back) != 0) ++wrong;
        if (back != data) ++wrong;
      }
    });
  }
  for (auto& t : threads) t.join();
  CHECK(wrong == 0);
}

TEST_CASE("there are as many own clients as the array has room for, and then a busy answer") {
  emulated_rig rig;
  const auto name = [](std::uint32_t k) {
    return "nqn.2026-11.io.gnstor:host:c" + std::to_string(k);
  };
  std::vector<std::unique_ptr<host_queue>> all;
  constexpr std::uint32_t queues = 8;
  for (std::uint32_t k = 0; k < queues; ++k) all.push_back(rig.admin(array_nqn, name(k).c_str()));
  std::vector<serve::array_gateway::joined> others;
  for (std::uint32_t k = queues; k < serve::emulated_gateway::most_members; ++k) {
    others.push_back(rig.array.join({name(k), {}, {}}));
    REQUIRE(others.back().refused == 0);
  }
  host_queue late(rig.target, 0);
  CHECK(late.connect(array_nqn, "nqn.2026-11.io.gnstor:host:late").status ==
        wire::fabrics::make_status(wire::fabrics::connect_status::controller_busy));
  CHECK(late.connect(array_nqn, "nqn.2026-11.io.gnstor:host:c3").status == 0);
}

TEST_CASE("a volume whose owner is lost is given to another host, and nobody else writes it") {
  emulated_rig rig;
  const auto admin = rig.admin(volume_nqn, alice);  // the target writes for its plain hosts
  REQUIRE(rig.record().clients[0].rights == (right_read | right_write));
  const auto bobs = rig.admin(array_nqn, bob);
  CHECK(rig.chmod(*bobs, bob, right_read) == 0);
  const std::uint16_t both = right_read | right_write;
  CHECK(rig.chmod(*bobs, bob, both) == own(wire::afa::status::writer_exists));
  rig.array.reassign(volume_id(1), bob);
  const wire::afa::volume_record r = rig.record();
  CHECK(r.owner == host::client_identity::key_of(bob));
  REQUIRE(r.client_count == 2);  // the former writer reads on
  for (std::uint32_t k = 0; k < r.client_count; ++k) {
    const bool heir = r.clients[k].client == host::client_identity::client_of(bob).value;
    CHECK(r.clients[k].rights == (heir ? both : right_read));
  }
  CHECK(rig.chmod(*bobs, "nqn.2026-11.io.gnstor:host:guest", right_read) == 0);  // it owns it
  CHECK_THROWS_AS(rig.array.reassign(volume_id(9), bob), host::input_error);
}

TEST_CASE("hosts of the array come and go, many more than may be here at once") {
  emulated_rig rig;
  for (int k = 0; k < 40; ++k) {
    auto q = rig.admin(array_nqn, ("nqn.2026-11.io.gnstor:host:v" + std::to_string(k)).c_str());
    CHECK(described(*q).ssd_count == 3);
    q.reset();
    rig.target.tick(0);
  }
}

TEST_CASE(
    "a host that shuts down in order loses its right to write, and one that vanishes does not") {
  for (const bool in_order : {true, false}) {
    CAPTURE(in_order);
    emulated_rig rig;
    auto q = rig.admin(array_nqn, bob);
    REQUIRE(rig.chmod(*q, bob, right_read | right_write) == 0);
    if (in_order)
      REQUIRE(q->set(wire::fabrics::property_offset::configuration, 0x00464001).status == 0);
    q.reset();
    rig.target.tick(0);  // ends the association
    rig.target.tick(0);  // and forgets the host
    CHECK(rig.rights(bob) == (in_order ? right_read : right_read | right_write));
  }
}

TEST_CASE(
    "a host that looked only takes no right from one of its name that vanished while writing") {
  emulated_rig rig;
  {
    const auto writer = rig.admin(array_nqn, bob);
    REQUIRE(rig.chmod(*writer, bob, right_read | right_write) == 0);
  }
  for (int k = 0; k < 2; ++k) rig.target.tick(0);  // it has vanished
  {
    const auto looker = rig.admin(array_nqn, bob);
    REQUIRE(looker->set(wire::fabrics::property_offset::configuration, 0x00464001).status == 0);
  }
  for (int k = 0; k < 2; ++k) rig.target.tick(0);
  CHECK(rig.rights(bob) == (right_read | right_write));
}

TEST_CASE("a host keeps its right if one of its associations vanished, whichever ends last") {
  for (const bool vanishes_first : {true, false}) {
    CAPTURE(vanishes_first);
    emulated_rig rig;
    auto vanishing = rig.admin(array_nqn, bob);
    auto orderly = rig.admin(array_nqn, bob);
    REQUIRE(rig.chmod(*vanishing, bob, right_read | right_write) == 0);
    const auto end = [&](std::unique_ptr<host_queue>& q) {
      if (&q == &orderly)
        REQUIRE(q->set(wire::fabrics::property_offset::configuration, 0x00464001).status == 0);
      q.reset();
      for (int k = 0; k < 2; ++k) rig.target.tick(0);
    };
    end(vanishes_first ? vanishing : orderly);
    end(vanishes_first ? orderly : vanishing);
    CHECK(rig.target.associations() == 0);
    CHECK(rig.rights(bob) == (right_read | right_write));
  }
}

TEST_CASE("a host that shuts down in order loses its right to write what it created, too") {
  emulated_rig rig;
  auto q = rig.admin(array_nqn, bob);
  const client_id who = host::client_identity::client_of(bob);
  wire::afa::volume_record made = rig.record();
  made.vid = 2;
  made.hash_factor = 77;
  made.owner = 0;  // who adds it
  made.client_count = 1;
  made.clients[0] = {who.value, right_read | right_write};
  std::vector<std::byte> bytes(sizeof made);
  std::memcpy(bytes.data(), &made, sizeof made);
  wire::afa::admin_command c;
  c.opcode = wire::afa::admin_opcode::volume_add;
  c.epoch = rig.array.about().epoch;
  c.volume = volume_id(2);
  c.payload = wire::nvme::make_keyed_sgl(host_queue::address, sizeof made, host_queue::key);
  for (c.nsid = 1; c.nsid <= rig.array.ssds(); ++c.nsid)
    REQUIRE(q->send(c.pack(), bytes).status == 0);
  const auto rights = [&] {
    const wire::afa::volume_record r = rig.array.own().volumes(rig.array.about()).at(1);
    REQUIRE(r.clients[0].client == who.value);
    return r.clients[0].rights;
  };
  CHECK(rights() == (right_read | right_write));
  REQUIRE(q->set(wire::fabrics::property_offset::configuration, 0x00464001).status == 0);
  q.reset();
  for (int k = 0; k < 2; ++k) rig.target.tick(0);
  CHECK(rights() == right_read);
}

TEST_CASE("two hosts whose NQNs hash to the same client id do not share a channel and rights") {
  emulated_rig rig;
  const auto first = rig.admin(array_nqn, bob);
  const client_id wanted = host::client_identity::client_of(bob);
  std::string twin;
  for (int k = 0; k < 2'000'000 && twin.empty(); ++k) {
    const std::string nqn = "nqn.2026-11.io.gnstor:host:t" + std::to_string(k);
    if (host::client_identity::client_of(nqn) == wanted) twin = nqn;
  }
  REQUIRE_FALSE(twin.empty());
  const std::uint16_t invalid = dnr(wire::fabrics::connect_status::invalid_host);
  const auto second = rig.admin(array_nqn, twin.c_str());
  CHECK(described(*first).own_client == wanted.value);
  CHECK(described(*second).own_client != wanted.value);
  REQUIRE(rig.chmod(*first, bob, right_read) == 0);
  CHECK(rig.chmod(*second, bob, 0) == own(wire::afa::status::not_owner));
  serve::host_identity who{bob, {}, wanted};
  CHECK(rig.array.join(who).refused == invalid);  // the same NQN, another identifier
  host_queue again(rig.target, 0);
  CHECK(again.connect(array_nqn, bob).status == 0);
}

TEST_CASE("the last host of a withdrawn volume leaves the rights on its successor alone") {
  emulated_rig rig;
  auto admin = rig.admin(volume_nqn, alice);
  const serve::array_volume successor(rig.array, rig.record());  // the same VID, the same client
  rig.volume->retire();
  rig.target.withdraw(volume_nqn);
  admin.reset();
  rig.target.tick(0);
  REQUIRE(rig.target.associations() == 0);
  REQUIRE(rig.record().client_count == 1);
  CHECK(rig.record().clients[0].rights == (right_read | right_write));
  CHECK(rig.volume->attach() != 0);
}

TEST_CASE("a volume that refuses after some SSDs have granted gives the grants back") {
  emulated_rig rig;
  wire::afa::admin_command c;
  c.opcode = wire::afa::admin_opcode::volume_delete;
  c.epoch = rig.array.about().epoch;
  c.volume = volume_id(1);
  c.nsid = 2;  // the second of three SSDs forgets the volume
  REQUIRE(rig.array.own().admin(c.pack(), {}).ok());
  host_queue q(rig.target, 0);
  CHECK(q.connect(volume_nqn, alice).status == dnr(generic_status::invalid_namespace));
  CHECK(rig.record().client_count == 0);
}

TEST_CASE("volumes of two targets have different names, and with flash files keep them") {
  const auto names = [](emulated_rig& rig) {
    const auto admin = rig.admin(volume_nqn, alice);
    const reply n = admin->identify(0, 1);
    const reply uuid = admin->identify(3, 1);
    const reply c = admin->identify(1);
    return std::vector<std::uint64_t>{n.number(104, 8),   n.number(112, 8), uuid.number(24, 8),
                                      uuid.number(32, 8), c.number(4, 8),   c.number(12, 8)};
  };
  const temp_folder folder;
  const std::string kept = std::string(small_array) + "&flash=" + folder.path();
  std::vector<std::uint64_t> before;
  {
    emulated_rig rig(kept);
    before = names(rig);
  }
  emulated_rig same(kept);
  emulated_rig other;
  CHECK(names(same) == before);
  const auto others = names(other);
  for (std::size_t k = 0; k < before.size(); ++k) CHECK(others[k] != before[k]);
}

TEST_CASE("a target's file of its id that cannot be read is said, not replaced") {
  const temp_folder folder;
  const std::uint64_t id = serve::target_id(folder.path());
  CHECK(serve::target_id(folder.path()) == id);
  std::ofstream(std::string(folder.path()) + "/target.id") << "12\n";
  CHECK_THROWS_AS((void)serve::target_id(folder.path()), host::error);
  CHECK(serve::target_id("") != serve::target_id(""));
}

TEST_CASE("more given-up commands than the NIC has regions do not keep a host from leaving") {
  emulated_rig rig;
  auto admin = rig.admin(volume_nqn, alice);
  const auto data = filled(block_bytes, 5);
  for (std::uint32_t ssd = 0; ssd < 3; ++ssd) rig.array.inject_fault(ssd, "silent");
  rig.array.own().set_timeout(30'000'000);  // only what must fail is this short of time
  std::vector<std::thread> threads;
  for (int t = 0; t < 16; ++t) {
    threads.emplace_back([&] {
      for (int k = 0; k < 20; ++k) (void)rig.volume->write(0, data);
    });
  }
  for (auto& t : threads) t.join();
  rig.array.own().set_timeout(answer_timeout_ns);
  REQUIRE(rig.record().client_count == 1);
  admin.reset();
  rig.target.tick(0);
  CHECK(rig.target.associations() == 0);
  CHECK(rig.record().client_count == 0);
}

TEST_CASE("an array whose firmware has failed says why to who serves it, and answers its hosts") {
  const temp_folder folder;
  emulated_rig rig("emu:?ssds=1&replicas=1&capacity=4M&shards=1&threads=2&flash=" + folder.path());
  const auto began = std::chrono::steady_clock::now();
  const auto admin = rig.admin(volume_nqn, alice);
  const auto q = rig.io(volume_nqn, alice);
  const auto data = filled(block_bytes, 1);
  const auto write = [&] { return q->send(host_queue::io(nvm_opcode::write, 0, 1), data).status; };
  REQUIRE(write() == 0);
  rig.array.check();
  spoil_counts(folder.path(), {.pages = 1024, .shards = 1, .pages_per_block = 32});
  CHECK(write() != 0);
  CHECK(write() != 0);
  std::string why;
  try {
    rig.array.check();
  } catch (const host::error& e) {
    why = e.what();
  }
  CHECK(why.find("live != 0") != std::string::npos);
  CHECK(std::chrono::steady_clock::now() - began < std::chrono::seconds(5));
}

namespace {

/// What gnstor-target serves with, but for the network: rounds in which hosts do what a test says.
struct served_rounds {
  emulated_rig& rig;
  const std::function<void()>& work;
  void say_ready() const {}
  void run_for(std::chrono::milliseconds) const { work(); }
  void check() const { rig.array.check(); }
};

/// What was written to a stream.
class captured_stream {
 public:
  captured_stream() : stream_(open_memstream(&text_, &bytes_)) { REQUIRE(stream_ != nullptr); }
  ~captured_stream() {
    std::fclose(stream_);
    std::free(text_);
  }
  captured_stream(const captured_stream&) = delete;
  captured_stream& operator=(const captured_stream&) = delete;
  std::FILE* file() { return stream_; }
  std::string text() {
    std::fflush(stream_);
    return {text_, bytes_};
  }

 private:
  char* text_ = nullptr;
  std::size_t bytes_ = 0;
  std::FILE* stream_;
};

}  // namespace

TEST_CASE("a target whose array's firmware fails ends with exit code 1 and the reason, at once") {
  const temp_folder folder;
  emulated_rig rig("emu:?ssds=1&replicas=1&capacity=4M&shards=1&threads=2&flash=" + folder.path());
  const auto admin = rig.admin(volume_nqn, alice);
  const auto q = rig.io(volume_nqn, alice);
  const auto data = filled(block_bytes, 1);
  volatile std::sig_atomic_t stop_requested = 0;
  int rounds = 0;
  const auto serve = [&](int fails_in, int stops_in) {
    rounds = 0;
    stop_requested = 0;
    const std::function<void()> work = [&] {
      ++rounds;
      if (rounds == fails_in)
        spoil_counts(folder.path(), {.pages = 1024, .shards = 1, .pages_per_block = 32});
      const bool written = q->send(host_queue::io(nvm_opcode::write, 0, 1), data).status == 0;
      CHECK(written == (rounds < fails_in));
      if (rounds == stops_in) stop_requested = 1;
    };
    captured_stream says;
    captured_stream complains;
    const int code = tools::serve(
        [&] {
          return served_rounds{rig, work};
        },
        stop_requested, says.file(), complains.file());
    CHECK(says.text() == (code == 0 ? "stopping\n" : ""));
    return std::make_pair(code, complains.text());
  };
  CHECK(serve(100, 3) == std::make_pair(0, std::string()));
  CHECK(rounds == 3);
  const auto [code, reason] = serve(2, 9);
  CHECK(code == 1);
  CHECK(rounds == 2);
  CHECK(reason.starts_with("gnstor-target: the array's firmware has failed"));
  CHECK(reason.find("live != 0") != std::string::npos);
}

TEST_CASE("a target that cannot start ends with exit code 1 and the reason") {
  const volatile std::sig_atomic_t stop_requested = 0;
  captured_stream says;
  captured_stream complains;
  const auto start = [&]() -> served_rounds { throw host::error("no RDMA device"); };
  CHECK(tools::serve(start, stop_requested, says.file(), complains.file()) == 1);
  CHECK(complains.text() == "gnstor-target: no RDMA device\n");
}

/// Sessions of one host at a target whose array has a manager: each writes by an id of its own.
#include "host/temp_folder.hpp"
#include "managed_rig.hpp"
#include <gnstor/host/control_error.hpp>
#include <gnstor/wire/nvme/read_write.hpp>

#include <control/manager_control.hpp>

#include <array>
#include <atomic>
#include <functional>
#include <optional>
#include <set>
#include <vector>

using namespace gnstor;
using namespace gnstor::test;
using wire::afa::right_admitted;
using wire::afa::right_read;
using wire::afa::right_write;

namespace {

/// A session of a host, as the target and the manager see it.
class guest_session {
 public:
  guest_session(managed_rig& rig, std::uint64_t number, std::uint16_t had = 0,
                const std::string& nqn = guest)
      : rig_(&rig),
        joined_(rig.array.join({nqn, {}, client_id{}, "", {number, had, 0, 0}})),
        asks_(*rig.array.manager(), host::control_role::of_host(nqn), nqn) {
    if (joined_->refused == 0) asks_.writes_as(joined_->client);
  }
  std::uint16_t refused() const { return joined_->refused; }
  client_id id() const { return joined_->client; }
  host::array_control& control() { return asks_; }
  bool opens(bool write = true) {
    try {
      return asks_.open(volume_id(rig_->vid), write).writer == id() || !write;
    } catch (const host::control_error& e) {
      CHECK(e.why() == host::control_reason::busy);
      return false;
    }
  }
  /// One block of the volume, as `as`.
  std::uint16_t io(nvm_opcode op, client_id as) {
    const wire::afa::volume_record r = rig_->record();
    const auto set =
        rendezvous_placement(r.ssd_count).replicas(volume_id(r.vid), r.hash_factor, 0, r.replicas);
    submission_entry e = host_queue::io(op, 0, 1);
    const std::uint64_t at = wire::afa::pack_slba(volume_id(r.vid), as, vba(0));
    e.nsid = set.ssd[0].value + 1u;
    e.cdw2 = rig_->array.about().epoch;
    e.cdw10 = static_cast<std::uint32_t>(at);
    e.cdw11 = static_cast<std::uint32_t>(at >> 32);
    return rig_->array.io(id(), e, page_);
  }
  void vanish() { joined_->held.reset(); }

 private:
  managed_rig* rig_;
  std::optional<serve::array_gateway::joined> joined_;
  host::manager_control asks_;
  std::array<std::byte, block_bytes> page_{};
};

/// A rig whose volume the guest may open.
struct shared_rig : managed_rig {
  explicit shared_rig(const host::manager_settings& settings = quick()) : managed_rig(settings) {
    (void)array.manager()->admit(vid, as_host);
  }
  std::set<std::uint16_t> known() {
    std::set<std::uint16_t> all;
    const wire::afa::volume_record r = record();
    for (std::uint32_t k = 0; k < r.client_count; ++k) all.insert(r.clients[k].client);
    return all;
  }
  /// Ticks until a lost session is forgotten.
  bool forgets(client_id who) {
    return comes([&] {
      array.tick();
      return !known().contains(who.value) && !(writer() == who);
    });
  }
  const client_id as_host = host::client_identity::client_of(guest);
};

/// A rig whose volume the guest owns, and was not admitted to.
struct owned_rig : managed_rig {
  owned_rig() { array.manager()->set_owner(vid, host::client_identity::key_of(guest)); }
  const client_id as_host = host::client_identity::client_of(guest);
};

}  // namespace

TEST_CASE("of two sessions of one host one writes, and both read") {
  shared_rig rig;
  guest_session one(rig, 1);
  guest_session two(rig, 2);
  const std::set ids{one.id().value, two.id().value, rig.as_host.value};
  REQUIRE(ids.size() == 3);
  REQUIRE(one.opens());
  CHECK(rig.rights(one.id()) == (right_read | right_write));
  CHECK(rig.rights(rig.as_host) == (right_read | right_admitted));
  CHECK_FALSE(two.opens());
  CHECK(two.opens(false));
  for (guest_session* s : {&one, &two}) CHECK(s->io(nvm_opcode::read, rig.as_host) == 0);
  CHECK(one.io(nvm_opcode::write, one.id()) == 0);
  CHECK(two.io(nvm_opcode::write, two.id()) == own(wire::afa::status::not_permitted));
  // Nobody is taken for another one, nor for the whole host where that is not enough.
  CHECK(two.io(nvm_opcode::write, one.id()) == own(wire::afa::status::wrong_client));
  CHECK(two.io(nvm_opcode::write, rig.as_host) == own(wire::afa::status::not_permitted));
  // In order, it passes at once; what the first one had of its own is gone.
  one.control().close(volume_id(rig.vid), true);
  CHECK(rig.rights(one.id()) == 0);
  CHECK(two.opens());
  CHECK(one.io(nvm_opcode::write, one.id()) == own(wire::afa::status::not_permitted));
  CHECK(rig.rights(rig.as_host) == (right_read | right_admitted));
}

TEST_CASE("a session that comes back is who it was, and one that comes first is nobody else") {
  shared_rig rig;
  std::optional<guest_session> one(std::in_place, rig, 1);
  const client_id id = one->id();
  REQUIRE(one->opens());
  CHECK(guest_session(rig, 1).id() == id);  // another association of it
  one.emplace(rig, 1, id.value);            // its connection is made again
  CHECK(one->id() == id);
  CHECK(one->io(nvm_opcode::write, id) == 0);
  // A target that has been started anew knows nobody: the id is the session's to say.
  guest_session other(rig, 7, 4711);
  CHECK(other.id().value == 4711);
  CHECK(guest_session(rig, 8, id.value).refused() != 0);  // somebody has it
  CHECK(guest_session(rig, 9, rig.as_host.value).refused() != 0);
  CHECK(guest_session(rig, 10, rig.array.own_client().value).refused() != 0);
  CHECK(guest_session(rig, 11).id().value != 0);
}

TEST_CASE("no session gets an id that a volume's table has") {
  shared_rig rig;
  // Nearly all ids are in tables: one is left of the first 700, of which each attempt draws.
  std::uint16_t next = 1;
  constexpr std::uint32_t volumes = 30;
  std::set<std::uint16_t> used;
  for (std::uint32_t v = 0; v < volumes; ++v) {
    host::new_volume wanted;
    wanted.capacity_blocks = 4;
    const std::uint16_t vid = rig.array.manager()->create(wanted).record.vid;
    for (std::uint32_t k = 0; k < 25; ++k, ++next) {
      if (client_id(next) == rig.array.manager()->client()) continue;
      (void)rig.array.manager()->admit(vid, client_id(next));
      used.insert(next);
    }
  }
  CHECK(used.size() > 700);
  for (std::uint64_t k = 1; k < 40; ++k)
    CHECK_FALSE(used.contains(guest_session(rig, k).id().value));
}

TEST_CASE("a session waits for its former self to be gone, and for no other that writes") {
  shared_rig rig;
  std::optional<guest_session> former(std::in_place, rig, 1);
  const client_id id = former->id();
  REQUIRE(former->opens());
  former->vanish();
  guest_session next(rig, 2);
  std::atomic<bool> done{false};
  std::thread target([&] {
    while (!done) {
      rig.array.tick();
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
  });
  const auto began = std::chrono::steady_clock::now();
  CHECK(next.opens());
  const auto took = std::chrono::steady_clock::now() - began;
  done = true;
  target.join();
  CHECK(took > std::chrono::milliseconds(100));  // it could have come back
  CHECK(rig.writer() == next.id());
  CHECK_FALSE(rig.known().contains(id.value));
  CHECK(next.io(nvm_opcode::write, next.id()) == 0);
  // It comes back after all, as whom it was, and may not write any more.
  former.emplace(rig, 1, id.value);
  CHECK(former->id() == id);
  CHECK(former->io(nvm_opcode::write, id) == own(wire::afa::status::not_permitted));
  const auto again = std::chrono::steady_clock::now();
  CHECK_FALSE(former->opens());
  CHECK(std::chrono::steady_clock::now() - again < std::chrono::seconds(2));
}

TEST_CASE("a session that has lost its connection for a moment keeps its right") {
  shared_rig rig;
  std::optional<guest_session> one(std::in_place, rig, 1);
  const client_id id = one->id();
  REQUIRE(one->opens());
  guest_session two(rig, 2);
  one->vanish();
  std::thread comes_back([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    one.emplace(rig, 1, id.value);
  });
  const bool taken = two.opens();
  comes_back.join();
  CHECK_FALSE(taken);
  CHECK(rig.writer() == id);
  CHECK(one->io(nvm_opcode::write, id) == 0);
}

TEST_CASE("what is taken from a host is taken from its sessions") {
  shared_rig rig;
  host::array_manager& boss = *rig.array.manager();
  host::manager_control admin(boss, host::control_role::administrator(), guest);
  guest_session one(rig, 1);
  REQUIRE(one.opens());
  SUBCASE("its lease") {
    admin.close(volume_id(rig.vid), true);  // as a program of before closes what it has read
    CHECK(rig.writer() == one.id());
    admin.revoke(volume_id(rig.vid));
    CHECK(rig.writer() == client_id{});
    CHECK(one.io(nvm_opcode::write, one.id()) == own(wire::afa::status::not_permitted));
    CHECK(one.io(nvm_opcode::read, rig.as_host) == 0);
  }
  SUBCASE("the volume") {
    admin.share(volume_id(rig.vid), guest, false);
    CHECK_FALSE(rig.known().contains(one.id().value));
    CHECK_FALSE(rig.known().contains(rig.as_host.value));
    CHECK(one.io(nvm_opcode::read, rig.as_host) == own(wire::afa::status::not_permitted));
    CHECK_THROWS_AS((void)one.control().open(volume_id(rig.vid), true), host::control_error);
  }
  SUBCASE("all volumes") {
    boss.dismiss(guest);
    CHECK(rig.writer() == client_id{});
    CHECK_FALSE(rig.known().contains(one.id().value));
    CHECK_FALSE(rig.known().contains(rig.as_host.value));
  }
}

TEST_CASE("nobody asks in the name of a session that is not its own, or not there") {
  shared_rig rig;
  const std::string thief = "nqn.2026-11.io.gnstor:host:thief";
  (void)rig.array.manager()->admit(rig.vid, host::client_identity::client_of(thief));
  std::optional<guest_session> one(std::in_place, rig, 1);
  const client_id id = one->id();
  REQUIRE(one->opens());
  guest_session other(rig, 2, 0, thief);
  other.control().writes_as(id);
  CHECK_THROWS_AS((void)other.control().open(volume_id(rig.vid), true), host::control_error);
  CHECK_THROWS_AS(other.control().close(volume_id(rig.vid), true), host::control_error);
  CHECK_THROWS_AS((void)other.control().renew(volume_id(rig.vid)), host::control_error);
  CHECK(rig.writer() == id);
  CHECK(one->io(nvm_opcode::write, id) == 0);
  guest_session two(rig, 3);
  two.control().writes_as(client_id(4711));
  CHECK_THROWS_AS((void)two.control().open(volume_id(rig.vid), true), host::control_error);
  CHECK(rig.writer() == id);
}

TEST_CASE("sessions that have gone leave nothing in a volume's table") {
  shared_rig rig(quick(std::chrono::milliseconds(1500)));
  std::this_thread::sleep_for(std::chrono::milliseconds(1));
  const std::set before = rig.known();
  {
    guest_session one(rig, 1);
    REQUIRE(one.opens());
    one.vanish();
    CHECK(rig.forgets(one.id()));
  }
  CHECK(rig.known() == before);
  // One that an heir fenced may read on, until it goes.
  guest_session one(rig, 2);
  REQUIRE(one.opens());
  guest_session two(rig, 3);
  CHECK(rig.comes([&] {
    rig.array.tick();
    return two.opens();
  }));
  CHECK(rig.rights(one.id()) == right_read);
  CHECK(one.io(nvm_opcode::read, one.id()) == 0);
  SUBCASE("its connection") {
    one.vanish();
    CHECK(rig.forgets(one.id()));
  }
  SUBCASE("it closes the volume") { one.control().close(volume_id(rig.vid), false); }
  CHECK_FALSE(rig.known().contains(one.id().value));
  two.control().close(volume_id(rig.vid), true);
  CHECK(rig.known() == before);
}

TEST_CASE("a session that closes a volume leaves it to the others of its host") {
  owned_rig rig;
  const client_id as_host = rig.as_host;
  guest_session one(rig, 1);
  guest_session two(rig, 2);
  REQUIRE(two.opens(false));  // as its owner's, which nobody has admitted
  REQUIRE(one.opens());
  one.control().close(volume_id(rig.vid), true);
  CHECK(two.io(nvm_opcode::read, as_host) == 0);
  one.vanish();
  CHECK(rig.comes([&] {
    rig.array.tick();
    return rig.array.manager()->hosts().size() == 2;  // the target itself, and the other session
  }));
  two.control().close(volume_id(rig.vid), true);
  CHECK(two.io(nvm_opcode::read, as_host) == 0);  // what it has closed it may read on
}

TEST_CASE("an owner's last session leaves nothing in a volume's table") {
  owned_rig rig;
  const client_id as_host = rig.as_host;
  guest_session one(rig, 1);
  guest_session two(rig, 2);
  REQUIRE(two.opens(false));
  one.vanish();
  CHECK(rig.comes([&] {
    rig.array.tick();
    return rig.array.manager()->hosts().size() == 2;
  }));
  CHECK(rig.rights(as_host) == right_read);
  two.vanish();
  CHECK(rig.comes([&] {
    rig.array.tick();
    return rig.rights(as_host) == 0;
  }));
}

TEST_CASE("who may write and is not seen where the array is served again loses the right") {
  shared_rig rig;
  (void)rig.array.manager()->open(rig.vid, client_id(4711), true);  // before, as far as it seems
  rig.array.tick();
  const auto began = std::chrono::steady_clock::now();
  SUBCASE("by itself") {
    CHECK(rig.comes([&] { return rig.writer() == client_id{}; }));
    CHECK(std::chrono::steady_clock::now() - began > std::chrono::seconds(2));  // it had time
  }
  SUBCASE("which a session waits for") {
    guest_session one(rig, 1);
    CHECK(one.opens());
    CHECK(rig.rights(client_id(4711)) == 0);
  }
}

TEST_CASE("a program without sessions that leaves takes nothing from sessions of its host") {
  owned_rig rig;
  const client_id as_host = rig.as_host;
  guest_session one(rig, 1);
  REQUIRE(one.opens(false));
  serve::array_gateway::joined former = rig.array.join({guest, {}, {}});
  REQUIRE((former.refused == 0 && former.client == as_host));
  (void)rig.array.manager()->open(rig.vid, as_host, true);
  CHECK(rig.rights(as_host) == (right_read | right_write));
  former.held.reset();
  CHECK(rig.comes([&] {
    rig.array.tick();
    return rig.writer() == client_id{};
  }));
  CHECK(rig.rights(as_host) == right_read);
  CHECK(one.io(nvm_opcode::read, as_host) == 0);
}

TEST_CASE("a host whose name gives the id of another one has no session beside that") {
  shared_rig rig;
  std::string twin;
  for (int k = 0; k < 2'000'000 && twin.empty(); ++k) {
    const std::string nqn = "nqn.2026-11.io.gnstor:host:t" + std::to_string(k);
    if (host::client_identity::client_of(nqn) == rig.as_host) twin = nqn;
  }
  REQUIRE_FALSE(twin.empty());
  std::optional<guest_session> one(std::in_place, rig, 1);
  CHECK(guest_session(rig, 2, 0, twin).refused() != 0);
  REQUIRE(one->opens());
  one->vanish();
  CHECK(rig.forgets(one->id()));
  CHECK(guest_session(rig, 3, 0, twin).refused() == 0);  // now it is the first
  CHECK(guest_session(rig, 4).refused() != 0);
}

TEST_CASE("however many hosts were admitted one of them may write") {
  shared_rig rig;
  std::uint32_t admitted = 1;
  try {
    for (std::uint16_t k = 1; k < 40; ++k, ++admitted)
      (void)rig.array.manager()->admit(rig.vid, client_id(static_cast<std::uint16_t>(100 + k)));
    FAIL_CHECK("more clients than a table has room for");
  } catch (const host::control_error& e) {
    CHECK(e.why() == host::control_reason::no_room);
  }
  CHECK(admitted == wire::afa::max_volume_clients - 2);  // the manager, and who writes
  guest_session one(rig, 1);
  CHECK(one.opens());
  CHECK(one.io(nvm_opcode::write, one.id()) == 0);
}

TEST_CASE("nothing is said to be taken from a host whose session may be about to come back") {
  shared_rig rig;
  host::array_manager& boss = *rig.array.manager();
  std::optional<guest_session> one(std::in_place, rig, 1);
  const client_id id = one->id();
  REQUIRE(one->opens());
  one.reset();
  rig.array.tick();
  // As after a start of the target, which knows nobody yet.
  (void)boss.open(rig.vid, rig.as_host, false);
  boss.close(rig.vid, id, false);
  (void)boss.open(rig.vid, client_id(4711), true);
  for (const auto& take : {std::function<void()>([&] { boss.expel(rig.vid, guest); }),
                           std::function<void()>([&] { boss.dismiss(guest); })}) {
    try {
      take();
      FAIL_CHECK("a right is left");
    } catch (const host::control_error& e) {
      CHECK(e.why() == host::control_reason::unavailable);
    }
  }
  CHECK(rig.known().contains(rig.as_host.value));
  CHECK(rig.comes([&] { return rig.writer() == client_id{}; }));
  boss.expel(rig.vid, guest);
  CHECK_FALSE(rig.known().contains(rig.as_host.value));
}

TEST_CASE("a target that ends in order takes no right from who comes back to the next one") {
  const temp_folder folder;
  const std::string where = "emu:?ssds=3&capacity=4M&flash=" + folder.path();
  host::manager_settings looks = quick();
  looks.look_every = std::chrono::milliseconds(1);
  std::uint16_t had = 0;
  volume_id vid{};
  for (int life = 0; life < 6; ++life) {
    CAPTURE(life);
    serve::emulated_gateway array(host::endpoint::parse(where), answer_timeout_ns, {.here = looks});
    const auto one = array.join({guest, {}, {}, "", {7, had, 0, 0}});
    REQUIRE(one.refused == 0);
    host::manager_control asks(*array.manager(), host::control_role::of_host(guest), guest,
                               one.client);
    if (life == 0) {
      vid = volume_id(asks.create({.capacity_blocks = 64, .replicas = 2}).record.vid);
      CHECK(asks.open(vid, true).writer == one.client);
    }
    CHECK(array.manager()->find(vid.value).writer == one.client);
    array.tick();
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    had = one.client.value;
  }
}

TEST_CASE("a session that was fenced and lost its connection reads nothing that its host lost") {
  shared_rig rig(quick(std::chrono::milliseconds(1000)));
  guest_session one(rig, 1);
  REQUIRE(one.opens());
  const client_id heir(4712);
  CHECK(rig.comes([&] {
    try {
      return rig.array.manager()->open(rig.vid, heir, true).writer == heir;
    } catch (const host::control_error&) {
      return false;
    }
  }));
  rig.array.manager()->close(rig.vid, heir, true);
  CHECK(rig.rights(one.id()) == right_read);
  // As after a start of the target: a table has what no connection stands for.
  (void)rig.array.manager()->open(rig.vid, client_id(4711), false);
  CHECK(rig.rights(client_id(4711)) == right_read);
  rig.array.manager()->expel(rig.vid, guest);
  CHECK(rig.rights(client_id(4711)) == 0);
  CHECK(rig.rights(one.id()) == 0);
  CHECK(rig.rights(rig.as_host) == 0);
}

TEST_CASE("an heir gets the last place in a volume's table from the one that it fences") {
  shared_rig rig(quick(std::chrono::milliseconds(1000)));
  for (std::uint16_t k = 1; k < wire::afa::max_volume_clients - 2; ++k)
    (void)rig.array.manager()->admit(rig.vid, client_id(static_cast<std::uint16_t>(100 + k)));
  guest_session one(rig, 1);
  guest_session two(rig, 2);
  REQUIRE(one.opens());
  CHECK(rig.record().client_count == wire::afa::max_volume_clients);
  CHECK(rig.comes([&] { return two.opens(); }));
  CHECK(rig.rights(one.id()) == 0);
  CHECK(two.io(nvm_opcode::write, two.id()) == 0);
}

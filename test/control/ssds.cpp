/// SSDs that fail, are detached and come back, under an array's manager.
#include "rig.hpp"

#include <host/temp_folder.hpp>

#include <cstdio>
#include <filesystem>

using namespace gnstor;
using namespace gnstor::test;
using host::ssd_standing;

namespace {

/// An array with one volume of 2 replicas that holds known bytes.
struct filled_array : managed_array {
  filled_array() {
    r = create("data", 1024).record;
    bytes = random_bytes(1024 * block_bytes, 7);
    (void)manager->open(1, writer.id(), true);
    REQUIRE(writer.write(r, bytes).ok());
  }
  /// All is there by SSD 1, whichever other one is away.
  void check_without_others() {
    for (const std::uint32_t other : {0u, 2u, 3u}) {
      CAPTURE(other);
      manager->detach(other);
      REQUIRE(comes_to(other, ssd_standing::absent));
      CHECK(writer.holds(r, bytes));
      manager->replace(other);
      REQUIRE(comes_to(other, ssd_standing::in_sync));
    }
  }
  bool said(const std::string& words) const {
    const auto events = manager->events(1);
    return std::any_of(events.begin(), events.end(),
                       [&](const host::array_event& e) { return e.words == words; });
  }
  /// The volume's writer gives it back and opens it again: no region is dirty by then.
  void open_again() {
    manager->close(r.vid, writer.id(), true);
    (void)manager->open(r.vid, writer.id(), true);
  }
  managed_client writer{shared, "writer"};
  wire::afa::volume_record r{};
  std::vector<unsigned char> bytes;
};

}  // namespace

TEST_CASE("an SSD that stops serving is absent in the next epoch, and everything is still there") {
  filled_array array;
  const std::uint32_t before = array.manager->state().epoch;
  array.writer.link->inject_fault(2, "dead");
  REQUIRE(array.comes_to(2, ssd_standing::absent));
  const host::array_state now = array.manager->state();
  CHECK(now.epoch > before);
  CHECK(now.degraded == 1);
  CHECK(now.torn == 0);
  CHECK(array.writer.holds(array.r, array.bytes));
  const auto events = array.manager->events(1);
  CHECK(std::any_of(events.begin(), events.end(), [](const host::array_event& e) {
    return e.words.find("SSD 2 is absent") != std::string::npos;
  }));
}

TEST_CASE("the manager knows how the flash of each SSD is used, of one that is away as it was") {
  filled_array array;
  const auto knows = [&](std::uint32_t k) { return array.manager->state().ssds[k].flash; };
  REQUIRE(array.comes([&](const host::array_state& a) {
    std::uint64_t used = 0;
    for (const host::ssd_state& ssd : a.ssds) used += ssd.flash.used_blocks;
    return used >= 2 * array.r.capacity_blocks;
  }));
  array.writer.link->inject_fault(2, "dead");
  REQUIRE(array.comes_to(2, ssd_standing::absent));
  CHECK(knows(2).erase_blocks == knows(1).erase_blocks);
  CHECK(array.comes([](const host::array_state& a) { return a.ssds[1].epoch == a.epoch; }));
  CHECK(array.manager->state().ssds[2].epoch < array.manager->state().epoch);
}

TEST_CASE("an SSD that comes back is filled, and then any other may fail") {
  filled_array array;
  array.manager->detach(1);
  REQUIRE(array.comes_to(1, ssd_standing::absent));
  CHECK(refused([&] { array.manager->detach(1); }) == control_reason::bad_request);
  // What is written meanwhile it has never seen.
  array.bytes = random_bytes(array.bytes.size(), 8);
  REQUIRE(array.writer.write(array.r, array.bytes).ok());
  array.manager->replace(1);
  REQUIRE(array.comes_to(1, ssd_standing::in_sync));
  CHECK(array.manager->state().degraded == 0);
  array.check_without_others();
}

TEST_CASE("an SSD that was out for planned work is filled with what was written meanwhile alone") {
  filled_array array;
  const auto quiet = array.create("quiet", 512).record;
  const auto bytes = random_bytes(512 * block_bytes, 3);
  (void)array.manager->open(quiet.vid, array.writer.id(), true);
  REQUIRE(array.writer.write(quiet, bytes).ok());
  array.manager->close(quiet.vid, array.writer.id(), false);  // as sessions do
  (void)array.manager->open(quiet.vid, array.writer.id(), false);
  array.manager->detach(1, false, std::chrono::minutes(10));
  REQUIRE(array.comes_to(1, ssd_standing::absent));
  REQUIRE(array.manager->state().ssds[1].maintenance_left);
  CHECK(*array.manager->state().ssds[1].maintenance_left > std::chrono::minutes(9));
  array.bytes = random_bytes(array.bytes.size(), 9);
  REQUIRE(array.writer.write(array.r, array.bytes).ok());
  array.manager->replace(1);
  REQUIRE(array.comes_to(1, ssd_standing::in_sync));
  CHECK_FALSE(array.manager->state().ssds[1].maintenance_left);
  CHECK(array.said("SSD 1 has 1 volumes as it left them"));
  // Both are there by its replicas, whichever other one is lost.
  for (const std::uint32_t other : {0u, 2u, 3u}) {
    CAPTURE(other);
    array.manager->detach(other, false, std::chrono::minutes(10));
    REQUIRE(array.comes_to(other, ssd_standing::absent));
    CHECK(array.writer.holds(array.r, array.bytes));
    CHECK(array.writer.holds(quiet, bytes));
    array.manager->replace(other);
    REQUIRE(array.comes_to(other, ssd_standing::in_sync));
  }
}

TEST_CASE("an SSD that was detached by mistake is given what was written meanwhile alone") {
  filled_array array;
  array.open_again();
  array.manager->detach(1);
  REQUIRE(array.comes_to(1, ssd_standing::absent));
  const std::uint32_t stripe = array.r.stripe_blocks;
  constexpr std::size_t written = 14;  // stripes: some of them are SSD 1's, as sure as can be
  const auto some = random_bytes(written * stripe * block_bytes, 5);
  const std::size_t first = std::size_t{4} * stripe;
  REQUIRE(
      array.writer.io.write(array.writer.describe(array.r), first, std::as_bytes(std::span(some)))
          .ok());
  std::copy(some.begin(), some.end(), array.bytes.begin() + first * block_bytes);
  REQUIRE(
      array.writer.io.write_zeroes(array.writer.describe(array.r), std::size_t{20} * stripe, stripe)
          .ok());
  std::fill_n(array.bytes.begin() + std::size_t{20} * stripe * block_bytes,
              std::size_t{stripe} * block_bytes, 0);

  array.manager->replace(1);
  REQUIRE(array.comes_to(1, ssd_standing::in_sync));
  CHECK(array.said("SSD 1 has 1 volumes but for what was changed since it left"));
  // No more than regions in which something was written, and of those its own stripes.
  unsigned looked_at = 0;
  unsigned of = 0;
  unsigned given = 0;
  for (const host::array_event& e : array.manager->events(1)) {
    unsigned now = 0;  // it begins anew where a busy machine has the SSD seem to be gone
    if (std::sscanf(e.words.c_str(), "SSD 1: %u of %u blocks were looked at, %u were given", &now,
                    &of, &given) == 3)
      looked_at = std::max(looked_at, now);
  }
  CHECK(of == 1024);
  CHECK(looked_at <= (written + 1) * stripe);
  CHECK(looked_at > 0);
  CHECK(given <= looked_at);
  array.check_without_others();
}

TEST_CASE("an SSD that is back is given what a volume has grown by meanwhile, and keeps the rest") {
  filled_array array;
  array.manager->close(array.r.vid, array.writer.id(), true);
  array.r = array.create("odd", 1013).record;  // its last stripe is cut off
  (void)array.manager->open(array.r.vid, array.writer.id(), true);
  array.bytes.resize(1013 * block_bytes);
  REQUIRE(array.writer.write(array.r, array.bytes).ok());
  array.open_again();
  array.manager->detach(1);
  array.manager->grow(array.r.vid, 1500);
  array.r = array.manager->find(array.r.vid).record;
  // All that it has of the last stripe is old now, and what comes behind it has never seen.
  const auto more = random_bytes(400 * block_bytes, 6);
  REQUIRE(
      array.writer.io.write(array.writer.describe(array.r), 1008, std::as_bytes(std::span(more)))
          .ok());
  array.bytes.resize(1008 * block_bytes);
  array.bytes.insert(array.bytes.end(), more.begin(), more.end());
  array.manager->replace(1);
  REQUIRE(array.comes_to(1, ssd_standing::in_sync));
  CHECK(array.said("SSD 1 has 2 volumes but for what was changed since it left"));
  array.check_without_others();
}

TEST_CASE("who wants to write does not wait for an SSD that is being filled") {
  managed_array array;
  array.stop();
  array.settings.repair_bytes_per_s = 1 << 20;
  array.start();
  managed_client writer(array.shared, "writer");
  managed_client next(array.shared, "next");
  const auto large = array.create("large", 2048).record;
  const auto small = array.create("small", 16).record;
  (void)array.manager->open(large.vid, writer.id(), true);
  (void)array.manager->open(small.vid, writer.id(), true);
  REQUIRE(writer.write(large, random_bytes(2048 * block_bytes, 1)).ok());
  array.manager->detach(1);
  array.manager->replace(1);
  array.manager->close(small.vid, writer.id(), false);
  (void)array.manager->open(small.vid, next.id(), true);
  CHECK(array.manager->state().ssds[1].standing == ssd_standing::filling);
  CHECK(next.write(small, random_bytes(16 * block_bytes, 2)).ok());
}

TEST_CASE("an SSD that comes back has forgotten volumes that were deleted meanwhile") {
  filled_array array;
  (void)array.create("another", 16);
  array.manager->detach(3);
  REQUIRE(array.comes_to(3, ssd_standing::absent));
  array.manager->close(1, array.writer.id(), true);
  array.manager->remove(1, false);
  array.manager->replace(3);
  REQUIRE(array.comes_to(3, ssd_standing::in_sync));
  array.stop();
  array.start();
  REQUIRE(array.comes([](const host::array_state& a) { return a.settled; }));
  const auto volumes = array.manager->volumes();
  REQUIRE(volumes.size() == 1);
  CHECK(host::to_string(volumes[0].record.name) == "another");
  for (const host::ssd_state& s : array.manager->state().ssds)
    CHECK(s.standing == ssd_standing::in_sync);
}

TEST_CASE("with as many SSDs away as a volume has replicas it is not opened, and says so") {
  filled_array array;
  array.manager->close(1, array.writer.id(), true);
  for (const std::uint32_t ssd : {0u, 1u}) {
    std::string words;
    const auto why = refused([&] { array.manager->detach(ssd); }, &words);
    CHECK(why.has_value() == (ssd == 1));  // the last that has some blocks
    if (!why) continue;
    CHECK(why == control_reason::unavailable);
    CHECK(words.find("on no SSD that is in sync") != std::string::npos);
    CHECK(array.manager->state().ssds[ssd].standing == ssd_standing::in_sync);
    array.manager->detach(ssd, true);
    REQUIRE(array.comes_to(ssd, ssd_standing::absent));
  }
  CHECK(array.manager->state().torn == 1);
  CHECK(refused([&] { (void)array.manager->open(1, array.writer.id(), false); }) ==
        control_reason::unavailable);
}

TEST_CASE("SSDs that are not there, or take part already, are refused") {
  managed_array array;
  CHECK(refused([&] { array.manager->detach(4); }) == control_reason::unknown_ssd);
  CHECK(refused([&] { array.manager->replace(9); }) == control_reason::unknown_ssd);
  CHECK(refused([&] { array.manager->replace(0); }) == control_reason::bad_request);
}

TEST_CASE("a manager that another one has replaced does nothing any more") {
  managed_array array;
  array.stop();
  array.settings.request_timeout = std::chrono::seconds(2);
  array.start();
  (void)array.create("first");
  auto former = std::move(array.manager);
  array.start();
  CHECK(array.manager->term() > former->term());
  host::new_volume wanted;
  wanted.name = host::volume_name("late");
  wanted.capacity_blocks = 8;
  // Not even by the front end: the first that it is asked is the first that it notices.
  const auto why = refused([&] { former->detach(2); });
  CHECK((why == control_reason::interrupted || why == control_reason::not_leading));
  CHECK(refused([&] { (void)former->create(wanted); }) == control_reason::not_leading);
  CHECK(refused([&] { former->remove(1, true); }) == control_reason::not_leading);
  CHECK_THROWS_AS(former->check(), host::error);
  former.reset();
  REQUIRE(array.comes([](const host::array_state& a) { return a.settled; }));
  CHECK(array.manager->volumes().size() == 1);
  CHECK(array.manager->state().ssds[2].standing == ssd_standing::in_sync);
  array.manager->check();
  (void)array.create("second");
}

TEST_CASE("an SSD that is well again serves nobody who knows its epoch, until it is replaced") {
  const temp_folder folder;
  const std::string where = "emu:?capacity=16M&runner=cpu&ssds=3&flash=" + folder.path();
  wire::afa::volume_record r{};
  std::uint32_t before = 0;
  const auto old_blocks = random_bytes(64 * block_bytes, 1);
  const auto new_blocks = random_bytes(64 * block_bytes, 2);
  // How many blocks SSD 1 serves to a client of the epoch before.
  const auto served = [&](managed_client& who) {
    std::uint32_t some = 0;
    std::vector<std::byte> block(block_bytes);
    for (std::uint32_t k = 0; k < 64; ++k) {
      auto e = wire::nvme::make_read_write(wire::nvme::nvm_opcode::read, 0, 2,
                                           wire::afa::pack_slba(volume_id(r.vid), who.id(), vba(k)),
                                           1, {});
      e.cdw2 = before;
      some += who.io.io(e, block).ok() ? 1 : 0;
    }
    return some;
  };
  {
    managed_array array(where);
    managed_client writer(array.shared, "writer");
    r = array.create("data", 64, 3).record;
    (void)array.manager->open(r.vid, writer.id(), true);
    REQUIRE(writer.write(r, old_blocks).ok());
    before = array.manager->state().epoch;
    CHECK(served(writer) == 64);
    writer.link->inject_fault(1, "dead");
    REQUIRE(array.comes_to(1, ssd_standing::absent));
    writer.link->inject_fault(1, "none");
    REQUIRE(writer.write(r, new_blocks).ok());
    CHECK(served(writer) == 0);
  }
  const shared_sessions again(where);  // nobody manages it
  managed_client writer(again, "writer");
  CHECK(served(writer) == 0);
  CHECK(writer.holds(r, new_blocks));
  host::session plain = again.open("writer");  // by SSD 0, 1 or 2, whichever it asks
  CHECK(plain.refresh(plain.open_read_only(volume_id(r.vid))).epoch > before);
}

TEST_CASE("a session learns the epoch from the SSDs that take part, whichever is absent") {
  for (const std::uint32_t absent : {0u, 1u}) {
    CAPTURE(absent);
    managed_array array;
    array.manager->detach(absent);
    REQUIRE(array.comes_to(absent, ssd_standing::absent));
    const host::session_access::impl alice(array.shared.where, shared_sessions::options("alice"),
                                           array.shared.link("alice"));
    CHECK(alice.array.epoch == array.manager->state().epoch);
    CHECK(alice.array.absent == 1u << absent);
  }
}

TEST_CASE("of two managers that follow the same one each has a term of its own") {
  const temp_folder first, second;
  const auto on = [](const temp_folder& f) {
    return "emu:?ssds=2&capacity=16M&runner=cpu&flash=" + f.path();
  };
  { const managed_array before(on(first)); }
  // Each of them reaches SSDs that the other one does not.
  std::filesystem::copy(first.path(), second.path(), std::filesystem::copy_options::recursive);
  const managed_array one(on(first));
  const managed_array other(on(second));
  CHECK((one.manager->term() >> 16) == (other.manager->term() >> 16));
  CHECK(one.manager->term() != other.manager->term());
}

TEST_CASE("an SSD remembers the latest term over its end, and refuses every order of another") {
  const temp_folder folder;
  const std::string where = "emu:?capacity=16M&runner=cpu&ssds=2&flash=" + folder.path();
  wire::afa::admin_command c;
  c.opcode = wire::afa::admin_opcode::array_update;
  const wire::afa::array_membership m{wire::afa::payload_version, 2, 0, 0};
  const auto refused_by = [](status s, wire::afa::status why) {
    return s.code == status_code::nvme_error && s.nvme_code == static_cast<std::uint8_t>(why);
  };
  {
    const shared_sessions shared(where);
    raw_admin manager(shared.link("manager", true));
    raw_admin stranger(shared.link("stranger"));
    c.term = 1ull << 40;
    CHECK(refused_by(stranger.send(c, 0, m), wire::afa::status::not_permitted));
    wire::afa::admin_command look = c;
    look.opcode = wire::afa::admin_opcode::array_describe;
    look.term = 1ull << 50;
    CHECK(refused_by(stranger.send(look, 0, wire::afa::array_description{}),
                     wire::afa::status::not_permitted));
    REQUIRE(manager.send(c, 0, m).ok());
  }
  const shared_sessions shared(where);
  raw_admin manager(shared.link("manager", true));
  c.term = (1ull << 40) - 1;
  const wire::afa::volume_record r = [] {
    wire::afa::volume_record v{};
    v.version = wire::afa::payload_version;
    v.vid = 1;
    v.replicas = 1;
    v.capacity_blocks = 8;
    v.stripe_blocks = 16;
    return v;
  }();
  for (const auto opcode :
       {wire::afa::admin_opcode::array_update, wire::afa::admin_opcode::volume_add,
        wire::afa::admin_opcode::volume_chmod, wire::afa::admin_opcode::volume_list,
        wire::afa::admin_opcode::array_describe, wire::afa::admin_opcode::ssd_describe,
        wire::afa::admin_opcode::volume_delete}) {
    CAPTURE(static_cast<int>(opcode));
    c.opcode = opcode;
    c.epoch = 2;
    c.volume = volume_id(1);
    status s;
    switch (opcode) {
      case wire::afa::admin_opcode::array_update: s = manager.send(c, 0, m); break;
      case wire::afa::admin_opcode::volume_add: s = manager.send(c, 0, r); break;
      case wire::afa::admin_opcode::volume_chmod:
        s = manager.send(c, 0, wire::afa::volume_chmod{});
        break;
      case wire::afa::admin_opcode::volume_list:
        s = manager.send(c, 0, wire::afa::volume_list{});
        break;
      case wire::afa::admin_opcode::array_describe:
        s = manager.send(c, 0, wire::afa::array_description{});
        break;
      case wire::afa::admin_opcode::ssd_describe:
        s = manager.send(c, 0, wire::afa::ssd_description{});
        break;
      case wire::afa::admin_opcode::volume_delete: s = manager.send(c, 0, m); break;
    }
    CHECK(refused_by(s, wire::afa::status::stale_term));
  }
  c.opcode = wire::afa::admin_opcode::volume_add;
  c.term = 1ull << 40;
  CHECK(manager.send(c, 0, r).ok());
}

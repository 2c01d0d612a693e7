/// Volumes by name: made, found, renamed and deleted by an array's manager.
#include "rig.hpp"

#include <atomic>

using namespace gnstor;
using namespace gnstor::test;

TEST_CASE("a volume is found by the name it was given, and by the one it is given later") {
  managed_array array;
  const host::volume_state made = array.create("graph edges");
  CHECK(made.record.vid == 1);
  CHECK(host::to_string(array.manager->find("graph edges").record.name) == "graph edges");
  array.manager->rename(1, host::volume_name("köln"));
  CHECK(array.manager->find("köln").record.vid == 1);
  CHECK(refused([&] { (void)array.manager->find("graph edges"); }) ==
        control_reason::unknown_volume);
  array.manager->set_labels(1, host::volume_labels("owner=alice,kind=graph"));
  CHECK(host::to_string(array.manager->find(1).record.labels) == "owner=alice,kind=graph");
  CHECK(array.manager->find(1).record.name == host::volume_name("köln"));
}

TEST_CASE("a name is one volume's: nobody creates another, nor renames one to it") {
  managed_array array;
  (void)array.create("a");
  (void)array.create("b");
  CHECK(refused([&] { (void)array.create("a"); }) == control_reason::name_exists);
  CHECK(refused([&] { array.manager->rename(2, host::volume_name("a")); }) ==
        control_reason::name_exists);
  array.manager->rename(1, host::volume_name("a"));  // its own
  CHECK(array.manager->volumes().size() == 2);
  array.manager->remove(1, false);
  CHECK(array.create("a").record.vid == 1);
}

TEST_CASE("a volume grows under who writes it, as far as there is room, and never shrinks") {
  managed_array array;  // 4 SSDs of 3904 blocks for volumes
  managed_client alice(array.shared, "alice");
  const auto v = array.create("a", 256);
  (void)array.manager->admit(v.record.vid, alice.id());
  (void)array.manager->open(v.record.vid, alice.id(), true);
  const auto bytes = random_bytes(256 * block_bytes, 1);
  REQUIRE(alice.write(array.manager->find("a").record, bytes).ok());
  array.manager->grow(v.record.vid, 300);
  const auto grown = array.manager->find("a");
  CHECK(grown.record.capacity_blocks == 300);
  CHECK(grown.writer == alice.id());  // nobody takes its right
  auto longer = bytes;
  longer.resize(300 * block_bytes);
  CHECK(alice.holds(grown.record, longer));
  longer = random_bytes(300 * block_bytes, 2);
  CHECK(alice.write(grown.record, longer).ok());

  std::string words;
  CHECK(refused([&] { array.manager->grow(v.record.vid, 299); }, &words) ==
        control_reason::bad_request);
  CHECK(words.find("no volume shrinks") != std::string::npos);
  CHECK(refused([&] { array.manager->grow(v.record.vid, 4 * 3904 / 2 + 1); }, &words) ==
        control_reason::no_room);
  CHECK(words.find("are left") != std::string::npos);
  CHECK(refused([&] { array.manager->grow(v.record.vid, std::uint64_t{1} << 33); }) ==
        control_reason::bad_request);
  CHECK(refused([&] { array.manager->grow(99, 1); }) == control_reason::unknown_volume);
  array.manager->grow(v.record.vid, 4 * 3904 / 2);
  CHECK(refused([&] { (void)array.create("b", 1); }) == control_reason::no_room);

  array.stop();
  array.start();
  REQUIRE(array.comes([](const host::array_state& a) { return a.settled; }));
  CHECK(array.manager->find("a").record.capacity_blocks == 4 * 3904 / 2);
  CHECK(alice.holds(array.manager->find("a").record, longer));
}

TEST_CASE("an SSD that was away while a volume grew has all of it when it is filled") {
  managed_array array;
  managed_client alice(array.shared, "alice");
  const auto v = array.create("a", 64);
  (void)array.manager->admit(v.record.vid, alice.id());
  (void)array.manager->open(v.record.vid, alice.id(), true);
  array.manager->detach(1);
  array.manager->grow(v.record.vid, 256);
  const auto bytes = random_bytes(256 * block_bytes, 3);
  REQUIRE(alice.write(array.manager->find("a").record, bytes).ok());
  array.manager->replace(1);
  REQUIRE(array.comes_to(1, host::ssd_standing::in_sync));
  for (const std::uint32_t other : {0u, 2u, 3u}) {
    array.manager->detach(other);
    CHECK(alice.holds(array.manager->find("a").record, bytes));
    array.manager->replace(other);
    REQUIRE(array.comes_to(other, host::ssd_standing::in_sync));
  }
}

TEST_CASE("of threads that create the same name at once one has the volume") {
  managed_array array("emu:?ssds=4&capacity=64M&runner=cpu");
  for (int race = 0; race < 20; ++race) {
    std::atomic<int> made{0};
    std::atomic<int> taken{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&] {
        const auto why = refused([&] { (void)array.create("race", 8); });
        ++(why ? taken : made);
      });
    }
    for (std::thread& t : threads) t.join();
    REQUIRE(made == 1);
    REQUIRE(taken == 3);
    array.manager->remove(array.manager->find("race").record.vid, false);
  }
  CHECK(array.manager->volumes().empty());
}

TEST_CASE("the array's state is in its SSDs: another manager finds names, labels and volumes") {
  managed_array array;
  (void)array.create("first");
  (void)array.create("second");
  array.manager->set_labels(2, host::volume_labels("tier=hot"));
  array.manager->remove(1, false);
  array.stop();
  array.start();
  REQUIRE(array.comes([](const host::array_state& a) { return a.settled; }));
  const auto volumes = array.manager->volumes();
  REQUIRE(volumes.size() == 1);
  CHECK(host::to_string(volumes[0].record.name) == "second");
  CHECK(host::to_string(volumes[0].record.labels) == "tier=hot");
  CHECK(volumes[0].record.owner == 0);  // nobody's, as it was made
}

TEST_CASE("what does not fit is refused, and the message says how much is left") {
  managed_array array;  // 4 SSDs of 3904 blocks for volumes
  (void)array.create("half", 4096);
  std::string words;
  CHECK(refused([&] { (void)array.create("more", 4097); }, &words) == control_reason::no_room);
  CAPTURE(words);
  CHECK(words.find("30408704 of 63963136 are left") != std::string::npos);
  CHECK(refused([&] { (void)array.create("wide", 1, 5); }) == control_reason::bad_request);
  CHECK(refused([&] { (void)array.create("nothing", 0); }) == control_reason::bad_request);
  (void)array.create("rest", 3712);
  CHECK(array.manager->volumes().size() == 2);
}

TEST_CASE("names that nobody could use are refused, and say why") {
  CHECK_THROWS_WITH_AS((void)host::volume_name(""), doctest::Contains("empty"), host::input_error);
  CHECK_THROWS_WITH_AS((void)host::volume_name(std::string(65, 'x')), doctest::Contains("65 bytes"),
                       host::input_error);
  CHECK_THROWS_WITH_AS((void)host::volume_name("17"), doctest::Contains("volume id"),
                       host::input_error);
  CHECK_THROWS_WITH_AS((void)host::volume_name(" a"), doctest::Contains("space"),
                       host::input_error);
  for (const char* bad : {"a\nb", "a\x1b[2J", "\xff", "\xc3", "\xe0\x80\x80", "\xed\xa0\x80",
                          "\xf4\x90\x80\x80", "\xc2\x85"}) {
    CHECK_THROWS_WITH_AS((void)host::volume_name(bad), doctest::Contains("not UTF-8"),
                         host::input_error);
  }
  CHECK(host::to_string(host::volume_name(std::string(64, 'x'))).size() == 64);
  CHECK(host::to_string(host::volume_name("数据")) == "数据");
}

TEST_CASE("a volume that a client may write is not deleted, unless that is forced") {
  managed_array array;
  managed_client alice(array.shared, "alice");
  (void)array.create("busy");
  const host::volume_state open = array.manager->open(1, alice.id(), true);
  CHECK(open.writer == alice.id());
  REQUIRE(open.lease_left.has_value());
  CHECK(*open.lease_left > std::chrono::seconds(200));
  CHECK(refused([&] { array.manager->remove(1, false); }) == control_reason::busy);
  array.manager->close(1, alice.id(), true);
  array.manager->remove(1, false);
  (void)array.create("busy");
  (void)array.manager->open(1, alice.id(), true);
  array.manager->remove(1, true);
  CHECK(array.manager->volumes().empty());
}

TEST_CASE("one client writes at a time, and a lease that ended goes to who asks next") {
  managed_array array;
  array.stop();
  array.settings.lease = std::chrono::milliseconds(200);
  array.start();
  managed_client alice(array.shared, "alice");
  managed_client bob(array.shared, "bob");
  const auto r = array.create("shared").record;
  (void)array.manager->open(1, alice.id(), true);
  const auto first = random_bytes(64 * block_bytes, 1);
  REQUIRE(alice.write(r, first).ok());
  CHECK(refused([&] { (void)array.manager->open(1, bob.id(), true); }) == control_reason::busy);
  (void)array.manager->renew(1, alice.id());
  std::this_thread::sleep_for(std::chrono::milliseconds(250));
  (void)array.manager->open(1, bob.id(), true);
  CHECK(bob.holds(r, first));
  const auto second = random_bytes(64 * block_bytes, 2);
  CHECK_FALSE(alice.write(r, second).ok());
  CHECK(refused([&] { (void)array.manager->renew(1, alice.id()); }) == control_reason::lost_lease);
  REQUIRE(bob.write(r, second).ok());
  CHECK(alice.holds(r, second));
}

TEST_CASE("who writes goes on when the manager ends, and when another one takes over") {
  managed_array array;
  managed_client alice(array.shared, "alice");
  managed_client bob(array.shared, "bob");
  const auto r = array.create("shared").record;
  (void)array.manager->open(1, alice.id(), true);
  array.stop();
  const auto bytes = random_bytes(64 * block_bytes, 1);
  CHECK(alice.write(r, bytes).ok());
  array.start();
  REQUIRE(array.comes([](const host::array_state& a) { return a.settled; }));
  const auto more = random_bytes(64 * block_bytes, 2);
  CHECK(alice.write(r, more).ok());
  CHECK(array.manager->find(1).writer == alice.id());
  CHECK(refused([&] { (void)array.manager->open(1, bob.id(), true); }) == control_reason::busy);
  (void)array.manager->renew(1, alice.id());
  array.manager->close(1, alice.id(), true);
  (void)array.manager->open(1, bob.id(), true);
  CHECK(bob.holds(r, more));
}

TEST_CASE("how much of a volume holds data is known, of a large one about how much") {
  constexpr std::uint64_t part = 1024;
  managed_array array("emu:?ssds=4&capacity=128M&runner=cpu");
  array.stop();
  array.settings.room_every = std::chrono::milliseconds(100);
  array.settings.room_parts = 4;
  array.start();
  managed_client alice(array.shared, "alice");
  const auto small = array.create("small", 4 * part).record;
  const auto large = array.create("large", 16 * part, 1).record;
  const auto empty = array.create("empty", 100).record;
  const auto used = [&](std::uint16_t vid) { return array.manager->find(vid).used; };
  const auto comes_to = [&](std::uint16_t vid, std::uint64_t blocks) {
    return array.comes(
        [&](const host::array_state&) { return used(vid) && used(vid)->blocks == blocks; });
  };
  CHECK(comes_to(empty.vid, 0));
  for (const auto& r : {small, large}) (void)array.manager->open(r.vid, alice.id(), true);
  const auto bytes = random_bytes(70 * block_bytes, 1);
  REQUIRE(alice.write(small, bytes).ok());
  const std::uint64_t end = small.capacity_blocks - 70;
  REQUIRE(alice.io.write(alice.describe(small), end, std::as_bytes(std::span(bytes))).ok());
  CHECK(comes_to(small.vid, 140));
  CHECK(used(small.vid)->exact);
  REQUIRE(alice.io.write_zeroes(alice.describe(small), 10, 20).ok());
  CHECK(comes_to(small.vid, 120));
  // A quarter of each of the parts that one in four stands for.
  const auto quarter = random_bytes(part / 4 * block_bytes, 2);
  for (std::uint64_t k = 0; k < 16; ++k) {
    REQUIRE(
        alice.io.write(alice.describe(large), k * part, std::as_bytes(std::span(quarter))).ok());
  }
  CHECK(comes_to(large.vid, 4 * part));
  CHECK_FALSE(used(large.vid)->exact);
  // What an SSD that is away has, another one has, too; of one replica alone nobody says.
  array.manager->detach(1, true);
  REQUIRE(array.comes_to(1, host::ssd_standing::absent));
  for (const std::uint64_t first : {30, 40}) {  // two passes
    REQUIRE(alice.io.write_zeroes(alice.describe(small), first, 10).ok());
    CHECK(comes_to(small.vid, 140 - first));
  }
  CHECK(used(large.vid)->blocks == 4 * part);
  array.manager->remove(small.vid, true);
  (void)array.create("another", 100);
  CHECK(comes_to(array.manager->find("another").record.vid, 0));
}

TEST_CASE("thousands of volumes are made, found by name, and taken over") {
  constexpr std::uint32_t count = 1500;
  managed_array array("emu:?ssds=4&capacity=512M&runner=cpu");
  for (std::uint32_t k = 0; k < count; ++k) (void)array.create("volume " + std::to_string(k), 16);
  array.stop();
  const auto before = std::chrono::steady_clock::now();
  array.start();
  REQUIRE(array.comes([](const host::array_state& a) { return a.settled; }));
  CHECK(array.create("last", 16).record.vid == count + 1);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - before;
  MESSAGE("took over " << count << " volumes on 4 SSDs in " << took.count() << " s");
  CHECK(array.manager->volumes().size() == count + 1);
  CHECK(array.manager->find("volume 1234").record.vid == 1235);
}

TEST_CASE(
    "volumes are listed also where another epoch has begun since the array was asked for its") {
  managed_array array;
  managed_client alice(array.shared, "alice");
  (void)array.create("a");
  const wire::afa::array_description said = alice.io.describe();
  array.manager->detach(1);
  REQUIRE(alice.io.describe().epoch > said.epoch);
  CHECK(alice.io.volumes(said).size() == 1);
}

/// Scrubs: in which order volumes have their turn, and what is found and mended.
// label: thorough
#include "rig.hpp"

#include <control/scrub_schedule.hpp>
#include <host/damaged_flash.hpp>

using namespace gnstor;
using namespace gnstor::test;
using namespace std::chrono_literals;
using host::scrub_schedule;
using host::ssd_standing;

namespace {

const scrub_schedule::clock::time_point start{1000h};

std::optional<std::uint16_t> vid(unsigned value) { return static_cast<std::uint16_t>(value); }

/// An array in files, with a volume of two replicas that a client has written.
struct written {
  explicit written(std::chrono::seconds every = 0s, std::uint64_t repair_bytes_per_s = 0)
      : array("emu:?ssds=2&capacity=16M&runner=cpu&flash=" + folder.path()),
        volume((array.stop(), array.settings.scrub_every = every,
                array.settings.repair_bytes_per_s = repair_bytes_per_s, array.start(),
                array.create("a", 64).record)),
        writer(array.shared, "writer") {
    (void)array.manager->admit(volume.vid, writer.id());
    (void)array.manager->open(volume.vid, writer.id(), true);
    REQUIRE(writer.write(volume, bytes).ok());
  }
  /// Flips a bit of some blocks on one SSD.
  void damage(std::uint32_t ssd, std::uint32_t first, std::uint32_t count) const {
    for (std::uint32_t k = first; k < first + count; ++k)
      CHECK(flip_bit(folder, ssd, bytes.data() + k * block_bytes));
  }
  /// Waits for an event that says something.
  bool says(const std::string& words) const {
    return array.comes([&](const host::array_state&) {
      for (const host::array_event& e : array.manager->events(0))
        if (e.words.find(words) != std::string::npos) return true;
      return false;
    });
  }

  temp_folder folder{std::filesystem::temp_directory_path()};
  std::vector<unsigned char> bytes = random_bytes(64 * block_bytes, 9);
  managed_array array;
  wire::afa::volume_record volume;
  managed_client writer;
};

}  // namespace

TEST_CASE("what was asked for goes before a pass, and one volume is scrubbed at a time") {
  scrub_schedule s(10h, start);
  CHECK_FALSE(s.pass_is_due(start + 9h));
  CHECK_FALSE(s.take(start));
  REQUIRE(s.pass_is_due(start + 10h));
  s.begin_pass({1, 2, 3}, start + 10h);
  CHECK(s.take(start + 10h) == vid(1));
  CHECK_FALSE(s.take(start + 10h));
  s.ask(7);
  s.ask(7);
  s.done();
  CHECK(s.take(start + 10h) == vid(7));
  CHECK_FALSE(s.pass_is_due(start + 20h));  // one is under way
  s.done();
  CHECK(s.take(start + 20h) == vid(2));
  s.done();
  CHECK(s.take(start + 20h) == vid(3));
  s.done();
  CHECK_FALSE(s.take(start + 20h));
  CHECK(s.pass_is_due(start + 20h));
}

TEST_CASE("a scrub that ended early is done again, after a pause") {
  scrub_schedule s(0s, start);
  s.ask(4);
  s.ask(5);
  REQUIRE(s.take(start) == vid(4));
  s.again(start, 1s);
  CHECK_FALSE(s.take(start));
  CHECK(s.take(start + 1s) == vid(4));
  s.done();
  CHECK(s.take(start + 1s) == vid(5));
  s.again(start + 1s, 1s);
  s.again(start + 1s, 1s);  // there is none
  CHECK(s.take(start + 2s) == vid(5));
  s.done();
  CHECK_FALSE(s.take(start + 9s));
  CHECK_FALSE(s.pass_is_due(start + 1000h));
}

TEST_CASE("a scrub that is asked for mends damaged replicas, and says so") {
  written w;
  w.damage(0, 3, 2);
  w.damage(1, 9, 1);
  const std::uint32_t epoch = w.array.manager->state().epoch;
  w.array.manager->scrub(w.volume.vid);
  CHECK(w.says("scrubbing volume 1: 3 blocks are damaged, and 0 are lost"));
  CHECK(w.says("volume 1: 3 damaged blocks are mended"));
  CHECK(w.array.manager->state().epoch == epoch + 1);
  CHECK(w.writer.holds(w.volume, w.bytes));
}

TEST_CASE("what no replica has any more is counted as lost, and nothing in its place is invented") {
  written w;
  w.damage(0, 3, 1);
  w.damage(1, 3, 1);
  w.array.manager->scrub(w.volume.vid);
  CHECK(w.says("scrubbing volume 1: 0 blocks are damaged, and 1 are lost"));
  CHECK_FALSE(w.writer.holds(w.volume, w.bytes));
}

TEST_CASE("all volumes are scrubbed again and again, unasked") {
  written w(1s);
  w.damage(1, 0, 4);
  CHECK(w.says("4 damaged blocks are mended"));
  CHECK(w.writer.holds(w.volume, w.bytes));
  w.damage(0, 7, 5);
  CHECK(w.says("5 damaged blocks are mended"));
}

TEST_CASE("a scrub that an epoch took back is done after all, and one of a deleted volume ends") {
  written w(0s, 128 * 1024);  // a fill takes two seconds or more, and the scrub waits for it
  w.array.manager->detach(0);
  REQUIRE(w.array.comes_to(0, ssd_standing::absent));
  w.array.manager->replace(0);
  w.array.manager->scrub(w.volume.vid);
  REQUIRE(w.array.comes([](const host::array_state& a) {
    return a.repairs.size() == 2 && a.repairs[1].kind == "scrub" && a.repairs[1].waits;
  }));
  w.array.manager->detach(0);
  CHECK(w.array.comes([](const host::array_state& a) { return a.scrubs.volumes == 1; }));
  w.array.manager->scrub(w.volume.vid);
  w.array.manager->remove(w.volume.vid, true);
  CHECK(w.array.comes([](const host::array_state& a) { return a.repairs.empty(); }));
}

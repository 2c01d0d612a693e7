// label: thorough
#include "concurrent_shards.hpp"

#include "under_tsan.hpp"
#include <deengine/recover.hpp>
#include <gnstor/simt_host/executor.hpp>

#include <doctest/doctest.h>

#include <vector>

using namespace gnstor;
using namespace gnstor::test;
using simt::host::mode;

namespace {

struct alignas(128) line {
  char bytes[128];
};

using ssd_ref = fw::engine_ref<thread_scope_device>;

/// A fresh SSD.
struct device {
  device() {
    REQUIRE(fw::format(meta.data(), meta.size() * sizeof(line), crowd_shape, {}) ==
            fw::mount_status::ok);
  }
  std::vector<line> meta = std::vector<line>(fw::layout::of(crowd_shape).bytes / sizeof(line));
  std::vector<char> data = std::vector<char>(std::size_t{crowd_shape.pages} * block_bytes);
  std::vector<std::uint64_t> words = std::vector<std::uint64_t>(
      fw::reader_quiescence<thread_scope_device>::words_for(crowd_readers));
  fw::reader_quiescence<thread_scope_device> quiescence{words.data(), crowd_readers};
  ssd_ref ssd{meta.data(), crowd_shape, data.data(), quiescence};
};

/// Who shares the SSD with the owners of its shards.
struct company {
  bool readers = false;  ///< without them no quiescence period takes any time
  bool admin = true;     ///< without one the volumes stay, and fill the SSD
};

/// One schedule; returns what it did.
board run(simt::host::options how, std::uint32_t steps, company with) {
  device d;
  const ssd_ref ssd = with.readers ? d.ssd : ssd_ref(d.meta.data(), crowd_shape, d.data.data());
  REQUIRE(ssd.volume_add(1, crowd_volume(steady_volume, 0)) == 0);

  board out;
  std::uint64_t stamps[crowd_shards] = {};
  simt::host::executor machine(how);
  machine.spawn(crowd_shards, 32, shard_owner<thread_scope_device>{how.seed, steps}, ssd, &out,
                &stamps[0]);
  machine.spawn(1, crowd_shards, slow_copier<thread_scope_device>{}, ssd, &out, &stamps[0]);
  if (with.admin) {
    machine.spawn(1, 1, restless_admin<thread_scope_device>{steps / 4, 6}, ssd, &out);
  } else {
    REQUIRE(ssd.volume_add(1, crowd_volume(fickle_volume, 0)) == 0);
  }
  if (with.readers) {
    machine.spawn(1, crowd_readers, peeking_reader<thread_scope_device>{how.seed}, ssd,
                  d.quiescence, &out);
  }
  machine.run();

  check_aftermath(ssd);
  for (std::uint32_t s = 0; s < crowd_shards; ++s)
    out.moved += static_cast<std::uint32_t>(ssd.parts().shard(s).moved);
  return out;
}

void sweep(mode how, std::uint64_t seeds, std::uint32_t steps, company with = {}) {
  std::uint32_t written = 0;
  std::uint32_t peeked = 0;
  std::uint32_t read = 0;
  std::uint32_t moved = 0;
  const std::uint64_t share = under_tsan && seeds > 20 ? 20 : seeds;
  for (std::uint64_t seed = 1; seed <= share; ++seed) {
    CAPTURE(seed);
    const board b = run({.run = how, .seed = seed, .step_budget = 20'000'000}, steps, with);
    CHECK(b.wrong_bytes == 0);
    CHECK(b.moved_bytes == 0);
    CHECK(b.mixed_volume == 0);
    CHECK(b.bad_status == 0);
    written += b.written;
    read += b.read;
    moved += b.moved;
    peeked += b.peeked;
  }
  CHECK(written > 0);
  CHECK(read > 0);
  CHECK((moved > 0 || with.admin));
  CHECK((peeked > 0) == with.readers);
}

/// Readers against an admin who never rests.
void look_up_while_changing(mode how, std::uint64_t seeds) {
  std::uint32_t found = 0;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    CAPTURE(seed);
    device d;
    board out;
    simt::host::executor machine({.run = how, .seed = seed});
    machine.spawn(1, 1, restless_admin<thread_scope_device>{20, 0, true}, d.ssd, &out);
    machine.spawn(2, 1, volume_reader<thread_scope_device>{}, d.ssd, &out);
    machine.run();
    CHECK(out.mixed_volume == 0);
    CHECK(out.bad_status == 0);
    found += out.read;
  }
  CHECK(found > seeds);
}

}  // namespace

TEST_CASE(
    "who looks a volume up while it changes sees the old state or the new: seeded schedules") {
  look_up_while_changing(mode::seeded, 200);
}

TEST_CASE("who looks a volume up while it changes sees the old state or the new: weak memory") {
  look_up_while_changing(mode::weak, 200);
}

TEST_CASE(
    "shards that share free blocks keep their pages apart, and readers keep theirs: one plain "
    "run") {
  sweep(mode::fast, 1, 400);
}

TEST_CASE(
    "shards that share free blocks keep their pages apart, and readers keep theirs: seeded "
    "schedules") {
  sweep(mode::seeded, 40, 60);
  sweep(mode::seeded, 200, 12);
}

TEST_CASE(
    "shards that share free blocks keep their pages apart, and readers keep theirs: weak memory") {
  sweep(mode::weak, 20, 60);
  // One in a thousand shows what overtakes a deletion.
  sweep(mode::weak, 2000, 12);
}

TEST_CASE("who knows that rights have ended finds them ended, whatever it knew: weak memory") {
  std::uint32_t granted = 0;
  for (std::uint64_t seed = 1; seed <= (under_tsan ? 50u : 500u); ++seed) {
    CAPTURE(seed);
    device d;
    REQUIRE(d.ssd.volume_add(1, crowd_volume(steady_volume, 0)) == 0);
    board out;
    simt::host::executor machine({.run = mode::weak, .seed = seed});
    machine.spawn(1, 1, revoking_admin<thread_scope_device>{seed % 2 == 0}, d.ssd, &out);
    machine.spawn(1, 2, informed_reader<thread_scope_device>{}, d.ssd, &out);
    machine.run();
    CHECK(out.mixed_volume == 0);
    CHECK(out.bad_status == 0);
    granted += out.read;
  }
  CHECK(granted > 0);
}

TEST_CASE("what was admitted before rights or a volume ended is not committed after: weak memory") {
  std::uint32_t written = 0;
  std::uint32_t refused = 0;
  for (std::uint64_t seed = 1; seed <= (under_tsan ? 50u : 1000u); ++seed) {
    CAPTURE(seed);
    device d;
    const ssd_ref ssd(d.meta.data(), crowd_shape, d.data.data());
    REQUIRE(ssd.volume_add(1, crowd_volume(steady_volume, 0)) == 0);
    board out;
    simt::host::executor machine({.run = mode::weak, .seed = seed});
    machine.spawn(1, 1, revoking_admin<thread_scope_device>{seed % 2 == 0}, ssd, &out);
    machine.spawn(1, 1, late_writer<thread_scope_device>{}, ssd, &out);
    machine.run();
    CHECK(out.mixed_volume == 0);
    CHECK(out.bad_status == 0);
    check_aftermath(ssd);
    written += out.written;
    refused += out.refused;
  }
  CHECK(written > 0);
  CHECK(refused > 0);
}

TEST_CASE("who looks beside the owners finds whole pages that stay as they are: one plain run") {
  sweep(mode::fast, 10, 12, {.readers = true});
}

TEST_CASE("who looks beside the owners finds whole pages that stay as they are: seeded schedules") {
  sweep(mode::seeded, 40, 60, {.readers = true});
  sweep(mode::seeded, 200, 12, {.readers = true});
}

TEST_CASE("who looks beside the owners finds whole pages that stay as they are: weak memory") {
  sweep(mode::weak, 20, 60, {.readers = true});
  sweep(mode::weak, 200, 12, {.readers = true});
}

TEST_CASE("who looks beside the owners finds whole pages while garbage is collected: seeded") {
  sweep(mode::seeded, 60, 150, {.readers = true, .admin = false});
}

TEST_CASE("who looks beside the owners finds whole pages while garbage is collected: weak memory") {
  sweep(mode::weak, 30, 150, {.readers = true, .admin = false});
}

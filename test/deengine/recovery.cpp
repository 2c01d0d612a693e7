/// A metadata block that comes back from a stop, a kill, or from somebody else.
// label: thorough

#include "rig.hpp"
#include <deengine/save.hpp>

using namespace gnstor;
using namespace gnstor::test;
using fw::mount_status;
using wire::afa::status;

namespace {

const fw::geometry shape{.pages = 512, .shards = 2, .pages_per_block = 16, .max_volumes = 4};

mount_status mount(rig& r) { return fw::recover(r.meta(), r.meta_bytes(), r.shape, r.who); }

}  // namespace

TEST_CASE(
    "metadata that is not ours, or of another shape, is refused with the reason and left alone") {
  rig r(shape);
  REQUIRE(r.ssd().volume_add(1, volume(1, 100)) == 0);
  REQUIRE(r.write(1, 0, 16, 100) == 0);
  fw::metadata_header& header = r.ssd().parts().header();
  const fw::metadata_header good = header;
  const auto refused = [&](mount_status expected, bool sealed = true) {
    if (sealed) header.identity = header.expected_identity();
    const std::vector<std::uint64_t> before = r.meta_words;
    CHECK(mount(r) == expected);
    CHECK(r.meta_words == before);
    CHECK(std::strlen(fw::to_string(expected)) > 10);
    header = good;
  };
  header.magic ^= 1;
  refused(mount_status::not_formatted);
  ++header.version;
  refused(mount_status::other_version);
  header.shape.pages *= 2;
  refused(mount_status::other_geometry);
  header.shape.shards = 1;
  refused(mount_status::other_geometry);
  header.self = 1;
  refused(mount_status::other_ssd);
  header.ssd_count = 3;
  refused(mount_status::other_ssd);
  header.self = 1;
  refused(mount_status::damaged, false);
  header.shape.shards = 1;
  refused(mount_status::damaged, false);
  CHECK(fw::recover(r.meta(), r.meta_bytes() - 1, shape, r.who) == mount_status::too_small);
  CHECK(fw::recover(r.meta(), 5, shape, r.who) == mount_status::too_small);
  CHECK(fw::recover(r.meta(), r.meta_bytes(), {.pages = 7}, r.who) == mount_status::bad_geometry);
  CHECK(fw::format(r.meta(), 5, shape, r.who) == mount_status::too_small);
  CHECK(fw::format(r.meta(), r.meta_bytes(), {.pages = 7}, r.who) == mount_status::bad_geometry);
  REQUIRE(mount(r) == mount_status::ok);
  CHECK(r.read(1, 3) == 103);
}

TEST_CASE("each impossible geometry is named") {
  const fw::geometry bad[] = {
      {.pages = 0},
      {.pages = 100},
      {.pages = 1024, .shards = 0},
      {.pages = 1 << 20, .shards = 65},
      {.pages = 1024, .shards = 16},
      {.pages = 1024, .pages_per_block = 0},
      {.pages = 4096, .pages_per_block = 2048},
      {.pages = 1024, .max_volumes = 0},
      {.pages = 1024, .max_volumes = 65536},
  };
  for (const fw::geometry& g : bad) {
    REQUIRE(g.fault() != nullptr);
    CHECK(std::strlen(g.fault()) > 10);
  }
  CHECK(fw::geometry::default_shards(1000, fw::most_shards) == 1);
  CHECK(fw::geometry::default_shards(100'000, fw::most_shards_cpu) == 6);
  CHECK(fw::geometry::default_shards(1u << 24, fw::most_shards_cpu) == 8);
  CHECK(fw::geometry::default_shards(1u << 24, fw::most_shards) == 64);
}

TEST_CASE("volumes, rights, epoch and data survive a restart") {
  rig r(shape);
  REQUIRE(r.ssd().volume_add(1, volume(3, 100)) == 0);
  REQUIRE(r.ssd().volume_add(1, volume(4, 100)) == 0);
  REQUIRE(r.ssd().volume_delete(1, volume_id(3)) == 0);
  REQUIRE(r.write(4, 16, 16, 100) == 0);
  REQUIRE(r.write(4, 20, 2, 500) == 0);
  REQUIRE(r.ssd().array_update({wire::afa::payload_version, 6, 0, 0}) == 0);
  REQUIRE(mount(r) == mount_status::ok);
  CHECK(r.ssd().epoch() == 6);
  CHECK(r.ssd().check(r.io(3, 0, 1, false)).status == afa(status::unknown_volume));
  CHECK(r.ssd().check(r.io(4, 0, 1, true, 2)).status == afa(status::not_permitted));
  CHECK(r.read(4, 19) == 103);
  CHECK(r.read(4, 20) == 500);
  CHECK(r.read(4, 0) == 0);
  CHECK(r.write(4, 0, 1, 9) == 0);
}

TEST_CASE("a volume created after a restart is another incarnation than any before") {
  rig r(shape);
  REQUIRE(r.ssd().volume_add(1, volume(3, 100)) == 0);
  REQUIRE(r.write(3, 0, 16, 100) == 0);
  const std::uint32_t before = r.ssd().check(r.io(3, 0, 1, false)).generation;
  r.ssd().parts().header().next_generation = 1;  // lost by a kill
  REQUIRE(mount(r) == mount_status::ok);
  REQUIRE(r.ssd().volume_add(1, volume(4, 100)) == 0);
  CHECK(r.ssd().check(r.io(4, 0, 1, false)).generation > before);
}

TEST_CASE("pages of a kill between the new page and the end of the old one: the newer one counts") {
  rig r(shape);
  REQUIRE(r.ssd().volume_add(1, volume(1, 100)) == 0);
  REQUIRE(r.write(1, 0, 1, 100) == 0);
  std::uint32_t old_page = 0;
  r.ssd().lookup(r.ssd().check(r.io(1, 0, 1, false)), &old_page);
  r.ssd().unpin(old_page);
  REQUIRE(r.write(1, 0, 1, 200) == 0);
  r.ssd().parts().oob()[old_page].state = fw::page_state::valid;
  REQUIRE(mount(r) == mount_status::ok);
  CHECK(r.read(1, 0) == 200);
  CHECK(r.ssd().parts().oob()[old_page].state == fw::page_state::stale);
}

TEST_CASE("a torn OOB entry, one of no volume and one beyond the volume's end are dropped") {
  // Torn as a process is killed: the word that makes it an entry comes last.
  rig r(shape);
  REQUIRE(r.ssd().volume_add(1, volume(1, 100)) == 0);
  REQUIRE(r.write(1, 0, 16, 100) == 0);
  const fw::admission a = r.ssd().check(r.io(1, 0, 16, false));
  std::uint32_t pages[16];
  r.ssd().lookup(a, pages);
  fw::oob_entry* oob = r.ssd().parts().oob();
  oob[pages[1]].vid = volume_id(0);
  oob[pages[1]].check = 0;
  oob[pages[2]] = fw::oob_entry::of(volume_id(9), a.key(2), 50);
  oob[pages[3]] = fw::oob_entry::of(volume_id(1), a.key(3) + (std::uint64_t{1} << 32), 50);
  oob[pages[4]] = fw::oob_entry::of(volume_id(1), a.key(0) + 100, 50);
  REQUIRE(mount(r) == mount_status::ok);
  for (std::uint32_t b = 0; b < 16; ++b) CHECK(r.read(1, b) == (b >= 1 && b <= 4 ? 0 : 100 + b));
}

TEST_CASE("pages of a write that was never committed are free again after a kill") {
  rig r(shape);
  REQUIRE(r.ssd().volume_add(1, volume(1, 100)) == 0);
  const std::uint32_t free_before = r.free_pages();
  const fw::admission a = r.ssd().check(r.io(1, 0, 16, true));
  std::uint32_t pages[16];
  REQUIRE(r.take(a, pages) == 0);
  CHECK(r.free_pages() == free_before - 16);
  REQUIRE(mount(r) == mount_status::ok);
  CHECK(r.free_pages() == free_before);
  CHECK(r.read(1, 0) == 0);
}

TEST_CASE("the half-filled block of a shard goes on filling after a restart") {
  rig r(shape);
  REQUIRE(r.ssd().volume_add(1, volume(1, 100)) == 0);
  REQUIRE(r.write(1, 0, 3, 100) == 0);
  const std::uint32_t free_before = r.free_pages();
  for (int restart = 0; restart < 40; ++restart) {
    REQUIRE(mount(r) == mount_status::ok);
    REQUIRE(r.write(1, 0, 3, 200) == 0);
  }
  CHECK(r.free_pages() + 2 * shape.pages_per_block > free_before);
  CHECK(r.read(1, 2) == 202);
}

TEST_CASE("pages of two shards in one block are reported as damage") {
  rig r(shape);
  REQUIRE(r.ssd().volume_add(1, volume(1, 100)) == 0);
  REQUIRE(r.write(1, 0, 2, 100) == 0);
  const fw::admission a = r.ssd().check(r.io(1, 0, 2, false));
  std::uint32_t pages[2];
  r.ssd().lookup(a, pages);
  std::uint32_t foreign = 16;
  while (r.ssd().shard_of(volume_id(1), foreign / 16) == a.shard) foreign += 16;
  r.ssd().parts().oob()[pages[1]] = fw::oob_entry::of(volume_id(1), a.key(foreign), 50);
  CHECK(mount(r) == mount_status::damaged);
}

TEST_CASE("a changed byte of a volume's record, or an older image of it, is reported as damage") {
  rig r(shape);
  REQUIRE(r.ssd().volume_add(1, volume(1, 100)) == 0);
  wire::afa::volume_chmod change{};
  change.version = wire::afa::payload_version;
  change.vid = 1;
  change.client_count = 1;
  change.clients[0] = {1, wire::afa::right_read | wire::afa::right_write};
  REQUIRE(r.ssd().volume_chmod(1, change) == 0);
  change.clients[0] = {1, wire::afa::right_read};
  REQUIRE(r.ssd().volume_chmod(1, change) == 0);
  fw::volume_slot& slot = r.ssd().parts().volumes()[0];
  REQUIRE(mount(r) == mount_status::ok);
  const fw::volume_slot good = slot;
  auto* image = reinterpret_cast<unsigned char*>(slot.images[slot.version % 2]);
  for (std::size_t byte = 0; byte < sizeof slot.images[0]; ++byte) {
    CAPTURE(byte);
    image[byte] ^= static_cast<unsigned char>(1u << byte % 8);
    CHECK(mount(r) == mount_status::damaged);
    slot = good;
  }
  // A damaged version never brings an older image back.
  const record now = r.ssd().parts().volumes_table<thread_scope_system>().read(0);
  for (std::uint32_t bit = 0; bit < 64; ++bit) {
    CAPTURE(bit);
    slot.version ^= std::uint64_t{1} << bit;
    const mount_status said = mount(r);
    CHECK((said == mount_status::ok || said == mount_status::damaged));
    const record then = r.ssd().parts().volumes_table<thread_scope_system>().read(0);
    if (said == mount_status::ok) CHECK(std::memcmp(&then, &now, sizeof now) == 0);
    slot = good;
  }
  // The image of before, with the right to write, under the present version.
  std::memcpy(image, slot.images[(slot.version + 1) % 2], sizeof slot.images[0]);
  CHECK(mount(r) == mount_status::damaged);
  slot = good;
  // One volume's record in another's slot.
  r.ssd().parts().volumes()[1] = good;
  CHECK(mount(r) == mount_status::damaged);
  r.ssd().parts().volumes()[1] = fw::volume_slot{};
  CHECK(mount(r) == mount_status::ok);
}

TEST_CASE("a kill at any store of a change to a volume leaves the old record or the new one") {
  rig r(shape);
  REQUIRE(r.ssd().volume_add(1, volume(1, 100)) == 0);
  const fw::volume_slot before = r.ssd().parts().volumes()[0];
  wire::afa::volume_chmod change{};
  change.version = wire::afa::payload_version;
  change.vid = 1;
  change.client_count = 1;
  change.clients[0] = {1, wire::afa::right_read};
  REQUIRE(r.ssd().volume_chmod(1, change) == 0);
  const fw::volume_slot after = r.ssd().parts().volumes()[0];
  const std::uint64_t next = after.version % 2;
  for (std::uint32_t words = 0; words <= fw::volume_slot::words; ++words) {
    CAPTURE(words);
    fw::volume_slot& slot = r.ssd().parts().volumes()[0];
    slot = before;
    for (std::uint32_t w = 0; w < words; ++w) slot.images[next][w] = after.images[next][w];
    REQUIRE(mount(r) == mount_status::ok);
    const auto said = r.ssd().parts().volumes_table<thread_scope_system>().read(0);
    const bool is_new = words == fw::volume_slot::words;
    CHECK(said.clients[0].rights == (is_new ? 1 : 3));
  }
}

TEST_CASE("a volume that metadata lists twice is the one that was added last") {
  rig r(shape);
  REQUIRE(r.ssd().volume_add(1, volume(7, 10)) == 0);
  REQUIRE(r.ssd().volume_add(1, volume(1, 100)) == 0);
  const fw::volume_slot stale = r.ssd().parts().volumes()[1];
  REQUIRE(r.ssd().volume_delete(1, volume_id(7)) == 0);
  REQUIRE(r.ssd().volume_delete(1, volume_id(1)) == 0);
  REQUIRE(r.ssd().volume_add(1, volume(1, 50)) == 0);  // in the first slot
  REQUIRE(r.write(1, 3, 1, 77) == 0);
  r.ssd().parts().volumes()[1] = stale;
  REQUIRE(mount(r) == mount_status::ok);
  wire::afa::volume_list list{};
  REQUIRE(r.ssd().volume_list(1, volume_id(0), list) == 0);
  REQUIRE(list.count == 1);
  CHECK(list.records[0].capacity_blocks == 50);
  CHECK(r.read(1, 3) == 77);
}

TEST_CASE("a kill at any store of a save leaves volumes that can be mounted") {
  // One slot, from each of its versions to each later one.
  std::vector<fw::volume_slot> history;
  rig r(shape);
  REQUIRE(r.ssd().volume_add(1, volume(1, 100)) == 0);
  history.push_back(r.ssd().parts().volumes()[0]);
  wire::afa::volume_chmod change{};
  change.version = wire::afa::payload_version;
  change.vid = 1;
  change.client_count = 1;
  for (std::uint16_t k = 0; k < 5; ++k) {
    change.clients[0] = {static_cast<std::uint16_t>(10 + k), wire::afa::right_read};
    REQUIRE(r.ssd().volume_chmod(1, change) == 0);
    history.push_back(r.ssd().parts().volumes()[0]);
  }
  for (std::size_t to = 0; to < history.size(); ++to) {
    for (std::size_t from = 0; from < to; ++from) {
      for (std::size_t kill = 0; kill <= 2 * fw::volume_slot::words + 2; ++kill) {
        CAPTURE(from);
        CAPTURE(to);
        CAPTURE(kill);
        fw::volume_slot& slot = r.ssd().parts().volumes()[0];
        slot = history[from];
        std::size_t left = kill;
        gnstor::detail::save_slot(
            history[to], slot,
            [&left](std::uint64_t* into, const std::uint64_t* words, std::size_t n) {
              for (std::size_t w = 0; w < n && left > 0; ++w, --left) into[w] = words[w];
            });
        REQUIRE(mount(r) == mount_status::ok);
        const auto table = r.ssd().parts().volumes_table<thread_scope_system>();
        CHECK(table.read(0).vid == 1);
        if (kill > 2 * fw::volume_slot::words + 1) CHECK(slot.version == history[to].version);
      }
    }
  }
}

TEST_CASE("what is saved is all there") {
  rig now(shape);
  REQUIRE(now.ssd().volume_add(1, volume(1, 100)) == 0);
  REQUIRE(now.write(1, 0, 16, 100) == 0);
  rig before(shape);
  fw::save(now.meta(), before.meta(), shape);
  CHECK(std::memcmp(now.meta(), before.meta(), now.meta_bytes()) == 0);
}

/// What a Flush brings to the disk stays there over a power cut of the machine: `sync=`.
#include "disk_shadow.hpp"
#include "temp_folder.hpp"
#include "under_tsan.hpp"
#include "volume/session_rig.hpp"
#include <deengine/metadata_header.hpp>
#include <gnstor/host/error.hpp>

#include <doctest/doctest.h>

#include <cstring>
#include <random>
#include <string>
#include <vector>

using namespace gnstor;
using namespace gnstor::test;
namespace host = gnstor::host;

namespace {

constexpr std::uint32_t blocks = 64;
constexpr std::uint64_t bytes = blocks * block_bytes;
constexpr std::uint64_t long_ns = 10'000'000'000;

/// One lane flushes the volume.
struct flush_all {
  template <class Lane>
  void operator()(Lane&, remote_volume v, std::uint64_t* outcome) const {
    *outcome = v.flush(simt::within(long_ns)).pack();
  }
};

status flush(host::session& s, const volume_info& v) {
  std::uint64_t outcome = 0;
  run(s, 1, 1, flush_all{}, s.ref(v), &outcome);
  return status::unpack(outcome);
}

/// An array on files whose disk is watched.
struct watched_folder {
  watched_folder() { disk.watch(folder.path()); }
  ~watched_folder() { disk.stop(); }
  std::string endpoint(const std::string& more, const std::string& ssds = "3") const {
    return "emu:?ssds=" + ssds + "&capacity=16M&flash=" + folder.path() + more;
  }
  std::vector<unsigned char> read(host::session& s, const volume_info& v, std::uint64_t at) const {
    std::vector<unsigned char> all(bytes);
    s.read(v, at, all.data(), all.size());
    return all;
  }

  const temp_folder folder;
  disk_shadow& disk = disk_shadow::get();
};

const char* const shapes[] = {"", "&threads=3", "&runner=sim&lanes=4", "&timing=table2",
                              "&transport=proxy"};

}  // namespace

TEST_CASE("what was flushed survives a power cut, and what was not is gone") {
  for (const std::string shape : shapes) {
    CAPTURE(shape);
    const watched_folder at;
    const auto kept = random_bytes(bytes, 1);
    const auto lost = random_bytes(bytes, 2);
    disk_shadow::image then;
    {
      host::session s(at.endpoint(shape), {.channels = 1});
      const volume_info v = s.create_volume({.bytes = 2 * bytes});
      s.write(v, 0, kept.data(), bytes);
      REQUIRE(flush(s, v).ok());
      s.write(v, bytes, lost.data(), bytes);
      then = at.disk.disk();
    }
    REQUIRE(then.size() == 6);  // each SSD's flash, and what the last Flush found of it
    disk_shadow::cut_power(then);
    host::session s(at.endpoint(""));
    const volume_info v = s.open_volume(volume_id(1));
    for (std::uint32_t dead = 0; dead < 3; ++dead) {  // on every replica
      s.inject_fault(dead, "dead");
      CHECK(at.read(s, v, 0) == kept);
      CHECK(at.read(s, v, bytes) == std::vector<unsigned char>(bytes));
      s.inject_fault(dead, "none");
    }
  }
}

TEST_CASE("nothing that was flushed is lost, whichever pages the kernel had written since") {
  // A small SSD: blocks of pages come back, and are written anew, all the time.
  const std::uint32_t blocks = 600;
  std::mt19937_64 random(11);
  for (int round = 0; round < (under_tsan ? 1 : 5); ++round) {
    CAPTURE(round);
    const watched_folder at;
    std::vector<std::uint64_t> oldest(blocks);  // what was flushed last of each block
    std::vector<std::uint64_t> newest(blocks);
    disk_shadow::image left;
    {
      host::session s("emu:?ssds=2&capacity=4M&flash=" + at.folder.path(), {.channels = 1});
      const volume_info v = s.create_volume({.bytes = std::uint64_t{blocks} * block_bytes});
      std::uint64_t stamp = 0;
      const auto write_some = [&](std::uint32_t count) {
        std::vector<std::uint64_t> page(block_bytes / 8);
        for (std::uint32_t k = 0; k < count; ++k) {
          const auto b = static_cast<std::uint32_t>(random() % blocks);
          page.assign(page.size(), ++stamp);
          newest[b] = stamp;
          s.write(v, std::uint64_t{b} * block_bytes, page.data(), block_bytes);
        }
      };
      for (int flushes = 0; flushes < (under_tsan ? 2 : 8); ++flushes) {
        write_some(static_cast<std::uint32_t>(random() % 400));
        REQUIRE(flush(s, v).ok());
        oldest = newest;
      }
      at.disk.held = true;  // what is written now is not on the disk
      try {
        write_some(20);
      } catch (const host::io_error&) {
        // It waited for room that a Flush makes, which waits for the disk: maybe written.
      }
      left = at.disk.cut_now(random);
      at.disk.held = false;
    }
    disk_shadow::cut_power(left);
    host::session s("emu:?ssds=2&capacity=4M&flash=" + at.folder.path());
    const volume_info v = s.open_volume(volume_id(1));
    for (std::uint32_t dead = 0; dead < 2; ++dead) {
      s.inject_fault(dead, "dead");
      for (std::uint32_t b = 0; b < blocks; ++b) {
        CAPTURE(b);
        std::uint64_t found[block_bytes / 8];
        s.read(v, std::uint64_t{b} * block_bytes, found, sizeof found);
        CHECK(found[0] >= oldest[b]);
        CHECK(found[0] <= newest[b]);
        CHECK(found[block_bytes / 8 - 1] == found[0]);
      }
      s.inject_fault(dead, "none");
    }
  }
}

TEST_CASE("an array that was closed survives a power cut, and is mounted from its checkpoint") {
  const watched_folder at;
  const auto kept = random_bytes(bytes, 3);
  {
    host::session s(at.endpoint(""));
    const volume_info v = s.create_volume({.bytes = bytes});
    s.write(v, 0, kept.data(), bytes);
  }
  disk_shadow::cut_power(at.disk.disk());
  host::session s(at.endpoint(""));
  CHECK(at.read(s, s.open_volume(volume_id(1)), 0) == kept);
}

TEST_CASE(
    "a seal is on the disk only while nothing can change, and behind all that it vouches for") {
  const watched_folder at;
  for (int session = 0; session < 2; ++session) host::session(at.endpoint("&replicas=1", "1"));
  std::string seals;
  for (const auto& page : at.disk.first_pages()) {
    fw::metadata_header header;
    std::memcpy(&header, page.data(), sizeof header);
    seals += header.checkpoint == 0 ? '-' : '+';
  }
  CHECK(seals == "---+---+");  // opened, flushed and closed, sealed
}

TEST_CASE("a power cut in a later session does not bring its checkpoint back") {
  const watched_folder at;
  const auto first = random_bytes(bytes, 4);
  const auto second = random_bytes(bytes, 5);
  disk_shadow::image then;
  { host::session(at.endpoint("")).create_volume({.bytes = bytes}); }
  {
    host::session s(at.endpoint(""), {.channels = 1});
    const volume_info v = s.open_volume(volume_id(1));
    s.write(v, 0, first.data(), bytes);
    REQUIRE(flush(s, v).ok());
    then = at.disk.disk();
    s.write(v, 0, second.data(), bytes);
  }
  disk_shadow::cut_power(then);
  host::session s(at.endpoint(""));
  CHECK(at.read(s, s.open_volume(volume_id(1)), 0) == first);
}

TEST_CASE("sync=no leaves the disk to the kernel") {
  const watched_folder at;
  {
    host::session s(at.endpoint("&sync=no"), {.channels = 1});
    const volume_info v = s.create_volume({.bytes = bytes});
    s.write(v, 0, random_bytes(bytes, 6).data(), bytes);
    CHECK(flush(s, v).ok());
  }
  CHECK(at.disk.syncs == 0);
}

TEST_CASE("what was written with sync=no is not taken back to a Flush of before") {
  const watched_folder at;
  const auto first = random_bytes(bytes, 8);
  const auto second = random_bytes(bytes, 9);
  disk_shadow::image then;
  {
    host::session s(at.endpoint(""), {.channels = 1});
    const volume_info v = s.create_volume({.bytes = bytes});
    s.write(v, 0, first.data(), bytes);
    REQUIRE(flush(s, v).ok());
    then = at.disk.disk();
  }
  disk_shadow::cut_power(then);
  {
    host::session s(at.endpoint("&sync=no"), {.channels = 1});
    const volume_info v = s.open_volume(volume_id(1));
    CHECK(at.read(s, v, 0) == first);
    s.write(v, 0, second.data(), bytes);
    then = at.disk.written();  // all of it, as it happens
  }
  disk_shadow::cut_power(then);
  host::session s(at.endpoint(""));
  CHECK(at.read(s, s.open_volume(volume_id(1)), 0) == second);
}

TEST_CASE("a flush that the disk refuses fails, and so does every later one") {
  const watched_folder at;
  host::session s(at.endpoint(""), {.channels = 1});
  const volume_info v = s.create_volume({.bytes = bytes});
  s.write(v, 0, random_bytes(bytes, 7).data(), bytes);
  REQUIRE(flush(s, v).ok());
  at.disk.fails = true;
  for (int again = 0; again < 2; ++again) {
    const status outcome = flush(s, v);
    CHECK(outcome.code == status_code::nvme_error);
    // The SSD is dead from then on.
    const char* const why = again == 0 ? "write fault" : "internal error";
    CHECK(host::to_string(outcome).find(why) != std::string::npos);
    at.disk.fails = false;  // the kernel has reported it once, and forgotten the pages
    for (std::uint32_t ssd = 0; ssd < 3; ++ssd) s.inject_fault(ssd, "none");
  }
}

TEST_CASE("sync= without files is refused") {
  for (const char* word : {"emu:?capacity=16M&sync=yes", "emu:?capacity=16M&sync=no"}) {
    try {
      host::session s{std::string_view(word)};
      FAIL("accepted");
    } catch (const host::input_error& e) {
      CHECK(std::string(e.what()).find("flash=") != std::string::npos);
    }
  }
}

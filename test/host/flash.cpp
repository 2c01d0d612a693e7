/// Volumes on `flash=DIR` survive the process that wrote them, however it ends.
#include "killed_writers.hpp"
#include "qp/seeds.hpp"
#include "random_bytes.hpp"
#include "small_disk.hpp"
#include "temp_folder.hpp"
#include "under_tsan.hpp"
#include <deengine/layout.hpp>
#include <deengine/metadata_header.hpp>
#include <gnstor/core/hash.hpp>
#include <gnstor/host/error.hpp>
#include <gnstor/host/session.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

using namespace gnstor;
using namespace gnstor::test;
namespace host = gnstor::host;

namespace {

std::string endpoint(const temp_folder& folder, const std::string& more = "capacity=16M") {
  return "emu:?" + more + "&flash=" + folder.path();
}

/// The message that opening `text` ends with; empty if it opens.
std::string refusal(const std::string& text) {
  try {
    host::session s(text);
  } catch (const host::error& e) {
    return e.what();
  }
  return {};
}

/// Kills processes that write to an array on `folder` `kills` times.
/// @return numbers acknowledged
std::uint64_t survived(const temp_folder& folder, const std::string& endpoint, std::uint32_t blocks,
                       bool scattered, int kills) {
  const ledger progress(folder.path("ledger"), 1);
  const killed_writers writers{endpoint, {1, blocks, scattered}, progress};
  return writers.survive(kills, [&] {
    const pid_t child = fork();
    if (child != 0) return child;
    try {
      write_for_ever(endpoint, writers.what, progress);
    } catch (const std::exception& e) {
      static_cast<void>(!::write(2, e.what(), std::strlen(e.what())));
    }
    _exit(2);
  });
}

}  // namespace

TEST_CASE("a volume written in one session is read in the next") {
  const temp_folder folder;
  const auto bytes = random_bytes(3 << 20, 1);
  for (const std::string more :
       {"capacity=16M", "capacity=16M&runner=sim", "capacity=16M&threads=2"}) {
    CAPTURE(more);
    const bool first = more == "capacity=16M";
    host::session s(endpoint(folder, more));
    if (first) {
      const volume_info v = s.create_volume({.bytes = bytes.size(), .replicas = 3});
      s.write(v, 0, bytes.data(), bytes.size());
    }
    const auto all = s.volumes();
    REQUIRE(all.size() == 1);
    CHECK(all[0].replicas == 3);
    const volume_info v = s.open_volume(volume_id(all[0].vid));
    std::vector<unsigned char> read(bytes.size());
    s.read(v, 0, read.data(), read.size());
    CHECK(read == bytes);
    s.write(v, 4096, bytes.data() + 4096, 4096);
  }
}

TEST_CASE("a GPU that goes on after its process was killed is asked to end, and waited for") {
  const temp_folder folder;
  const auto bytes = random_bytes(1 << 20, 1);
  {
    host::session s(endpoint(folder));
    s.write(s.create_volume({.bytes = bytes.size()}), 0, bytes.data(), bytes.size());
  }
  const std::string flash = folder.path("ssd0.flash");
  fw::metadata_header header;
  for (const std::uint32_t left :
       {fw::metadata_header::gpu_at_work, fw::metadata_header::gpu_is_to_stop}) {
    CAPTURE(left);
    std::fstream file(flash, std::ios::binary | std::ios::in | std::ios::out);
    file.read(reinterpret_cast<char*>(&header), sizeof header);
    REQUIRE(header.gpu_stop == fw::metadata_header::gpu_at_rest);
    header.gpu_stop = left;
    header.through = fw::write_through(&header, &file);
    REQUIRE(header.through.any());
    file.seekp(0);
    file.write(reinterpret_cast<const char*>(&header), sizeof header);
    file.close();
    std::atomic<bool> informed{false};
    std::jthread former([&](const std::stop_token& over) {  // as the GPU looks at it
      fw::metadata_header seen;
      while (!over.stop_requested()) {
        std::ifstream(flash, std::ios::binary).read(reinterpret_cast<char*>(&seen), sizeof seen);
        if (seen.gpu_stop == fw::metadata_header::gpu_is_to_stop) informed = true;
      }
    });
    const auto began = std::chrono::steady_clock::now();
    host::session s(endpoint(folder));
    former = {};  // it ends
    CHECK(informed);
    CHECK(std::chrono::steady_clock::now() - began >= std::chrono::milliseconds(200));
    const volume_info v = s.open_volume(volume_id(s.volumes().at(0).vid));
    std::vector<unsigned char> read(bytes.size());
    s.read(v, 0, read.data(), read.size());
    CHECK(read == bytes);
    s.write(v, 0, bytes.data(), bytes.size());  // by no pointer of the former process
    std::ifstream(flash, std::ios::binary).read(reinterpret_cast<char*>(&header), sizeof header);
    CHECK(header.gpu_stop == fw::metadata_header::gpu_at_rest);
    CHECK_FALSE(header.through.any());
  }
}

TEST_CASE("a session says how full an SSD is, and what garbage collection costs") {
  host::session s("emu:?ssds=2&capacity=16M");
  const host::ssd_usage empty = s.usage(0);
  CHECK(empty.capacity_blocks <= 4096);
  CHECK(empty.capacity_blocks > 3500);
  CHECK(empty.free_blocks == 4096);
  CHECK(empty.moved_blocks == 0);
  const std::uint64_t blocks = empty.capacity_blocks - 32;
  const volume_info v = s.create_volume({.bytes = blocks * block_bytes, .replicas = 2});
  const auto bytes = random_bytes(blocks * block_bytes, 8);
  s.write(v, 0, bytes.data(), bytes.size());
  const host::ssd_usage full = s.usage(0);
  CHECK(full.free_blocks < 4096 - blocks + 64);
  CHECK(full.moved_blocks == 0);
  constexpr std::uint32_t overwrites = 2000;
  for (std::uint32_t k = 0; k < overwrites; ++k)
    s.write(v, mix64(k) % blocks * block_bytes, bytes.data(), block_bytes);
  for (std::uint32_t ssd = 0; ssd < 2; ++ssd) {
    const host::ssd_usage now = s.usage(ssd);
    // Nearly full, with little to spare: each page costs several moves.
    CHECK(now.moved_blocks > overwrites);
    CHECK(now.moved_blocks < 30 * overwrites);
    CHECK(now.free_blocks < 256);
  }
  try {
    (void)s.usage(2);
    FAIL("an SSD that is not there");
  } catch (const host::input_error& e) {
    CHECK(std::string(e.what()) == "SSD 2: the array has 2");
  }
}

TEST_CASE("flash of another shape is refused, and keeps its data") {
  const temp_folder folder;
  const auto bytes = random_bytes(1 << 20, 2);
  {
    host::session s(endpoint(folder, "capacity=16M&shards=2"));
    s.write(s.create_volume({.bytes = bytes.size()}), 0, bytes.data(), bytes.size());
  }
  for (const std::string other : {"capacity=32M&shards=2", "capacity=16M&shards=1",
                                  "capacity=16M&shards=2&ssds=3", "capacity=16M&shards=2&ssds=5"}) {
    CAPTURE(other);
    const std::string said = refusal(endpoint(folder, other));
    CHECK(said.find(folder.path()) != std::string::npos);
  }
  CHECK(!std::filesystem::exists(folder.path() + "/ssd4.flash"));
  host::session s(endpoint(folder, "capacity=16M&shards=2"));
  std::vector<unsigned char> read(bytes.size());
  s.read(s.open_volume(volume_id(1)), 0, read.data(), read.size());
  CHECK(read == bytes);
}

TEST_CASE("flash in use is refused, and free once its session ends") {
  const temp_folder folder;
  {
    host::session s(endpoint(folder));
    const std::string said = refusal(endpoint(folder));
    CHECK(said.find("ssd0.flash") != std::string::npos);
    CHECK(said.find("another process uses it") != std::string::npos);
    const volume_info v = s.create_volume({.bytes = 4096});
    CHECK(v.vid.value == 1);
  }
  CHECK(refusal(endpoint(folder)).empty());
}

TEST_CASE("an array says what of it survives no power cut") {
  const auto says = [](const std::string& where) {
    const std::vector<std::string> notes = host::session(where).notes();
    return notes.empty() ? std::string() : notes.back();
  };
  const temp_folder folder;
  CHECK(says("emu:?capacity=16M").find("nothing in it survives this process") != std::string::npos);
  CHECK(says(endpoint(folder, "capacity=16M&sync=no")).find("sync=no") == 0);
  // Where the folder itself lies in memory, that is what counts.
  const std::string here = says(endpoint(folder));
  CHECK((here.empty() || here.find("tmpfs") != std::string::npos));
  if (!std::filesystem::is_directory("/dev/shm")) return;
  const temp_folder memory("/dev/shm");
  CHECK(says(endpoint(memory)).find("survives this process, and no power cut") !=
        std::string::npos);
}

TEST_CASE("an SSD of another array is refused, and changes neither") {
  const temp_folder folder;
  const temp_folder other;
  const auto bytes = random_bytes(1 << 20, 3);
  {
    host::session s(endpoint(folder));
    const volume_info v = s.create_volume({.bytes = bytes.size()});
    s.write(v, 0, bytes.data(), bytes.size());
    host::session t(endpoint(other));
    (void)t.create_volume({.bytes = 4096});
    (void)t.create_volume({.bytes = 8192});
  }
  const std::string mine = folder.path() + "/ssd1.flash";
  std::filesystem::rename(mine, mine + ".kept");
  std::filesystem::copy_file(other.path() + "/ssd1.flash", mine);
  const std::string said = refusal(endpoint(folder));
  CHECK(said.find("ssd1.flash is of another array") != std::string::npos);
  CHECK(said.find("ssd0.flash") != std::string::npos);
  std::filesystem::rename(mine + ".kept", mine);
  host::session s(endpoint(folder));
  std::vector<unsigned char> read(bytes.size());
  s.read(s.open_volume(volume_id(1)), 0, read.data(), read.size());
  CHECK(read == bytes);
}

TEST_CASE("SSDs that were made before arrays had names are one array from now on") {
  const temp_folder folder;
  { host::session s(endpoint(folder)); }
  const auto name_in = [&](std::uint32_t ssd) {
    std::fstream file(folder.path() + "/ssd" + std::to_string(ssd) + ".flash",
                      std::ios::binary | std::ios::in | std::ios::out);
    return file;
  };
  for (std::uint32_t k = 0; k < 4; ++k) {
    auto file = name_in(k);
    file.seekp(offsetof(fw::metadata_header, array));
    const fw::array_name none;
    file.write(reinterpret_cast<const char*>(&none), sizeof none);
  }
  { host::session s(endpoint(folder)); }
  fw::array_name first;
  for (std::uint32_t k = 0; k < 4; ++k) {
    auto file = name_in(k);
    file.seekg(offsetof(fw::metadata_header, array));
    fw::array_name its;
    file.read(reinterpret_cast<char*>(&its), sizeof its);
    CHECK(its.any());
    if (k == 0) first = its;
    CHECK(its == first);
  }
}

TEST_CASE("a flash folder that is missing, or holds something else, is named with the remedy") {
  const temp_folder folder;
  const std::string missing = refusal("emu:?capacity=16M&flash=" + folder.path() + "/none");
  CHECK(missing.find("/none/ssd0.flash") != std::string::npos);
  CHECK(missing.find("folder that exists") != std::string::npos);
  std::ofstream(folder.path() + "/ssd0.flash") << "hello";
  const std::string foreign = refusal(endpoint(folder));
  CHECK(foreign.find("has 5 bytes") != std::string::npos);
  std::ifstream file(folder.path() + "/ssd0.flash");
  std::string word;
  file >> word;
  CHECK(word == "hello");
}

TEST_CASE("a disk too small for flash is refused before anything is there, and what was stays") {
  const small_disk disk(40);
  if (!disk.mounted()) {
    MESSAGE("skipped: no right to mount a small file system");
    return;
  }
  const std::string fits = endpoint(disk.folder(), "ssds=1&replicas=1&capacity=16M");
  const auto bytes = random_bytes(15 << 20, 3);
  {
    host::session s(fits);
    const volume_info v = s.create_volume({.bytes = bytes.size()});
    s.write(v, 0, bytes.data(), 4096);
    std::filesystem::create_directory(disk.folder().path() + "/more");
    const std::string said =
        refusal("emu:?ssds=1&replicas=1&capacity=64M&flash=" + disk.folder().path() + "/more");
    CHECK(said.find("ssd0.flash") != std::string::npos);
    CHECK(said.find("No space left on device") != std::string::npos);
    CHECK(said.find("smaller capacity=") != std::string::npos);
    CHECK(!std::filesystem::exists(disk.folder().path() + "/more/ssd0.flash"));
  }
  // Somebody else takes the rest of the disk: flash has its room already.
  std::ofstream rest(disk.folder().path() + "/rest", std::ios::binary);
  const std::vector<char> megabyte(1 << 20);
  while (rest.write(megabyte.data(), 1 << 20) && rest.flush()) continue;
  host::session s(fits);
  const volume_info v = s.open_volume(volume_id(1));
  s.write(v, 0, bytes.data(), bytes.size());
  std::vector<unsigned char> read(bytes.size());
  s.read(v, 0, read.data(), read.size());
  CHECK(read == bytes);
}

TEST_CASE("flash that was never formatted, because its maker was killed, is formatted") {
  const temp_folder folder;
  CHECK(refusal(endpoint(folder)).empty());
  const std::string path = folder.path() + "/ssd2.flash";
  const auto bytes = std::filesystem::file_size(path);
  std::filesystem::resize_file(path, 0);
  std::filesystem::resize_file(path, bytes);
  CHECK(refusal(endpoint(folder)).empty());
}

TEST_CASE("a deleted volume stays deleted, and a new one of its number holds no old bytes") {
  const temp_folder folder;
  const auto bytes = random_bytes(1 << 20, 4);
  {
    host::session s(endpoint(folder));
    s.write(s.create_volume({.bytes = bytes.size()}), 0, bytes.data(), bytes.size());
    s.write(s.create_volume({.bytes = bytes.size()}), 0, bytes.data(), bytes.size());
    s.delete_volume(volume_id(1));
  }
  {
    host::session s(endpoint(folder));
    REQUIRE(s.volumes().size() == 1);
    CHECK(s.volumes()[0].vid == 2);
    const volume_info v = s.create_volume({.bytes = bytes.size()});
    CHECK(v.vid.value == 1);
  }
  host::session s(endpoint(folder));
  std::vector<unsigned char> read(bytes.size(), 1);
  s.read(s.open_volume(volume_id(1)), 0, read.data(), read.size());
  CHECK(read == std::vector<unsigned char>(bytes.size()));
  s.read(s.open_volume(volume_id(2)), 0, read.data(), read.size());
  CHECK(read == bytes);
}

TEST_CASE("another host reads a volume but may not write it while its writer holds the right") {
  const temp_folder folder;
  const auto bytes = random_bytes(64 << 10, 5);
  {
    host::session owner(endpoint(folder), {.host_name = "owner"});
    owner.write(owner.create_volume({.bytes = bytes.size()}), 0, bytes.data(), bytes.size());
    owner.admit(volume_id(1), "guest");
  }
  {
    host::session guest(endpoint(folder), {.host_name = "guest"});
    volume_info v = guest.open_volume(volume_id(1));
    CHECK(v.writable);  // the owner's last session has ended
    guest.close_volume(volume_id(1));
    std::vector<unsigned char> read(bytes.size());
    guest.read(v, 0, read.data(), read.size());
    CHECK(read == bytes);
    std::string said;
    try {
      guest.write(v, 0, bytes.data(), 4096);
    } catch (const host::io_error& e) {
      said = e.what();
      CHECK(e.outcome().code == status_code::nvme_error);
    }
    CHECK(said.find("lacks the right") != std::string::npos);
  }
  host::session owner(endpoint(folder), {.host_name = "owner"});
  const volume_info v = owner.open_volume(volume_id(1));
  owner.write(v, 0, bytes.data() + 4096, 4096);
}

TEST_CASE("everything acknowledged is there after kill -9 in the middle of writes" *
          doctest::skip(under_tsan)) {
  const temp_folder folder;
  CHECK(survived(folder, endpoint(folder), 96, false, 20) > 0);
}

TEST_CASE("everything acknowledged is there after kill -9 while garbage is collected" *
          doctest::skip(under_tsan)) {
  const int kills = static_cast<int>(number_from("GNSTOR_KILLS", 10));
  // Both SSDs have every block, which is nearly all that volumes may hold of their 512 pages.
  struct {
    std::string options;
    std::uint32_t blocks;
  } const arrays[] = {{"capacity=2M&ssds=2", 315}, {"capacity=2M&ssds=2&shards=2&threads=2", 180}};
  for (const auto& one : arrays) {
    CAPTURE(one.options);
    const temp_folder folder;
    const std::string array = endpoint(folder, one.options);
    CHECK(survived(folder, array, one.blocks, true, kills) >
          std::uint64_t{3} * one.blocks);  // all pages, and again
  }
}

TEST_CASE(
    "an array that is closed in order is opened as it was left, if nobody changes its files") {
  const temp_folder folder;
  const auto seal = [&] {
    fw::metadata_header header;
    std::ifstream(folder.path() + "/ssd0.flash", std::ios::binary)
        .read(reinterpret_cast<char*>(&header), sizeof header);
    return header.checkpoint;
  };
  const std::vector<unsigned char> bytes = random_bytes(600 * block_bytes, 5);
  volume_info v;
  {
    host::session s(endpoint(folder), {.channels = 0});
    v = s.create_volume({.bytes = bytes.size()});
    CHECK(seal() == 0);  // it runs
    s.write(v, 0, bytes.data(), bytes.size());
  }
  for (const bool changed : {false, true}) {
    CAPTURE(changed);
    CHECK(seal() != 0);
    if (changed) {  // a word of the mapping
      const fw::geometry g = [&] {
        fw::metadata_header header;
        std::ifstream(folder.path() + "/ssd0.flash", std::ios::binary)
            .read(reinterpret_cast<char*>(&header), sizeof header);
        return header.shape;
      }();
      std::fstream file(folder.path() + "/ssd0.flash",
                        std::ios::in | std::ios::out | std::ios::binary);
      file.seekp(static_cast<std::streamoff>(fw::layout::of(g).mapping + 4096));
      const std::vector<char> noise(4096, 7);
      file.write(noise.data(), static_cast<std::streamsize>(noise.size()));
    }
    host::session s(endpoint(folder), {.channels = 0});
    std::vector<unsigned char> out(bytes.size());
    s.read(s.open_volume(v.vid), 0, out.data(), out.size());
    CHECK(out == bytes);
    CHECK(seal() == 0);
  }
}

TEST_CASE(
    "an array that is asked to grows by empty SSDs: its volumes stay, new ones use them all") {
  const temp_folder folder;
  const std::vector<unsigned char> bytes = random_bytes(300 * block_bytes, 6);
  std::vector<unsigned char> out(bytes.size());
  volume_info before;
  {
    host::session s(endpoint(folder, "capacity=16M&ssds=3"), {.channels = 0});
    before = s.create_volume({.bytes = bytes.size()});
    s.write(before, 0, bytes.data(), bytes.size());
  }
  CHECK(refusal(endpoint(folder, "capacity=16M&ssds=4")).find("grow=yes") != std::string::npos);
  CHECK(!std::filesystem::exists(folder.path() + "/ssd3.flash"));
  CHECK(refusal("emu:?grow=yes").find("flash=") != std::string::npos);
  // A newcomer's file that cannot be made: the array is what it was.
  std::filesystem::create_directory(folder.path() + "/ssd3.flash");
  CHECK(refusal(endpoint(folder, "capacity=16M&ssds=4&grow=yes")).find("ssd3.flash") !=
        std::string::npos);
  std::filesystem::remove(folder.path() + "/ssd3.flash");
  CHECK(refusal(endpoint(folder, "capacity=16M&ssds=3")).empty());
  std::vector<volume_id> newer;  // none is deleted meanwhile: its pages would come back any time
  for (const std::string grow : {"&grow=yes", ""}) {
    host::session s(endpoint(folder, "capacity=16M&ssds=4" + grow), {.channels = 0});
    const volume_info same = s.open_volume(before.vid);
    CHECK(same.ssd_count == 3);
    s.read(same, 0, out.data(), out.size());
    CHECK(out == bytes);
    const std::uint64_t free = s.usage(3).free_blocks;
    s.write(same, 0, bytes.data(), bytes.size());
    CHECK(s.usage(3).free_blocks == free);
    const volume_info more = s.create_volume({.bytes = bytes.size()});
    CHECK(more.ssd_count == 4);
    s.write(more, 0, bytes.data(), bytes.size());
    CHECK(s.usage(3).free_blocks < free);
    s.read(more, 0, out.data(), out.size());
    CHECK(out == bytes);
    newer.push_back(more.vid);
  }
  CHECK(refusal(endpoint(folder, "capacity=16M&ssds=3")).find("cannot shrink; use ssds=4") !=
        std::string::npos);
  // An SSD's file is gone: nobody makes it anew.
  const std::string lost = folder.path() + "/ssd0.flash";
  std::filesystem::rename(lost, lost + ".away");
  for (const std::string more : {"capacity=16M&ssds=4", "capacity=16M&ssds=5&grow=yes"}) {
    CHECK(refusal(endpoint(folder, more)).find("ssd0.flash is missing or empty") !=
          std::string::npos);
    CHECK(!std::filesystem::exists(lost));
    CHECK(!std::filesystem::exists(folder.path() + "/ssd4.flash"));
  }
  std::filesystem::rename(lost + ".away", lost);
  host::session s(endpoint(folder, "capacity=16M&ssds=4"), {.channels = 0});
  s.delete_volume(before.vid);
  for (const volume_id vid : newer) s.delete_volume(vid);
  CHECK(s.volumes().empty());
}

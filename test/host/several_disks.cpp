/// Several disks that Linux reads and writes for kernels, as one volume: `disk:PATH,PATH`.
// label: thorough
#include "local_kernels.hpp"
#include "refusals.hpp"
#include "temp_folder.hpp"
#include "volume/session_rig.hpp"
#include <gnstor/host/array.hpp>
#include <gnstor/host/error.hpp>
#include <gnstor/wire/nvme/media_status.hpp>

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <string>
#include <vector>

using namespace gnstor;
using namespace gnstor::literals;
using namespace gnstor::test;
namespace host = gnstor::host;
namespace fs = std::filesystem;

namespace {

/// Files that are disks.
struct images {
  explicit images(const std::vector<std::uint64_t>& bytes) {
    for (const std::uint64_t n : bytes) {
      paths.push_back(folder.path("disk" + std::to_string(paths.size())));
      std::ofstream(paths.back()).close();
      fs::resize_file(paths.back(), n);
    }
  }
  std::string endpoint(const std::string& options = "") const {
    std::string list;
    for (const std::string& p : paths) list += (list.empty() ? "" : ",") + p;
    return "disk:" + list + options;
  }
  std::vector<unsigned char> get(std::size_t k, std::uint64_t at, std::size_t count) const {
    std::vector<unsigned char> bytes(count);
    std::ifstream f(paths[k], std::ios::binary);
    f.seekg(static_cast<std::streamoff>(at));
    f.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(count));
    return bytes;
  }

  temp_folder folder;
  std::vector<std::string> paths;
};

constexpr std::uint32_t stripe = 8192;
constexpr const char* striped = "?stripe=8K&scratch=yes";

/// Each lane writes a stripe of its own from memory, or reads it.
struct move_stripes {
  template <class Lane>
  void operator()(Lane& lane, remote_volume v, io_buffer buffer, bool writes,
                  std::uint64_t* outcome) const {
    const std::uint32_t me = lane.global_thread();
    const std::uint32_t blocks = v.info().stripe_blocks;
    const std::uint64_t bytes = std::uint64_t{blocks} * block_bytes;
    const io_buffer mine = buffer.slice(me * bytes, bytes);
    const deadline d = simt::within(20'000'000'000);
    const vba at(me * blocks);
    outcome[me] = (writes ? v.write(at, blocks, mine, d) : v.read(at, blocks, mine, d)).pack();
  }
};

struct flush_all {
  template <class Lane>
  void operator()(Lane&, remote_volume v, std::uint64_t* outcome) const {
    *outcome = v.flush(simt::within(20'000'000'000)).pack();
  }
};

std::vector<status> move_all(host::session& s, const volume_info& v, registered& memory,
                             bool writes, std::uint32_t stripes) {
  std::vector<std::uint64_t> packed(stripes, ~std::uint64_t{0});
  run(s, 1, stripes, move_stripes{}, s.ref(v), memory.buffer, writes, packed.data());
  std::vector<status> all;
  for (const std::uint64_t p : packed) all.push_back(status::unpack(p));
  return all;
}

status flushed(host::session& s, const volume_info& v) {
  std::uint64_t packed = ~std::uint64_t{0};
  run(s, 1, 1, flush_all{}, s.ref(v), &packed);
  return status::unpack(packed);
}

bool notes_say(const host::session& s, const std::string& part) {
  for (const std::string& note : s.notes())
    if (note.find(part) != std::string::npos) return true;
  return false;
}

/// The descriptor of this process for a file.
int descriptor_of(const std::string& path) {
  for (const auto& one : fs::directory_iterator("/proc/self/fd")) {
    std::error_code none;
    if (fs::read_symlink(one.path(), none) == path) return std::stoi(one.path().filename());
  }
  return -1;
}

}  // namespace

TEST_CASE("stripes of a volume lie on the disks of its list in turn, for later sessions as well") {
  const images three({1 << 20, 1 << 20, 1 << 20});
  constexpr std::uint32_t stripes = 30;
  const auto written = random_bytes(stripes * stripe, 7);
  for (const char* more : {"", "&threads=2&queues=3"}) {
    CAPTURE(more);
    host::session s(three.endpoint(striped) + more, {.channels = 2});
    const volume_info v = s.create_volume({.bytes = 3 << 20});
    CHECK(v.capacity_blocks * block_bytes == 3 << 20);
    registered memory(s, written.size());
    std::memcpy(memory.bytes(), written.data(), written.size());
    for (const status& one : move_all(s, v, memory, true, stripes)) CHECK(one.ok());
    std::memset(memory.bytes(), 0, written.size());
    for (const status& one : move_all(s, v, memory, false, stripes)) CHECK(one.ok());
    CHECK(std::memcmp(memory.bytes(), written.data(), written.size()) == 0);
    CHECK(flushed(s, v).ok());
    CHECK(notes_say(s, "striped over 3 controllers, 8 KiB on each in turn"));
    for (const std::string& path : three.paths) CHECK(notes_say(s, "disk:" + path));
  }
  for (std::uint32_t k = 0; k < stripes; ++k) {
    CAPTURE(k);
    const auto there = three.get(k % 3, k / 3 * stripe, stripe);
    CHECK(std::memcmp(there.data(), written.data() + k * stripe, stripe) == 0);
  }
  host::session reader(three.endpoint("?stripe=8K&readonly=yes"));
  const volume_info v = reader.open_volume(volume_id(1));
  std::vector<unsigned char> there(written.size());
  reader.read(v, 0, there.data(), there.size());
  CHECK(there == written);
  const std::string refusal =
      refusal_of<host::error>([&] { reader.write(v, 0, there.data(), block_bytes); });
  CHECK(says(refusal, "code 20h"));  // the namespace is write protected
}

TEST_CASE("of disks of several sizes the smallest counts, and a note says what is left over") {
  const images two({4 << 20, (1 << 20) + 4096});
  {
    host::session s(two.endpoint(striped));
    const volume_info v = s.open_volume(volume_id(1));
    CHECK(v.capacity_blocks * block_bytes == 2 << 20);
    CHECK(notes_say(s, "namespace 1 of disk:" + two.paths[0] + ": 1 MiB of 4 MiB are used"));
    CHECK_FALSE(notes_say(s, "namespace 1 of disk:" + two.paths[1]));
    const std::vector<unsigned char> ones(2 << 20, 1);
    s.write(v, 0, ones.data(), ones.size());
    CHECK_THROWS_AS(s.write(v, 2 << 20, ones.data(), block_bytes), host::error);
  }
  for (const std::size_t k : {0u, 1u}) {
    const auto last = two.get(k, (1 << 20) - 4096, 8192);
    CHECK(last[4095] == 1);
    CHECK(last[4096] == 0);
  }
}

TEST_CASE("what goes wrong at one disk of a list fails the requests of its stripes alone") {
  const images three({1 << 20, 1 << 20, 1 << 20});
  host::session s(three.endpoint(striped), {.channels = 1, .depth = 64});
  const volume_info v = s.open_volume(volume_id(1));
  registered memory(s, 30 * stripe);
  for (const status& one : move_all(s, v, memory, true, 30)) CHECK(one.ok());
  fs::resize_file(three.paths[1], 0);
  const auto said = move_all(s, v, memory, false, 30);
  for (std::uint32_t k = 0; k < 30; ++k) {
    CAPTURE(k);
    CHECK(said[k].ok() == (k % 3 != 1));
    if (said[k].ok()) continue;
    CHECK(said[k].code == status_code::nvme_error);
    CHECK(said[k].nvme_type == 2);
    CHECK(said[k].ssd == 1);
  }
  // A flush reaches each of them: the last one's descriptor becomes that of a pipe, which cannot.
  CHECK(flushed(s, v).ok());
  const int disk = descriptor_of(three.paths[2]);
  REQUIRE(disk >= 0);
  int pipe[2];
  REQUIRE(::pipe(pipe) == 0);
  REQUIRE(::dup2(pipe[1], disk) == disk);
  const status lost = flushed(s, v);
  CHECK(lost.code == status_code::nvme_error);
  CHECK(lost.ssd == 2);
  for (const int fd : pipe) ::close(fd);
}

TEST_CASE("view[i] over several disks reads and writes its pages") {
  const images two({1 << 20, 1 << 20});
  host::session s(two.endpoint(striped));
  CHECK(first_wrong_after_adding(s, 100'000, {.frame_bytes = 32 << 12, .page_bytes = 4096}, 300) ==
        100'000);
}

TEST_CASE("a list that is no list of disks is refused with the remedy, and nothing is held") {
  const images two({1 << 20, 1 << 20});
  const std::string a = two.paths[0];
  const std::string b = two.paths[1];
  const auto refuses = [&](const std::string& where, const std::string& why) {
    CAPTURE(where);
    CHECK(says(refusal_of<host::input_error>([&] { host::session s(where); }), why));
  };
  refuses("disk:" + a + ",", "several with commas");
  refuses("disk:," + a, "several with commas");
  refuses("disk:" + a + "," + b + "," + a, a + " is given twice");
  refuses("disk:" + a + "," + b + "?stripe=6K", "multiple of 4096");
  refuses("disk:" + a + "," + b + "?stripe=2M", "stripe=2M");
  std::string many = "disk:" + a;
  for (int k = 1; k <= 16; ++k) many += "," + a + std::to_string(k);
  refuses(many, "17 disks: use 1 to 16");
  refuses("disk:" + a + "," + b + "-none", b + "-none: No such file");
  refuses("disk:" + b + "-none," + a, b + "-none: No such file");
  refuses("disk:" + a + "," + two.folder.path(), "neither a block device nor a file");
  // The same under other names: also where both are only read, and no lock would tell.
  fs::create_symlink(a, two.folder.path("link"));
  fs::create_hard_link(a, two.folder.path("name"));
  for (const char* other : {"link", "name"}) {
    for (const char* options : {"", "?readonly=yes"}) {
      refuses("disk:" + a + "," + b + "," + two.folder.path(other) + options,
              "is the same disk as " + a);
    }
  }
  std::ofstream(two.folder.path("small")) << std::string(4096, 'x');
  refuses("disk:" + a + "," + two.folder.path("small"), "less than a stripe");
  // The one before it is free again.
  const int fd = ::open(a.c_str(), O_RDWR);
  CHECK(::flock(fd, LOCK_EX | LOCK_NB) == 0);
  ::close(fd);
}

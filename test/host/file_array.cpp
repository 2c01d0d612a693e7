/// Files as arrays: pieces of a namespace in any order, holes, ends within a block, and files that
/// change under their readers.
#include "refusals.hpp"
#include "scattered_files.hpp"
#include "volume/session_rig.hpp"
#include <gnstor/host/file_array.hpp>
#include <gnstor/host/volume_source.hpp>

#include <doctest/doctest.h>

#include <cstring>

using namespace gnstor;
using namespace gnstor::test;
namespace files = gnstor::host::files;

namespace {

constexpr std::uint64_t namespace_bytes = 8 << 20;

/// Compares each element with what it should be.
template <class T>
struct compare_file {
  template <class Lane>
  void operator()(Lane& lane, file_view<T> view, const T* expected, std::uint64_t* wrong) const {
    std::uint64_t mine = 0;
    for (std::uint64_t k = lane.global_thread(); k < view.size(); k += lane.grid_threads())
      mine += view[k] != expected[k];
    device_word<std::uint64_t>(*wrong).fetch_add(mine, relaxed);
  }
};

/// Reads elements until one has no value, and keeps its status.
struct read_until {
  template <class Lane>
  void operator()(Lane& lane, file_view<std::uint32_t> view, std::uint32_t* go_on,
                  std::uint64_t* status_of) const {
    std::uint64_t k = lane.global_thread();
    for (bounded turns{std::uint64_t{1} << 30}; turns; k = (k + 4099) % view.size()) {
      const auto got = view.load(k);
      if (got) continue;
      device_word<std::uint64_t>(*status_of).store(got.status.pack(), relaxed);
      device_word<std::uint32_t>(*go_on).store(0, relaxed);
      return;
    }
  }
};

std::vector<unsigned char> fill(host::session& s, const volume_info& v) {
  std::vector<unsigned char> disk = random_bytes(namespace_bytes, 5);
  s.write(v, 0, disk.data(), disk.size());
  return disk;
}

}  // namespace

TEST_CASE("view[i] reads a file of any pieces, by pages of any size") {
  struct shape {
    const char* where;
    std::uint32_t block;
    std::uint32_t page;
  };
  for (const shape& at : {shape{"emu-nvme:?bytes=8M&lba=512", 512, 4096},
                          shape{"emu-nvme:?bytes=8M&lba=512&mdts=8K", 1024, 16384},
                          shape{"emu-nvme:?bytes=8M", 4096, 65536},
                          shape{"emu-nvme:?bytes=8M&lba=512&runner=sim&lanes=8", 512, 512},
                          shape{"emu-nvme:?bytes=8M&runner=sim&workers=2", 8192, 4096}}) {
    CAPTURE(at.where);
    CAPTURE(at.page);
    host::session s(at.where);
    const volume_info v = s.open_volume(volume_id(1));
    const std::vector<unsigned char> disk = fill(s, v);
    for (const std::uint64_t bytes :
         {std::uint64_t{1}, std::uint64_t{700'001}, std::uint64_t{8192}}) {
      CAPTURE(bytes);
      const files::file_layout l =
          scattered_files(namespace_bytes, at.block, static_cast<std::uint32_t>(bytes))
              .make("scattered", bytes);
      const std::vector<unsigned char> expected = scattered_files::content(l, disk);
      host::file_array<unsigned char> a(s, v, l,
                                        {.frame_bytes = 48 * at.page, .page_bytes = at.page});
      REQUIRE(a.size() == bytes);
      std::uint64_t wrong = 0;
      run(s, 2, 64, compare_file<unsigned char>{}, a.view(), expected.data(), &wrong);
      CHECK(wrong == 0);
      a.check();
      std::vector<unsigned char> there(bytes);
      a.read(0, bytes, there.data());
      CHECK(there == expected);
    }
  }
}

TEST_CASE("what cannot be read by commands is refused, with the remedy") {
  host::session s("emu-nvme:?bytes=8M");
  const volume_info v = s.open_volume(volume_id(1));
  const auto refusal = [&](std::uint64_t device_offset, std::uint64_t bytes) {
    const files::file_layout l{
        "notes", bytes, {{0, device_offset, bytes, files::extent_state::data}}};
    return refusal_of<host::input_error>([&] { host::file_pages(s, v, l); });
  };
  CHECK(says(refusal(512, 4096), "logical blocks have 4096 bytes"));
  CHECK(says(refusal(namespace_bytes, 4096), "behind the end"));
  CHECK(says(refusal(~std::uint64_t{0} / 4096 * 4096, 4096), "behind the end"));
  const files::file_layout l{"notes", 4096, {{0, 0, 4096, files::extent_state::data}}};
  host::session array("emu:?capacity=16M");
  const volume_info of_array = array.create_volume({.bytes = 1 << 20});
  CHECK(says(refusal_of<host::input_error>([&] { host::file_pages(array, of_array, l); }),
             "plain namespaces"));
  CHECK_THROWS_AS(host::file_pages(s, v, l).write(0, &l, 1), host::input_error);
}

TEST_CASE("a media error of a file's block reaches the lane, as the controller said it") {
  host::session s("emu-nvme:?bytes=8M");
  const volume_info v = s.open_volume(volume_id(1));
  (void)fill(s, v);
  const files::file_layout l = scattered_files(namespace_bytes, 4096, 3).make("f", 64 << 10);
  host::file_array<std::uint32_t> a(s, v, l, {.frame_bytes = 1 << 20, .page_bytes = 4096});
  s.inject_fault(0, "media_error");
  std::uint32_t go_on = 1;
  std::uint64_t found = 0;
  run(s, 1, 1, read_until{}, a.view(), &go_on, &found);
  CHECK(status::unpack(found).code == status_code::nvme_error);
  CHECK(status::unpack(found).nvme_type == 2);
  CHECK_THROWS_AS(a.check(), host::io_error);
}

TEST_CASE("a session's volume is a device to read a file system from, at any byte") {
  host::session s("emu-nvme:?bytes=8M&lba=512");
  const volume_info v = s.open_volume(volume_id(1));
  const std::vector<unsigned char> disk = fill(s, v);
  host::volume_source source(s, v);
  CHECK(source.bytes() == namespace_bytes);
  for (const auto& [offset, bytes] : {std::pair<std::uint64_t, std::size_t>{0, 512},
                                      {1, 1},
                                      {4095, 2},
                                      {4096, 8192},
                                      {777, 100'000},
                                      {namespace_bytes - 3, 3}}) {
    std::vector<std::byte> there(bytes);
    source.read(offset, there);
    CHECK(std::memcmp(there.data(), disk.data() + offset, bytes) == 0);
  }
  std::vector<std::byte> more(4);
  CHECK_THROWS_AS(source.read(namespace_bytes - 3, more), host::error);
}

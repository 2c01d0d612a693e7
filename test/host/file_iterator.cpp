/// Files in batches: their order, their bytes, what lies behind them, and who reads them.
#include "refusals.hpp"
#include "scattered_files.hpp"
#include "temp_folder.hpp"
#include "volume/session_rig.hpp"
#include <gnstor/host/file_iterator.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <set>

using namespace gnstor;
using namespace gnstor::test;
using host::file_way;
namespace files = gnstor::host::files;

namespace {

constexpr std::uint64_t namespace_bytes = 8 << 20;
constexpr std::uint32_t count = 100;

/// A session, what its namespace holds, and files that lie there.
struct file_rig {
  explicit file_rig(const std::string& where, std::uint32_t block = 4096)
      : session(where),
        volume(session.open_volume(volume_id(1))),
        disk(random_bytes(namespace_bytes, 5)) {
    session.write(volume, 0, disk.data(), disk.size());
    scattered_files maker(namespace_bytes, block, 11);
    for (std::uint32_t k = 0; k < count; ++k)
      layouts.push_back(maker.make("file " + std::to_string(k), k * k * 13 % 70'000));
  }
  host::session session;
  volume_info volume;
  std::vector<unsigned char> disk;
  std::vector<files::file_layout> layouts;

  /// Words that are wrong in a batch, and behind its files.
  std::uint64_t wrong(const host::file_batch& batch) const {
    std::uint64_t found = 0;
    for (const host::batched_file& f : batch.files) {
      const std::vector<unsigned char> expected = scattered_files::content(layouts[f.index], disk);
      found += f.offset % 4096 != 0 || f.bytes != expected.size();
      found += !std::equal(expected.begin(), expected.end(), batch.data + f.offset);
      for (std::uint64_t at = f.bytes; at % 4096 != 0; ++at)
        found += batch.data[f.offset + at] != 0;
    }
    return found;
  }
};

std::vector<std::uint32_t> order_of(host::file_iterator& files) {
  std::vector<std::uint32_t> order;
  while (const host::file_batch* batch = files.next()) {
    for (const host::batched_file& f : batch->files) order.push_back(f.index);
  }
  return order;
}

}  // namespace

TEST_CASE("every file comes once, whole, with nothing of others behind it, whoever reads it") {
  struct shape {
    const char* where;
    std::uint32_t block;
    file_way way;
    std::uint32_t ahead;
  };
  for (const shape& at : {shape{"emu-nvme:?bytes=8M", 4096, file_way::device, 1},
                          shape{"emu-nvme:?bytes=8M&lba=512&mdts=16K", 512, file_way::device, 3},
                          shape{"emu-nvme:?bytes=8M&lba=512", 1024, file_way::cpu, 0},
                          shape{"emu-nvme:?bytes=8M", 4096, file_way::cpu, 2},
                          shape{"emu-nvme:?bytes=8M&runner=sim&lanes=8", 4096, file_way::device, 0},
                          shape{"emu-nvme:?bytes=8M&runner=sim", 4096, file_way::cpu, 0}}) {
    CAPTURE(at.where);
    CAPTURE(at.ahead);
    file_rig rig(at.where, at.block);
    host::file_iterator files(
        rig.session, rig.volume, rig.layouts,
        {.batch = 7, .batch_bytes = 128 << 10, .ahead = at.ahead, .shuffle = 3, .way = at.way});
    CHECK(files.size() == count);
    std::multiset<std::uint32_t> seen;
    while (const host::file_batch* batch = files.next()) {
      CHECK(batch->files.size() <= 7);
      REQUIRE(!batch->files.empty());
      CHECK(batch->files.back().offset + batch->files.back().bytes <= 128 << 10);
      CHECK(rig.wrong(*batch) == 0);
      for (const host::batched_file& f : batch->files) seen.insert(f.index);
    }
    CHECK(seen.size() == count);
    CHECK(std::set<std::uint32_t>(seen.begin(), seen.end()).size() == count);
    CHECK(files.next() == nullptr);
    const host::file_iterator_statistics said = files.statistics();
    CHECK(said.files == count);
    CHECK(said.batches >= count / 7);
    CHECK(said.commands != 0);
    CHECK(said.reading.ns() != 0);
  }
}

TEST_CASE("a seed draws an order, another one for each pass, and the same one again") {
  file_rig rig("emu-nvme:?bytes=8M");
  const auto passes = [&](std::optional<std::uint64_t> seed) {
    host::file_iterator files(rig.session, rig.volume, rig.layouts, {.shuffle = seed});
    std::vector<std::vector<std::uint32_t>> orders;
    for (int pass = 0; pass < 3; ++pass) {
      orders.push_back(order_of(files));
      files.rewind();
    }
    return orders;
  };
  std::vector<std::uint32_t> given(count);
  std::iota(given.begin(), given.end(), 0u);
  for (const auto& order : passes({})) CHECK(order == given);
  const auto drawn = passes(7);
  CHECK(drawn[0] != given);
  CHECK(drawn[0] != drawn[1]);
  CHECK(drawn[1] != drawn[2]);
  CHECK(passes(7) == drawn);
  CHECK(passes(8)[0] != drawn[0]);
}

TEST_CASE("a pass that is left in the middle begins again, and one may be left for good") {
  file_rig rig("emu-nvme:?bytes=8M");
  host::file_iterator files(rig.session, rig.volume, rig.layouts, {.batch = 5, .ahead = 3});
  for (int k = 0; k < 4; ++k) REQUIRE(files.next() != nullptr);
  files.rewind();
  const host::file_batch* const first = files.next();
  REQUIRE(first != nullptr);
  CHECK(first->files[0].index == 0);
  CHECK(rig.wrong(*first) == 0);
}

TEST_CASE("a file that is larger than a batch, or cannot be read, is named") {
  file_rig rig("emu-nvme:?bytes=8M");
  for (const std::uint32_t ahead : {0u, 2u}) {
    CAPTURE(ahead);
    host::file_iterator files(rig.session, rig.volume, rig.layouts,
                              {.batch_bytes = 32 << 10, .ahead = ahead});
    const auto refusal = [&] {
      return refusal_of<host::input_error>([&] { (void)order_of(files); });
    };
    CHECK(says(refusal(), "use a larger file_iterator_options::batch_bytes"));
    CHECK(says(refusal(), "do not fit a batch"));  // again: it does not go on behind it
    host::file_iterator failing(rig.session, rig.volume, rig.layouts, {.ahead = ahead});
    rig.session.inject_fault(0, "media_error");
    CHECK(says(refusal_of<host::io_error>([&] { (void)order_of(failing); }), "type 2h, code 81h"));
    rig.session.inject_fault(0, "none");
    failing.rewind();
    CHECK(order_of(failing).size() == count);
  }
}

TEST_CASE("Linux reads files by their paths") {
  file_rig rig("emu-nvme:?bytes=8M");
  const temp_folder folder;
  std::filesystem::create_directory(folder.path("deep"));
  for (std::uint32_t k = 0; k < 20; ++k) {
    std::ofstream file(folder.path(k % 2 == 0 ? "deep/" : "") + std::to_string(k));
    const auto bytes = scattered_files::content(rig.layouts[k], rig.disk);
    file.write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
  }
  std::filesystem::create_symlink(folder.path("1"), folder.path("link"));
  const std::vector<std::string> paths = host::files_below(folder.path());
  REQUIRE(paths.size() == 20);
  host::file_iterator files(rig.session, rig.volume, paths, {.batch = 6, .way = file_way::posix});
  std::uint64_t read = 0;
  while (const host::file_batch* batch = files.next()) {
    for (const host::batched_file& f : batch->files) {
      const auto number = std::stoul(std::filesystem::path(paths[f.index]).filename());
      const auto expected = scattered_files::content(rig.layouts[number], rig.disk);
      REQUIRE(f.bytes == expected.size());
      CHECK(std::equal(expected.begin(), expected.end(), batch->data + f.offset));
      ++read;
    }
  }
  CHECK(read == 20);
  CHECK_THROWS_AS((void)host::files_below(folder.path("none")), host::input_error);
  CHECK_THROWS_AS(
      host::file_iterator(rig.session, rig.volume, rig.layouts, {.way = file_way::posix}),
      host::input_error);
  host::file_iterator missing(rig.session, rig.volume, {folder.path("none")},
                              {.way = file_way::posix});
  CHECK(says(refusal_of<host::input_error>([&] { (void)missing.next(); }), "No such file"));
}

/// A file that has an image of memory as the last whole Flush found it.
#include "temp_folder.hpp"
#include <emulated/flush_log.hpp>
#include <gnstor/host/error.hpp>

#include <doctest/doctest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

using namespace gnstor;
using namespace gnstor::test;
namespace host = gnstor::host;

namespace {

constexpr std::uint64_t page = host::flush_log::page_bytes;
constexpr std::uint32_t pages = 8;
using image = std::vector<char>;

void fill(image& of, std::uint32_t k, char with) { std::memset(&of[k * page], with, page); }

std::vector<char> contents(const std::string& path) {
  std::ifstream from(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(from), {}};
}
void write(const std::string& path, const std::vector<char>& bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc)
      .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}
/// What a file says; empty if nothing.
image read(const std::string& path) {
  image found(pages * page);
  return host::flush_log::read(path, found.data(), found.size()) ? found : image{};
}

}  // namespace

TEST_CASE("an image is what it was at the last whole batch, in whichever half") {
  const temp_folder folder;
  const std::string path = folder.path("log");
  image now(pages * page);
  CHECK(read(path).empty());
  for (int life = 0; life < 3; ++life) {
    host::flush_log log(path, now.size(), pages);
    if (life != 0) CHECK(read(path) == now);  // until it begins anew
    fill(now, 3, static_cast<char>(life));
    REQUIRE(log.begin(now.data()));
    CHECK(read(path) == now);
    for (int k = 0; k < 200; ++k) {  // several halves full
      fill(now, k % pages, static_cast<char>(k));
      fill(now, (k + 1) % pages, static_cast<char>(k + 1));
      REQUIRE(log.append(now.data(), {static_cast<std::uint32_t>(k % pages),
                                      static_cast<std::uint32_t>((k + 1) % pages)}));
      REQUIRE(read(path) == now);
    }
  }
  const auto bytes = std::filesystem::file_size(path);
  {
    host::flush_log log(path, now.size(), pages);
    REQUIRE(log.end());
    CHECK(read(path).empty());
  }
  host::flush_log log(path, now.size(), pages);
  CHECK(read(path).empty());
  REQUIRE(log.begin(now.data()));
  CHECK(read(path) == now);
  log.undo();  // of what has begun
  CHECK(std::filesystem::file_size(path) == bytes);
  { host::flush_log(folder.path("other"), now.size(), pages).undo(); }
  CHECK(!std::filesystem::exists(folder.path("other")));
}

TEST_CASE("a batch of which a power cut took any page is none, and the image before it counts") {
  const temp_folder folder;
  const std::string path = folder.path("log");
  image now(pages * page);
  host::flush_log log(path, now.size(), pages);
  for (std::uint32_t k = 0; k < pages; ++k) fill(now, k, static_cast<char>(k + 1));
  REQUIRE(log.begin(now.data()));
  for (int k = 0; k < 20; ++k) {  // once over to the other half
    const image before = now;
    const std::vector<char> old = contents(path);
    for (std::uint32_t p = 0; p < 4; ++p) fill(now, p, static_cast<char>(4 * k + p + 20));
    REQUIRE(log.append(now.data(), {0, 1, 2, 3}));
    const std::vector<char> whole = contents(path);
    std::uint32_t written = 0;
    for (std::uint64_t at = 0; at < whole.size(); at += page) {
      if (std::memcmp(&whole[at], &old[at], page) == 0) continue;
      ++written;
      for (const bool half : {false, true}) {  // the page, or its second half
        std::vector<char> cut = whole;
        const std::uint64_t from = at + (half ? page / 2 : 0);
        if (std::memcmp(&whole[from], &old[from], at + page - from) == 0) continue;
        std::memcpy(&cut[from], &old[from], at + page - from);
        write(folder.path("cut"), cut);
        REQUIRE(read(folder.path("cut")) == before);
      }
    }
    CHECK(written >= 5);
    REQUIRE(read(path) == now);
  }
}

TEST_CASE("what is no log, or one of something else, is no image") {
  const temp_folder folder;
  const std::string path = folder.path("log");
  write(path, {});
  CHECK(read(path).empty());
  write(path, std::vector<char>(20 * page, 'x'));
  CHECK(read(path).empty());
  std::filesystem::remove(path);
  image now(2 * pages * page);
  fill(now, 1, 'a');
  {
    host::flush_log log(path, now.size(), 2 * pages);
    CHECK(read(path).empty());
    REQUIRE(log.begin(now.data()));
  }
  CHECK(read(path).empty());
  image found(now.size());
  CHECK(host::flush_log::read(path, found.data(), found.size()));
  CHECK(found == now);
}

TEST_CASE("a log that cannot be made says where, and what to do") {
  const temp_folder folder;
  try {
    host::flush_log log(folder.path("none/log"), pages * page, pages);
    FAIL("made");
  } catch (const host::error& e) {
    CHECK(std::string(e.what()).find("none/log: No such file") != std::string::npos);
    CHECK(std::string(e.what()).find("writable") != std::string::npos);
  }
}

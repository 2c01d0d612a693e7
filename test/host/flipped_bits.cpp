/// One bit flips in the metadata of one SSD of an array that was closed or killed: its other
/// replicas give what was written, or the array says what is wrong and is not opened.
// label: thorough
// not under tsan: it forks

#include "deengine/metadata_in_use.hpp"
#include "qp/seeds.hpp"
#include "random_bytes.hpp"
#include "temp_folder.hpp"
#include <deengine/recover.hpp>
#include <gnstor/host/error.hpp>
#include <gnstor/host/session.hpp>

#include <doctest/doctest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <map>
#include <random>
#include <string>
#include <vector>

using namespace gnstor;
using namespace gnstor::test;
namespace host = gnstor::host;

namespace {

constexpr std::uint32_t ssds = 3;
constexpr std::uint32_t blocks = 400;

/// Two blocks of each ten are never written, others many times.
struct history {
  explicit history(std::uint64_t seed) : random(seed), bytes(blocks * block_bytes) {}

  template <class Write>
  void write(const Write& write) {
    for (int k = 0; k < 700; ++k) {
      const auto b = static_cast<std::uint32_t>(random() % blocks);
      if (b % 10 < 2) continue;
      for (std::uint32_t w = 0; w < block_bytes; w += 8) {
        const std::uint64_t word = random();
        std::memcpy(bytes.data() + std::size_t{b} * block_bytes + w, &word, sizeof word);
      }
      write(b, bytes.data() + std::size_t{b} * block_bytes);
    }
  }

  std::mt19937_64 random;
  std::vector<unsigned char> bytes;  ///< what the volume must hold
};

/// The metadata of each SSD, as its file has it.
class flash_files {
 public:
  flash_files(const temp_folder& folder, const fw::geometry& g) : folder_(folder), shape_(g) {
    const std::uint64_t bytes = fw::layout::of(g).bytes;
    for (std::uint32_t k = 0; k < ssds; ++k) {
      words_.emplace_back(bytes / 8 + 16);
      std::ifstream in(path(k), std::ios::binary);
      REQUIRE(in.read(static_cast<char*>(metadata(k)), static_cast<std::streamsize>(bytes)));
    }
  }
  void* metadata(std::uint32_t k) {
    const auto at = reinterpret_cast<std::uintptr_t>(words_[k].data());
    return reinterpret_cast<void*>((at + 127) / 128 * 128);
  }
  void restore() {
    for (std::uint32_t k = 0; k < ssds; ++k) {
      std::fstream out(path(k), std::ios::in | std::ios::out | std::ios::binary);
      out.write(static_cast<const char*>(metadata(k)),
                static_cast<std::streamsize>(fw::layout::of(shape_).bytes));
      REQUIRE(out.flush());
    }
  }
  void flip(std::uint32_t k, std::uint64_t byte, unsigned char bit) const {
    std::fstream out(path(k), std::ios::in | std::ios::out | std::ios::binary);
    out.seekg(static_cast<std::streamoff>(byte));
    const auto now = static_cast<unsigned char>(out.get());
    out.seekp(static_cast<std::streamoff>(byte));
    out.put(static_cast<char>(now ^ bit));
    REQUIRE(out.flush());
  }

 private:
  std::string path(std::uint32_t k) const {
    return folder_.path() + "/ssd" + std::to_string(k) + ".flash";
  }

  const temp_folder& folder_;
  fw::geometry shape_;
  std::vector<std::vector<std::uint64_t>> words_;
};

/// Writes to an array and closes it, or is killed with every write acknowledged.
void live(const std::string& array, history& h, bool killed) {
  const auto fill = [&] {
    host::session s(array, {.channels = 0});
    const volume_info v = s.volumes().empty()
                              ? s.create_volume({.bytes = blocks * block_bytes, .replicas = 2})
                              : s.open_volume(volume_id(1));
    h.write([&](std::uint32_t b, const unsigned char* from) {
      s.write(v, std::uint64_t{b} * block_bytes, from, block_bytes);
    });
    if (killed) kill(getpid(), SIGKILL);
  };
  if (!killed) return fill();
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    try {
      fill();
    } catch (...) {
    }
    _exit(2);
  }
  int how = 0;
  REQUIRE(waitpid(child, &how, 0) == child);
  REQUIRE((WIFSIGNALED(how) && WTERMSIG(how) == SIGKILL));
  h.write([](std::uint32_t, const unsigned char*) {});  // what it has written
}

struct tally {
  std::uint32_t flips = 0;
  std::uint32_t refused = 0;
};

/// Flips bits, one at a time, and opens the array.
void check(bool killed, std::uint32_t flips) {
  constexpr std::uint32_t of_each = 500;
  std::map<std::string, tally> said;
  std::mt19937_64 random(3);
  for (std::uint32_t first = 0; first < flips; first += of_each) {
    const temp_folder folder;
    const std::string array = "emu:?ssds=3&capacity=8M&shards=2&threads=1&flash=" + folder.path();
    history h(first + 1);
    live(array, h, true);  // whose next life writes live records
    live(array, h, killed);
    constexpr fw::geometry shape{.pages = 2048, .shards = 2, .pages_per_block = 32};
    flash_files files(folder, shape);
    for (std::uint32_t n = first; n < flips && n < first + of_each; ++n) {
      const auto ssd = static_cast<std::uint32_t>(random() % ssds);
      const metadata_in_use what(files.metadata(ssd), shape);
      const auto& kind = what.kinds[random() % what.kinds.size()];
      const auto& at = kind.ranges[random() % kind.ranges.size()];
      const std::uint64_t byte = at.at + random() % at.bytes;
      const auto bit = static_cast<unsigned char>(1u << random() % 8);
      files.restore();
      files.flip(ssd, byte, bit);
      CAPTURE(n);
      CAPTURE(kind.name);
      CAPTURE(ssd);
      CAPTURE(byte);
      CAPTURE(bit);
      tally& t = said[kind.name];
      ++t.flips;
      try {
        host::session s(array, {.channels = 0});
        const volume_info v = s.open_volume(volume_id(1));
        std::vector<unsigned char> found(h.bytes.size());
        s.read(v, 0, found.data(), found.size());
        for (std::uint32_t b = 0; b < blocks; ++b) {
          CAPTURE(b);
          const std::size_t from = std::size_t{b} * block_bytes;
          REQUIRE(std::memcmp(found.data() + from, h.bytes.data() + from, block_bytes) == 0);
        }
      } catch (const host::error& e) {
        ++t.refused;
        REQUIRE(std::string(e.what()).find("flash=" + folder.path()) != std::string::npos);
      }
    }
  }
  for (const auto& [kind, t] : said) {
    MESSAGE(std::string(killed ? "killed: " : "closed: ")
            << t.flips << " flips in " << kind << ", " << t.refused
            << " arrays not opened; no block was wrong");
    // Only who an SSD is, who serves, and which volumes there are, keeps an array from opening.
    if (kind != "identity" && kind != "epochs" && kind != "volumes") CHECK(t.refused == 0);
  }
}

std::uint32_t flips() { return static_cast<std::uint32_t>(number_from("GNSTOR_FLIPS", 60)); }

}  // namespace

TEST_CASE("a bit that flips in one SSD of a closed array changes no block that is read") {
  check(false, flips());
}

TEST_CASE("a bit that flips in one SSD of a killed array changes no block that is read") {
  check(true, flips());
}

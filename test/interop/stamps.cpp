/// Writes stamped blocks to a block device, flushes, and notes what was flushed where no power cut
/// reaches; or checks that all of it is there.
#include <gnstor/core/hash.hpp>
#include <gnstor/host/error.hpp>

#include <command_line/command_line.hpp>
#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

namespace {

using gnstor::mix64;

constexpr std::uint64_t block_bytes = 4096;
constexpr std::uint64_t words = block_bytes / 8;
constexpr std::uint64_t writes = 48;  ///< of a round

/// A part of a device that one writer has, and what it writes there: known from its number alone.
struct part {
  std::uint64_t first;
  std::uint64_t blocks;
  std::uint64_t writer;

  std::uint64_t block(std::uint64_t round, std::uint64_t k) const {
    return first + mix64(writer << 56 ^ round << 8 ^ k) % blocks;
  }
};

struct aligned_block {
  alignas(block_bytes) std::array<std::uint64_t, words> word;

  void stamp(std::uint64_t block, std::uint64_t round) {
    for (std::uint64_t k = 0; k < words; ++k) word[k] = mix64(block << 32 ^ round) + k;
    word[0] = block;
    word[1] = round;
  }
};

[[noreturn]] void fail(const std::string& what) {
  throw gnstor::host::error(what + ": " + std::strerror(errno));
}

/// The last round that is noted as flushed; 0: none.
std::uint64_t flushed(const std::string& log) {
  std::ifstream in(log);
  std::uint64_t last = 0;
  for (std::string line; std::getline(in, line);) {
    // A line that was not written whole was not noted.
    if (line.size() == 21 && line.back() == '.') last = std::strtoull(line.c_str(), nullptr, 10);
  }
  return last;
}

/// Rounds without an end, from the one behind what was flushed on.
void write_rounds(int device, const part& mine, const std::string& log) {
  const int notes = open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (notes < 0) fail(log);
  const auto one = std::make_unique<aligned_block>();
  // What a cut has left of a round is overwritten by the next one, in another order.
  for (std::uint64_t round = flushed(log) + 1;; ++round) {
    for (std::uint64_t k = 0; k < writes; ++k) {
      const std::uint64_t block = mine.block(round, k);
      one->stamp(block, round);
      if (pwrite(device, one.get(), block_bytes, static_cast<off_t>(block * block_bytes)) !=
          static_cast<ssize_t>(block_bytes))
        fail("writing block " + std::to_string(block));
    }
    if (fsync(device) != 0) fail("flushing");
    char line[23];
    std::snprintf(line, sizeof line, "%020llu.\n", static_cast<unsigned long long>(round));
    if (write(notes, line, 22) != 22) fail(log);
  }
}

/// Whether each block holds what was flushed last, or a part of the round after it, as a whole.
bool check(int device, const part& mine, const std::string& log) {
  const std::uint64_t last = flushed(log);
  std::vector<std::uint64_t> least(mine.blocks, 0);
  std::vector<bool> later(mine.blocks, false);
  for (std::uint64_t round = 1; round <= last + 1; ++round) {
    for (std::uint64_t k = 0; k < writes; ++k) {
      const std::uint64_t at = mine.block(round, k) - mine.first;
      if (round <= last) least[at] = round;
      if (round > last) later[at] = true;
    }
  }
  const auto found = std::make_unique<aligned_block>();
  const auto wanted = std::make_unique<aligned_block>();
  std::uint64_t newer = 0;
  std::uint64_t lost = 0;
  for (std::uint64_t at = 0; at < mine.blocks; ++at) {
    const std::uint64_t block = mine.first + at;
    std::string what;
    if (pread(device, found.get(), block_bytes, static_cast<off_t>(block * block_bytes)) !=
        static_cast<ssize_t>(block_bytes)) {
      what = std::strerror(errno);
    } else {
      const std::uint64_t round = found->word[1];
      wanted->stamp(block, round);
      if (round == 0 && found->word[0] == 0) std::memset(wanted.get(), 0, block_bytes);
      const bool whole = std::memcmp(found.get(), wanted.get(), block_bytes) == 0;
      if (!whole) what = "it is torn";
      if (whole && round != least[at] && !(later[at] && round == last + 1))
        what = "it is of round " + std::to_string(round);
      newer += whole && round > last;
    }
    if (what.empty()) continue;
    ++lost;
    std::printf("block %llu, flushed in round %llu%s: %s\n", static_cast<unsigned long long>(block),
                static_cast<unsigned long long>(least[at]),
                later[at] ? " and being overwritten" : "", what.c_str());
  }
  std::printf("writer %llu: %llu rounds were flushed; %llu blocks are newer, %llu are lost\n",
              static_cast<unsigned long long>(mine.writer), static_cast<unsigned long long>(last),
              static_cast<unsigned long long>(newer), static_cast<unsigned long long>(lost));
  return lost == 0;
}

}  // namespace

int main(int argc, char** argv) try {
  std::string path;
  std::string log;
  bool checks = false;
  part mine{};
  gnstor::tools::command_line line("Stamped blocks that survive a power cut");
  line.option("--device", path, "block device").required();
  line.option("--log", log, "file that says what was flushed").required();
  line.option("--first", mine.first, "block").show_default();
  line.option("--blocks", mine.blocks, "of 4 KiB").required();
  line.option("--writer", mine.writer, "number of the writer").show_default();
  line.flag("--check", checks, "looks whether all is there, instead of writing");
  if (const auto code = line.parse(argc, argv)) return *code;

  const int device = open(path.c_str(), (checks ? O_RDONLY : O_RDWR) | O_DIRECT | O_CLOEXEC);
  if (device < 0) fail(path);
  if (checks) return check(device, mine, log) ? 0 : 1;
  write_rounds(device, mine, log);
} catch (const std::exception& e) {
  std::fprintf(stderr, "interop_stamps: %s\n", e.what());
  return 1;
}

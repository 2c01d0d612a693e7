/// What the benchmarks that write verify: a write that never reached the volume must show.
#include "../../benchmark/volume_io/move_blocks.hpp"
#include "../../benchmark/volume_io/note_written.hpp"
#include <gnstor/simt_host/executor.hpp>

#include <doctest/doctest.h>

#include <cstring>
#include <vector>

using namespace gnstor;
using namespace gnstor::benchmarks;

namespace {

constexpr std::uint32_t blocks = 256;
constexpr std::uint32_t lanes = 64;
constexpr std::uint32_t nowhere = ~0u;

/// A volume in this process's memory (a reference) that drops the writes to one block.
struct memory_volume {
  unsigned char* bytes = nullptr;
  std::uint32_t dropped = nowhere;

  status read(vba first, std::uint32_t count, const io_buffer& to, deadline) const {
    std::memcpy(to.data(), at(first), count * block_bytes);
    return {};
  }
  status write(vba first, std::uint32_t count, const io_buffer& from, deadline) const {
    if (first.value != dropped) std::memcpy(at(first), from.data(), count * block_bytes);
    return {};
  }

 private:
  unsigned char* at(vba first) const { return bytes + std::uint64_t{first.value} * block_bytes; }
};

/// A filled volume, and the benchmarks' passes over it.
class passes {
 public:
  explicit passes(plan p)
      : next(p), memory_(blocks * block_bytes), buffer_(lanes * block_bytes), written_(blocks) {
    plan fill = p;
    fill.write_percent = 100;
    fill.whole = 1;
    fill.draw = 0;
    REQUIRE(run(fill, nowhere) == 0);
  }
  /// Writes another generation, but for what is dropped. Returns what went wrong.
  std::uint64_t pass(std::uint32_t dropped = nowhere) {
    ++next.generation;
    if (next.draw != 0) ++next.draw;
    next.generations = written_.data();
    const std::uint64_t wrong = run(next, dropped);
    simt::host::executor machine;
    machine.spawn(2, 32, note_written{}, next, lanes, written_.data());
    machine.run();
    return wrong;
  }
  /// What is wrong on the volume.
  std::uint64_t read_back() {
    plan back = next;
    back.write_percent = 0;
    back.draw = 0;
    back.generations = written_.data();
    return run(back, nowhere);
  }
  /// Whether the last pass wrote a block.
  bool wrote(std::uint32_t block) const { return written_[block] == next.generation; }

  plan next;

 private:
  std::uint64_t run(const plan& p, std::uint32_t dropped) {
    const io_buffer mine{reinterpret_cast<std::uint64_t>(buffer_.data()), buffer_.size(), 0, 0};
    failures seen;
    simt::host::executor machine;
    machine.spawn(2, lanes / 2, move_blocks{}, memory_volume{memory_.data(), dropped}, mine, p,
                  &seen);
    machine.run();
    return seen.count;
  }

  std::vector<unsigned char> memory_;
  std::vector<unsigned char> buffer_;
  std::vector<std::uint32_t> written_;
};

plan mixed() {
  return {.volume_blocks = blocks, .rounds = blocks / lanes, .random = 1, .write_percent = 30};
}
plan overwrites() {
  return {.volume_blocks = blocks, .rounds = blocks / lanes, .draw = 1, .write_percent = 100};
}

}  // namespace

TEST_CASE("benchmarks that write find nothing wrong on a sound volume") {
  for (const plan& p : {mixed(), overwrites()}) {
    passes all(p);
    for (int k = 0; k < 5; ++k) CHECK(all.pass() == 0);
    CHECK(all.read_back() == 0);
  }
}

TEST_CASE("a write that was dropped in the last pass shows when all is read back") {
  for (const plan& p : {mixed(), overwrites()}) {
    CAPTURE(p.write_percent);
    std::uint32_t tried = 0;
    for (std::uint32_t block = 0; block < blocks; block += 5) {
      passes all(p);
      CHECK(all.pass() == 0);
      CHECK(all.pass(block) == 0);
      tried += all.wrote(block) ? 1 : 0;
      CHECK((all.read_back() != 0) == all.wrote(block));
    }
    CHECK(tried > 10);
  }
}

TEST_CASE("a write that was dropped in a mixed pass shows to a read of the next") {
  std::uint32_t found = 0;
  for (std::uint32_t block = 0; block < blocks; block += 5) {
    passes all(mixed());
    CHECK(all.pass(block) == 0);
    const bool lost = all.wrote(block);
    const bool shows = all.pass() != 0;
    CHECK(shows == (lost && !all.wrote(block)));
    found += shows ? 1 : 0;
  }
  CHECK(found > 5);
}

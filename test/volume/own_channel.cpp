/// The code of docs/own-channel.md about a warp with a channel of its own.
#include "session_rig.hpp"
#include <gnstor/volume/exclusive_volume.hpp>

#include <doctest/doctest.h>

#include <string>

using namespace gnstor;
using namespace gnstor::literals;
using namespace gnstor::test;
namespace host = gnstor::host;

namespace {

// [snippet
/// Adds up the numbers of some blocks. Launch at most as many warps as the session has channels.
struct add_up_blocks {
  template <class Lane>
  GNSTOR_HD void operator()(Lane& lane, gnstor::remote_volume volume, gnstor::io_buffer memory,
                            const std::uint32_t* wanted, std::uint32_t count, std::uint64_t* sum,
                            std::uint32_t* failed) const {
    const gnstor::simt::group warp = lane.warp();
    gnstor::exclusive_volume own(warp, volume);
    const gnstor::io_buffer mine = memory.slice(
        std::uint64_t{lane.global_thread()} * gnstor::block_bytes, gnstor::block_bytes);
    std::uint64_t added = 0;
    std::uint32_t bad = 0;
    // All lanes of the warp come along to every read, also those that want none.
    for (std::uint32_t k = lane.global_thread(); warp.any(k < count); k += lane.grid_threads()) {
      const bool wants = k < count;
      const gnstor::vba block(wants ? wanted[k] : 0);
      const auto soon = gnstor::simt::within(1_s);
      const gnstor::status s = own.read(warp, block, 1, mine, soon, wants);
      bad += s.ok() ? 0 : 1;
      const auto* numbers = static_cast<const std::uint32_t*>(mine.data());
      for (std::uint32_t n = 0; wants && s.ok() && n < gnstor::block_bytes / 4; ++n)
        added += numbers[n];
    }
    own.release(warp);
    gnstor::device_word<std::uint64_t>(*sum).fetch_add(added, gnstor::relaxed);
    if (bad != 0) gnstor::device_word<std::uint32_t>(*failed).fetch_add(bad, gnstor::relaxed);
  }
};
// snippet]

}  // namespace

TEST_CASE("the guide's kernel adds up the blocks it is given, by warps with own channels") {
  constexpr std::uint32_t blocks = 50;
  for (const std::string endpoint : runners) {
    CAPTURE(endpoint);
    host::session s(endpoint, {.channels = 2, .depth = 16});
    const volume_info v = s.create_volume({.bytes = blocks * block_bytes});
    registered memory(s, 64 * block_bytes);
    std::vector<std::uint32_t> numbers(blocks * block_bytes / 4);
    for (std::uint32_t k = 0; k < numbers.size(); ++k) numbers[k] = k / 1024 + 1;
    s.write(v, 0, numbers.data(), blocks * block_bytes);
    std::vector<std::uint32_t> wanted;
    std::uint64_t expected = 0;
    for (std::uint32_t k = 0; k < 150; ++k) {
      wanted.push_back(k * 7 % blocks);
      expected += 1024 * (std::uint64_t{wanted.back()} + 1);
    }
    std::uint64_t sum = 0;
    std::uint32_t failed = 0;
    run(s, 2, 32, add_up_blocks{}, s.ref(v), memory.buffer, wanted.data(), 150u, &sum, &failed);
    CHECK(failed == 0);
    CHECK(sum == expected);
  }
}

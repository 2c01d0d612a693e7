/// The code of docs/io.md.
#include "session_rig.hpp"

#include <doctest/doctest.h>

#include <cstring>
#include <string>

using namespace gnstor;
using namespace gnstor::literals;
using namespace gnstor::test;
namespace host = gnstor::host;

namespace {

// [snippet
/// Doubles every number of a volume. While a thread computes one block, its next is on the way.
struct double_numbers {
  std::uint32_t blocks = 0;  ///< of the volume

  template <class Lane>
  GNSTOR_HD void operator()(Lane& lane, gnstor::remote_volume volume, gnstor::io_buffer memory,
                            std::uint32_t* failed) const {
    const std::uint32_t threads = lane.grid_threads();
    const gnstor::deadline d = gnstor::simt::within(10_s);
    const auto buffer_of = [&](std::uint32_t block) {  // two a thread, in turn
      const std::uint64_t place = 2 * lane.global_thread() + block / threads % 2;
      return memory.slice(place * gnstor::block_bytes, gnstor::block_bytes);
    };
    const auto begin = [&](std::uint32_t block) -> gnstor::result<gnstor::io_ticket> {
      if (block >= blocks) return gnstor::io_ticket{};
      return volume.read_async(gnstor::vba(block), 1, buffer_of(block), d);
    };
    auto coming = begin(lane.global_thread());
    for (std::uint32_t block = lane.global_thread(); block < blocks; block += threads) {
      const auto now = coming;
      coming = begin(block + threads);
      // Where there was no room to begin it (would_block), it is read now.
      gnstor::status s =
          now ? volume.wait(now.value, d) : volume.read(gnstor::vba(block), 1, buffer_of(block), d);
      auto* number = static_cast<std::uint32_t*>(buffer_of(block).data());
      for (std::uint32_t k = 0; k < gnstor::block_bytes / 4 && s.ok(); ++k) number[k] *= 2;
      if (s.ok()) s = volume.write(gnstor::vba(block), 1, buffer_of(block), d);
      if (!s.ok()) gnstor::device_word<std::uint32_t>(*failed).fetch_add(1, gnstor::relaxed);
    }
  }
};
// snippet]

}  // namespace

TEST_CASE("the guide's kernel doubles every number of a volume") {
  constexpr std::uint32_t blocks = 100;
  for (const std::string endpoint : runners) {
    CAPTURE(endpoint);
    host::session s(endpoint, {.channels = 2, .depth = 16, .asynchronous = true});
    const volume_info v = s.create_volume({.bytes = blocks * block_bytes});
    registered memory(s, 2 * 64 * block_bytes);
    std::vector<std::uint32_t> numbers(blocks * block_bytes / 4);
    for (std::uint32_t k = 0; k < numbers.size(); ++k) numbers[k] = k;
    s.write(v, 0, numbers.data(), blocks * block_bytes);
    std::uint32_t failed = 0;
    run(s, 2, 32, double_numbers{blocks}, s.ref(v), memory.buffer, &failed);
    CHECK(failed == 0);
    s.read(v, 0, numbers.data(), blocks * block_bytes);
    for (std::uint32_t k = 0; k < numbers.size(); ++k) REQUIRE(numbers[k] == 2 * k);
  }
}

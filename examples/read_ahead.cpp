#include <gnstor/host/executor.hpp>
#include <gnstor/host/registered_memory.hpp>
#include <gnstor/host/session.hpp>

#include <cstdio>
#include <numeric>
#include <vector>

namespace host = gnstor::host;
using namespace gnstor::literals;

// [snippet
/// Doubles every number of a volume. While a thread computes one block, its next is on the way.
struct double_numbers {
  std::uint32_t blocks = 0;  ///< of the volume

  template <class Lane>
  GNSTOR_HD void operator()(Lane& lane, gnstor::remote_volume volume, gnstor::io_buffer memory,
                            std::uint32_t* failed) const {
    const std::uint32_t threads = lane.grid_threads();
    const gnstor::deadline d = gnstor::simt::within(10_s);
    const auto buffer_of = [&](std::uint32_t block) {  // two per thread, in turn
      const std::uint64_t slot = 2 * lane.global_thread() + block / threads % 2;
      return memory.slice(slot * gnstor::block_bytes, gnstor::block_bytes);
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

int main(int argc, char** argv) try {
  constexpr std::uint32_t blocks = 300, threads = 64, bytes = blocks * gnstor::block_bytes;
  // Channels of 16 requests for 32 threads: some find no room, and read their block when they want
  // it.
  host::session session(argc > 1 ? argv[1] : "emu:?capacity=64M",
                        {.depth = 16, .asynchronous = true});
  const auto volume = session.create_volume({.bytes = bytes});
  std::vector<std::uint32_t> numbers(bytes / 4), doubled(bytes / 4);
  std::iota(numbers.begin(), numbers.end(), 1u);
  session.write(volume, 0, numbers.data(), bytes);

  const host::registered_memory pages(session, 2 * threads * gnstor::block_bytes);
  const host::memory_block failures = session.allocate(4);
  host::executor kernels;
  kernels.spawn(2, threads / 2, double_numbers{blocks}, session.ref(volume), pages.buffer(),
                static_cast<std::uint32_t*>(failures.data()));
  session.attach(kernels);
  kernels.run();

  std::uint32_t failed = 0, wrong = 0;
  failures.read(0, &failed, sizeof failed);
  session.read(volume, 0, doubled.data(), bytes);
  for (std::size_t k = 0; k < numbers.size(); ++k) wrong += doubled[k] != 2 * numbers[k] ? 1 : 0;
  const bool verified = failed == 0 && wrong == 0;
  std::printf("%u threads doubled %u blocks, %u failed, %u numbers are wrong: %s\n", threads,
              blocks, failed, wrong, verified ? "right" : "WRONG");
  return verified ? 0 : 1;
} catch (const std::exception& e) {
  std::fprintf(stderr, "read_ahead: %s\n", e.what());
  return 2;
}

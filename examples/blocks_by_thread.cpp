#include <gnstor/host/executor.hpp>
#include <gnstor/host/registered_memory.hpp>
#include <gnstor/host/session.hpp>

#include <cstdio>
#include <numeric>
#include <vector>

namespace host = gnstor::host;
using namespace gnstor::literals;

struct totals {
  std::uint64_t sum;
  std::uint32_t failed;
};

/// Adds up the numbers of a volume. Each thread reads block after block into memory of its own.
struct sum_blocks {
  std::uint32_t blocks;

  template <class Lane>
  GNSTOR_HD void operator()(Lane& lane, gnstor::remote_volume volume, gnstor::io_buffer pages,
                            totals* all) const {
    const std::uint32_t me = lane.global_thread();
    const gnstor::io_buffer mine =
        pages.slice(std::uint64_t{me} * gnstor::block_bytes, gnstor::block_bytes);
    const auto* numbers = static_cast<const std::uint32_t*>(mine.data());
    std::uint64_t sum = 0;
    for (std::uint32_t block = me; block < blocks; block += lane.grid_threads()) {
      const gnstor::status s = volume.read(gnstor::vba(block), 1, mine, gnstor::simt::within(10_s));
      if (!s.ok()) gnstor::device_word<std::uint32_t>(all->failed).fetch_add(1, gnstor::relaxed);
      if (s.left_behind()) break;  // an SSD may still write this thread's page
      for (std::uint32_t k = 0; s.ok() && k < gnstor::block_bytes / 4; ++k) sum += numbers[k];
    }
    gnstor::device_word<std::uint64_t>(all->sum).fetch_add(sum, gnstor::relaxed);
  }
};

int main(int argc, char** argv) try {
  constexpr std::uint32_t blocks = 300, threads = 64;
  host::session session(argc > 1 ? argv[1] : "emu:?capacity=64M");
  const auto volume = session.create_volume({.bytes = blocks * gnstor::block_bytes});
  std::vector<std::uint32_t> numbers(blocks * gnstor::block_bytes / 4);
  std::iota(numbers.begin(), numbers.end(), 1u);
  session.write(volume, 0, numbers.data(), blocks * gnstor::block_bytes);

  const host::registered_memory pages(session, threads * gnstor::block_bytes);
  const host::memory_block all = session.allocate(sizeof(totals));
  host::executor kernels;
  kernels.spawn(2, threads / 2, sum_blocks{blocks}, session.ref(volume), pages.buffer(),
                static_cast<totals*>(all.data()));
  session.attach(kernels);
  kernels.run();

  totals found{};
  all.read(0, &found, sizeof found);
  const auto right = std::accumulate(numbers.begin(), numbers.end(), std::uint64_t{0});
  const bool verified = found.sum == right && found.failed == 0;
  std::printf("%u threads read %u blocks: their sum is %llu, %s\n", threads, blocks,
              static_cast<unsigned long long>(found.sum), verified ? "right" : "WRONG");
  return verified ? 0 : 1;
} catch (const std::exception& e) {
  std::fprintf(stderr, "blocks_by_thread: %s\n", e.what());
  return 2;
}

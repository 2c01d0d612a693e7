#include <gnstor/host/executor.hpp>
#include <gnstor/host/registered_memory.hpp>
#include <gnstor/host/session.hpp>
#include <gnstor/simt/warp_number.hpp>

#include <cstdio>
#include <numeric>
#include <vector>

namespace host = gnstor::host;
using namespace gnstor::literals;

struct totals {
  std::uint64_t sum;
  std::uint32_t failed;
};

/// Adds up the numbers of a volume. The lanes of a warp read a run of blocks together: each sends
/// some of its pieces, and each adds up some of its numbers.
struct sum_runs {
  static constexpr std::uint32_t run_blocks = 64;
  std::uint32_t runs;

  template <class Lane>
  GNSTOR_HD void operator()(Lane& lane, gnstor::remote_volume volume, gnstor::io_buffer pages,
                            totals* all) const {
    const auto warp = lane.warp();
    const std::uint64_t bytes = std::uint64_t{run_blocks} * gnstor::block_bytes;
    const gnstor::io_buffer ours = pages.slice(gnstor::simt::warp_number() * bytes, bytes);
    const auto* numbers = static_cast<const std::uint32_t*>(ours.data());
    std::uint64_t sum = 0;
    for (std::uint32_t run = gnstor::simt::warp_number(); run < runs;
         run += gnstor::simt::warp_count()) {
      const gnstor::status s =
          volume.read_together(warp, gnstor::vba(run * run_blocks), run_blocks, ours,
                               gnstor::simt::within(10_s));  // every lane the same
      if (!s.ok() && warp.leads())
        gnstor::device_word<std::uint32_t>(all->failed).fetch_add(1, gnstor::relaxed);
      if (s.left_behind()) break;  // an SSD may still write the warp's pages
      for (std::uint64_t k = warp.thread_rank(); s.ok() && k < bytes / 4; k += warp.size())
        sum += numbers[k];
      warp.sync();  // all have read the numbers before the next run takes their place
    }
    gnstor::device_word<std::uint64_t>(all->sum).fetch_add(sum, gnstor::relaxed);
  }
};

int main(int argc, char** argv) try {
  constexpr std::uint32_t runs = 10, warps = 4;
  constexpr std::uint64_t run_bytes = sum_runs::run_blocks * gnstor::block_bytes;
  host::session session(argc > 1 ? argv[1] : "emu:?capacity=64M");
  const auto volume = session.create_volume({.bytes = runs * run_bytes});
  std::vector<std::uint32_t> numbers(runs * run_bytes / 4);
  std::iota(numbers.begin(), numbers.end(), 1u);
  session.write(volume, 0, numbers.data(), runs * run_bytes);

  const host::registered_memory pages(session, warps * run_bytes);
  const host::memory_block all = session.allocate(sizeof(totals));
  host::executor kernels;
  kernels.spawn(2, 32 * warps / 2, sum_runs{runs}, session.ref(volume), pages.buffer(),
                static_cast<totals*>(all.data()));
  session.attach(kernels);
  kernels.run();

  totals found{};
  all.read(0, &found, sizeof found);
  const auto right = std::accumulate(numbers.begin(), numbers.end(), std::uint64_t{0});
  const bool verified = found.sum == right && found.failed == 0;
  std::printf("%u warps read %u runs of %u blocks: their sum is %llu, %s\n", warps, runs,
              sum_runs::run_blocks, static_cast<unsigned long long>(found.sum),
              verified ? "right" : "WRONG");
  return verified ? 0 : 1;
} catch (const std::exception& e) {
  std::fprintf(stderr, "blocks_by_warp: %s\n", e.what());
  return 2;
}

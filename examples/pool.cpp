#include <gnstor/host/executor.hpp>
#include <gnstor/host/session.hpp>
#include <gnstor/host/session_pool.hpp>

#include <cstdio>
#include <numeric>
#include <vector>

namespace host = gnstor::host;
using namespace gnstor::literals;

struct totals {
  std::uint64_t sum;
  std::uint32_t failed;
};

/// Adds up the numbers of a volume. Each thread takes a buffer for its block from the session's
/// pool, which grows while the kernel runs.
struct sum_by_pool {
  template <class Lane>
  GNSTOR_HD void operator()(Lane& lane, gnstor::remote_volume volume,
                            gnstor::expandable_pool<> pool, totals* all) const {
    const gnstor::deadline d = gnstor::simt::within(10_s);
    auto page = pool.allocate(gnstor::block_bytes);
    for (gnstor::until grown{d}; grown && !page; page = pool.allocate(gnstor::block_bytes))
      lane.pause();
    gnstor::status s = page.status;
    if (page) s = volume.read(gnstor::vba(lane.global_thread()), 1, page.value, d);
    if (!s.ok()) {  // the buffer is not given back: an SSD may still write it
      gnstor::device_word<std::uint32_t>(all->failed).fetch_add(1, gnstor::relaxed);
      return;
    }
    const auto* numbers = static_cast<const std::uint32_t*>(page.value.data());
    std::uint64_t sum = 0;
    for (std::uint32_t k = 0; k < gnstor::block_bytes / 4; ++k) sum += numbers[k];
    (void)pool.release(page.value);
    gnstor::device_word<std::uint64_t>(all->sum).fetch_add(sum, gnstor::relaxed);
  }
};

int main(int argc, char** argv) try {
  constexpr std::uint32_t blocks = 512;
  host::session session(argc > 1 ? argv[1] : "emu:?capacity=64M");
  const auto volume = session.create_volume({.bytes = blocks * gnstor::block_bytes});
  std::vector<std::uint32_t> numbers(blocks * gnstor::block_bytes / 4);
  std::iota(numbers.begin(), numbers.end(), 1u);
  session.write(volume, 0, numbers.data(), blocks * gnstor::block_bytes);

  const host::session_pool pool = session.pool({.initial_bytes = 1 << 20, .max_bytes = 4 << 20});
  const host::memory_block all = session.allocate(sizeof(totals));
  host::executor kernels;
  kernels.spawn(4, blocks / 4, sum_by_pool{}, session.ref(volume), pool.ref(),
                static_cast<totals*>(all.data()));
  session.attach(kernels);
  kernels.run();

  totals found{};
  all.read(0, &found, sizeof found);
  const auto right = std::accumulate(numbers.begin(), numbers.end(), std::uint64_t{0});
  const bool verified = found.sum == right && found.failed == 0;
  std::printf("%u threads read with buffers of a pool: the sum is %llu, %s\n", blocks,
              static_cast<unsigned long long>(found.sum), verified ? "right" : "WRONG");
  return verified ? 0 : 1;
} catch (const std::exception& e) {
  std::fprintf(stderr, "pool: %s\n", e.what());
  return 2;
}

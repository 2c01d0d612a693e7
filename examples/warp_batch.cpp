#include <gnstor/channel/warp_batch.hpp>
#include <gnstor/host/executor.hpp>
#include <gnstor/host/registered_memory.hpp>
#include <gnstor/host/session.hpp>

#include <cstdio>
#include <numeric>
#include <vector>

namespace host = gnstor::host;
using namespace gnstor::literals;

/// Adds up the numbers of a volume in batches. A thread whose block has come adds it up and asks
/// for its next one, while the blocks of other threads of its warp are on the way.
struct sum_batches {
  static constexpr std::uint32_t warps = 2;  ///< of a block
  using batch = gnstor::warp_batch<warps, gnstor::remote_volume>;
  struct shared {
    batch::storage slots;
  };
  std::uint32_t blocks;

  template <class Lane>
  GNSTOR_HD void operator()(Lane& lane, gnstor::remote_volume volume, gnstor::io_buffer pages,
                            std::uint64_t* sum, std::uint32_t* added) const {
    const auto warp = lane.warp();
    const batch ours(warp, volume, lane.shared().slots, lane.thread() / 32);
    const gnstor::io_buffer mine =
        pages.slice(std::uint64_t{lane.global_thread()} * gnstor::block_bytes, gnstor::block_bytes);
    const auto add = [&](gnstor::status s) {
      const auto* numbers = static_cast<const std::uint32_t*>(mine.data());
      std::uint64_t block_sum = 0;
      for (std::uint32_t k = 0; s.ok() && k < gnstor::block_bytes / 4; ++k) block_sum += numbers[k];
      gnstor::device_word<std::uint64_t>(*sum).fetch_add(block_sum, gnstor::relaxed);
      gnstor::device_word<std::uint32_t>(*added).fetch_add(s.ok() ? 1 : 0, gnstor::relaxed);
    };
    const auto d = gnstor::simt::within(10_s);
    std::uint32_t next = lane.global_thread();
    // All lanes of the warp come along to every stage, also those that want nothing.
    for (gnstor::until more{d}; warp.any(more && next < blocks ? 1 : 0);) {
      const gnstor::status s = ours.submit(warp, next < blocks, [&](const auto& io) {
        return io.read_async(gnstor::vba(next), 1, mine, d);
      });
      if (s.ok()) next += lane.grid_threads();
      ours.commit(warp);
      if (ours.poll(warp)) more.progressed();
      (void)ours.dispatch(warp, add);
    }
    ours.drain(warp, d, add);
  }
};

int main(int argc, char** argv) try {
  constexpr std::uint32_t blocks = 300, threads = 2 * 32 * sum_batches::warps;
  host::session session(argc > 1 ? argv[1] : "emu:?capacity=64M", {.asynchronous = true});
  const auto volume = session.create_volume({.bytes = blocks * gnstor::block_bytes});
  std::vector<std::uint32_t> numbers(blocks * gnstor::block_bytes / 4);
  std::iota(numbers.begin(), numbers.end(), 1u);
  session.write(volume, 0, numbers.data(), blocks * gnstor::block_bytes);

  const host::registered_memory pages(session, threads * gnstor::block_bytes);
  const host::memory_block words = session.allocate(16);
  auto* const sum = static_cast<std::uint64_t*>(words.data());
  host::executor kernels;
  kernels.spawn(2, threads / 2, sum_batches{blocks}, session.ref(volume), pages.buffer(), sum,
                reinterpret_cast<std::uint32_t*>(sum + 1));
  session.attach(kernels);
  kernels.run();

  std::uint64_t found[2] = {};
  words.read(0, found, sizeof found);
  const bool verified = found[0] == 47186073600 && found[1] == blocks;
  std::printf("%llu blocks in batches: their sum is %llu, %s\n",
              static_cast<unsigned long long>(found[1]), static_cast<unsigned long long>(found[0]),
              verified ? "right" : "WRONG");
  return verified ? 0 : 1;
} catch (const std::exception& e) {
  std::fprintf(stderr, "warp_batch: %s\n", e.what());
  return 2;
}

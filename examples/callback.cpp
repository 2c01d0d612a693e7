#include <gnstor/host/executor.hpp>
#include <gnstor/host/registered_memory.hpp>
#include <gnstor/host/session.hpp>
#include <gnstor/io/callback_table.hpp>

#include <cstdio>
#include <numeric>
#include <vector>

namespace host = gnstor::host;
using namespace gnstor::literals;

struct totals {
  std::uint64_t sum;
  std::uint32_t right, ended;  ///< blocks
};

/// Called once for each block, in whichever lane dispatches it; `argument` is the block.
struct add_block {
  gnstor::io_buffer pages;
  totals* all;

  GNSTOR_HD void operator()(const gnstor::io_event& e) const {
    const auto* numbers = static_cast<const std::uint32_t*>(pages.data()) + e.argument * 1024;
    std::uint64_t sum = 0;
    for (std::uint32_t k = 0; e.outcome.ok() && k < 1024; ++k) sum += numbers[k];
    gnstor::device_word<std::uint64_t>(all->sum).fetch_add(sum, gnstor::relaxed);
    gnstor::device_word<std::uint32_t>(all->right).fetch_add(e.outcome.ok(), gnstor::relaxed);
    gnstor::device_word<std::uint32_t>(all->ended).fetch_add(1, gnstor::relaxed);
  }
};
using callbacks = gnstor::callback_table<add_block>;

/// Begins to read every block, and calls back until all have ended. No lane waits for its own.
struct read_blocks {
  std::uint32_t blocks;

  template <class Lane>
  GNSTOR_HD void operator()(Lane& lane, gnstor::remote_volume volume, callbacks table,
                            gnstor::io_buffer pages, totals* all) const {
    const auto d = gnstor::simt::within(10_s);
    std::uint32_t next = lane.global_thread();
    for (gnstor::until more{d}; more;) {  // where there is no room to begin: dispatch, try again
      if (next < blocks) {
        const auto page = pages.slice(std::uint64_t{next} * 4096, 4096);
        if (volume.read_async(gnstor::vba(next), 1, page, d, {callbacks::id<add_block>(), next}))
          next += lane.grid_threads();
      } else if (gnstor::device_word<std::uint32_t>(all->ended).load(gnstor::relaxed) == blocks) {
        break;
      }
      if (volume.dispatch(table)) more.progressed();
    }
  }
};

int main(int argc, char** argv) try {
  constexpr std::uint32_t blocks = 300, bytes = blocks * gnstor::block_bytes;
  host::session session(argc > 1 ? argv[1] : "emu:?capacity=64M", {.asynchronous = true});
  const auto volume = session.create_volume({.bytes = bytes});
  std::vector<std::uint32_t> numbers(bytes / 4);
  std::iota(numbers.begin(), numbers.end(), 1u);
  session.write(volume, 0, numbers.data(), bytes);
  const host::registered_memory pages(session, bytes);
  const host::memory_block all = session.allocate(sizeof(totals));
  auto* const sums = static_cast<totals*>(all.data());
  host::executor kernels;
  kernels.spawn(2, 32, read_blocks{blocks}, session.ref(volume),
                callbacks(add_block{pages.buffer(), sums}), pages.buffer(), sums);
  session.attach(kernels);
  kernels.run();
  totals found{};
  all.read(0, &found, sizeof found);
  const bool verified = found.sum == 47186073600 && found.right == blocks;
  std::printf("%u callbacks have added up a volume: %s\n", found.ended,
              verified ? "right" : "WRONG");
  return verified ? 0 : 1;
} catch (const std::exception& e) {
  std::fprintf(stderr, "callback: %s\n", e.what());
  return 2;
}

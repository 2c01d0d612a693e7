#include <gnstor/host/executor.hpp>
#include <gnstor/host/registered_memory.hpp>
#include <gnstor/host/session.hpp>

#include <chrono>
#include <cstddef>
#include <cstdio>
#include <stop_token>
#include <thread>
#include <vector>

namespace host = gnstor::host;
using namespace gnstor::literals;

struct progress {
  std::uint64_t written;
  std::uint64_t failed;
  std::uint64_t ssd_is_dead;
};

/// Each lane writes a block of its own again and again, also `more` times after an SSD has died.
struct write_on {
  std::uint64_t more;

  template <class Lane>
  GNSTOR_HD void operator()(Lane& lane, gnstor::remote_volume volume, gnstor::io_buffer memory,
                            progress* all) const {
    const auto block = static_cast<std::uint32_t>(lane.global_thread());
    const gnstor::io_buffer mine = memory.slice(block * 4096ull, 4096);
    const gnstor::device_word<std::uint64_t> is_dead(all->ssd_is_dead);
    for (std::uint64_t left = more; left != 0; left -= is_dead.load(gnstor::relaxed)) {
      for (std::uint32_t k = 0; k < 512; ++k) static_cast<std::uint64_t*>(mine.data())[k] = left;
      const gnstor::status s =
          volume.write(gnstor::vba(block), 1, mine, gnstor::simt::within(20_s));
      gnstor::device_word<std::uint64_t>(s.ok() ? all->written : all->failed)
          .fetch_add(1, gnstor::relaxed);
      if (s.left_behind()) break;  // an SSD may still read this lane's page
    }
  }
};

int main(int argc, char** argv) try {
  constexpr std::uint32_t lanes = 64;
  host::session session(argc > 1 ? argv[1] : "emu:?manager=yes&ssds=4&replicas=2&capacity=64M");
  const auto volume =
      session.create_volume({.bytes = lanes * 4096, .stripe_blocks = 1, .name = "results"});
  const host::registered_memory blocks(session, lanes * 4096);
  const host::memory_block all = session.allocate(sizeof(progress));
  const auto so_far = [&] {
    progress p{};
    all.read(0, &p, sizeof p);
    return p;
  };

  std::jthread fate([&](const std::stop_token& over) {
    while (so_far().written < 1000 && so_far().failed == 0 && !over.stop_requested())
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    session.inject_fault(1, "dead");
    constexpr std::uint64_t yes = 1;
    all.write(offsetof(progress, ssd_is_dead), &yes, sizeof yes);
  });
  host::executor kernels;
  kernels.spawn(2, lanes / 2, write_on{100}, session.ref(volume), blocks.buffer(),
                static_cast<progress*>(all.data()));
  session.attach(kernels);
  kernels.run();
  fate.join();

  const progress p = so_far();
  const bool is_out = (session.ssds().absent >> 1 & 1) != 0;
  std::vector<std::uint64_t> found(lanes * 512);
  session.read(volume, 0, found.data(), lanes * 4096);
  std::uint64_t wrong = 0;
  for (const std::uint64_t word : found) wrong += word != 1 ? 1 : 0;  // what was written last
  std::printf("SSD 1 %s under a kernel, which lost %llu of %llu writes; %llu words are wrong\n",
              is_out ? "died" : "DID NOT DIE", static_cast<unsigned long long>(p.failed),
              static_cast<unsigned long long>(p.written + p.failed),
              static_cast<unsigned long long>(wrong));
  return is_out && p.failed == 0 && wrong == 0 ? 0 : 1;
} catch (const std::exception& e) {
  std::fprintf(stderr, "failed_ssd: %s\n", e.what());
  return 2;
}

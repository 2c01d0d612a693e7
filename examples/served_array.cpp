#include <gnstor/host/array.hpp>

#include <cstdio>
#include <vector>

namespace host = gnstor::host;

/// Counts the numbers of each size by `view[i]`: the kernel carries no I/O code, because a pager
/// fetches what it misses.
struct count_sizes {
  template <class Lane>
  GNSTOR_HD void operator()(Lane& lane, gnstor::served_array<const std::uint32_t> numbers,
                            gnstor::served_array<std::uint32_t> counts) const {
    for (std::uint64_t i = lane.global_thread(); i < numbers.size(); i += lane.grid_threads()) {
      numbers.prefetch(i + lane.grid_threads());  // what this lane reads next
      (void)atomicAdd(counts[numbers[i] % counts.size()], 1u);
    }
  }
};

int main(int argc, char** argv) try {
  constexpr std::uint32_t count = 1 << 18, sizes = 4096;
  host::session session(argc > 1 ? argv[1] : "emu:?capacity=64M");
  const auto on_volume = [&](std::uint64_t elements) {
    return host::array<std::uint32_t>(session, session.create_volume({.bytes = 4 * elements}),
                                      elements, {.page_bytes = 4096});
  };
  auto numbers = on_volume(count), counts = on_volume(sizes);
  std::vector<std::uint32_t> some(count);
  for (std::uint32_t i = 0; i < count; ++i) some[i] = i * 2654435761u >> 7;
  numbers.write(0, count, some.data());

  host::executor kernels;
  kernels.spawn(4, 64, count_sizes{}, numbers.served_view().read_only(), counts.served_view());
  session.attach(kernels);
  numbers.attach(kernels);  // their pagers start before the kernel, and end with it
  counts.attach(kernels);
  kernels.run();
  counts.flush();  // throws if view[i] failed anywhere
  numbers.flush();

  std::vector<std::uint32_t> found(sizes), right(sizes);
  counts.read(0, sizes, found.data());
  for (const std::uint32_t n : some) ++right[n % sizes];
  std::printf("%u numbers are counted, %s\n", count, found == right ? "right" : "WRONG");
  return found == right ? 0 : 1;
} catch (const std::exception& e) {
  std::fprintf(stderr, "served_array: %s\n", e.what());
  return 2;
}

#include <gnstor/host/memory_array.hpp>

#include <cstdio>
#include <numeric>
#include <string>
#include <vector>

namespace host = gnstor::host;

/// Sums an array that lies in another machine's memory: the kernel reads its pages by RDMA, and
/// that machine's CPU has no part in it.
struct sum_elements {
  template <class Lane, class View>
  GNSTOR_HD void operator()(Lane& lane, View view, std::uint64_t* sum) const {
    std::uint64_t mine = 0;
    for (std::uint64_t i = lane.global_thread(); i < view.size(); i += lane.grid_threads()) {
      mine += view[i];
    }
    gnstor::device_word<std::uint64_t>(*sum).fetch_add(mine, gnstor::relaxed);
  }
};

int main(int argc, char** argv) try {
  if (argc > 2) {
    std::fprintf(stderr, "usage: remote_memory_sum [ENDPOINT]\n");
    return 2;
  }
  host::remote_memory memory(argc == 2 ? argv[1] : "emu-memory:?bytes=1M");
  for (const std::string& note : memory.notes()) std::fprintf(stderr, "%s\n", note.c_str());
  std::vector<std::uint32_t> numbers(memory.bytes() / 4);
  std::iota(numbers.begin(), numbers.end(), 1u);
  memory.write(0, numbers.data(), 4 * numbers.size());  // this CPU, by RDMA too

  host::memory_array<std::uint32_t> array(memory, numbers.size(), {.page_bytes = 4096});
  const host::memory_block sum(memory.client_place(), sizeof(std::uint64_t));
  host::executor kernels;
  kernels.spawn(4, 128, sum_elements{}, array.view(), static_cast<std::uint64_t*>(sum.data()));
  memory.attach(kernels);
  kernels.run();
  array.close();  // throws if view[i] failed anywhere

  std::uint64_t read = 0;
  sum.read(0, &read, sizeof read);
  const std::uint64_t n = numbers.size();
  const bool right = read == n * (n + 1) / 2;
  std::printf("the kernel's sum of %llu numbers is %llu, %s\n", static_cast<unsigned long long>(n),
              static_cast<unsigned long long>(read), right ? "right" : "WRONG");
  return right ? 0 : 1;
} catch (const std::exception& e) {
  std::fprintf(stderr, "remote_memory_sum: %s\n", e.what());
  return 2;
}

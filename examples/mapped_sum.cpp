#include <gnstor/host/mapped_array.hpp>

#include <algorithm>
#include <cstdio>
#include <string>

namespace host = gnstor::host;

/// Sums an array that lies in a file: its pages come in on demand, and the kernel itself fetches
/// them, without an array node, a NIC or a CPU thread.
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
  if (argc != 2) {
    std::fprintf(stderr, "usage: mapped_sum FILE\n");
    return 2;
  }
  host::mapped_memory memory("file:" + std::string(argv[1]) + "?write=no");
  for (const std::string& note : memory.notes()) std::fprintf(stderr, "%s\n", note.c_str());
  const std::uint64_t count = memory.bytes() / 4;
  host::mapped_array<std::uint32_t> array(memory, count, {.page_bytes = 4096});

  constexpr bool on_gpu = host::this_machine == host::machine::gpu;
  host::memory_block sum(on_gpu ? host::place::device : host::place::host, sizeof(std::uint64_t));
  host::executor kernels;
  kernels.spawn(on_gpu ? 528 : 4, 128, sum_elements{}, array.view(),
                static_cast<std::uint64_t*>(sum.data()));
  kernels.run();
  array.close();  // throws if view[i] failed anywhere

  std::uint64_t read = 0;
  sum.read(0, &read, sizeof read);
  std::uint64_t right = 0;
  std::for_each_n(memory.as<std::uint32_t>(), count, [&](std::uint32_t x) { right += x; });
  std::printf("the kernel's sum of %llu numbers is %llu, %s\n",
              static_cast<unsigned long long>(count), static_cast<unsigned long long>(read),
              read == right ? "right" : "WRONG");
  return read == right ? 0 : 1;
} catch (const std::exception& e) {
  std::fprintf(stderr, "mapped_sum: %s\n", e.what());
  return 2;
}

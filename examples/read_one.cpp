#include <gnstor/host/array.hpp>

#include <cstdio>
#include <numeric>
#include <string>
#include <vector>

namespace host = gnstor::host;

/// Sums an array that lies on a remote volume: one element per lane, its page comes in on demand.
struct sum_elements {
  template <class Lane>
  GNSTOR_HD void operator()(Lane& lane, gnstor::remote_array<std::uint32_t> view,
                            std::uint64_t* sum) const {
    const std::uint32_t element = view[lane.global_thread()];
    gnstor::device_word<std::uint64_t>(*sum).fetch_add(element, gnstor::relaxed);
  }
};

int main(int argc, char** argv) try {
  const std::string endpoint = argc > 1 ? argv[1] : "emu:?capacity=64M";
  unsigned vid = 0;  // of a volume from an earlier run
  char more = 0;
  if (argc > 3 || (argc == 3 && std::sscanf(argv[2], "%5u%c", &vid, &more) != 1) || vid > 65535) {
    std::fprintf(stderr, "usage: read_one [ENDPOINT [VID of a volume to read, not a new one]]\n");
    return 2;
  }

  host::session session(endpoint);
  std::vector<std::uint32_t> numbers(1024);
  std::iota(numbers.begin(), numbers.end(), 1u);
  const auto volume = vid == 0 ? session.create_volume({.bytes = 4096})
                               : session.open_volume(gnstor::volume_id(std::uint16_t(vid)));
  if (vid == 0) session.write(volume, 0, numbers.data(), 4096);

  host::array<std::uint32_t> array(session, volume, numbers.size(), {.page_bytes = 4096});
  host::memory_block sum = session.allocate(sizeof(std::uint64_t));
  host::executor kernels;
  kernels.spawn(8, 128, sum_elements{}, array.view(), static_cast<std::uint64_t*>(sum.data()));
  session.attach(kernels);
  kernels.run();
  array.close();  // throws if view[i] failed anywhere, or a page cannot be written back

  std::uint64_t read = 0;
  sum.read(0, &read, sizeof read);
  const std::uint64_t right = std::accumulate(numbers.begin(), numbers.end(), std::uint64_t{0});
  std::printf("the kernel read volume %d: its sum is %llu, %s\n", int{volume.vid.value},
              static_cast<unsigned long long>(read), read == right ? "right" : "WRONG");
  return read == right ? 0 : 1;
} catch (const std::exception& e) {
  std::fprintf(stderr, "read_one: %s\n", e.what());
  return 2;
}

#include <gnstor/host/array.hpp>

#include <cstdio>
#include <numeric>
#include <string>
#include <vector>

namespace host = gnstor::host;

/// Sums an array that another host wrote.
struct sum_elements {
  template <class Lane>
  GNSTOR_HD void operator()(Lane& lane, gnstor::remote_array<std::uint32_t> view,
                            std::uint64_t* sum) const {
    const std::uint32_t element = view[lane.global_thread()];
    gnstor::device_word<std::uint64_t>(*sum).fetch_add(element, gnstor::relaxed);
  }
};

/// The writer makes a volume, lets the reader open it, and gives back the right to write it.
gnstor::volume_id publish(host::session writer, const std::vector<std::uint32_t>& numbers) {
  const auto volume = writer.create_volume({.bytes = numbers.size() * 4});
  writer.write(volume, 0, numbers.data(), numbers.size() * 4);
  writer.admit(volume.vid, "reader");
  writer.close_volume(volume.vid);
  return volume.vid;
}

/// A host that was admitted opens the volume by its id. What its kernel adds up.
std::uint64_t sum_of(host::session reader, gnstor::volume_id vid, std::size_t count) {
  const auto volume = reader.open_volume(vid);
  host::array<std::uint32_t> array(reader, volume, count, {.page_bytes = 4096});
  const host::memory_block sum(reader.client_place(), 8, reader.options().device);
  host::executor kernels;
  kernels.spawn(8, 128, sum_elements{}, array.view(), static_cast<std::uint64_t*>(sum.data()));
  reader.attach(kernels);
  kernels.run();
  array.close();
  std::uint64_t found = 0;
  sum.read(0, &found, sizeof found);
  return found;
}

/// True if a host that nobody admitted may not open the volume.
bool is_refused(host::session stranger, gnstor::volume_id vid) try {
  (void)stranger.open_volume(vid);
  return false;
} catch (const host::io_error& refused) {
  std::printf("a stranger: %s\n", refused.what());
  return true;
}

int main(int argc, char** argv) try {
  if (argc != 2) {
    std::fprintf(stderr, "usage: shared_volume emu:?flash=DIR or rdma://HOST/NQN\n");
    return 2;
  }
  // A host is who it says it is by `host_name`. An array behind `rdma://` serves many sessions at
  // once; one that is emulated in the process serves one after another, from its files.
  const auto as = [&](const char* name) { return host::session(argv[1], {.host_name = name}); };
  std::vector<std::uint32_t> numbers(1024);
  std::iota(numbers.begin(), numbers.end(), 1u);
  const auto vid = publish(as("writer"), numbers);
  const bool refused = is_refused(as("stranger"), vid);
  const auto sum = sum_of(as("reader"), vid, numbers.size());
  as("writer").delete_volume(vid);
  const bool verified = refused && sum == 524800;
  std::printf("the reader's sum of the writer's volume is %llu, %s\n",
              static_cast<unsigned long long>(sum), verified ? "right" : "WRONG");
  return verified ? 0 : 1;
} catch (const std::exception& e) {
  std::fprintf(stderr, "shared_volume: %s\n", e.what());
  return 2;
}

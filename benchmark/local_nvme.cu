// Reads of an emulated local NVMe controller from kernels of a GPU, its workers on the same GPU:
// one at a time beside a lane that drives the queue by hand, and as many as 4,096 threads ask for.
// `link_ratio` is to SMs that copy the same bytes from host memory in scattered pages.
#include "local_nvme/reads.hpp"
#include "volume_io/hardware.cuh"

namespace {

using namespace gnstor::benchmarks;

double from_host_memory() { return hardware::get().load_limit(); }

const bool registered = [] {
  for (const char* media : {"hbm", "host"}) {
    const std::string where = std::string("emu-nvme:?lba=512&bytes=1G&media=") + media;
    const auto limit = std::string(media) == "host" ? from_host_memory : nullptr;
    for (const std::uint32_t bytes : {512u, 4096u}) {
      const std::string size = std::string(media) + "/" + std::to_string(bytes);
      add_local("lone/" + size, lone_reads, where, bytes, 20'000, 5);
      for (const char* workers : {"2", "3", "4", "5", "8"}) {
        add_local("many/" + size + "/queues:32/workers:" + workers, many_reads<128>,
                  where + "&workers=" + workers, 32, bytes, 2000, 3, limit);
      }
      add_local("many/" + size + "/queues:64/workers:2", many_reads<64>, where + "&workers=2", 64,
                bytes, 2000, 3, limit);
    }
  }
  return true;
}();

}  // namespace

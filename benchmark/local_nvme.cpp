// Reads of an emulated local NVMe controller from kernels of the host runtime: what a queue pair
// and a channel cost beside a lane that polls the same controller by hand.
#include "local_nvme/reads.hpp"

namespace {

using namespace gnstor::benchmarks;

const bool registered = [] {
  for (const std::uint32_t bytes : {512u, 4096u}) {
    const std::string size = std::to_string(bytes);
    add_local("lone/cpu/" + size, lone_reads, "emu-nvme:?lba=512&runner=cpu", bytes, 2000, 5);
    add_local("many/cpu/" + size, many_reads<32>, "emu-nvme:?lba=512&runner=cpu", 4, bytes, 200, 5,
              nullptr);
  }
  return true;
}();

}  // namespace

#include "gather.hpp"

#include <cstdlib>

namespace gnstor::host::probe {
namespace {

constexpr int lock_capability = 14;   // CAP_IPC_LOCK
constexpr int admin_capability = 21;  // CAP_SYS_ADMIN
constexpr int net_capability = 12;    // CAP_NET_ADMIN

/// The kernel honours CAP_IPC_LOCK for pinning only outside user namespaces.
bool maps_all_users(const file_tree& files) {
  const auto map = words_of(files.text("/proc/self/uid_map"));
  return map.empty() || (map.size() == 3 && map[0] == "0" && map[1] == "0");
}

process_facts gather_process(const file_tree& files) {
  process_facts out;
  for (const auto& line : files.lines("/proc/self/limits")) {
    if (!line.starts_with("Max locked memory")) continue;
    const auto words = words_of(line);
    if (words.size() < 4) continue;
    out.locked_memory_bytes = words[3] == "unlimited" ? ~std::uint64_t{0} : number_of(words[3]);
  }
  for (const auto& line : files.lines("/proc/self/status")) {
    const auto words = words_of(line);
    if (words.size() < 2 || words[0] != "CapEff:") continue;
    out.may_lock_any = (number_of(words[1], 16) >> lock_capability & 1) != 0;
    out.may_make_interfaces = (number_of(words[1], 16) >> net_capability & 1) != 0;
    out.is_root = (number_of(words[1], 16) >> admin_capability & 1) != 0;
  }
  out.may_lock_any = out.may_lock_any && maps_all_users(files);
  return out;
}

}  // namespace

build_facts this_build() {
  build_facts out;
#if defined(GNSTOR_WITH_CUDA)
  out.cuda = true;
#endif
#if defined(GNSTOR_WITH_RDMA)
  out.rdma = true;
#endif
  return out;
}

machine_facts gather(const file_tree& files) {
  machine_facts out;
  out.build = this_build();
  out.process = gather_process(files);
  out.kernel = gather_kernel(files);
  out.nvidia = gather_nvidia_driver(files);
  out.gpus = gather_gpus(files);
  out.rdma = gather_rdma(files);
  out.nvme = gather_nvme(files);
  out.ethernet = gather_ethernet(files);
  out.rdma_nodes = files.names("/dev/infiniband");
  out.connection_manager = files.node("/dev/infiniband/rdma_cm");
  out.udmabuf = files.node("/dev/udmabuf");
  out.tun = files.node("/dev/net/tun");
  return out;
}

}  // namespace gnstor::host::probe

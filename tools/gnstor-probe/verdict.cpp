#include "verdict.hpp"

#include "rules.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace gnstor::host::probe {
namespace {

verdict judged(std::string scheme, std::string means, std::string remedy) {
  verdict out;
  out.scheme = std::move(scheme);
  out.means = std::move(means);
  out.works = remedy.empty();
  out.remedy = std::move(remedy);
  return out;
}

verdict by_proxy(const machine_facts& facts) {
  auto out =
      judged("rdma:// by proxy", "a CPU thread posts what kernels ask for", rdma_obstacle(facts));
  if (!out.works) return out;
  const auto soft = [](const auto& device) { return device.driver == "rdma_rxe"; };
  if (std::all_of(facts.rdma.begin(), facts.rdma.end(), soft)) {
    out.notes.push_back("soft-RoCE runs on this CPU: right, but not fast");
  }
  const auto takes_gpu_memory = [&](const auto& device) {
    return registers_gpu_memory(facts, device).value_or(false);
  };
  if (!facts.gpus.empty() && std::none_of(facts.rdma.begin(), facts.rdma.end(), takes_gpu_memory)) {
    out.notes.push_back(
        "no RDMA device registers GPU memory: payload goes through pinned host memory");
  }
  return out;
}

/// GPU, then RDMA through a ConnectX alone, then what a doorbell needs.
std::string connectx_obstacle(const machine_facts& facts) {
  if (auto remedy = gpu_obstacle(facts); !remedy.empty()) return remedy;
  machine_facts only = facts;
  only.rdma = connectx_devices(facts);
  if (only.rdma.empty() && !facts.rdma.empty()) return doorbell_obstacle(only);
  if (only.rdma.empty() && state_of(facts, "mlx5_core") != module_state::loaded) {
    return doorbell_obstacle(only);
  }
  if (auto remedy = rdma_obstacle(only); !remedy.empty()) return remedy;
  return doorbell_obstacle(only);
}

verdict by_doorbell(const machine_facts& facts) {
  auto out = judged("rdma:// by ConnectX", "kernels ring the NIC's doorbell themselves",
                    connectx_obstacle(facts));
  if (!out.works) return out;
  out.notes.push_back(
      "the ConnectX path is tested against recorded calls and an emulated NIC, not on a card");
  const auto tried = [](const auto& device) { return device.doorbell.tried; };
  if (std::none_of(facts.rdma.begin(), facts.rdma.end(), tried)) {
    out.notes.push_back("mapping the doorbell was not tried");
  }
  if (!facts.kernel.acs_redirecting.empty()) {
    out.notes.push_back(fmt::format(
        "ACS sends peer traffic through the root complex at {} ({} bridges in all): switch it off "
        "in the BIOS or by setpci for full speed",
        facts.kernel.acs_redirecting.front(), facts.kernel.acs_redirecting.size()));
  }
  return out;
}

verdict through_linux(const machine_facts& facts) {
  auto out = judged("nvme:// by Linux", "an SSD that its driver keeps, by io_uring",
                    kept_nvme_obstacle(facts));
  for (const controller_facts& c : facts.nvme) {
    if (out.works && !c.use.empty())
      out.notes.push_back(fmt::format("{} is read only: {}", c.pci, c.use));
  }
  return out;
}

verdict by_nvme_doorbell(const machine_facts& facts) {
  auto out = judged("nvme:// by doorbell", "kernels drive an SSD's queues themselves",
                    nvme_doorbell_obstacle(facts));
  if (!out.works) return out;
  const auto bare = [](const controller_facts& c) { return !c.translated; };
  if (std::any_of(facts.nvme.begin(), facts.nvme.end(), bare)) {
    out.notes.push_back(
        "without an IOMMU an SSD reaches all memory of the machine: nothing protects it from a "
        "wrong address");
  }
  if (!facts.gpus.empty()) {
    out.notes.push_back(
        "kernels on a GPU cannot drive it yet: its data would lie in GPU memory, for which Linux "
        "has no dma-buf import by VFIO, and NVIDIA's way (nvidia_p2p_get_pages) is a kernel "
        "module's alone; disk: and nvme:// by Linux serve them by pinned host memory");
  }
  return out;
}

verdict by_tap(const machine_facts& facts) {
  auto out =
      judged("tap:", "packets between kernels and Linux, by a CPU thread", tap_obstacle(facts));
  if (out.works && !facts.process.may_make_interfaces) {
    out.notes.push_back(
        "this process may make no interface; as root: ip tuntap add dev NAME mode tap user $USER");
  }
  return out;
}

verdict by_tail(const machine_facts& facts) {
  auto out = judged("eth://", "kernels drive an 82574's rings and tails themselves",
                    ethernet_obstacle(facts));
  if (!out.works) return out;
  out.notes.push_back("tested on QEMU's e1000e, not on a board");
  const auto bare = [](const controller_facts& c) { return !c.translated; };
  if (std::any_of(facts.ethernet.begin(), facts.ethernet.end(), bare)) {
    out.notes.push_back(
        "without an IOMMU it reaches all memory of the machine, and goes on receiving into it "
        "after kill -9");
  }
  return out;
}

}  // namespace

std::vector<verdict> judge(const machine_facts& facts) {
  return {judged("emu:", "an array emulated in this process, kernels on the CPU", ""),
          judged("emu:?runner=gpu", "kernels and the emulated array on a GPU", gpu_obstacle(facts)),
          by_proxy(facts),
          by_doorbell(facts),
          judged("disk:", "a block device or a file of this machine, through Linux",
                 disk_obstacle(facts)),
          through_linux(facts),
          by_nvme_doorbell(facts),
          by_tap(facts),
          by_tail(facts)};
}

}  // namespace gnstor::host::probe

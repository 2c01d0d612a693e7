/// Which endpoints work on recorded machines, and what is named as the thing to change.

#include "recorded_machine.hpp"

#include <functional>

using namespace gnstor;
using namespace gnstor::host::probe;
using test::recorded_machine;

namespace {

enum scheme {
  emulated,
  on_gpu,
  by_proxy,
  by_doorbell,
  disks,
  nvme_through_linux,
  nvme_by_doorbell,
  taps,
  ethernet_by_tail
};

/// "" if the scheme works, else the remedy.
std::string remedy(const machine_facts& facts, scheme which) {
  const auto verdicts = judge(facts);
  REQUIRE(verdicts.size() == 9);
  const verdict& v = verdicts[which];
  CHECK(v.works == v.remedy.empty());
  return v.remedy;
}

bool says(const std::string& text, std::string_view words) {
  INFO(text);
  const bool found = text.find(words) != std::string::npos;
  CHECK_MESSAGE(found, "expected: ", words);
  return found;
}

bool noted(const machine_facts& facts, scheme which, std::string_view words) {
  const auto verdicts = judge(facts);
  for (const auto& note : verdicts[which].notes) {
    if (note.find(words) != std::string::npos) return true;
  }
  return false;
}

/// One change to the machine that has everything, and what must then be named.
struct change {
  const char* what;
  std::function<void(recorded_machine&)> apply;
  const char* remedy;
};

constexpr const char* params = "/proc/driver/nvidia/params";
constexpr const char* limits = "/proc/self/limits";
constexpr const char* port = "/sys/class/infiniband/mlx5_0/ports/1";

void without_module(recorded_machine& m, std::string_view line_start, std::string_view replaced) {
  m.edit("/proc/modules", line_start, replaced);
}

const change gpu_changes[] = {
    {"no GPU",
     [](auto& m) {
       m.drop("/sys/bus/pci/devices/0000:19:00.0");
       m.drop("/proc/driver/nvidia");
     },
     "no NVIDIA GPU in this machine: add one"},
    {"a driver that sees no GPU",
     [](auto& m) {
       m.drop("/sys/bus/pci/devices/0000:19:00.0");
       m.drop("/proc/driver/nvidia/gpus");
     },
     "give this machine or container one"},
    {"a driver that is not loaded",
     [](auto& m) {
       m.drop("/proc/driver/nvidia");
       without_module(m, "nvidia 14376960", "other 14376960");
     },
     "run modprobe nvidia nvidia-uvm"},
    {"no driver",
     [](auto& m) {
       m.drop("/proc/driver/nvidia");
       without_module(m, "nvidia 14376960", "other 14376960");
       m.drop("/lib/modules/6.8.0-60-generic/modules.dep");
     },
     "the GPU has no driver: install the NVIDIA driver 580"},
    {"nouveau",
     [](auto& m) {
       m.drop("/proc/driver/nvidia");
       without_module(m, "nvidia 14376960", "nouveau 14376960");
       m.drop("/lib/modules/6.8.0-60-generic/modules.dep");
     },
     "run by nouveau"},
    {"an old driver", [](auto& m) { m.edit("/proc/driver/nvidia/version", "580.95", "550.54"); },
     "the NVIDIA driver is 550.54.05, and CUDA 13 needs 580"},
    {"no device file", [](auto& m) { m.drop("/dev/nvidia-uvm"); },
     "/dev/nvidia-uvm is missing: run nvidia-modprobe"},
    {"no permission for the GPU", [](auto& m) { m.mode("/dev/nvidia0", 0640); },
     "no permission for /dev/nvidia0"},
};

const change rdma_changes[] = {
    {"no device, soft-RoCE at hand", [](auto& m) { m.drop("/sys/class/infiniband"); },
     "modprobe rdma_rxe && rdma link add rxe0 type rxe netdev ens3np0"},
    {"no device and no soft-RoCE",
     [](auto& m) {
       m.drop("/sys/class/infiniband");
       m.drop("/lib/modules/6.8.0-60-generic/modules.dep");
     },
     "this kernel (6.8.0-60-generic) has no soft-RoCE"},
    {"a ConnectX without its RDMA driver",
     [](auto& m) {
       m.drop("/sys/class/infiniband");
       without_module(m, "mlx5_ib 540672", "other 540672");
     },
     "run modprobe mlx5_ib"},
    {"no uverbs", [](auto& m) { m.drop("/sys/class/infiniband_verbs"); },
     "mlx5_0 has no file under /dev/infiniband: run modprobe ib_uverbs"},
    {"a container without the device's file", [](auto& m) { m.drop("/dev/infiniband/uverbs0"); },
     "/dev/infiniband/uverbs0 is missing"},
    {"no permission for the device", [](auto& m) { m.mode("/dev/infiniband/uverbs0", 0600); },
     "no permission for /dev/infiniband/uverbs0"},
    {"no connection manager", [](auto& m) { m.drop("/dev/infiniband/rdma_cm"); },
     "run modprobe rdma_ucm"},
    {"no permission for the connection manager",
     [](auto& m) { m.mode("/dev/infiniband/rdma_cm", 0600); },
     "no permission for /dev/infiniband/rdma_cm"},
    {"an Ethernet port that is down",
     [](auto& m) { m.set(std::string(port) + "/state", "1: DOWN\n"); },
     "port 1 of mlx5_0 is down (1: DOWN): ip link set ens3np0 up"},
    {"an InfiniBand port without a subnet manager",
     [](auto& m) {
       m.set(std::string(port) + "/state", "2: INIT\n");
       m.set(std::string(port) + "/link_layer", "InfiniBand\n");
     },
     "a subnet manager (opensm) runs"},
    {"no IP address", [](auto& m) { m.drop(std::string(port) + "/gids/3"); },
     "mlx5_0 has no IP address, so RDMA CM has no RoCE v2 GID: ip addr add ADDRESS/24 dev ens3np0"},
    {"an address for RoCE v1 alone",
     [](auto& m) { m.set(std::string(port) + "/gid_attrs/types/3", "IB/RoCE v1\n"); },
     "no RoCE v2 GID"},
    {"little lockable memory",
     [](auto& m) { m.edit(limits, "unlimited            unlimited", "65536  65536"); },
     "only 64 KiB of memory may be locked and a session registers 64 MiB: ulimit -l unlimited"},
};

const change doorbell_changes[] = {
    {"no driver key", [](auto& m) { m.edit(params, "PeerMappingOverride=1;", ""); },
     "NVreg_RegistryDwords=\"PeerMappingOverride=1;\""},
    {"neither dma-buf nor peermem loaded",
     [](auto& m) { m.edit("/proc/driver/nvidia/version", "UNIX Open Kernel", "UNIX Kernel"); },
     "run modprobe nvidia-peermem"},
    {"neither dma-buf nor peermem there",
     [](auto& m) {
       m.edit("/proc/driver/nvidia/version", "UNIX Open Kernel", "UNIX Kernel");
       m.drop("/lib/modules/6.8.0-60-generic/modules.dep");
     },
     "install the driver's open kernel modules"},
    {"a kernel without dma-buf",
     [](auto& m) {
       m.edit("/boot/config-6.8.0-60-generic", "CONFIG_DMA_SHARED_BUFFER=y",
              "# CONFIG_DMA_SHARED_BUFFER is not set");
     },
     "run modprobe nvidia-peermem"},
    {"a translating IOMMU", [](auto& m) { m.set("/sys/kernel/iommu_groups/31/type", "DMA-FQ\n"); },
     "the IOMMU translates for mlx5_0 (DMA-FQ)"},
    {"another vendor's card",
     [](auto& m) {
       m.drop("/sys/bus/pci/devices/0000:1a:00.0/driver");
       m.set("/sys/bus/pci/devices/0000:1a:00.0/vendor", "0x8086\n");
     },
     "no ConnectX"},
};

TEST_CASE("a machine that has everything works with every endpoint") {
  const recorded_machine machine("connectx_gpu");
  const auto facts = machine.facts();
  for (const auto which : {emulated, on_gpu, by_proxy, by_doorbell}) {
    CHECK(remedy(facts, which) == "");
  }
  CHECK(facts.gpus.size() == 1);
  CHECK(facts.gpus[0].name == "NVIDIA H200");
  CHECK(facts.nvidia.version == "580.95.05");
  CHECK(facts.rdma.size() == 1);
  CHECK(facts.rdma[0].driver == "mlx5_core");
  CHECK(facts.rdma[0].pci == "0000:1a:00.0");
  CHECK(noted(facts, by_doorbell, "not on a card"));
  CHECK(noted(facts, by_doorbell, "mapping the doorbell was not tried"));
}

TEST_CASE("a bare machine runs the emulated array, and says what the others need") {
  const recorded_machine machine("bare");
  const auto facts = machine.facts();
  CHECK(remedy(facts, emulated) == "");
  CHECK(says(remedy(facts, on_gpu), "no NVIDIA GPU in this machine"));
  CHECK(says(remedy(facts, by_proxy), "this kernel (6.18.44) has no soft-RoCE"));
  CHECK(says(remedy(facts, by_doorbell), "no NVIDIA GPU in this machine"));
  CHECK(remedy(facts, disks) == "");
  CHECK(says(remedy(facts, nvme_through_linux), "no NVMe controller"));
  CHECK(says(remedy(facts, nvme_by_doorbell), "emu-nvme: tries it without one"));
  CHECK(says(remedy(facts, taps), "modprobe tun"));
  CHECK(says(remedy(facts, ethernet_by_tail), "emu-nic: and tap: try packets without one"));
}

namespace {

constexpr const char* ssd = "/sys/bus/pci/devices/0000:02:00.0";

/// A bare machine with an SSD that Linux's driver has.
struct with_ssd : recorded_machine {
  explicit with_ssd(bool iommu) : recorded_machine("bare") {
    const std::string at = ssd;
    set(at + "/class", "0x010802\n");
    set(at + "/resource0", "");
    set(at + "/nvme/nvme0/nvme0n1/dev", "259:0\n");
    set("/sys/class/block/nvme0n1/dev", "259:0\n");
    set("/dev/nvme0n1", "");
    link(at + "/driver", "../../drivers/nvme");
    if (!iommu) return;
    set("/sys/kernel/iommu_groups/9/type", "DMA-FQ\n");
    link(at + "/iommu_group", "../../../../kernel/iommu_groups/9");
    set("/dev/vfio/9", "");
  }
  void bound_to(const char* driver) {
    drop(std::string(ssd) + "/driver");
    drop(std::string(ssd) + "/nvme");
    if (*driver != 0) link(std::string(ssd) + "/driver", std::string("../../drivers/") + driver);
  }
};

}  // namespace

TEST_CASE("an SSD that its driver keeps is reached through Linux, and what it takes to drive it") {
  with_ssd m(true);
  CHECK(remedy(m.facts(), nvme_through_linux) == "");
  CHECK(says(remedy(m.facts(), nvme_by_doorbell), "has no vfio-pci"));
  m.set("/lib/modules/6.18.44/modules.dep", "kernel/drivers/vfio/pci/vfio-pci.ko:\n");
  CHECK(says(remedy(m.facts(), nvme_by_doorbell), "modprobe vfio-pci"));
  m.set("/proc/modules", "vfio_pci 1 0 - Live 0\n");
  CHECK(says(remedy(m.facts(), nvme_by_doorbell),
             "its driver nvme has 0000:02:00.0: gnstorctl local bind 0000:02:00.0"));
  m.set("/proc/self/mountinfo", "30 22 259:0 / /data rw - xfs /dev/nvme0n1 rw\n");
  CHECK(says(remedy(m.facts(), nvme_by_doorbell), "/dev/nvme0n1 is mounted on /data"));
  CHECK(noted(m.facts(), nvme_through_linux, "read only: /dev/nvme0n1 is mounted on /data"));
  m.set("/proc/sys/kernel/io_uring_disabled", "2\n");
  CHECK(says(remedy(m.facts(), nvme_through_linux), "sysctl kernel.io_uring_disabled=0"));
  CHECK(says(remedy(m.facts(), disks), "sysctl kernel.io_uring_disabled=0"));
}

TEST_CASE("an SSD that vfio-pci has is driven by kernels, and what keeps them from it is named") {
  with_ssd m(true);
  m.set("/proc/modules", "vfio_pci 1 0 - Live 0\n");
  m.bound_to("vfio-pci");
  CHECK(remedy(m.facts(), nvme_by_doorbell) == "");
  CHECK(says(remedy(m.facts(), nvme_through_linux), "gnstorctl local release 0000:02:00.0"));
  m.set("/sys/bus/pci/devices/0000:02:00.1/class", "0x010601\n");
  m.set("/sys/kernel/iommu_groups/9/devices/0000:02:00.1/class", "0x010601\n");
  CHECK(says(remedy(m.facts(), nvme_by_doorbell), "shares its IOMMU group with 0000:02:00.1"));
  m.drop("/sys/kernel/iommu_groups/9/devices");
  m.drop("/dev/vfio/9");
  CHECK(says(remedy(m.facts(), nvme_by_doorbell), "/dev/vfio/9 is missing"));
  m.set("/dev/vfio/9", "");
  m.edit("/proc/self/status", "CapEff:	000001fffeffffff", "CapEff:	0000000000000000");
  m.edit("/proc/self/limits", "8388608              8388608", "65536                65536");
  CHECK(says(remedy(m.facts(), nvme_by_doorbell), "ulimit -l unlimited"));
}

TEST_CASE("an SSD without an IOMMU takes huge pages, and root") {
  with_ssd m(false);
  m.bound_to("");
  CHECK(says(remedy(m.facts(), nvme_by_doorbell), "nr_hugepages"));
  m.set("/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages", "160\n");
  CHECK(remedy(m.facts(), nvme_by_doorbell) == "");
  CHECK(noted(m.facts(), nvme_by_doorbell, "reaches all memory"));
  m.edit("/proc/self/status", "CapEff:	000001fffeffffff", "CapEff:	0000000000000000");
  CHECK(says(remedy(m.facts(), nvme_by_doorbell), "run as root"));
}

TEST_CASE("soft-RoCE serves the proxy, and nothing but a GPU is missing for the rest") {
  const recorded_machine machine("soft_roce");
  const auto facts = machine.facts();
  CHECK(remedy(facts, by_proxy) == "");
  CHECK(noted(facts, by_proxy, "soft-RoCE runs on this CPU"));
  CHECK(says(remedy(facts, by_doorbell), "no NVIDIA GPU"));
  CHECK(facts.rdma[0].driver == "rdma_rxe");
  CHECK(facts.rdma[0].ports[0].netdev == "eth0");
}

TEST_CASE("soft-RoCE beside a GPU lacks a ConnectX for doorbells, and payload goes over the host") {
  const recorded_machine soft("soft_roce"), full("connectx_gpu");
  auto facts = soft.facts();
  const auto gpu = full.facts();
  facts.gpus = gpu.gpus;
  facts.nvidia = gpu.nvidia;
  facts.nvidia.open_modules = false;
  CHECK(remedy(facts, on_gpu) == "");
  CHECK(says(remedy(facts, by_doorbell), "no ConnectX"));
  CHECK(noted(facts, by_proxy, "payload goes through pinned host memory"));
}

TEST_CASE("each thing a GPU needs is named when it alone is missing, and RDMA by proxy stays") {
  for (const auto& change : gpu_changes) {
    CAPTURE(change.what);
    recorded_machine machine("connectx_gpu");
    change.apply(machine);
    CHECK(says(remedy(machine.facts(), on_gpu), change.remedy));
    CHECK(remedy(machine.facts(), by_doorbell) == remedy(machine.facts(), on_gpu));
    CHECK(remedy(machine.facts(), by_proxy) == "");
  }
}

TEST_CASE("each thing RDMA needs is named when it alone is missing, and the GPU stays") {
  for (const auto& change : rdma_changes) {
    CAPTURE(change.what);
    recorded_machine machine("connectx_gpu");
    change.apply(machine);
    CHECK(says(remedy(machine.facts(), by_proxy), change.remedy));
    CHECK(says(remedy(machine.facts(), by_doorbell), change.remedy));
    CHECK(remedy(machine.facts(), on_gpu) == "");
  }
}

TEST_CASE("each thing a doorbell needs is named when it alone is missing, and the proxy stays") {
  for (const auto& change : doorbell_changes) {
    CAPTURE(change.what);
    recorded_machine machine("connectx_gpu");
    change.apply(machine);
    CHECK(says(remedy(machine.facts(), by_doorbell), change.remedy));
    CHECK(remedy(machine.facts(), by_proxy) == "");
    CHECK(remedy(machine.facts(), on_gpu) == "");
  }
}

}  // namespace

TEST_CASE("a tap takes its device, and an interface that somebody has made") {
  recorded_machine m("bare");
  m.set("/dev/net/tun", "");
  CHECK(remedy(m.facts(), taps) == "");
  CHECK(!noted(m.facts(), taps, "ip tuntap add"));
  m.edit("/proc/self/status", "CapEff:	000001fffeffffff", "CapEff:	0000000000000000");
  CHECK(noted(m.facts(), taps, "ip tuntap add dev NAME mode tap user $USER"));
}

TEST_CASE("an 82574 is driven by kernels, and what keeps them from it is named") {
  recorded_machine m("bare");
  const std::string at = "/sys/bus/pci/devices/0000:03:00.0";
  m.set(at + "/class", "0x020000\n");
  m.set(at + "/vendor", "0x8086\n");
  m.set(at + "/device", "0x10d3\n");
  m.set(at + "/resource0", "");
  m.set(at + "/net/eth1/flags", "0x1003\n");
  m.link(at + "/driver", "../../drivers/e1000e");
  CHECK(says(remedy(m.facts(), ethernet_by_tail), "nr_hugepages"));
  m.set("/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages", "32\n");
  CHECK(says(remedy(m.facts(), ethernet_by_tail),
             "gnstorctl local bind 0000:03:00.0 once it is free (eth1 is up)"));
  m.drop(at + "/driver");
  m.drop(at + "/net");
  CHECK(remedy(m.facts(), ethernet_by_tail) == "");
  CHECK(noted(m.facts(), ethernet_by_tail, "goes on receiving into it"));
  m.set("/sys/kernel/iommu_groups/9/type", "DMA-FQ\n");
  m.link(at + "/iommu_group", "../../../../kernel/iommu_groups/9");
  m.set("/dev/vfio/9", "");
  m.set("/proc/modules", "vfio_pci 1 0 - Live 0\n");
  CHECK(remedy(m.facts(), ethernet_by_tail) == "");
  m.edit("/proc/self/status", "CapEff:	000001fffeffffff", "CapEff:	0000000000000000");
  m.edit("/proc/self/limits", "8388608              8388608", "65536                65536");
  CHECK(says(remedy(m.facts(), ethernet_by_tail), "a flow of packets takes up to 16 MiB"));
}

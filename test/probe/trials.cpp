/// What was tried on a device outweighs what files say; builds, ports and rights are judged apart.

#include "recorded_machine.hpp"

#include <gnstor-probe/pci_config.hpp>
#include <gnstor-probe/report.hpp>

using namespace gnstor;
using namespace gnstor::host::probe;
using test::recorded_machine;

namespace {

enum scheme { emulated, on_gpu, by_proxy, by_doorbell };

std::string remedy(const machine_facts& facts, scheme which) { return judge(facts)[which].remedy; }

bool has(const std::string& text, std::string_view words) {
  return text.find(words) != std::string::npos;
}

const trial good{true, true, ""};
trial bad(const char* why) { return {true, false, why}; }

/// The configuration space of a bridge whose ACS control register is `control`.
std::string bridge_with_acs(unsigned char control) {
  std::string config(4096, '\0');
  const auto put = [&](std::size_t at, std::initializer_list<int> bytes) {
    for (const int byte : bytes) config[at++] = static_cast<char>(byte);
  };
  put(0x100, {0x01, 0x00, 0x02, 0x20});  // advanced error reporting; the next one is at 200h
  put(0x200, {0x0d, 0x00, 0x01, 0x00});  // access control services; the last
  put(0x206, {control, 0});
  return config;
}

TEST_CASE("a doorbell that was mapped needs no driver key, and one that was refused is named") {
  recorded_machine machine("connectx_gpu");
  machine.edit("/proc/driver/nvidia/params", "PeerMappingOverride=1;", "");
  auto facts = machine.facts();
  CHECK(has(remedy(facts, by_doorbell), "PeerMappingOverride=1"));
  facts.rdma[0].doorbell = good;
  CHECK(remedy(facts, by_doorbell) == "");
  facts = recorded_machine("connectx_gpu").facts();
  facts.rdma[0].doorbell = bad("operation not permitted (800)");
  CHECK(has(remedy(facts, by_doorbell), "cannot map the doorbell of mlx5_0 (operation not perm"));
  CHECK(remedy(facts, by_proxy) == "");
}

TEST_CASE(
    "GPU memory that was registered needs no further proof, and peermem that fails is named") {
  recorded_machine machine("connectx_gpu");
  machine.edit("/proc/driver/nvidia/version", "UNIX Open Kernel", "UNIX Kernel");
  auto facts = machine.facts();
  CHECK(has(remedy(facts, by_doorbell), "nvidia-peermem"));
  facts.rdma[0].gpu_memory = good;
  CHECK(remedy(facts, by_doorbell) == "");
  facts.rdma[0].gpu_memory = bad("Bad address");
  facts.kernel.modules["nvidia_peermem"] = module_state::loaded;
  CHECK(has(remedy(facts, by_doorbell), "(Bad address) though nvidia-peermem is loaded"));
}

TEST_CASE("CUDA's own word on dma-buf outweighs the kind of the driver's modules") {
  auto facts = recorded_machine("connectx_gpu").facts();
  facts.gpus[0].dma_buf = false;
  CHECK(has(remedy(facts, by_doorbell), "run modprobe nvidia-peermem"));
  facts.kernel.modules["nvidia_peermem"] = module_state::loaded;
  CHECK(remedy(facts, by_doorbell) == "");
  facts.kernel.modules["nvidia_peermem"] = module_state::available;
  facts.gpus[0].peer_dma = false;
  CHECK(has(remedy(facts, by_doorbell), "NVIDIA H200 offers no GPUDirect RDMA"));
}

TEST_CASE("a kernel older than 5.12 registers no dma-buf") {
  auto facts = recorded_machine("connectx_gpu").facts();
  facts.kernel.release = "5.11.22";
  CHECK(has(remedy(facts, by_doorbell), "nvidia-peermem"));
  facts.kernel.release = "5.12.0";
  CHECK(remedy(facts, by_doorbell) == "");
}

TEST_CASE("CUDA that does not start, is too old or has an old GPU is named") {
  auto facts = recorded_machine("connectx_gpu").facts();
  facts.nvidia.cuda = bad("system not yet initialized (802)");
  CHECK(has(remedy(facts, on_gpu), "CUDA does not start (system not yet initialized (802))"));
  facts.nvidia.cuda = good;
  facts.nvidia.cuda_version = 12040;
  CHECK(has(remedy(facts, on_gpu), "runs CUDA 12.4 at most"));
  facts.nvidia.cuda_version = 13000;
  facts.gpus[0].major = 7;
  facts.gpus[0].minor = 0;
  CHECK(has(remedy(facts, on_gpu), "has compute capability 7.0: use a GPU of 7.5 or newer"));
  facts.gpus[0].minor = 5;
  CHECK(remedy(facts, on_gpu) == "");
}

TEST_CASE("CUDA that starts needs no files of the driver: a container may hide them") {
  auto facts = recorded_machine("bare").facts();
  facts.nvidia.cuda = good;
  facts.nvidia.cuda_version = 13000;
  gpu_facts gpu;
  gpu.name = "NVIDIA H200";
  gpu.major = 9;
  facts.gpus.push_back(gpu);
  CHECK(remedy(facts, on_gpu) == "");
}

TEST_CASE("lazy loading and a build without CUDA or RDMA are named") {
  auto facts = recorded_machine("connectx_gpu").facts();
  facts.process.lazy_loading = true;
  CHECK(has(remedy(facts, on_gpu), "CUDA_MODULE_LOADING=LAZY"));
  facts.process.lazy_loading = false;
  facts.build.cuda = false;
  CHECK(has(remedy(facts, on_gpu), "-DGNSTOR_BUILD_CUDA=ON"));
  CHECK(remedy(facts, by_proxy) == "");
  facts.build = {.cuda = true, .rdma = false};
  CHECK(has(remedy(facts, by_proxy), "install libibverbs-dev, librdmacm-dev and uuid-dev"));
  CHECK(remedy(facts, on_gpu) == "");
}

TEST_CASE("a device that refuses to open, to register or to give DevX is named") {
  auto facts = recorded_machine("connectx_gpu").facts();
  facts.rdma[0].opens = bad("Operation not permitted");
  CHECK(has(remedy(facts, by_proxy), "mlx5_0 does not open (Operation not permitted)"));
  facts.rdma[0].opens = good;
  facts.rdma[0].registers = bad("Cannot allocate memory");
  CHECK(
      has(remedy(facts, by_proxy), "does not register 64 MiB of memory (Cannot allocate memory)"));
  facts.rdma[0].registers = good;
  facts.rdma[0].devx = bad("Operation not supported");
  CHECK(remedy(facts, by_proxy) == "");
  CHECK(
      has(remedy(facts, by_doorbell), "no DevX context (Operation not supported): set UCTX_EN=1"));
}

TEST_CASE("memory that was registered outweighs a small limit, and so does CAP_IPC_LOCK") {
  recorded_machine machine("connectx_gpu");
  machine.edit("/proc/self/limits", "unlimited            unlimited", "65536  65536");
  auto facts = machine.facts();
  CHECK(remedy(facts, by_proxy) != "");
  facts.rdma[0].registers = good;
  CHECK(remedy(facts, by_proxy) == "");
  machine.edit("/proc/self/status", "CapEff:\t0000000000000000", "CapEff:\t0000000000004000");
  CHECK(remedy(machine.facts(), by_proxy) == "");
  machine.set("/proc/self/uid_map", "0 100000 65536\n");
  CHECK(remedy(machine.facts(), by_proxy) != "");
}

TEST_CASE("one device that passes is enough, else the one that came furthest is spoken of") {
  auto facts = recorded_machine("connectx_gpu").facts();
  auto down = facts.rdma[0];
  down.name = "mlx5_1";
  down.ports[0].active = false;
  facts.rdma.insert(facts.rdma.begin(), down);
  CHECK(remedy(facts, by_proxy) == "");
  facts.rdma[1].ports[0].addressed = false;
  CHECK(has(remedy(facts, by_proxy), "mlx5_0 has no IP address"));
}

TEST_CASE("a file's owner, group and others are judged by their own bits") {
  recorded_machine machine("connectx_gpu");
  const auto uverbs = [&] { return machine.facts().rdma[0].node.access; };
  machine.mode("/dev/infiniband/uverbs0", 0660);
  CHECK(uverbs() == node_access::denied);
  machine.mode("/dev/infiniband/uverbs0", 0664);
  CHECK(uverbs() == node_access::denied);
  machine.mode("/dev/infiniband/uverbs0", 0666);
  CHECK(uverbs() == node_access::usable);
  machine.mode("/dev/infiniband/uverbs0", 0600);
  machine.edit("/proc/self/status", "CapEff:\t0000000000000000", "CapEff:\t0000000000000002");
  CHECK(uverbs() == node_access::usable);
  machine.drop("/dev/infiniband/uverbs0");
  CHECK(uverbs() == node_access::missing);
}

TEST_CASE("ACS redirection is read from configuration space, and costs a note") {
  CHECK(acs_redirects(bridge_with_acs(0x1d)) == true);
  CHECK(acs_redirects(bridge_with_acs(0x04)) == true);
  CHECK(acs_redirects(bridge_with_acs(0x08)) == true);
  CHECK(acs_redirects(bridge_with_acs(0x13)) == false);
  CHECK_FALSE(acs_redirects(bridge_with_acs(0x1d).substr(0, 64)).has_value());
  CHECK_FALSE(acs_redirects(std::string(4096, '\0')).has_value());
  CHECK_FALSE(acs_redirects(std::string(4096, '\xff')).has_value());
  std::string endless(4096, '\0');
  endless.replace(0x100, 4, std::string("\x01\x00\x01\x10", 4));  // its own successor
  CHECK_FALSE(acs_redirects(endless).has_value());

  recorded_machine machine("connectx_gpu");
  machine.set("/sys/bus/pci/devices/0000:18:00.0/config", bridge_with_acs(0x1d));
  const auto verdict = judge(machine.facts())[by_doorbell];
  CHECK(verdict.works);
  bool noted = false;
  for (const auto& note : verdict.notes) noted = noted || has(note, "at 0000:18:00.0 (1 bridges");
  CHECK(noted);
  machine.set("/sys/bus/pci/devices/0000:18:00.0/config", bridge_with_acs(0x00));
  CHECK(machine.facts().kernel.acs_redirecting.empty());
  CHECK(machine.facts().kernel.bridges == 1);
}

TEST_CASE("the report names each device, each verdict and each remedy") {
  const auto facts = recorded_machine("connectx_gpu").facts();
  const auto text = report(facts, judge(facts));
  for (const char* words :
       {"NVIDIA H200", "driver 580.95.05 (open kernel modules)", "PeerMappingOverride: yes",
        "mlx5_0  mlx5_core, firmware 28.43.2026", "RoCE v2 address: yes", "Kernel 6.8.0-60-generic",
        "locked memory: no limit", "rdma:// by ConnectX  works"}) {
    CAPTURE(words);
    CHECK(has(text, words));
  }
  const auto bare = recorded_machine("bare").facts();
  CHECK(has(report(bare, judge(bare)), "emu:?runner=gpu      no NVIDIA GPU"));
}

}  // namespace

#include "file_tree.hpp"
#include "rules.hpp"
#include <base/no_gpu_side.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace gnstor::host::probe {
namespace {

constexpr std::uint64_t oldest_driver = 580;  // CUDA 13 needs it
constexpr int oldest_cuda = 13000;
constexpr int oldest_major = 7, oldest_minor = 5;  // CUDA 13 compiles for nothing older

bool ready(const machine_facts& facts, const char* module) {
  const auto state = state_of(facts, module);
  return state == module_state::loaded || state == module_state::built_in;
}

std::string gpu_presence(const machine_facts& facts) {
  if (!facts.gpus.empty() || (facts.nvidia.cuda.tried && facts.nvidia.cuda.works)) return "";
  if (!facts.nvidia.version.empty()) {
    return "no GPU: the NVIDIA driver runs but finds none; give this machine or container one "
           "(docker run --gpus all)";
  }
  return "no NVIDIA GPU in this machine: add one, or use emu: with the CPU's runner";
}

std::string driver(const machine_facts& facts) {
  if (!facts.nvidia.version.empty() || facts.nvidia.cuda.works) return "";
  const auto state = state_of(facts, "nvidia");
  if (state == module_state::available) {
    return "the NVIDIA driver is installed but not loaded: run modprobe nvidia nvidia-uvm";
  }
  if (ready(facts, "nouveau")) {
    return fmt::format(
        "the GPU is run by nouveau, which has no CUDA: install the NVIDIA driver {} or newer",
        oldest_driver);
  }
  return fmt::format("the GPU has no driver: install the NVIDIA driver {} or newer", oldest_driver);
}

std::string driver_age(const machine_facts& facts) {
  const auto& nvidia = facts.nvidia;
  if (nvidia.cuda_version) {
    if (*nvidia.cuda_version >= oldest_cuda) return "";
    return fmt::format("the NVIDIA driver {} runs CUDA {}.{} at most: update it to {} or newer",
                       nvidia.version, *nvidia.cuda_version / 1000,
                       *nvidia.cuda_version % 1000 / 10, oldest_driver);
  }
  if (nvidia.version.empty() || number_of(nvidia.version) >= oldest_driver) return "";
  return fmt::format("the NVIDIA driver is {}, and CUDA 13 needs {}: update it", nvidia.version,
                     oldest_driver);
}

std::string nodes(const machine_facts& facts) {
  if (facts.nvidia.cuda.works) return "";
  for (const auto& node : facts.nvidia.nodes) {
    if (node.access == node_access::missing) {
      return fmt::format(
          "{} is missing: run nvidia-modprobe -u -c 0, or give the container its GPUs "
          "(docker run --gpus all)",
          node.path);
    }
    if (node.access == node_access::denied) {
      return fmt::format("no permission for {}: chmod 0666 {}, or join the group that owns it",
                         node.path, node.path);
    }
  }
  return "";
}

std::string cuda_starts(const machine_facts& facts) {
  const trial& cuda = facts.nvidia.cuda;
  if (!cuda.tried || cuda.works) return "";
  return fmt::format("CUDA does not start ({}): nvidia-smi and dmesg tell more", cuda.why);
}

std::string capability(const machine_facts& facts) {
  const auto enough = [](const gpu_facts& gpu) {
    return gpu.major == 0 || gpu.major > oldest_major ||
           (gpu.major == oldest_major && gpu.minor >= oldest_minor);
  };
  if (facts.gpus.empty() || std::any_of(facts.gpus.begin(), facts.gpus.end(), enough)) return "";
  const auto& gpu = facts.gpus.front();
  return fmt::format("{} has compute capability {}.{}: use a GPU of {}.{} or newer", gpu.name,
                     gpu.major, gpu.minor, oldest_major, oldest_minor);
}

std::string loading(const machine_facts& facts) {
  if (!facts.process.lazy_loading) return "";
  return "CUDA_MODULE_LOADING=LAZY deadlocks beside the array node's kernel: unset it, or set it "
         "to EAGER";
}

std::string gpu_build(const machine_facts& facts) { return facts.build.cuda ? "" : no_gpu_side; }

}  // namespace

module_state state_of(const machine_facts& facts, const std::string& module) {
  const auto found = facts.kernel.modules.find(module);
  return found == facts.kernel.modules.end() ? module_state::absent : found->second;
}

std::string gpu_obstacle(const machine_facts& facts) {
  for (const auto rule :
       {gpu_presence, driver, driver_age, nodes, cuda_starts, capability, loading, gpu_build}) {
    if (auto remedy = rule(facts); !remedy.empty()) return remedy;
  }
  return "";
}

}  // namespace gnstor::host::probe

#include "try_devices.hpp"

#include "cuda_driver.hpp"

#include <algorithm>
#include <cstdlib>
#include <string_view>

#if defined(GNSTOR_WITH_RDMA)
#include <infiniband/mlx5dv.h>
#include <infiniband/verbs.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#endif

namespace gnstor::host::probe {
namespace {

/// CUDA's list of GPUs, and those that it does not show.
void merge(std::vector<gpu_facts>& gpus, std::vector<gpu_facts> shown) {
  for (const auto& gpu : gpus) {
    const auto same = [&](const gpu_facts& other) { return other.pci == gpu.pci; };
    if (std::none_of(shown.begin(), shown.end(), same)) shown.push_back(gpu);
  }
  gpus = std::move(shown);
}

#if defined(GNSTOR_WITH_RDMA)

std::string last_error() { return std::strerror(errno); }

/// Ends a verbs object at the end of a scope.
template <auto End, class Object>
struct scoped {
  Object* object;
  ~scoped() {
    if (object != nullptr) End(object);
  }
};
using open_device = scoped<ibv_close_device, ibv_context>;
using domain = scoped<ibv_dealloc_pd, ibv_pd>;
using region = scoped<ibv_dereg_mr, ibv_mr>;

constexpr int access_flags =
    IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE;

trial register_host_memory(ibv_pd* pd) {
  void* memory =
      mmap(nullptr, registered_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return {true, false, last_error()};
  trial out{true, true, ""};
  {
    const region mr{ibv_reg_mr(pd, memory, registered_bytes, access_flags)};
    if (mr.object == nullptr) out = {true, false, last_error()};
  }
  munmap(memory, registered_bytes);
  return out;
}

trial register_gpu_memory(ibv_pd* pd, const cuda_driver& cuda) {
  constexpr std::size_t bytes = std::size_t{2} << 20;
  const cuda_driver::memory memory(cuda, bytes);
  if (memory.address() == 0) return {true, false, "the GPU gave no memory"};
  if (const int file = memory.dma_buf(); file >= 0) {
    const region mr{ibv_reg_dmabuf_mr(pd, 0, bytes, memory.address(), file, access_flags)};
    close(file);
    if (mr.object != nullptr) return {true, true, "dma-buf"};
  }
  const region mr{ibv_reg_mr(pd, reinterpret_cast<void*>(memory.address()), bytes, access_flags)};
  if (mr.object != nullptr) return {true, true, "nvidia-peermem"};
  return {true, false, last_error()};
}

/// A doorbell page of the device, mapped for the GPU.
trial map_doorbell(ibv_context* context, const cuda_driver& cuda) {
  constexpr std::uint32_t kinds[] = {MLX5DV_UAR_ALLOC_TYPE_NC, MLX5DV_UAR_ALLOC_TYPE_BF};
  constexpr std::size_t register_bytes = 8;
  trial out{true, false, "the device gives no doorbell page"};
  for (const auto kind : kinds) {
    const scoped<mlx5dv_devx_free_uar, mlx5dv_devx_uar> uar{mlx5dv_devx_alloc_uar(context, kind)};
    if (uar.object == nullptr) continue;
    out = cuda.map_register(uar.object->reg_addr, register_bytes);
    if (out.works) break;
  }
  return out;
}

void try_mlx5(ibv_device* handle, const cuda_driver& cuda, rdma_device_facts& device) {
  mlx5dv_context_attr wanted{};
  wanted.flags = MLX5DV_CONTEXT_FLAGS_DEVX;
  const open_device context{mlx5dv_open_device(handle, &wanted)};
  device.devx = {true, context.object != nullptr, context.object == nullptr ? last_error() : ""};
  if (context.object != nullptr && cuda.works()) {
    device.doorbell = map_doorbell(context.object, cuda);
  }
}

void try_device(ibv_device* handle, const cuda_driver& cuda, rdma_device_facts& device) {
  const open_device context{ibv_open_device(handle)};
  device.opens = {true, context.object != nullptr, context.object == nullptr ? last_error() : ""};
  if (context.object == nullptr) return;
  const domain pd{ibv_alloc_pd(context.object)};
  if (pd.object == nullptr) {
    device.registers = {true, false, last_error()};
    return;
  }
  device.registers = register_host_memory(pd.object);
  if (cuda.works()) device.gpu_memory = register_gpu_memory(pd.object, cuda);
  if (mlx5dv_is_supported(handle)) try_mlx5(handle, cuda, device);
}

void try_rdma(const cuda_driver& cuda, std::vector<rdma_device_facts>& devices) {
  int count = 0;
  ibv_device** list = ibv_get_device_list(&count);
  if (list == nullptr) return;
  for (int k = 0; k < count; ++k) {
    const std::string_view name = ibv_get_device_name(list[k]);
    const auto known = std::find_if(devices.begin(), devices.end(),
                                    [&](const auto& device) { return device.name == name; });
    if (known != devices.end()) try_device(list[k], cuda, *known);
  }
  ibv_free_device_list(list);
}

#else

void try_rdma(const cuda_driver&, std::vector<rdma_device_facts>&) {}

#endif

}  // namespace

void try_devices(machine_facts& facts) {
  const char* loading = std::getenv("CUDA_MODULE_LOADING");
  facts.process.lazy_loading = loading != nullptr && std::string_view(loading) == "LAZY";
  try_devices(facts, cuda_functions::load(facts.nvidia.cuda.why));
}

void try_devices(machine_facts& facts, const cuda_functions& functions) {
  const cuda_driver cuda(functions, facts.nvidia.cuda);
  facts.nvidia.cuda_version = cuda.version();
  merge(facts.gpus, cuda.gpus());
  try_rdma(cuda, facts.rdma);
}

}  // namespace gnstor::host::probe

#include "memory_home.hpp"
#include <base/cuda_driver.hpp>
#include <base/cuda_support.hpp>
#include <base/gpu_dma_buf.hpp>
#include <base/no_gpu_side.hpp>

#if defined(GNSTOR_WITH_CUDA)

#include <fmt/format.h>

#include <map>
#include <mutex>

namespace gnstor::host::mlx5 {
namespace {

constexpr std::size_t gpu_page = 65536;  ///< GPU pages that a NIC maps begin at multiples of this

/// Registers mapped for GPUs, with their counts. The runtime takes each once, and a device file of
/// the NIC may give several queues the same register.
class mapped_registers {
 public:
  std::uint64_t* map(void* reg, std::size_t bytes, int device) {
    const std::lock_guard lock(mutex_);
    const device_scope here(device);
    if (counts_[reg] == 0) {
      const cudaError_t outcome = cudaHostRegister(
          reg, bytes, cudaHostRegisterPortable | cudaHostRegisterMapped | cudaHostRegisterIoMemory);
      if (outcome != cudaSuccess) {
        counts_.erase(reg);
        (void)cudaGetLastError();
        throw error(fmt::format(
            "mapping the NIC's doorbell register to GPU {}: {}; load the NVIDIA driver with "
            "NVreg_RegistryDwords=\"PeerMappingOverride=1;\", or use the proxy",
            device, cudaGetErrorString(outcome)));
      }
    }
    ++counts_[reg];
    void* mapped = nullptr;
    const cudaError_t outcome = cudaHostGetDevicePointer(&mapped, reg, 0);
    if (outcome != cudaSuccess) {
      drop(reg);
      throw error(fmt::format("mapping the NIC's doorbell register to GPU {}: {}; use the proxy",
                              device, cudaGetErrorString(outcome)));
    }
    return static_cast<std::uint64_t*>(mapped);
  }
  void unmap(void* reg) noexcept {
    const std::lock_guard lock(mutex_);
    drop(reg);
  }

 private:
  void drop(void* reg) noexcept {
    const auto at = counts_.find(reg);
    if (at == counts_.end() || --at->second != 0) return;
    counts_.erase(at);
    (void)cudaHostUnregister(reg);
    (void)cudaGetLastError();
  }

  std::mutex mutex_;
  std::map<void*, int> counts_;
};

mapped_registers& registers() {
  static mapped_registers all;
  return all;
}

class gpu_memory_home final : public memory_home {
 public:
  explicit gpu_memory_home(int device) : device_(device) {
    require_gpu(device);
    int able = 0;
    cuda_check(cudaDeviceGetAttribute(&able, cudaDevAttrGPUDirectRDMASupported, device),
               "asking a GPU whether NICs reach its memory");
    if (able == 0) {
      throw error(fmt::format(
          "GPU {} does not share its memory with NICs (GPUDirect RDMA): use a data centre or "
          "workstation GPU, or the proxy",
          device));
    }
  }

  std::string name() const override { return fmt::format("GPU {}", device_); }

  /// Not from the stream-ordered allocator, whose memory cannot be exported to a NIC.
  void* allocate(std::size_t bytes) override {
    const device_scope here(device_);
    const std::size_t whole = (bytes + gpu_page - 1) / gpu_page * gpu_page;
    void* base = nullptr;
    const cudaError_t outcome = cudaMalloc(&base, whole + gpu_page);
    if (outcome != cudaSuccess) {
      (void)cudaGetLastError();
      throw error(fmt::format("no {} bytes of memory on GPU {}: {}; use fewer or shorter queues",
                              bytes, device_, cudaGetErrorString(outcome)));
    }
    const auto address = reinterpret_cast<std::uintptr_t>(base);
    void* aligned = reinterpret_cast<void*>((address + gpu_page - 1) / gpu_page * gpu_page);
    cudaError_t cleared = cudaMemset(aligned, 0, whole);
    if (cleared == cudaSuccess) cleared = cudaStreamSynchronize(nullptr);
    if (cleared != cudaSuccess) (void)cudaFree(base);
    cuda_check(cleared, "clearing GPU memory");
    const std::lock_guard lock(mutex_);
    bases_[aligned] = base;
    // A copy that returns has reached the memory itself, which the NIC reads past the GPU's caches.
    using set_attribute = CUresult(CUDAAPI*)(const void*, CUpointer_attribute, CUdeviceptr);
    if (auto* set = driver_function<set_attribute>("cuPointerSetAttribute", 7000)) {
      unsigned on = 1;
      (void)set(&on, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, reinterpret_cast<CUdeviceptr>(aligned));
    }
    return aligned;
  }

  void release(void* memory) noexcept override {
    const std::lock_guard lock(mutex_);
    const auto at = bases_.find(memory);
    if (at == bases_.end()) return;
    (void)cudaFree(at->second);
    bases_.erase(at);
  }

  void write(void* to, const void* from, std::size_t bytes) override {
    const device_scope here(device_);
    cuda_check(cudaMemcpy(to, from, bytes, cudaMemcpyDefault), "copying to GPU memory");
  }

  std::optional<file_descriptor> export_dmabuf(void* address, std::size_t bytes) override {
    const device_scope here(device_);
    return host::export_dma_buf(address, bytes);
  }

  std::uint64_t* map_register(void* reg, std::size_t bytes) override {
    return registers().map(reg, bytes, device_);
  }
  void unmap_register(void* reg) noexcept override { registers().unmap(reg); }

 private:
  int device_;
  std::mutex mutex_;
  std::map<void*, void*> bases_;  ///< what the allocator gave, by the address handed out
};

}  // namespace

std::shared_ptr<memory_home> gpu_home(int device) {
  return std::make_shared<gpu_memory_home>(device);
}

}  // namespace gnstor::host::mlx5

#else

namespace gnstor::host::mlx5 {

std::shared_ptr<memory_home> gpu_home(int) { throw error(no_gpu_side); }

}  // namespace gnstor::host::mlx5

#endif

#include "gpu_dma_buf.hpp"

#include "cuda_driver.hpp"

namespace gnstor::host {

#if defined(GNSTOR_WITH_CUDA)

std::optional<file_descriptor> export_dma_buf(void* address, std::size_t bytes) {
  constexpr std::size_t page = 4096;  // a dma-buf's range consists of these
  using export_range =
      CUresult(CUDAAPI*)(void*, CUdeviceptr, std::size_t, CUmemRangeHandleType, unsigned long long);
  auto* get = driver_function<export_range>("cuMemGetHandleForAddressRange", 11070);
  if (get == nullptr) return {};
  const std::size_t whole = (bytes + page - 1) / page * page;
  int fd = -1;
  const CUresult outcome = get(&fd, reinterpret_cast<CUdeviceptr>(address), whole,
                               CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD, 0);
  if (outcome != CUDA_SUCCESS || fd < 0) return {};
  return file_descriptor(fd);
}

#else

std::optional<file_descriptor> export_dma_buf(void*, std::size_t) { return {}; }

#endif

}  // namespace gnstor::host

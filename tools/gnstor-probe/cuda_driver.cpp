#include "cuda_driver.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

namespace gnstor::host::probe {
namespace {

// The driver's binary interface, which is stable: numbers of cuda.h.
constexpr int attribute_peer_dma = 116;   // CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_SUPPORTED
constexpr int attribute_dma_buf = 124;    // CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED
constexpr int attribute_major = 75;       // CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR
constexpr int attribute_minor = 76;       // CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR
constexpr unsigned register_flags = 0x7;  // CU_MEMHOSTREGISTER_PORTABLE | DEVICEMAP | IOMEMORY
constexpr int handle_dma_buf = 1;         // CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD

}  // namespace

cuda_driver::cuda_driver(const cuda_functions& functions, trial& outcome) : call_(functions) {
  if (call_.init == nullptr) {
    outcome = {true, false, outcome.why};
    return;
  }
  const int fault = call_.init(0);
  started_ = fault == 0;
  outcome = {true, started_, started_ ? "" : words(fault)};
}

int cuda_driver::use_first_gpu() const {
  if (context_ != nullptr) return 0;
  void* context = nullptr;
  if (const int fault = call_.retain(&context, 0); fault != 0) return fault;
  context_ = context;
  return call_.make_current(context_);
}

cuda_driver::~cuda_driver() {
  if (context_ != nullptr) call_.release(0);
}

bool cuda_driver::works() const { return started_; }

std::string cuda_driver::words(int fault) const {
  const char* text = nullptr;
  call_.error_words(fault, &text);
  return fmt::format("{} ({})", text == nullptr ? "unknown error" : text, fault);
}

std::optional<int> cuda_driver::version() const {
  int version = 0;
  if (!works() || call_.version(&version) != 0) return std::nullopt;
  return version;
}

std::vector<gpu_facts> cuda_driver::gpus() const {
  std::vector<gpu_facts> out;
  int count = 0;
  if (!works() || call_.count(&count) != 0) return out;
  for (int k = 0; k < count; ++k) {
    gpu_facts gpu;
    int device = 0;
    char text[256] = {};
    if (call_.get(&device, k) != 0) continue;
    if (call_.name(text, sizeof text, device) == 0) gpu.name = text;
    if (call_.pci(text, sizeof text, device) == 0) gpu.pci = text;
    std::transform(gpu.pci.begin(), gpu.pci.end(), gpu.pci.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    call_.attribute(&gpu.major, attribute_major, device);
    call_.attribute(&gpu.minor, attribute_minor, device);
    int yes = 0;
    if (call_.attribute(&yes, attribute_dma_buf, device) == 0) gpu.dma_buf = yes != 0;
    if (call_.attribute(&yes, attribute_peer_dma, device) == 0) gpu.peer_dma = yes != 0;
    out.push_back(gpu);
  }
  return out;
}

trial cuda_driver::map_register(void* page, std::size_t bytes) const {
  int fault = use_first_gpu();
  if (fault == 0) fault = call_.register_host(page, bytes, register_flags);
  if (fault == 0) fault = call_.unregister_host(page);
  return {true, fault == 0, fault == 0 ? "mapped for the first GPU" : words(fault)};
}

cuda_driver::memory::memory(const cuda_driver& driver, std::size_t bytes)
    : driver_(driver), bytes_(bytes) {
  if (!driver.works() || driver.use_first_gpu() != 0) return;
  if (driver.call_.allocate(&address_, bytes) != 0) address_ = 0;
}

cuda_driver::memory::~memory() {
  if (address_ != 0) driver_.call_.free(address_);
}

int cuda_driver::memory::dma_buf() const {
  int file = -1;
  if (address_ == 0 || driver_.call_.range_handle == nullptr) return -1;
  const int fault = driver_.call_.range_handle(&file, address_, bytes_, handle_dma_buf, 0);
  return fault == 0 ? file : -1;
}

}  // namespace gnstor::host::probe

#include "cuda_functions.hpp"

#include <dlfcn.h>

namespace gnstor::host::probe {
namespace {

template <class Function>
bool find(void* library, Function*& function, const char* symbol) {
  function = reinterpret_cast<Function*>(dlsym(library, symbol));
  return function != nullptr;
}

bool find_all(void* l, cuda_functions& f) {
  return find(l, f.init, "cuInit") && find(l, f.version, "cuDriverGetVersion") &&
         find(l, f.count, "cuDeviceGetCount") && find(l, f.get, "cuDeviceGet") &&
         find(l, f.name, "cuDeviceGetName") && find(l, f.attribute, "cuDeviceGetAttribute") &&
         find(l, f.pci, "cuDeviceGetPCIBusId") && find(l, f.error_words, "cuGetErrorString") &&
         find(l, f.retain, "cuDevicePrimaryCtxRetain") &&
         find(l, f.release, "cuDevicePrimaryCtxRelease_v2") &&
         find(l, f.make_current, "cuCtxSetCurrent") && find(l, f.allocate, "cuMemAlloc_v2") &&
         find(l, f.free, "cuMemFree_v2") && find(l, f.register_host, "cuMemHostRegister_v2") &&
         find(l, f.unregister_host, "cuMemHostUnregister");
}

}  // namespace

cuda_functions cuda_functions::load(std::string& why) {
  cuda_functions out;
  void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    why = "libcuda.so.1 is not installed";
    return out;
  }
  if (!find_all(library, out)) {
    why = "libcuda.so.1 is older than CUDA 11";
    return {};
  }
  find(library, out.range_handle, "cuMemGetHandleForAddressRange");
  return out;
}

}  // namespace gnstor::host::probe

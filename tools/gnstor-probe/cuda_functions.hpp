#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace gnstor::host::probe {

/// The entry points of NVIDIA's driver library that the probe calls; null where there is none.
///
/// Found while the program runs, so that a build without CUDA, on a machine without a GPU, asks the
/// same questions as any other. The binary interface is cuda.h's: device handles are int, device
/// addresses 64 bits.
struct cuda_functions {
  int (*init)(unsigned) = nullptr;
  int (*version)(int*) = nullptr;
  int (*count)(int*) = nullptr;
  int (*get)(int*, int) = nullptr;
  int (*name)(char*, int, int) = nullptr;
  int (*attribute)(int*, int, int) = nullptr;
  int (*pci)(char*, int, int) = nullptr;
  int (*error_words)(int, const char**) = nullptr;
  int (*retain)(void**, int) = nullptr;
  int (*release)(int) = nullptr;
  int (*make_current)(void*) = nullptr;
  int (*allocate)(std::uint64_t*, std::size_t) = nullptr;
  int (*free)(std::uint64_t) = nullptr;
  int (*register_host)(void*, std::size_t, unsigned) = nullptr;
  int (*unregister_host)(void*) = nullptr;
  /// Null before CUDA 11.7, which has no dma-buf.
  int (*range_handle)(void*, std::uint64_t, std::size_t, int, unsigned long long) = nullptr;

  /// Those of libcuda.so.1; without `init`, and with words in `why`, if they are not to be had.
  static cuda_functions load(std::string& why);
};

}  // namespace gnstor::host::probe

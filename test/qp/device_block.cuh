#pragma once

#include "memory_image.hpp"

#include <cuda_runtime_api.h>
#include <doctest/doctest.h>

namespace gnstor::test {

/// Memory of the current GPU for one image.
class device_block {
 public:
  explicit device_block(std::size_t bytes) {
    REQUIRE(cudaMalloc(&data_, bytes) == cudaSuccess);
    REQUIRE(cudaMemset(data_, 0, bytes) == cudaSuccess);
  }
  device_block(const device_block&) = delete;
  device_block& operator=(const device_block&) = delete;
  ~device_block() { static_cast<void>(cudaFree(data_)); }

  void* data() const { return data_; }
  void upload(memory_image& image) const {
    REQUIRE(cudaMemcpy(data_, image.host(), image.bytes(), cudaMemcpyHostToDevice) == cudaSuccess);
  }
  void download(memory_image& image) const {
    REQUIRE(cudaMemcpy(image.host(), data_, image.bytes(), cudaMemcpyDeviceToHost) == cudaSuccess);
  }

 private:
  void* data_ = nullptr;
};

}  // namespace gnstor::test

#pragma once

#include <cuda_runtime_api.h>
#include <doctest/doctest.h>

#include <cstddef>
#include <vector>

namespace gnstor::test {

/// Zeroed memory of the GPU.
template <class T>
class device_array {
 public:
  explicit device_array(std::size_t count) : count_(count) {
    REQUIRE(cudaMalloc(&data_, count * sizeof(T)) == cudaSuccess);
    REQUIRE(cudaMemset(data_, 0, count * sizeof(T)) == cudaSuccess);
  }
  device_array(const device_array&) = delete;
  device_array& operator=(const device_array&) = delete;
  ~device_array() { cudaFree(data_); }

  T* data() const { return data_; }
  void write(const std::vector<T>& from) {
    REQUIRE(cudaMemcpy(data_, from.data(), count_ * sizeof(T), cudaMemcpyHostToDevice) ==
            cudaSuccess);
  }
  std::vector<T> read() const {
    std::vector<T> out(count_);
    REQUIRE(cudaMemcpy(out.data(), data_, count_ * sizeof(T), cudaMemcpyDeviceToHost) ==
            cudaSuccess);
    return out;
  }

 private:
  T* data_ = nullptr;
  std::size_t count_;
};

}  // namespace gnstor::test

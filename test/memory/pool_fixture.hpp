#pragma once

#include <gnstor/memory/block_allocator.hpp>

#include <cstdint>
#include <vector>

namespace gnstor::test {

/// An allocator of a pool on the host with its bitmap; the pool itself needs no memory.
template <class Allocator>
class pool_fixture {
 public:
  explicit pool_fixture(std::uint64_t pool_bytes)
      : words_(Allocator::bytes_for(pool_bytes) / 8), pool_bytes_(pool_bytes) {
    Allocator::format(words_.data(), pool_bytes);
  }
  Allocator ref() { return Allocator(words_.data(), pool_bytes_); }
  std::uint64_t blocks() const { return pool_bytes_ / Allocator::smallest_block; }

 private:
  std::vector<std::uint64_t> words_;
  std::uint64_t pool_bytes_;
};

}  // namespace gnstor::test

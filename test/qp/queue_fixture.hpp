#pragma once

#include <emulated/queue_in_memory.hpp>
#include <gnstor/qp/mlx5_queue_pair.hpp>
#include <hca/memory_region.hpp>

#include <cstdint>
#include <vector>

namespace gnstor::test {

/// As `fw::queue_in_memory`, in the tests' protection domain.
inline fw::queue_attributes attributes_of(std::uint64_t address, std::uint32_t depth,
                                          std::uint32_t number, std::uint32_t blocks = 1) {
  fw::queue_attributes at = fw::queue_in_memory(address, depth, number, blocks);
  at.domain = 1;
  return at;
}

/// Zeroed host memory at a multiple of 128 bytes.
class aligned_memory {
 public:
  explicit aligned_memory(std::size_t bytes) : words_(bytes / 8 + 17) {}
  unsigned char* data() {
    const auto at = reinterpret_cast<std::uintptr_t>(words_.data());
    return reinterpret_cast<unsigned char*>((at + 127) / 128 * 128);
  }

 private:
  std::vector<std::uint64_t> words_;
};

/// A queue pair in host memory, its receives posted, and a key that opens all memory.
template <class QP>
class basic_queue_fixture {
 public:
  static constexpr std::uint32_t key = 0x101;

  /// @param first_index index of the first request; index counters wrap at 16 bits on the wire
  /// @param scatter responses lie in their completions, not in the receive ring
  explicit basic_queue_fixture(std::uint32_t depth, std::uint32_t number = 0x1234,
                               std::uint64_t first_index = 0, bool scatter = false)
      : memory_(mlx5_queue_layout::of(depth, QP::blocks).bytes),
        depth_(depth),
        number_(number),
        scatter_(scatter) {
    mlx5_format_queue(memory_.data(), depth, QP::blocks);
    state().reserved = state().published = state().retired = first_index;
    regions_[1] = {
        0, ~std::uint64_t{0}, fw::local_write | fw::remote_read | fw::remote_write, 1, key, 0};
    ref().post_receives();
  }

  QP ref() { return {memory_.data(), depth_, number_, key}; }
  mlx5_queue_state& state() { return *reinterpret_cast<mlx5_queue_state*>(memory_.data()); }
  unsigned char* memory() { return memory_.data(); }
  fw::queue_attributes attributes() {
    auto at =
        attributes_of(reinterpret_cast<std::uint64_t>(memory_.data()), depth_, number_, QP::blocks);
    at.scatter_responses = scatter_ ? 1 : 0;
    return at;
  }
  fw::region_table regions() { return {regions_, 2}; }
  std::uint32_t depth() const { return depth_; }

 private:
  aligned_memory memory_;
  fw::memory_region regions_[2];
  std::uint32_t depth_;
  std::uint32_t number_;
  bool scatter_;
};

using queue_fixture = basic_queue_fixture<mlx5_queue_pair<>>;

}  // namespace gnstor::test

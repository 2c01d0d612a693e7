#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <random>
#include <span>

namespace gnstor::interop {

/// Draws what a malformed sequence does; everything follows from the seed.
class mutator {
 public:
  explicit mutator(std::uint64_t seed) : random_(seed) {}

  std::uint64_t any() { return random_(); }
  /// A number below `n`.
  std::uint32_t below(std::uint32_t n) { return static_cast<std::uint32_t>(random_() % n); }
  /// True in one of `n` cases.
  bool one_in(std::uint32_t n) { return below(n) == 0; }
  /// One of the values that programs trip over, or any at all.
  std::uint32_t odd_value() {
    constexpr std::uint32_t known[] = {0,          1,          0xff,       0x100,      0xffff,
                                       0x10000,    0xffffff,   0x7fffffff, 0x80000000, 0xffffffff,
                                       0x55555555, 0x00000fff, 0x00001001};
    return one_in(4) ? static_cast<std::uint32_t>(any()) : known[below(std::size(known))];
  }
  /// Changes one to three bits, bytes or words.
  void spoil(std::span<unsigned char> bytes) {
    for (std::uint32_t left = 1 + below(3); left != 0; --left) {
      const std::uint32_t at = below(static_cast<std::uint32_t>(bytes.size()));
      const std::uint32_t value = odd_value();
      switch (below(3)) {
        case 0: bytes[at] = static_cast<unsigned char>(bytes[at] ^ (1u << below(8))); break;
        case 1: bytes[at] = static_cast<unsigned char>(value); break;
        default: std::memcpy(bytes.data() + at, &value, std::min(bytes.size() - at, sizeof value));
      }
    }
  }

 private:
  std::mt19937_64 random_;
};

}  // namespace gnstor::interop

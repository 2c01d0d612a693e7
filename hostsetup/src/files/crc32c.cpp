#include "files/crc32c.hpp"

#include <array>

namespace gnstor::host::files {
namespace {

/// What a byte makes of a remainder, by the byte.
constexpr std::array<std::uint32_t, 256> crc_of_byte = [] {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t remainder = byte;
    for (int bit = 0; bit < 8; ++bit)
      remainder = remainder >> 1 ^ ((remainder & 1) != 0 ? 0x82f63b78 : 0);
    table[byte] = remainder;
  }
  return table;
}();

}  // namespace

std::uint32_t crc32c(std::span<const std::byte> bytes, std::uint32_t before) {
  std::uint32_t remainder = ~before;
  for (const std::byte byte : bytes)
    remainder = remainder >> 8 ^ crc_of_byte[(remainder ^ static_cast<std::uint32_t>(byte)) & 0xff];
  return ~remainder;
}

std::uint32_t crc32c_around(std::span<const std::byte> bytes, std::size_t crc_at) {
  constexpr std::array<std::byte, 4> zeroes{};
  const std::uint32_t head = crc32c(bytes.first(crc_at));
  return crc32c(bytes.subspan(crc_at + zeroes.size()), crc32c(zeroes, head));
}

}  // namespace gnstor::host::files

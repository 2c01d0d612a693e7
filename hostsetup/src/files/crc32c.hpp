#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace gnstor::host::files {

/// The CRC-32C (Castagnoli) of bytes: RFC 3720, appendix B.4. With `before`, of what these bytes
/// follow.
std::uint32_t crc32c(std::span<const std::byte> bytes, std::uint32_t before = 0);

/// That of a structure which holds its own, at byte `crc_at`: four zeroes stand in its place.
std::uint32_t crc32c_around(std::span<const std::byte> bytes, std::size_t crc_at);

}  // namespace gnstor::host::files

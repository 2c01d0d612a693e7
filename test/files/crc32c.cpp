#include "files/crc32c.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cstring>

using namespace gnstor::host::files;

TEST_CASE("CRC-32C is the one of RFC 3720, and may be taken in parts") {
  // RFC 3720, B.4.
  std::array<std::byte, 32> zeroes{};
  CHECK(crc32c(zeroes) == 0x8a9136aa);
  std::array<std::byte, 32> rising{};
  for (std::size_t k = 0; k < rising.size(); ++k) rising[k] = static_cast<std::byte>(k);
  CHECK(crc32c(rising) == 0x46dd794e);
  const std::span whole(rising);
  CHECK(crc32c(whole.subspan(10), crc32c(whole.first(10))) == 0x46dd794e);

  std::memset(rising.data() + 8, 0, 4);
  const std::uint32_t around = crc32c(rising);
  std::memset(rising.data() + 8, 0xee, 4);
  CHECK(crc32c_around(rising, 8) == around);
}

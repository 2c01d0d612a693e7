#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>

namespace gnstor::test {

/// The bytes of `bytes` as they lie in memory, four to a group, so that a failed comparison can be
/// read.
inline std::string hex(const void* bytes, std::size_t count) {
  static constexpr char digits[] = "0123456789abcdef";
  std::string text;
  for (std::size_t i = 0; i < count; ++i) {
    if (i != 0 && i % 4 == 0) text += ' ';
    const auto byte = static_cast<const unsigned char*>(bytes)[i];
    text += digits[byte >> 4];
    text += digits[byte & 15];
  }
  return text;
}

template <class Struct>
std::string hex(const Struct& value) {
  static_assert(std::is_trivially_copyable_v<Struct>);
  return hex(&value, sizeof(value));
}

}  // namespace gnstor::test

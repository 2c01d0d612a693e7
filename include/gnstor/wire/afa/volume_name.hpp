#pragma once

#include <gnstor/core/config.hpp>

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace gnstor::wire::afa {

/// UTF-8 text of at most `Bytes` bytes, padded with zeroes: empty if the first byte is 0.
template <std::size_t Bytes>
struct fixed_text {
  static constexpr std::size_t most = Bytes;
  char bytes[Bytes];

  GNSTOR_HD constexpr bool empty() const { return bytes[0] == 0; }
  GNSTOR_HD constexpr std::size_t size() const {
#if defined(__CUDACC__)
#pragma unroll 1
#endif
    for (std::size_t n = 0; n < Bytes; ++n) {
      if (bytes[n] == 0) return n;
    }
    return Bytes;
  }
  GNSTOR_HD friend constexpr bool operator==(const fixed_text& a, const fixed_text& b) {
#if defined(__CUDACC__)
#pragma unroll 1
#endif
    for (std::size_t k = 0; k < Bytes; ++k) {
      if (a.bytes[k] != b.bytes[k]) return false;
    }
    return true;
  }
};

/// What people call a volume.
using volume_name = fixed_text<64>;
/// `key=value` pairs with commas between them, by convention: the array looks at none of it.
using volume_labels = fixed_text<128>;

namespace detail {

/// Bytes of the UTF-8 sequence that begins at `at`, of which `left` are there; 0 if it is none:
/// cut short, longer than it need be, a surrogate, or beyond U+10FFFF (RFC 3629, 4).
GNSTOR_HD constexpr std::size_t utf8_sequence(const char* at, std::size_t left) {
  const auto byte = [at](std::size_t k) { return static_cast<unsigned char>(at[k]); };
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  const std::size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || left < length) return 0;
#if defined(__CUDACC__)
#pragma unroll 1
#endif
  for (std::size_t k = 1; k < length; ++k) {
    if ((byte(k) & 0xc0) != 0x80) return 0;
  }
  const bool too_long = (first == 0xe0 && byte(1) < 0xa0) || (first == 0xf0 && byte(1) < 0x90);
  const bool outside = (first == 0xed && byte(1) > 0x9f) || (first == 0xf4 && byte(1) > 0x8f);
  return too_long || outside ? 0 : length;
}

}  // namespace detail

/// True for well-formed UTF-8 without control characters, with nothing but zeroes behind its end.
template <std::size_t Bytes>
GNSTOR_HD constexpr bool is_text(const fixed_text<Bytes>& t) {
  const std::size_t size = t.size();
  std::size_t next = 0;  // where a sequence has to begin
#if defined(__CUDACC__)
#pragma unroll 1
#endif
  for (std::size_t k = 0; k < size; ++k) {
    if (k != next) continue;
    const auto first = static_cast<unsigned char>(t.bytes[k]);
    const std::size_t length = detail::utf8_sequence(t.bytes + k, size - k);
    if (length == 0 || first < 0x20 || first == 0x7f) return false;
    // U+0080 to U+009F are control characters, too.
    if (first == 0xc2 && static_cast<unsigned char>(t.bytes[k + 1]) < 0xa0) return false;
    next += length;
  }
#if defined(__CUDACC__)
#pragma unroll 1
#endif
  for (std::size_t k = size; k < Bytes; ++k) {
    if (t.bytes[k] != 0) return false;
  }
  return true;
}

static_assert(sizeof(volume_name) == 64 && std::is_trivial_v<volume_name>);
static_assert(sizeof(volume_labels) == 128 && std::is_trivial_v<volume_labels>);

}  // namespace gnstor::wire::afa

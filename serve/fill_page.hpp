#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <span>
#include <string_view>
#include <type_traits>

namespace gnstor::serve {

/// Fills `page` with the bytes of `said`, a structure of the wire, and with zeroes behind it. What
/// lies beyond the end of `page` is dropped, because a host may ask for less than the whole.
template <class Structure>
void fill_page(std::span<std::byte> page, const Structure& said) {
  static_assert(std::is_trivially_copyable_v<Structure>);
  const auto bytes = std::as_bytes(std::span(&said, 1));
  const auto behind = std::copy_n(bytes.begin(), std::min(bytes.size(), page.size()), page.begin());
  std::fill(behind, page.end(), std::byte{0});
}

/// Fills a text field with `words` and, behind them, with `pad`. What has no room is dropped.
template <std::size_t Bytes>
void fill_text(char (&field)[Bytes], std::string_view words, char pad) {
  const auto behind = std::copy_n(words.begin(), std::min(words.size(), Bytes), field);
  std::fill(behind, field + Bytes, pad);
}

}  // namespace gnstor::serve

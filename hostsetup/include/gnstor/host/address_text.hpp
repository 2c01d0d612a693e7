#pragma once
/// IPv4 and hardware addresses as users write them.

#include <gnstor/host/text_values.hpp>
#include <gnstor/wire/ethernet/mac_address.hpp>

#include <optional>
#include <string>
#include <string_view>

namespace gnstor::host {

/// 10.64.0.2 as 0x0a400002. Empty if `text` is no four numbers of 0 to 255 with dots between.
inline std::optional<std::uint32_t> parse_ipv4(std::string_view text) {
  std::uint32_t address = 0;
  for (int k = 0; k < 4; ++k) {
    const std::size_t dot = k < 3 ? text.find('.') : text.size();
    if (dot == std::string_view::npos || dot > 3) return {};
    const std::optional<std::uint64_t> byte = parse_number(text.substr(0, dot));
    if (!byte || *byte > 255) return {};
    address = address << 8 | static_cast<std::uint32_t>(*byte);
    text.remove_prefix(k < 3 ? dot + 1 : dot);
  }
  return address;
}

/// 0x0a400002 as 10.64.0.2.
inline std::string ipv4_text(std::uint32_t address) {
  std::string text = std::to_string(address >> 24);
  for (int shift = 16; shift >= 0; shift -= 8) text += "." + std::to_string(address >> shift & 255);
  return text;
}

/// Six bytes in hexadecimal with colons between. Empty if `text` is something else.
inline std::optional<wire::ethernet::mac_address> parse_mac(std::string_view text) {
  wire::ethernet::mac_address mac{};
  if (text.size() != 17) return {};
  for (std::size_t k = 0; k < 6; ++k) {
    const char* const at = text.data() + 3 * k;
    const auto [end, fault] = std::from_chars(at, at + 2, mac.byte[k], 16);
    if (fault != std::errc{} || end != at + 2 || (k < 5 && *end != ':')) return {};
  }
  return mac;
}

}  // namespace gnstor::host

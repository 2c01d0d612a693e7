#pragma once

#include <fmt/format.h>

#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace gnstor::host::pcie {

/// Where a function lies on this machine's PCI buses: "0000:01:00.0".
struct pci_address {
  std::uint32_t domain = 0;
  std::uint32_t bus = 0;
  std::uint32_t device = 0;
  std::uint32_t function = 0;

  /// Reads DOMAIN:BUS:DEVICE.FUNCTION in hexadecimal digits, the domain may be left away; nothing
  /// if it is anything else.
  static std::optional<pci_address> parse(std::string_view text) {
    pci_address a;
    std::string_view rest = text;
    if (rest.find(':') != rest.rfind(':') && !take(rest, ':', 0xffffffff, a.domain)) return {};
    if (!take(rest, ':', 0xff, a.bus) || !take(rest, '.', 0x1f, a.device)) return {};
    if (!take(rest, '\0', 7, a.function)) return {};
    return a;
  }
  /// As the kernel writes it.
  std::string text() const {
    return fmt::format("{:04x}:{:02x}:{:02x}.{:x}", domain, bus, device, function);
  }
  bool operator==(const pci_address&) const = default;

 private:
  /// Takes a number, and `end` behind it, from the front of `rest`.
  static bool take(std::string_view& rest, char end, std::uint32_t most, std::uint32_t& number) {
    const std::string_view digits = end == '\0' ? rest : rest.substr(0, rest.find(end));
    if (end != '\0' && digits.size() == rest.size()) return false;
    const char* const last = digits.data() + digits.size();
    const auto [stopped, problem] = std::from_chars(digits.data(), last, number, 16);
    if (problem != std::errc{} || stopped != last || number > most) return false;
    rest.remove_prefix(digits.size() + (end == '\0' ? 0 : 1));
    return true;
  }
};

}  // namespace gnstor::host::pcie

#include "pci_config.hpp"

#include <cstdint>

namespace gnstor::host::probe {
namespace {

constexpr std::size_t first_capability = 0x100;
constexpr std::uint32_t acs_capability = 0x000d;
constexpr std::size_t acs_control = 6;
constexpr std::uint32_t redirects = 0x0c;
constexpr int most_capabilities = 960;  // as many as fit between byte 256 and 4096

std::uint32_t word_at(std::string_view bytes, std::size_t at) {
  std::uint32_t value = 0;
  for (std::size_t k = 0; k < 4; ++k) {
    value |= std::uint32_t{static_cast<unsigned char>(bytes[at + k])} << (8 * k);
  }
  return value;
}

}  // namespace

std::optional<bool> acs_redirects(std::string_view config) {
  std::size_t at = first_capability;
  for (int k = 0; k < most_capabilities && at >= first_capability && at + 8 <= config.size(); ++k) {
    const std::uint32_t header = word_at(config, at);
    if (header == 0 || header == 0xffffffff) break;
    if ((header & 0xffff) == acs_capability) {
      const std::uint32_t control = word_at(config, at + 4) >> (8 * (acs_control - 4));
      return (control & redirects) != 0;
    }
    at = header >> 20;
  }
  return std::nullopt;
}

}  // namespace gnstor::host::probe

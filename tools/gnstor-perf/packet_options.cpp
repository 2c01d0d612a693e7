#include "packet_options.hpp"

#include <gnstor/host/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

namespace gnstor::tools {

std::string packet_options::usual_endpoint() const {
  return what == "exchange" ? "emu-nic:?ports=1&loopback=0&runner=cpu"
                            : "emu-nic:?ports=2&runner=cpu";
}

std::uint32_t packet_options::used_buffer_bytes() const {
  if (buffer_bytes != 0) return buffer_bytes;
  constexpr std::uint32_t usual = 2048;
  return std::max(usual, (bytes + 1023) / 1024 * 1024);
}

std::string packet_options::full_endpoint() const {
  std::string text = endpoint;
  if (text.empty()) text = usual_endpoint();
  const bool has_queues = text.starts_with("emu-nic:") || text.starts_with("pcap:");
  if (queues > 1 && !has_queues) {
    throw host::input_error(fmt::format(
        "--queues {}: several ring pairs per port are those of emu-nic: and pcap:, not of {}",
        queues, text));
  }
  const auto add = [&text](std::string_view name, std::uint64_t value) {
    for (const char before : {'?', '&'}) {
      if (text.find(before + std::string(name) + '=') != std::string::npos) return;
    }
    text += fmt::format("{}{}={}", text.find('?') == std::string::npos ? '?' : '&', name, value);
  };
  if (queues != 0 && has_queues) add("queues", queues);
  if (!text.starts_with("emu-nic:")) return text;
  constexpr std::uint64_t no_end = 1'000'000'000'000;
  add("frames", sends() ? 0 : no_end);
  add("size", bytes);
  return text;
}

wire::ethernet::mac_address packet_options::to_address(std::uint32_t port) const {
  if (to.empty()) return {{2, 0, 0, 0, 1, static_cast<std::uint8_t>(port)}};
  wire::ethernet::mac_address a{};
  unsigned part[6];
  int used = 0;
  if (std::sscanf(to.c_str(), "%2x:%2x:%2x:%2x:%2x:%2x%n", &part[0], &part[1], &part[2], &part[3],
                  &part[4], &part[5], &used) != 6 ||
      static_cast<std::size_t>(used) != to.size()) {
    throw host::input_error(
        fmt::format("--to {}: expected a hardware address such as 52:54:00:12:34:56", to));
  }
  for (int k = 0; k < 6; ++k) a.byte[k] = static_cast<std::uint8_t>(part[k]);
  return a;
}

}  // namespace gnstor::tools

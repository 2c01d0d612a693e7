#include "option_list.hpp"
#include <gnstor/host/nic_endpoint.hpp>
#include <gnstor/host/text_values.hpp>
#include <gnstor/pcie/pci_address.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

namespace gnstor::host {
namespace {

constexpr std::string_view nic_scheme = "emu-nic:";
constexpr std::string_view tap_scheme = "tap:";
constexpr std::string_view pcap_scheme = "pcap:";
constexpr std::string_view ethernet_scheme = "eth://";

/// Names of interfaces, as Linux takes them: up to 15 bytes, and those that a shell leaves alone.
bool is_interface_name(std::string_view name) {
  const auto fits = [](unsigned char c) { return std::isalnum(c) || c == '_' || c == '-'; };
  return !name.empty() && name.size() <= 15 && std::all_of(name.begin(), name.end(), fits);
}

nic_endpoint parse_tap(std::string_view rest, std::string_view whole) {
  const auto question = rest.find('?');
  nic_endpoint e;
  e.frames = 0;
  e.taps = between_commas(rest.substr(0, question));
  for (const std::string& name : e.taps) {
    if (!is_interface_name(name) || std::count(e.taps.begin(), e.taps.end(), name) != 1)
      e.ports = 0;
  }
  if (e.ports == 0 || e.taps.empty() || e.taps.size() > 8) {
    throw input_error(fmt::format(
        "endpoint '{}': expected tap:NAME, an interface of Linux, such as tap:tap0, or up to eight "
        "of them with commas between, one for each port; a name has 1 to 15 letters, digits, - and "
        "_",
        whole));
  }
  e.ports = static_cast<std::uint32_t>(e.taps.size());
  if (question != std::string_view::npos) apply_all(e, rest.substr(question + 1), tap_options());
  return e;
}

void refuse_shared_enable(const nic_endpoint& e, std::string_view whole) {
  if (e.queues == 1 || e.model == nic_endpoint::model_kind::intel_82599) return;
  throw input_error(fmt::format(
      "endpoint '{}': an 82574's RCTL and TCTL enable all of its rings at once, so that none could "
      "stop alone: use model=82599, or queues=1",
      whole));
}

nic_endpoint parse_pcap(std::string_view rest, std::string_view whole) {
  const auto question = rest.find('?');
  nic_endpoint e;
  e.frames = 0;
  e.captures = between_commas(rest.substr(0, question));
  const auto plays = [](const std::string& file) { return file != "-" && !file.empty(); };
  if (e.captures.size() > 8 || std::none_of(e.captures.begin(), e.captures.end(), plays) ||
      std::count(e.captures.begin(), e.captures.end(), "") != 0) {
    throw input_error(fmt::format(
        "endpoint '{}': expected pcap:FILE, a capture as tcpdump -w writes it, or up to eight of "
        "them with commas between, one for each port; - is a port that receives nothing",
        whole));
  }
  e.ports = static_cast<std::uint32_t>(e.captures.size());
  if (question != std::string_view::npos) apply_all(e, rest.substr(question + 1), pcap_options());
  refuse_shared_enable(e, whole);
  return e;
}

nic_endpoint parse_ethernet(std::string_view rest, std::string_view whole) {
  const auto question = rest.find('?');
  nic_endpoint e;
  for (const std::string& one : between_commas(rest.substr(0, question))) {
    const auto address = pcie::pci_address::parse(one);
    const std::string name = address ? address->text() : "";
    if (name.empty() || std::count(e.functions.begin(), e.functions.end(), name) != 0) {
      throw input_error(fmt::format(
          "endpoint '{}': expected eth://DOMAIN:BUS:DEVICE.FUNCTION, such as eth://0000:02:00.0, "
          "or "
          "several with commas between, one for each port; gnstorctl local list shows the "
          "controllers of this machine",
          whole));
    }
    e.functions.push_back(name);
  }
  e.model = nic_endpoint::model_kind::intel_82574;
  e.ports = static_cast<std::uint32_t>(e.functions.size());
  e.frames = 0;
  if (question != std::string_view::npos)
    apply_all(e, rest.substr(question + 1), ethernet_options());
  return e;
}

}  // namespace

bool nic_endpoint::is_meant_by(std::string_view text) {
  return text.starts_with(nic_scheme) || text.starts_with(tap_scheme) ||
         text.starts_with(pcap_scheme) || text.starts_with(ethernet_scheme);
}

nic_endpoint nic_endpoint::parse(std::string_view text) {
  if (text.starts_with(ethernet_scheme))
    return parse_ethernet(text.substr(ethernet_scheme.size()), text);
  if (text.starts_with(tap_scheme)) return parse_tap(text.substr(tap_scheme.size()), text);
  if (text.starts_with(pcap_scheme)) return parse_pcap(text.substr(pcap_scheme.size()), text);
  nic_endpoint e;
  const std::string_view rest =
      text.starts_with(nic_scheme) ? text.substr(nic_scheme.size()) : std::string_view("!");
  if (!rest.empty() && rest.front() != '?') {
    throw input_error(fmt::format(
        "endpoint '{}': expected emu-nic:?NAME=VALUE&..., an Ethernet controller, tap:NAME, an "
        "interface of Linux, pcap:FILE, a capture, or eth://DOMAIN:BUS:DEVICE.FUNCTION, a "
        "controller of this machine",
        text));
  }
  if (!rest.empty()) apply_all(e, rest.substr(1), nic_endpoint_options());
  refuse_shared_enable(e, text);
  if (e.queues != 1 && e.flows == 0) e.flows = 1024;
  if (e.loops >> e.ports != 0) {
    throw input_error(
        fmt::format("endpoint '{}': loopback names no port of {}, which are counted "
                    "from 0",
                    text, e.ports));
  }
  const std::uint32_t shares =
      e.lost + e.duplicated + e.damaged + e.miscounted + e.runts + e.oversize;
  if (shares > 1024) {
    throw input_error(
        fmt::format("endpoint '{}': loss, duplicate, damage, checksum, runt and oversize are {} of "
                    "1024 frames together; use less",
                    text, shares));
  }
  return e;
}

}  // namespace gnstor::host

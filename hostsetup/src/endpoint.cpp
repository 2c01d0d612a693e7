#include "endpoint_option.hpp"
#include <gnstor/core/units.hpp>
#include <gnstor/host/error.hpp>
#include <gnstor/host/text_values.hpp>
#include <gnstor/pcie/pci_address.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace gnstor::host {
namespace {

/// What a value should have been, for the end of a message.
std::string wanted(const option_syntax& s) {
  switch (s.what) {
    case option_syntax::kind::number:
      return fmt::format("expected a number from {} to {}", s.low, s.high);
    case option_syntax::kind::size:
      return fmt::format(
          "expected a size such as 64M, up to {}T: a number of bytes, or one with K, M, G or T "
          "behind it",
          s.high >> 40);
    case option_syntax::kind::text: return fmt::format("name a {}, or leave it away", s.stands_for);
    case option_syntax::kind::word: break;
  }
  return "expected " + s.usage();
}

/// Reads what stands behind an option's `=`; empty if its syntax does not allow it.
std::optional<option_value> read(const option_syntax& s, std::string_view text) {
  if (s.what == option_syntax::kind::text) {
    return text.empty() ? std::nullopt : std::optional(option_value{0, text});
  }
  if (s.what == option_syntax::kind::word) {
    const auto at = std::find(s.words.begin(), s.words.end(), text);
    if (at == s.words.end()) return {};
    return option_value{static_cast<std::uint64_t>(at - s.words.begin()), text};
  }
  const auto number = s.what == option_syntax::kind::size ? parse_size(text) : parse_number(text);
  if (!number || *number < s.low || *number > s.high) return {};
  return option_value{*number, text};
}

template <class Endpoint>
std::string names_of(std::span<const endpoint_option<Endpoint>> options) {
  std::string names;
  for (const auto& o : options) names.append(names.empty() ? "" : ", ").append(o.name);
  return names;
}

/// Applies one "name=value".
template <class Endpoint>
void apply(Endpoint& e, std::string_view name, std::string_view text,
           std::span<const endpoint_option<Endpoint>> options) {
  const auto option =
      std::find_if(options.begin(), options.end(), [&](const auto& o) { return o.name == name; });
  if (option == options.end()) {
    throw input_error(
        fmt::format("endpoint option '{}' is unknown; these exist: {}", name, names_of(options)));
  }
  const std::optional<option_value> value = read(option->syntax, text);
  if (!value) {
    throw input_error(fmt::format("endpoint option {}={}: {}", name, text, wanted(option->syntax)));
  }
  option->apply(e, *value);
}

/// Applies "name=value&name=value". No name comes twice: which one was meant?
template <class Endpoint>
void apply_all(Endpoint& e, std::string_view rest,
               std::span<const endpoint_option<Endpoint>> options) {
  std::vector<std::string_view> given;
  for (; !rest.empty();) {
    const auto end = rest.find('&');
    const std::string_view item = rest.substr(0, end);
    const auto equals = item.find('=');
    if (equals == std::string_view::npos) {
      throw input_error(fmt::format("endpoint option '{}': expected name=value; these exist: {}",
                                    item, names_of(options)));
    }
    const std::string_view name = item.substr(0, equals);
    apply(e, name, item.substr(equals + 1), options);
    if (std::find(given.begin(), given.end(), name) != given.end())
      throw input_error(fmt::format("endpoint option '{}' is given twice: give it once", name));
    given.push_back(name);
    rest = end == std::string_view::npos ? std::string_view{} : rest.substr(end + 1);
  }
}

rdma_endpoint parse_rdma(std::string_view rest, std::string_view whole) {
  rdma_endpoint e;
  const auto question = rest.find('?');
  const std::string_view path = rest.substr(0, question);
  const auto slash = path.find('/');
  const std::optional<host_port> address = parse_host_port(path.substr(0, slash));
  if (!address) {
    throw input_error(
        fmt::format("endpoint '{}': expected rdma://HOST[:PORT]/NQN, an IPv6 address in brackets, "
                    "a port from 1 to 65535",
                    whole));
  }
  e.host = address->host;
  e.port = address->port.value_or(e.port);
  if (slash != std::string_view::npos) e.subsystem = path.substr(slash + 1);
  if (question != std::string_view::npos) apply_all(e, rest.substr(question + 1), rdma_options());
  return e;
}

/// Stripes are whole blocks of 4096 bytes.
void check_stripe(std::uint32_t bytes) {
  if (bytes % block_bytes == 0) return;
  throw input_error(fmt::format("endpoint option stripe={}: use a multiple of 4096 bytes", bytes));
}

nvme_endpoint parse_nvme(std::string_view text) {
  nvme_endpoint e;
  const std::string_view rest = text.substr(text.find(':') + 1);
  if (!rest.empty() && rest.front() != '?') {
    throw input_error(
        fmt::format("endpoint '{}': expected '?' and options after 'emu-nvme:'", text));
  }
  if (!rest.empty()) apply_all(e, rest.substr(1), nvme_options());
  check_stripe(e.stripe_bytes);
  return e;
}

/// One address, or several with commas between them.
std::vector<std::string> parse_addresses(std::string_view list, std::string_view whole) {
  std::vector<std::string> all;
  for (std::size_t at = 0; at <= list.size();) {
    const std::size_t comma = std::min(list.find(',', at), list.size());
    const auto address = pcie::pci_address::parse(list.substr(at, comma - at));
    if (!address) {
      throw input_error(fmt::format(
          "endpoint '{}': expected nvme://DOMAIN:BUS:DEVICE.FUNCTION, such as "
          "nvme://0000:01:00.0, or several with commas between them; gnstorctl local list shows "
          "the controllers of this machine",
          whole));
    }
    if (std::find(all.begin(), all.end(), address->text()) != all.end()) {
      throw input_error(fmt::format("endpoint '{}': {} is given twice: each controller once", whole,
                                    address->text()));
    }
    all.push_back(address->text());
    at = comma + 1;
  }
  if (all.size() > pcie_endpoint::max_controllers) {
    throw input_error(fmt::format("endpoint '{}': {} controllers: use 1 to {}", whole, all.size(),
                                  pcie_endpoint::max_controllers));
  }
  return all;
}

pcie_endpoint parse_pcie(std::string_view rest, std::string_view whole) {
  const auto question = rest.find('?');
  pcie_endpoint e;
  e.addresses = parse_addresses(rest.substr(0, question), whole);
  if (question != std::string_view::npos) apply_all(e, rest.substr(question + 1), pcie_options());
  check_stripe(e.stripe_bytes);
  return e;
}

disk_endpoint parse_disk(std::string_view rest, std::string_view whole) {
  const auto question = rest.find('?');
  disk_endpoint e;
  e.path = rest.substr(0, question);
  if (e.path.empty()) {
    throw input_error(fmt::format(
        "endpoint '{}': expected disk:PATH, a block device or a file, such as disk:/dev/sdb",
        whole));
  }
  if (question != std::string_view::npos) apply_all(e, rest.substr(question + 1), disk_options());
  return e;
}

homi_endpoint parse_homi(std::string_view rest, std::string_view whole) {
  const auto question = rest.find('?');
  homi_endpoint e;
  e.name = rest.substr(0, question);
  if (e.name.empty()) {
    throw input_error(fmt::format(
        "endpoint '{}': expected homi:NAME, the name of a gnstor-homid or the path of its socket",
        whole));
  }
  if (question != std::string_view::npos) apply_all(e, rest.substr(question + 1), homi_options());
  return e;
}

/// Options of the manager are its own, all others those of the connection with the data.
void parse_managed(endpoint& e, std::string_view rest, std::string_view whole) {
  const auto question = rest.find('?');
  std::string_view path = rest.substr(0, question);
  if (path.ends_with('/')) path.remove_suffix(1);
  e.control.emplace();
  bool first = true;
  for (const std::string& one : between_commas(path)) {
    const std::optional<host_port> address = parse_host_port(one);
    if (!address) {
      throw input_error(fmt::format(
          "endpoint '{}': expected gnstor://HOST[:PORT], several with commas between them, an IPv6 "
          "address in brackets, a port from 1 to 65535, and nothing behind it: a manager has one "
          "array",
          whole));
    }
    control_endpoint daemon;
    daemon.host = address->host;
    daemon.port = address->port.value_or(daemon.port);
    if (std::exchange(first, false)) {
      *e.control = daemon;
    } else {
      e.control->others += (e.control->others.empty() ? "" : ",") + daemon.server();
    }
  }
  e.rdma.emplace();
  if (question == std::string_view::npos) return;
  std::string own;
  std::string others;
  for (rest.remove_prefix(question + 1); !rest.empty();) {
    const std::string_view item = rest.substr(0, rest.find('&'));
    rest.remove_prefix(std::min(item.size() + 1, rest.size()));
    const std::string_view name = item.substr(0, item.find('='));
    const auto known = control_options();
    const bool is_own =
        std::any_of(known.begin(), known.end(), [&](const auto& o) { return o.name == name; });
    std::string& list = is_own ? own : others;
    list.append(list.empty() ? "" : "&").append(item);
  }
  apply_all(*e.control, own, control_options());
  apply_all(*e.rdma, others, rdma_options());
}

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

endpoint endpoint::parse(std::string_view text) {
  constexpr std::string_view rdma_scheme = "rdma://";
  constexpr std::string_view managed_scheme = "gnstor://";
  endpoint e;
  if (text.starts_with(rdma_scheme)) {
    e.rdma = parse_rdma(text.substr(rdma_scheme.size()), text);
    return e;
  }
  if (text.starts_with(managed_scheme)) {
    parse_managed(e, text.substr(managed_scheme.size()), text);
    return e;
  }
  if (nvme_endpoint::is_meant_by(text)) {
    e.nvme = parse_nvme(text);
    return e;
  }
  if (text.starts_with(disk_endpoint::scheme)) {
    e.disk = parse_disk(text.substr(disk_endpoint::scheme.size()), text);
    return e;
  }
  if (text.starts_with(pcie_endpoint::scheme)) {
    e.pcie = parse_pcie(text.substr(pcie_endpoint::scheme.size()), text);
    return e;
  }
  if (text.starts_with(homi_endpoint::scheme)) {
    e.homi = parse_homi(text.substr(homi_endpoint::scheme.size()), text);
    return e;
  }
  if (mapped_endpoint::is_meant_by(text)) {
    throw input_error(
        fmt::format("endpoint '{}' is memory, not an array: open it by host::mapped_memory, for a "
                    "host::mapped_array",
                    text));
  }
  if (memory_endpoint::is_meant_by(text)) {
    throw input_error(
        fmt::format("endpoint '{}' is memory of a peer, not an array: open it by "
                    "host::remote_memory, for a host::memory_array",
                    text));
  }
  if (text.starts_with(nic_scheme)) {
    throw input_error(fmt::format(
        "endpoint '{}' is an Ethernet controller, not an array: open it by host::nic", text));
  }
  const auto colon = text.find(':');
  if (colon == std::string_view::npos || text.substr(0, colon) != "emu") {
    throw input_error(fmt::format(
        "endpoint '{}': unknown scheme; these exist: emu:, emu-nvme:, disk:, nvme://, homi:, "
        "rdma://, gnstor://",
        text));
  }
  std::string_view rest = text.substr(colon + 1);
  if (!rest.empty() && rest.front() != '?') {
    throw input_error(fmt::format("endpoint '{}': expected '?' and options after 'emu:'", text));
  }
  if (!rest.empty()) apply_all(e, rest.substr(1), emulated_options());
  if (e.replicas > e.ssds) {
    throw input_error(
        fmt::format("endpoint '{}': replicas={} but only ssds={}; use at most one replica per SSD",
                    text, e.replicas, e.ssds));
  }
  return e;
}

bool mapped_endpoint::is_meant_by(std::string_view text) {
  return text.starts_with("host:") || text.starts_with("file:");
}

mapped_endpoint mapped_endpoint::parse(std::string_view text) {
  if (!is_meant_by(text)) {
    throw input_error(fmt::format(
        "endpoint '{}': expected host:?bytes=SIZE or file:PATH, memory that kernels reach", text));
  }
  mapped_endpoint e;
  const bool is_file = text.starts_with("file:");
  const std::string_view rest = text.substr(text.find(':') + 1);
  const auto question = rest.find('?');
  e.path = rest.substr(0, question);
  if (question != std::string_view::npos)
    apply_all(e, rest.substr(question + 1), mapping_options());
  if (is_file && e.path.empty())
    throw input_error(fmt::format("endpoint '{}': expected file:PATH", text));
  if (!is_file && (!e.path.empty() || e.bytes == 0 || !e.write))
    throw input_error(fmt::format("endpoint '{}': expected host:?bytes=SIZE", text));
  return e;
}

namespace {

constexpr std::string_view server_scheme = "memory://";
constexpr std::string_view emulated_scheme = "emu-memory:";

}  // namespace

bool memory_endpoint::is_meant_by(std::string_view text) {
  return text.starts_with(server_scheme) || text.starts_with(emulated_scheme);
}

memory_endpoint memory_endpoint::parse(std::string_view text) {
  memory_endpoint e;
  if (text.starts_with(server_scheme)) {
    const std::string_view rest = text.substr(server_scheme.size());
    const auto question = rest.find('?');
    const std::string_view path = rest.substr(0, question);
    const auto slash = path.find('/');
    const std::optional<host_port> address = parse_host_port(path.substr(0, slash));
    if (slash != std::string_view::npos) e.name = path.substr(slash + 1);
    if (!address || e.name.empty()) {
      throw input_error(
          fmt::format("endpoint '{}': expected memory://HOST[:PORT]/NAME, an IPv6 address in "
                      "brackets, a port from 1 to 65535",
                      text));
    }
    e.host = address->host;
    e.port = address->port.value_or(default_port);
    if (question != std::string_view::npos)
      apply_all(e, rest.substr(question + 1), granted_options());
    return e;
  }
  if (!text.starts_with(emulated_scheme)) {
    throw input_error(
        fmt::format("endpoint '{}': expected memory://HOST[:PORT]/NAME or emu-memory:?bytes=SIZE, "
                    "memory of a peer",
                    text));
  }
  const std::string_view rest = text.substr(emulated_scheme.size());
  if (rest.starts_with('?')) apply_all(e, rest.substr(1), memory_options());
  if (e.bytes == 0)
    throw input_error(fmt::format("endpoint '{}': expected emu-memory:?bytes=SIZE", text));
  return e;
}

}  // namespace gnstor::host

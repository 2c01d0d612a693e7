#include "option_list.hpp"
#include <gnstor/core/units.hpp>
#include <gnstor/host/nic_endpoint.hpp>
#include <gnstor/host/text_values.hpp>
#include <gnstor/pcie/pci_address.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace gnstor::host {
namespace {

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

/// One path, or several with commas between them.
disk_endpoint parse_disk(std::string_view rest, std::string_view whole) {
  const auto question = rest.find('?');
  disk_endpoint e;
  for (const std::string& path : between_commas(rest.substr(0, question))) {
    if (path.empty()) {
      throw input_error(fmt::format(
          "endpoint '{}': expected disk:PATH, a block device or a file, such as disk:/dev/sdb, or "
          "several with commas between them",
          whole));
    }
    if (std::find(e.paths.begin(), e.paths.end(), path) != e.paths.end()) {
      throw input_error(
          fmt::format("endpoint '{}': {} is given twice: each disk once", whole, path));
    }
    e.paths.push_back(path);
  }
  if (e.paths.size() > disk_endpoint::max_disks) {
    throw input_error(fmt::format("endpoint '{}': {} disks: use 1 to {}", whole, e.paths.size(),
                                  disk_endpoint::max_disks));
  }
  if (question != std::string_view::npos) apply_all(e, rest.substr(question + 1), disk_options());
  check_stripe(e.stripe_bytes);
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
  const std::string_view path = rest.substr(0, question);
  const auto slash = std::min(path.find('/'), path.size());
  const std::string_view array = path.substr(std::min(slash + 1, path.size()));
  if (!array.empty() && !control_endpoint::is_array_name(array)) {
    throw input_error(fmt::format(
        "endpoint '{}': '{}' is no name of an array: letters, digits, '.', '_' and '-', "
        "64 at most",
        whole, array));
  }
  e.control.emplace();
  bool first = true;
  for (const std::string& one : between_commas(path.substr(0, slash))) {
    const std::optional<host_port> address = parse_host_port(one);
    if (!address) {
      throw input_error(fmt::format(
          "endpoint '{}': expected gnstor://HOST[:PORT][/ARRAY], several hosts with commas between "
          "them, an IPv6 address in brackets, a port from 1 to 65535",
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
  e.control->array = array;
  e.rdma.emplace();
  e.rdma->keep_alive_ms = control_endpoint::default_keep_alive_ms;
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

}  // namespace

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
  if (nic_endpoint::is_meant_by(text)) {
    throw input_error(
        fmt::format("endpoint '{}' is a NIC, not an array: open it by host::nic", text));
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

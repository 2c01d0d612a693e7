#include "endpoint_option.hpp"
#include <gnstor/host/endpoint_help.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace gnstor::host {
namespace {

constexpr std::size_t columns = 100;

struct section {
  option_use use;
  const char* scheme;
  const char* about;
};
constexpr section sections[] = {
    {option_use::deployment, "emu:?NAME=VALUE&...",
     "An array emulated inside this process: what it is, and where."},
    {option_use::emulation, "emu:?NAME=VALUE&...",
     "How an array is emulated, for measurements and tests."},
    {option_use::connection, "rdma://HOST[:PORT]/NQN?NAME=VALUE&...",
     "An NVMe over Fabrics subsystem behind RDMA; without an NQN the session lists what there is."},
    {option_use::managing, "gnstor://HOST[:PORT],...[/ARRAY]?NAME=VALUE&...",
     "An array by its manager (gnstor-target --manage), which says where the data is, for programs "
     "that link gnstor::control. The options of rdma:// hold, too."},
    {option_use::local, "emu-nvme:?NAME=VALUE&...",
     "A local NVMe controller emulated inside this process, or several: its namespaces are "
     "volumes, "
     "and "
     "kernels drive its queues themselves, by the bytes of NVMe over PCIe."},
    {option_use::disk, "disk:PATH[,PATH...]?NAME=VALUE&...",
     "A block device or a file of this machine, or several, over which the volume is striped: its "
     "queues are driven by kernels, while CPU threads have Linux read and write (io_uring, past "
     "the page cache)."},
    {option_use::bus, "nvme://DOMAIN:BUS:DEVICE.FUNCTION[,...]?NAME=VALUE&...",
     "A local NVMe controller on this machine's bus, or several, over which volumes are striped. "
     "Taken from Linux by gnstorctl local bind it "
     "is driven by VFIO behind an IOMMU, else by its registers and huge pages; kept by its driver "
     "it is reached through Linux."},
    {option_use::lent, "homi:NAME?NAME=VALUE&...",
     "A local NVMe controller that gnstor-homid owns, which lends its queues to many processes; "
     "NAME "
     "is the daemon's, or the path of its socket."},
    {option_use::mapping, "host:?NAME=VALUE&... or file:PATH?NAME=VALUE&...",
     "Host memory, or a file, that kernels reach themselves: for host::mapped_memory, not for "
     "sessions."},
    {option_use::granting, "memory://HOST[:PORT]/NAME?NAME=VALUE&...",
     "Memory that a gnstor-memory server exports, which kernels read and write by RDMA: for "
     "host::remote_memory, not for sessions."},
    {option_use::exporting, "emu-memory:?NAME=VALUE&...",
     "The same of memory of this process behind an emulated NIC."},
    {option_use::packets, "emu-nic:?NAME=VALUE&...",
     "An Ethernet controller emulated inside this process, whose descriptor rings kernels drive: "
     "for host::nic, not for sessions."},
    {option_use::taps, "tap:NAME[,NAME...]?NAME=VALUE&...",
     "An emulated Ethernet controller with Linux on its wires: port k is the k-th tap interface, "
     "which is made where there is none, and a CPU thread moves frames between it and the rings. "
     "For host::nic."},
    {option_use::captures, "pcap:FILE[,FILE...]?NAME=VALUE&...",
     "An emulated Ethernet controller with capture files on its wires: port k receives the frames "
     "of "
     "the k-th file, as fast as kernels take them, or nothing where it is -; flows stop when all "
     "are through. For host::nic."},
    {option_use::ethernet, "eth://DOMAIN:BUS:DEVICE.FUNCTION[,...]?NAME=VALUE&...",
     "An 82574 (e1000e) on this machine's bus, or several, one for each port, taken from Linux by "
     "gnstorctl local bind: kernels of this CPU drive its rings and tails, by VFIO behind an "
     "IOMMU, "
     "else by its registers and huge pages. For host::nic."},
};

/// ", 1 to 64", where a usage line does not say it.
std::string bounds(const option_syntax& s) {
  if (s.what != option_syntax::kind::number) return {};
  return fmt::format(", {} to {}", s.low, s.high);
}

/// `text` in lines that begin with `indent` blanks.
std::string wrapped(std::string_view text, std::size_t indent) {
  std::string lines;
  for (; !text.empty();) {
    std::size_t length = std::min(text.size(), columns - indent);
    if (length < text.size()) length = std::min(text.rfind(' ', length), text.size());
    lines += std::string(indent, ' ').append(text.substr(0, length)) + '\n';
    text.remove_prefix(std::min(length + 1, text.size()));
  }
  return lines;
}

template <class Endpoint>
std::string describe(const endpoint_option<Endpoint>& o, help_format format) {
  const std::string range = bounds(o.syntax);
  if (format == help_format::markdown) {
    const std::string text = fmt::format("`{}={}`{}, default {}. {}", o.name, o.syntax.usage(),
                                         range, o.fallback, o.meaning);
    return wrapped(text, 2).replace(0, 1, "-");
  }
  return fmt::format("  {}={}{}, default {}\n", o.name, o.syntax.usage(), range, o.fallback) +
         wrapped(o.meaning, 6);
}

template <class Endpoint>
std::string describe_all(std::span<const endpoint_option<Endpoint>> options, option_use use,
                         help_format format) {
  std::string all;
  for (const auto& o : options) {
    if (o.use == use) all += describe(o, format);
  }
  return all;
}

std::string describe_all(option_use use, help_format format) {
  switch (use) {
    case option_use::connection: return describe_all(rdma_options(), use, format);
    case option_use::local: return describe_all(nvme_options(), use, format);
    case option_use::disk: return describe_all(disk_options(), use, format);
    case option_use::bus: return describe_all(pcie_options(), use, format);
    case option_use::lent: return describe_all(homi_options(), use, format);
    case option_use::managing: return describe_all(control_options(), use, format);
    case option_use::mapping: return describe_all(mapping_options(), use, format);
    case option_use::granting: return describe_all(granted_options(), use, format);
    case option_use::exporting: return describe_all(memory_options(), use, format);
    case option_use::ethernet: return describe_all(ethernet_options(), use, format);
    case option_use::taps: return describe_all(tap_options(), use, format);
    case option_use::captures: return describe_all(pcap_options(), use, format);
    case option_use::packets: return describe_all(nic_endpoint_options(), use, format);
    default: return describe_all(emulated_options(), use, format);
  }
}

}  // namespace

std::string endpoint_help(help_format format) {
  const bool markdown = format == help_format::markdown;
  std::string help;
  for (const section& s : sections) {
    help += help.empty() ? "" : "\n";
    help += markdown ? fmt::format("`{}`\n\n", s.scheme) : fmt::format("{}\n", s.scheme);
    help += wrapped(s.about, 0);
    help += markdown ? "\n" : "";
    help += describe_all(s.use, format);
  }
  return help;
}

}  // namespace gnstor::host

#include "pcie_nic.hpp"

#include <gnstor/host/error.hpp>
#include <gnstor/pcie/open_device.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

namespace gnstor::host {
namespace {

/// Auto-negotiation takes two or three seconds.
constexpr auto link_patience = std::chrono::seconds(4);

}  // namespace

pcie_nic::pcie_nic(const nic_endpoint& where, const nic_options& options) : where_(where) {
  if (options.client == machine::gpu) {
    throw input_error(
        "eth://: kernels on a GPU drive emulated controllers (emu-nic:) and taps today: use one of "
        "these, or run the kernels on this CPU (nic_options::client)");
  }
  for (const std::string& name : where_.functions) {
    controller c;
    c.device = pcie::open_ethernet_device(pcie::pci_function(*pcie::pci_address::parse(name)));
    c.driver = std::make_unique<pcie::ethernet_controller>(*c.device, name);
    all_.push_back(std::move(c));
    if ((all_.back().device->granule_shift() == 0) != is_translated()) {
      throw input_error(fmt::format(
          "{} and {}: an IOMMU stands before one of them alone, so that memory has no address for "
          "both: bind both alike",
          where_.functions.front(), name));
    }
  }
  const auto have_links = [this] {
    return std::all_of(all_.begin(), all_.end(),
                       [](const controller& c) { return c.driver->has_link(); });
  };
  for (until wait{simt::within(link_patience)}; wait;) {
    if (have_links()) break;
  }
}

pcie_nic::~pcie_nic() = default;

pcie_nic::controller& pcie_nic::at(std::uint32_t port) const {
  if (port >= all_.size())
    throw input_error(fmt::format("port {}: the NIC has {}", port, all_.size()));
  return all_[port];
}

wire::ethernet::mac_address pcie_nic::address(std::uint32_t port) const {
  return at(port).driver->address();
}

memory_block pcie_nic::allocate(std::size_t bytes) {
  pcie::mapped_device& first = *all_.front().device;
  if (bytes > first.contiguous_bytes()) {
    throw input_error(
        fmt::format("{}: a flow takes {} KiB, and without an IOMMU {} KiB lie in one piece: use "
                    "fewer buffers, or "
                    "a machine whose IOMMU is on (gnstorctl local bind --driver vfio-pci)",
                    first.name(), bytes >> 10, first.contiguous_bytes() >> 10));
  }
  return first.allocate(bytes);
}

/// Without an IOMMU memory has the bus's address for all of them. Behind one each has addresses of
/// its own, which are given in the same order, and so are the same.
std::uint64_t pcie_nic::map(void* memory, std::uint64_t bytes) {
  const std::uint64_t address = all_.front().device->map(memory, bytes);
  if (!is_translated()) return address;
  for (std::size_t k = 1; k < all_.size(); ++k) {
    const std::uint64_t other = all_[k].device->map(memory, bytes);
    if (other == address) continue;
    all_[k].device->unmap(other);
    for (std::size_t before = 0; before < k; ++before) all_[before].device->unmap(address);
    throw error(
        fmt::format("{} and {}: their IOMMUs gave one piece of memory two addresses: use a "
                    "flow of one controller",
                    all_.front().device->name(), all_[k].device->name()));
  }
  return address;
}
void pcie_nic::unmap(std::uint64_t address) noexcept {
  for (controller& c : all_) c.device->unmap(address);
}

ring_words pcie_nic::open_ring(std::uint32_t port, std::uint32_t queue, ring_direction way,
                               const ring_memory& memory) {
  using registers = pcie::ethernet_controller::registers;
  controller& c = at(port);
  if (queue != 0) {
    throw input_error(
        fmt::format("port {}, queue {}: a controller of the bus is driven by one ring pair per "
                    "port, queue 0",
                    port, queue));
  }
  const bool receives = way == ring_direction::receive;
  const std::lock_guard lock(use_);
  bool& is_open = c.is_open[receives ? 0 : 1];
  if (is_open) {
    throw input_error(fmt::format("port {} {} for another flow: use another port", port,
                                  receives ? "receives" : "sends"));
  }
  if (receives) {
    c.driver->open_receive(memory.dma, memory.depth, {memory.buffer_bytes, where_.promiscuous});
  } else {
    c.driver->open_transmit(memory.dma, memory.depth);
  }
  is_open = true;
  const wire::intel::ring_registers where =
      receives ? registers::receive(0) : registers::transmit(0);
  const auto word = [&c](std::uint32_t offset) {
    return reinterpret_cast<std::uint32_t*>(c.device->registers().data() + offset);
  };
  ring_words words;
  words.entries = memory.entries;
  words.depth = memory.depth;
  words.tail = word(where.tail);
  words.control = word(where.control);
  words.state = word(where.control);
  words.enable = where.enable;
  return words;
}

void pcie_nic::close_ring(std::uint32_t port, std::uint32_t, ring_direction way) noexcept {
  const std::lock_guard lock(use_);
  controller& c = all_[port];
  const bool receives = way == ring_direction::receive;
  if (receives) {
    c.driver->close_receive();
  } else {
    c.driver->close_transmit();
  }
  c.is_open[receives ? 0 : 1] = false;
}

nic_statistics pcie_nic::statistics(std::uint32_t port) const {
  controller& c = at(port);
  const std::lock_guard lock(use_);
  const auto now = c.driver->counters();
  c.seen.delivered += now.received;
  c.seen.sent += now.sent;
  c.seen.missed += now.missed;
  c.seen.damaged += now.damaged;
  c.seen.runts += now.undersize;
  c.seen.oversize += now.oversize;
  return c.seen;
}

std::vector<std::string> pcie_nic::notes() const {
  std::vector<std::string> notes;
  for (const controller& c : all_) {
    const auto& a = c.driver->address().byte;
    const std::string link = c.driver->has_link() ? fmt::format("{} Mb/s", c.driver->speed())
                                                  : "no link: is the cable in?";
    notes.push_back(fmt::format("an 82574, {} by {}: {:02x}:{:02x}:{:02x}:{:02x}:{:02x}:{:02x}, {}",
                                c.device->name(), c.device->way(), a[0], a[1], a[2], a[3], a[4],
                                a[5], link));
  }
  return notes;
}

}  // namespace gnstor::host

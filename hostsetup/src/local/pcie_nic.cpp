#include "pcie_nic.hpp"

#include <gnstor/host/error.hpp>
#include <gnstor/pcie/open_device.hpp>

#include <fmt/format.h>

namespace gnstor::host {
namespace {

/// Auto-negotiation takes two or three seconds.
constexpr auto link_patience = std::chrono::seconds(4);

pcie::pci_function function_of(const nic_endpoint& where) {
  return pcie::pci_function(*pcie::pci_address::parse(where.function));
}

}  // namespace

pcie_nic::pcie_nic(const nic_endpoint& where, const nic_options& options) : where_(where) {
  if (options.client == machine::gpu) {
    throw input_error(
        fmt::format("eth://{}: kernels on a GPU drive emulated controllers (emu-nic:) and taps "
                    "today: use one of "
                    "these, or run the kernels on this CPU (nic_options::client)",
                    where_.function));
  }
  device_ = pcie::open_ethernet_device(function_of(where_));
  controller_ = std::make_unique<pcie::ethernet_controller>(*device_, device_->name());
  for (until wait{simt::within(link_patience)}; wait;) {
    if (controller_->has_link()) break;
  }
}

pcie_nic::~pcie_nic() = default;

void pcie_nic::must_be_first(std::uint32_t port) {
  if (port != 0) throw input_error(fmt::format("port {}: the NIC has 1", port));
}

wire::ethernet::mac_address pcie_nic::address(std::uint32_t port) const {
  must_be_first(port);
  return controller_->address();
}

memory_block pcie_nic::allocate(std::size_t bytes) {
  if (bytes > device_->contiguous_bytes()) {
    throw input_error(
        fmt::format("{}: a flow takes {} KiB, and without an IOMMU {} KiB lie in one piece: use "
                    "fewer buffers, or "
                    "a machine whose IOMMU is on (gnstorctl local bind --driver vfio-pci)",
                    device_->name(), bytes >> 10, device_->contiguous_bytes() >> 10));
  }
  return device_->allocate(bytes);
}

ring_words pcie_nic::open_ring(std::uint32_t port, ring_direction way, const ring_memory& memory) {
  using registers = pcie::ethernet_controller::registers;
  must_be_first(port);
  const bool receives = way == ring_direction::receive;
  const std::lock_guard lock(use_);
  bool& is_open = is_open_[receives ? 0 : 1];
  if (is_open) {
    throw input_error(fmt::format("port {} {} for another flow: use another port", port,
                                  receives ? "receives" : "sends"));
  }
  if (receives) {
    controller_->open_receive(memory.dma, memory.depth, {memory.buffer_bytes, where_.promiscuous});
  } else {
    controller_->open_transmit(memory.dma, memory.depth);
  }
  is_open = true;
  const wire::intel::ring_registers where =
      receives ? registers::receive(0) : registers::transmit(0);
  const auto word = [this](std::uint32_t offset) {
    return reinterpret_cast<std::uint32_t*>(device_->registers().data() + offset);
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

void pcie_nic::close_ring(std::uint32_t, ring_direction way) noexcept {
  const std::lock_guard lock(use_);
  const bool receives = way == ring_direction::receive;
  if (receives) {
    controller_->close_receive();
  } else {
    controller_->close_transmit();
  }
  is_open_[receives ? 0 : 1] = false;
}

nic_statistics pcie_nic::statistics(std::uint32_t port) const {
  must_be_first(port);
  const std::lock_guard lock(use_);
  const auto now = controller_->counters();
  seen_.delivered += now.received;
  seen_.sent += now.sent;
  seen_.missed += now.missed;
  seen_.damaged += now.damaged;
  seen_.runts += now.undersize;
  seen_.oversize += now.oversize;
  return seen_;
}

std::vector<std::string> pcie_nic::notes() const {
  const auto& a = controller_->address().byte;
  const std::string link = controller_->has_link() ? fmt::format("{} Mb/s", controller_->speed())
                                                   : "no link: is the cable in?";
  return {fmt::format("an 82574, {} by {}: {:02x}:{:02x}:{:02x}:{:02x}:{:02x}:{:02x}, {}",
                      device_->name(), device_->way(), a[0], a[1], a[2], a[3], a[4], a[5], link)};
}

}  // namespace gnstor::host

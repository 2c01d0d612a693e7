#pragma once

#include <gnstor/pcie/ethernet_controller.hpp>
#include <gnstor/pcie/mapped_device.hpp>
#include <link/nic_link.hpp>

#include <memory>
#include <mutex>

namespace gnstor::host {

/// Ethernet controllers on this machine's bus, a port each, whose rings and tails lanes of this CPU
/// drive: nothing has to run beside them.
class pcie_nic final : public nic_link {
 public:
  /// Opens the functions by VFIO where vfio-pci has them, by `resource0` where no driver has them,
  /// resets them, and waits a while for their links. Throws `input_error` that says what to do
  /// where that cannot be.
  pcie_nic(const nic_endpoint& where, const nic_options& options);
  ~pcie_nic() override;

  nic_endpoint::model_kind model() const override { return nic_endpoint::model_kind::intel_82574; }
  std::uint32_t ports() const override { return where_.ports; }
  wire::ethernet::mac_address address(std::uint32_t port) const override;
  std::uint32_t usual_depth() const override { return where_.depth; }
  std::uint32_t most_depth() const override { return 4096; }
  memory_block allocate(std::size_t bytes) override;
  memory_block allocate_words(std::size_t bytes) override {
    return memory_block(place::host, bytes);
  }
  /// QEMU's e1000e sends no frame that lies in two pages of an IOMMU (`net_tx_pkt_add_raw_fragment`
  /// maps a fragment in one piece or not at all); a real one does.
  std::uint32_t frame_boundary() const override { return is_translated() ? 4096 : 0; }
  std::uint64_t map(void* memory, std::uint64_t bytes) override;
  void unmap(std::uint64_t address) noexcept override;
  ring_words open_ring(std::uint32_t port, std::uint32_t queue, ring_direction way,
                       const ring_memory& memory) override;
  void close_ring(std::uint32_t port, std::uint32_t queue, ring_direction way) noexcept override;
  void stop_with_frames(std::uint32_t*, bool) noexcept override {}
  nic_statistics statistics(std::uint32_t port) const override;
  void check() const override {}
  std::vector<std::string> notes() const override;
  void attach(simt::host::executor&) override {}
  void attach(simt::cuda::executor&) override {}

 private:
  struct controller {
    std::unique_ptr<pcie::mapped_device> device;
    std::unique_ptr<pcie::ethernet_controller> driver;
    bool is_open[2] = {};  ///< the ring of each direction
    nic_statistics seen;
  };

  controller& at(std::uint32_t port) const;
  /// An IOMMU stands before them.
  bool is_translated() const { return all_.front().device->granule_shift() == 0; }

  nic_endpoint where_;
  mutable std::mutex use_;  ///< of the registers that reading changes
  mutable std::vector<controller> all_;
};

}  // namespace gnstor::host

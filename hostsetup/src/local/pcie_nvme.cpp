#include "pcie_nvme.hpp"

#include <base/cuda_support.hpp>
#include <base/gpu_dma_buf.hpp>
#include <gnstor/host/error.hpp>
#include <gnstor/pcie/open_device.hpp>
#include <gnstor/pcie/udmabuf_importer.hpp>
#include <gnstor/wire/nvme/controller_properties.hpp>
#include <gnstor/wire/nvme/controller_register.hpp>

#include <fmt/format.h>

namespace gnstor::host {

pcie_nvme::pcie_nvme(const pcie::pci_function& f, const pcie::path_choice& chosen,
                     const session_options& options)
    : why_(chosen.why) {
  if (options.client == machine::gpu) {
    throw input_error(fmt::format(
        "{}: kernels on a GPU drive emulated controllers (emu-nvme:) today, and disks through "
        "Linux (disk:); use one of these, or run the kernels on this CPU "
        "(session_options::client)",
        f.name()));
  }
  device_ = pcie::open_device(f);
  const std::uint64_t capabilities =
      read(static_cast<std::uint64_t>(wire::nvme::controller_register::capabilities), 8);
  stride_bytes_ = wire::nvme::doorbell_stride_bytes(capabilities);
  if (chosen.path == pcie_endpoint::path_kind::relay)
    relay_ = std::make_unique<doorbell_relay>(options.channels + 1);
}

/// A GPU's memory, as kernels on this CPU may have it read and written.
std::unique_ptr<pcie::imported_memory> pcie_nvme::import(void* memory, std::uint64_t bytes) {
  if (!is_gpu_memory(memory)) return {};
  if (device_->granule_shift() == 0) {
    throw input_error(
        name() +
        ": an IOMMU stands before it, and VFIO takes no memory of a GPU: without an IOMMU it would "
        "be reached by udmabuf_import");
  }
  if (importer_ == nullptr) importer_ = std::make_unique<pcie::udmabuf_importer>();
  constexpr std::uint64_t granule = pcie::imported_memory::granule_bytes;
  const std::uint64_t skew = reinterpret_cast<std::uint64_t>(memory) % granule;
  auto file = export_dma_buf(static_cast<unsigned char*>(memory) - skew, bytes + skew);
  if (!file)
    throw error(name() +
                ": the GPU's driver exports no memory as a dma-buf: gnstor-probe says why");
  return std::make_unique<pcie::imported_memory>(*importer_, std::move(*file), bytes + skew);
}

nvme_pcie_doorbells pcie_nvme::doorbells(std::uint16_t queue, place) {
  const std::uint64_t at = wire::nvme::tail_doorbell_offset(queue, stride_bytes_);
  const pcie::mapped_registers& registers = device_->registers();
  if (at + stride_bytes_ + 4 > registers.bytes()) {
    throw error(
        fmt::format("{}: the doorbells of queue {} lie beyond its first BAR", name(), queue));
  }
  auto* const own = reinterpret_cast<std::uint32_t*>(registers.data() + at);
  if (relay_ != nullptr) return relay_->add(own, stride_bytes_);
  return {own, stride_bytes_, false};
}

nvme_device::doorbell_file pcie_nvme::shared_doorbells() const {
  if (device_->granule_shift() != 0) {
    throw input_error(name() +
                      ": without an IOMMU its addresses are those of all memory, which no process "
                      "is given: bind it to vfio-pci");
  }
  if (relay_ != nullptr)
    throw input_error(name() + ": other processes ring its doorbells themselves: path=device");
  constexpr std::uint64_t page = 4096;
  const std::uint64_t at = wire::nvme::tail_doorbell_offset(0, stride_bytes_);
  const pcie::mapped_device::register_file f = device_->registers_file();
  return {f.file, f.offset + at, (device_->registers().bytes() - at) / page * page, 0,
          stride_bytes_};
}

void pcie_nvme::inject_fault(std::uint32_t, std::string_view) {
  throw input_error(name() + ": a real controller makes its own faults; emu-nvme: makes them");
}

std::vector<std::string> pcie_nvme::notes() const {
  return {fmt::format("{} by {}: {}", name(), device_->way(), why_)};
}

}  // namespace gnstor::host

#include "nvme_device.hpp"

#include <gnstor/host/error.hpp>
#include <gnstor/pcie/memory_importer.hpp>

namespace gnstor::host {

std::unique_ptr<pcie::imported_memory> nvme_device::import(void*, std::uint64_t) { return {}; }

void nvme_device::drive_together(const std::function<void()>& work,
                                 std::span<nvme_device* const> others) {
  if (others.empty()) return drive(work);
  drive([&] { others[0]->drive_together(work, others.subspan(1)); });
}

nvme_device::doorbell_file nvme_device::shared_doorbells() const {
  throw input_error(name() + ": other processes cannot ring its doorbells: use vfio-pci");
}

}  // namespace gnstor::host

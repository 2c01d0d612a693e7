#include "nvme_device.hpp"

#include <gnstor/host/error.hpp>
#include <gnstor/pcie/memory_importer.hpp>

namespace gnstor::host {

std::unique_ptr<pcie::imported_memory> nvme_device::import(void*, std::uint64_t) { return {}; }

nvme_device::doorbell_file nvme_device::shared_doorbells() const {
  throw input_error(name() + ": other processes cannot ring its doorbells: use vfio-pci");
}

}  // namespace gnstor::host

#pragma once

#include <gnstor/core/config.hpp>

namespace gnstor::inline v0 {

/// The doorbell registers of an NVMe queue pair, where its lanes reach them.
struct nvme_pcie_doorbells {
  std::uint32_t* tail = nullptr;   ///< of the submission queue; that of the completion queue's head
                                   ///< is one stride behind
  std::uint32_t stride_bytes = 4;  ///< `wire::nvme::doorbell_stride_bytes`
  bool same_device = false;        ///< a controller emulated by the lanes' own device reads them
};

}  // namespace gnstor::inline v0

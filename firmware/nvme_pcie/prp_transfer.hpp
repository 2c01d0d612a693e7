#pragma once

#include <hca/transfer.hpp>

#include <nvme_pcie/prp_walk.hpp>

namespace gnstor::fw {

/// Moves the data of one command between blocks in memory and the pages that its PRPs name.
class prp_transfer {
 public:
  /// @param to_host the blocks go to the host's pages; else they come from there
  GNSTOR_HD prp_transfer(const nvme_node& node, bool to_host) : node_(&node), to_host_(to_host) {}

  /// Moves `bytes` (1 on) between `blocks` and the pages of `data`. Returns the NVMe status field.
  /// @par Callers every lane of `g`, converged, with the same arguments
  /// @par Bound the pages
  /// @par Errors as `prp_walk::over`; some pages may have been moved by then
  GNSTOR_HD std::uint16_t move(const simt::group& g, wire::nvme::prp_pair data,
                               unsigned char* blocks, std::uint32_t bytes) {
    blocks_ = blocks;
    return prp_walk(*node_, *this).over(g, data, bytes);
  }

  /// One piece of them: what `prp_walk` hands over.
  GNSTOR_HD void operator()(const simt::group& g, unsigned char* host, std::uint32_t bytes) {
    if (to_host_) {
      deliver(g, host, blocks_, bytes);
    } else {
      transfer(g, blocks_, host, bytes);
    }
    blocks_ += bytes;
  }

 private:
  const nvme_node* node_;
  unsigned char* blocks_ = nullptr;
  bool to_host_;
};

}  // namespace gnstor::fw

#pragma once
/// What verbs and the RDMA connection manager report, in words, with the remedy where there is one.

#include "connect_error.hpp"
#include <gnstor/core/status.hpp>

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

#include <filesystem>
#include <span>
#include <string>

namespace gnstor::host::verbs {

/// A failed work completion: what happened, and what usually causes it.
std::string completion_words(ibv_wc_status status, std::uint32_t vendor_error = 0);

/// A failed work completion as a channel reports it, with the number that an mlx5 NIC would give.
gnstor::status completion_status(ibv_wc_status status, std::uint32_t vendor_error = 0);

/// Why an NVMe-oF target refuses a queue. NVMe RDMA Transport 1.1, "Error codes".
std::string reject_words(std::uint16_t reason);

/// The error for a CM event that came instead of the wanted one.
/// @param peer text of the peer's address
/// @param private_data what came with a REJECTED event
connect_error event_error(const std::string& peer, rdma_cm_event_type event, int status,
                          std::span<const unsigned char> private_data);

/// The error for a failed verbs or CM call: tells missing modules, permissions and the limit of
/// pinned memory apart.
/// @param what the operation, for example "creating a queue pair on mlx5_0"
/// @param devices the folder of the RDMA device files
connect_error call_error(const std::string& what, int error_number,
                         const std::filesystem::path& devices = "/dev/infiniband");

}  // namespace gnstor::host::verbs

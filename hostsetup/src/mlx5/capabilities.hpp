#pragma once

#include <infiniband/mlx5dv.h>

#include <cstdint>
#include <string>

namespace gnstor::host::mlx5 {

/// What a NIC's firmware says it can do, as far as gnstor's queues need it.
struct capabilities {
  std::uint32_t cqe_version = 0;
  std::uint32_t log_max_qp_entries = 0;
  std::uint32_t log_max_cq_entries = 0;
  std::uint32_t log_max_reads_sent = 0;
  std::uint32_t log_max_reads_served = 0;
  std::uint32_t log_max_message_bytes = 0;
  std::uint32_t log_blue_flame_bytes = 0;
  std::uint32_t qp_timestamp_format = 0;
  bool reliable_connection = false;
  bool cq_ignore_overrun = false;

  /// Asks the firmware. Throws `error` where DevX is missing.
  static capabilities of(ibv_context* on);

  /// Throws `error` unless queue pairs of `depth` requests can be made; `device` is for the words.
  void require(const std::string& device, std::uint32_t depth) const;
};

}  // namespace gnstor::host::mlx5

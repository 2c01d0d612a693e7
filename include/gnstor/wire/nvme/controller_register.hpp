#pragma once

#include <gnstor/core/config.hpp>

namespace gnstor::wire::nvme {

/// Where a PCIe controller's registers lie in its BAR 0, in bytes. NVMe Base 2.3, 3.1.4; the
/// properties of a Fabrics controller are the same ones.
enum class controller_register : std::uint32_t {
  capabilities = 0x00,            ///< CAP, 8 bytes
  version = 0x08,                 ///< VS
  interrupt_mask_set = 0x0c,      ///< INTMS
  interrupt_mask_clear = 0x10,    ///< INTMC
  configuration = 0x14,           ///< CC
  status = 0x1c,                  ///< CSTS
  subsystem_reset = 0x20,         ///< NSSR
  admin_queue_attributes = 0x24,  ///< AQA: entries of both admin queues, zero based
  admin_submission_queue = 0x28,  ///< ASQ, 8 bytes
  admin_completion_queue = 0x30,  ///< ACQ, 8 bytes
  doorbells = 0x1000,             ///< NVMe over PCIe Transport 1.1, 3.1.2
};

/// The tail doorbell of submission queue `queue`; a completion queue's head doorbell is one stride
/// behind that of the same number.
/// @param stride_bytes `doorbell_stride_bytes`
GNSTOR_HD constexpr std::uint64_t tail_doorbell_offset(std::uint32_t queue,
                                                       std::uint32_t stride_bytes) {
  return static_cast<std::uint32_t>(controller_register::doorbells) +
         std::uint64_t{2} * queue * stride_bytes;
}
GNSTOR_HD constexpr std::uint64_t head_doorbell_offset(std::uint32_t queue,
                                                       std::uint32_t stride_bytes) {
  return tail_doorbell_offset(queue, stride_bytes) + stride_bytes;
}

/// AQA for admin queues of `submission` and `completion` entries, 2 to 4,096.
GNSTOR_HD constexpr std::uint32_t make_admin_queue_attributes(std::uint32_t submission,
                                                              std::uint32_t completion) {
  return ((submission - 1) & 0xfff) | ((completion - 1) & 0xfff) << 16;
}
GNSTOR_HD constexpr std::uint32_t admin_submission_entries(std::uint32_t attributes) {
  return (attributes & 0xfff) + 1;
}
GNSTOR_HD constexpr std::uint32_t admin_completion_entries(std::uint32_t attributes) {
  return (attributes >> 16 & 0xfff) + 1;
}

static_assert(tail_doorbell_offset(1, 4) == 0x1008 && head_doorbell_offset(1, 4) == 0x100c);
static_assert(tail_doorbell_offset(3, 128) == 0x1300);
static_assert(admin_completion_entries(make_admin_queue_attributes(32, 64)) == 64);

}  // namespace gnstor::wire::nvme

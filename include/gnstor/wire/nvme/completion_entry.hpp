#pragma once

#include <gnstor/wire/nvme/status.hpp>

#include <type_traits>

namespace gnstor::wire::nvme {

/// The 16-byte completion queue entry, which is also the response capsule. NVMe Base 2.3, 4.2.
struct alignas(16) completion_entry {
  std::uint32_t dw0;         ///< command specific result
  std::uint32_t dw1;         ///< its upper half, where a command has one
  std::uint16_t sq_head;     ///< how far the target has consumed the submission queue
  std::uint16_t sq_id;       ///< reserved in a response capsule
  std::uint16_t command_id;  ///< as in the command
  std::uint16_t status;      ///< `make_status`; bit 0 is the phase tag
};

static_assert(sizeof(completion_entry) == 16 && std::is_trivial_v<completion_entry>);
static_assert(offsetof(completion_entry, dw0) == 0);
static_assert(offsetof(completion_entry, dw1) == 4);
static_assert(offsetof(completion_entry, sq_head) == 8);
static_assert(offsetof(completion_entry, sq_id) == 10);
static_assert(offsetof(completion_entry, command_id) == 12);
static_assert(offsetof(completion_entry, status) == 14);

}  // namespace gnstor::wire::nvme

#pragma once

#include <gnstor/wire/nvme/keyed_sgl.hpp>

#include <type_traits>

namespace gnstor::wire::nvme {

/// `submission_entry::flags`: the data pointer is an SGL, PSDT = 01b. Fabrics commands have no
/// other form.
inline constexpr std::uint8_t flags_sgl = 0x40;
inline constexpr std::uint8_t flags_data_mask = 0xc0;   ///< PSDT
inline constexpr std::uint8_t flags_fused_mask = 0x03;  ///< FUSE: 0 is a command by itself

/// The 64-byte submission queue entry, which is also the command capsule. NVMe Base 2.3, 4.1.
struct alignas(16) submission_entry {
  std::uint8_t opcode;
  std::uint8_t flags;        ///< `flags_*`: PSDT 7:6, FUSE 1:0
  std::uint16_t command_id;  ///< unique among the queue's outstanding commands
  std::uint32_t nsid;
  std::uint32_t cdw2;
  std::uint32_t cdw3;
  std::uint64_t metadata;
  keyed_sgl dptr;
  std::uint32_t cdw10;
  std::uint32_t cdw11;
  std::uint32_t cdw12;
  std::uint32_t cdw13;
  std::uint32_t cdw14;
  std::uint32_t cdw15;
};

static_assert(sizeof(submission_entry) == 64 && std::is_trivial_v<submission_entry>);
static_assert(offsetof(submission_entry, opcode) == 0);
static_assert(offsetof(submission_entry, flags) == 1);
static_assert(offsetof(submission_entry, command_id) == 2);
static_assert(offsetof(submission_entry, nsid) == 4);
static_assert(offsetof(submission_entry, cdw2) == 8);
static_assert(offsetof(submission_entry, cdw3) == 12);
static_assert(offsetof(submission_entry, metadata) == 16);
static_assert(offsetof(submission_entry, dptr) == 24);
static_assert(offsetof(submission_entry, cdw10) == 40);
static_assert(offsetof(submission_entry, cdw11) == 44);
static_assert(offsetof(submission_entry, cdw12) == 48);
static_assert(offsetof(submission_entry, cdw13) == 52);
static_assert(offsetof(submission_entry, cdw14) == 56);
static_assert(offsetof(submission_entry, cdw15) == 60);

}  // namespace gnstor::wire::nvme

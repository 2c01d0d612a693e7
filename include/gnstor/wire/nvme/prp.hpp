#pragma once
/// Physical region pages: how a command over PCIe says where its data lies. NVMe Base 2.3, 4.1.1.

#include <gnstor/wire/nvme/prp_pair.hpp>
#include <gnstor/wire/nvme/submission_entry.hpp>

#include <cuda/std/bit>

namespace gnstor::wire::nvme {

inline constexpr std::uint32_t prp_page_bytes = 4096;  ///< CC.MPS 0: the only page size used here
inline constexpr std::uint32_t prp_entry_bytes = 8;
inline constexpr std::uint32_t prp_list_entries = prp_page_bytes / prp_entry_bytes;

/// Bytes from `address` to the end of its page.
GNSTOR_HD constexpr std::uint32_t bytes_to_page_end(std::uint64_t address) {
  return prp_page_bytes - static_cast<std::uint32_t>(address & (prp_page_bytes - 1));
}
/// Pages that `bytes` (1 on) from `address` on lie in: PRP entries that a transfer takes.
GNSTOR_HD constexpr std::uint32_t prp_entries(std::uint64_t address, std::uint64_t bytes) {
  return static_cast<std::uint32_t>(
      ((address & (prp_page_bytes - 1)) + bytes + prp_page_bytes - 1) / prp_page_bytes);
}
/// Entries that a list at `address` holds before its page ends. Where more follow, the last one
/// points to the next list.
GNSTOR_HD constexpr std::uint32_t entries_to_page_end(std::uint64_t address) {
  return bytes_to_page_end(address) / prp_entry_bytes;
}

/// The data pointer of a command over PCIe.
GNSTOR_HD constexpr prp_pair prp_of(const submission_entry& entry) {
  return cuda::std::bit_cast<prp_pair>(entry.dptr);
}
/// Gives a command its data pointer as PRPs: PSDT 00b.
GNSTOR_HD constexpr void set_prp(submission_entry& entry, prp_pair data) {
  entry.flags = static_cast<std::uint8_t>(entry.flags & ~flags_data_mask);
  entry.dptr = cuda::std::bit_cast<keyed_sgl>(data);
}

static_assert(prp_entries(0, 4096) == 1 && prp_entries(4095, 2) == 2 && prp_entries(1, 4096) == 2);
static_assert(entries_to_page_end(0x1ff8) == 1 && entries_to_page_end(0x2000) == 512);

}  // namespace gnstor::wire::nvme

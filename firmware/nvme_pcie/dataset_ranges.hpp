#pragma once
/// What a Dataset Management command names.

#include <gnstor/wire/nvme/dataset_range.hpp>
#include <gnstor/wire/nvme/prp.hpp>

#include <cuda/std/bit>
#include <nvme_pcie/nvme_node.hpp>

namespace gnstor::fw {

/// Reads range `k` of a Dataset Management command. 256 of them are 4 KiB: they lie in two pages at
/// most, at any dword. False if it is not mapped.
GNSTOR_HD inline bool read_range(const nvme_node& node, wire::nvme::prp_pair data, std::uint32_t k,
                                 wire::nvme::dataset_range& range) {
  struct dwords {
    std::uint32_t value[4];
  } raw{};
  const std::uint32_t here = wire::nvme::bytes_to_page_end(data.prp1);
  for (std::uint32_t d = 0; d < 4; ++d) {
    const auto offset = static_cast<std::uint32_t>(k * sizeof range + 4 * d);
    const unsigned char* at =
        node.find(offset < here ? data.prp1 + offset : data.prp2 + (offset - here), 4);
    if (at == nullptr) return false;
    raw.value[d] = *reinterpret_cast<const std::uint32_t*>(at);
  }
  range = cuda::std::bit_cast<wire::nvme::dataset_range>(raw);
  return true;
}

}  // namespace gnstor::fw

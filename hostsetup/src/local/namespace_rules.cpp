#include "namespace_rules.hpp"

#include <gnstor/host/error.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace gnstor::host {
namespace {

constexpr std::uint64_t most_blocks = std::uint64_t{1} << 32;  ///< of a volume: VBAs have 32 bits

}  // namespace

std::string problem_of(std::uint32_t nsid, const wire::nvme::identify_namespace& said) {
  const wire::nvme::lba_format format = said.format();
  if (format.metadata_bytes != 0 || (said.dps & wire::nvme::dps_type_mask) != 0) {
    return fmt::format(
        "namespace {} has metadata beside its blocks; gnstor moves data alone: give it an LBA "
        "format without (nvme format --lbaf=N --pi=0, which erases it)",
        nsid);
  }
  if (format.data_shift != 9 && format.data_shift != 12) {
    return fmt::format(
        "namespace {} has blocks of 2^{} bytes; gnstor uses blocks of 512 and 4096 bytes: give it "
        "another LBA format (nvme format --block-size=4096, which erases it)",
        nsid, format.data_shift);
  }
  if (nsid > 0xffff) return fmt::format("namespace {}: ids above 65535 fit no volume id", nsid);
  return {};
}

volume_info volume_of(std::uint32_t nsid, std::span<const named_namespace> said,
                      std::uint32_t transfer, std::uint32_t stripe_bytes) {
  volume_info v;
  v.vid = volume_id(static_cast<std::uint16_t>(nsid));
  v.namespace_id = nsid;
  v.lba_bytes = 1u << said[0].what.format().data_shift;
  v.max_transfer_blocks = transfer / block_bytes;
  v.replicas = 1;
  v.ssd_count = static_cast<std::uint32_t>(said.size());
  v.stripe_blocks = v.striped() ? stripe_bytes / block_bytes : v.max_transfer_blocks;
  std::uint64_t least = ~std::uint64_t{0};
  for (const named_namespace& one : said) {
    const std::uint32_t lba = 1u << one.what.format().data_shift;
    if (lba != v.lba_bytes) {
      throw input_error(fmt::format(
          "namespace {} of {} has blocks of {} bytes, that of {} of {} bytes: controllers of one "
          "endpoint need the same (nvme format --block-size, which erases it), or leave one out",
          nsid, one.controller, lba, said[0].controller, v.lba_bytes));
    }
    least = std::min(least, one.what.nsze / (block_bytes / lba));
    if (v.striped() && least < v.stripe_blocks) {
      throw input_error(
          fmt::format("namespace {} of {} has {} bytes, less than a stripe of {}: use a smaller "
                      "stripe=SIZE",
                      nsid, one.controller, least * block_bytes, stripe_bytes));
    }
  }
  if (v.striped()) least = least / v.stripe_blocks * v.stripe_blocks;
  v.capacity_blocks = std::min(least * v.ssd_count, most_blocks);
  return v;
}

}  // namespace gnstor::host

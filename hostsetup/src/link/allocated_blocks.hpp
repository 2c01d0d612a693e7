#pragma once

#include <gnstor/io/volume_info.hpp>
#include <gnstor/wire/nvme/lba_status.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

namespace gnstor::host {

/// Which of up to `most` blocks an SSD has, as one Get LBA Status asks for them.
struct allocated_blocks {
  static constexpr std::uint32_t most = 1024;
  /// Of an answer, whatever the blocks are.
  static constexpr std::uint32_t answer_bytes =
      sizeof(wire::nvme::lba_status_list) + most / 2 * sizeof(wire::nvme::lba_status_descriptor);

  /// The places of a volume, by bit, at which no SSD in sync serves: as many as it has replicas,
  /// and some blocks may be on nobody who can be asked.
  static std::uint64_t silent_places(const volume_info& v) {
    std::uint64_t silent = 0;
    for (std::uint64_t left = v.places(); left != 0; left &= left - 1) {
      const std::uint64_t place = left & -left;
      if (((place | v.others.of(place)) & ~(v.absent | v.filling)) == 0) silent |= place;
    }
    return silent;
  }
  /// Marks in `to`, which has one for each block that was asked for, those that an answer names.
  /// False: it makes no sense, or does not say all.
  static bool mark(const wire::nvme::submission_entry& asked, std::span<const std::byte> answer,
                   std::vector<bool>& to) {
    wire::nvme::lba_status_list list;
    if (answer.size() < answer_bytes) return false;
    std::memcpy(&list, answer.data(), sizeof list);
    if (list.completion != wire::nvme::lba_status_whole || list.descriptors > most / 2)
      return false;
    for (std::uint32_t k = 0; k < list.descriptors; ++k) {
      wire::nvme::lba_status_descriptor d;
      std::memcpy(&d, answer.data() + sizeof list + k * sizeof d, sizeof d);
      const std::uint64_t at = d.slba - wire::nvme::slba_of(asked);
      if (at > to.size() || d.blocks > to.size() - at) return false;
      std::fill_n(to.begin() + static_cast<std::ptrdiff_t>(at), d.blocks, true);
    }
    return true;
  }
};

}  // namespace gnstor::host

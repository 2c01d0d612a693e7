#include "deallocate.hpp"

#include "target_limits.hpp"
#include <gnstor/wire/nvme/read_write.hpp>
#include <gnstor/wire/nvme/status.hpp>

#include <cstring>
#include <vector>

namespace gnstor::serve {

std::uint16_t ranges_to_deallocate(const volume_shape& shape, const wire::nvme::submission_entry& e,
                                   std::span<const std::byte> ranges,
                                   std::vector<wire::nvme::dataset_range>& list) {
  list.assign(ranges.size() / sizeof list[0], {});
  if (list.empty()) return 0;
  std::memcpy(list.data(), ranges.data(), list.size() * sizeof list[0]);
  std::uint64_t total = 0;
  for (const auto& r : list) {
    if (!shape.holds(r.slba, r.blocks))
      return wire::nvme::make_status(wire::nvme::generic_status::lba_out_of_range, true);
    total += r.blocks;
  }
  if (!wire::nvme::deallocates(e)) list.clear();  // other attributes are hints
  if (!list.empty() && total > most_zeroed_blocks) {
    return wire::nvme::make_status(wire::nvme::command_status::command_size_limit_exceeded, true);
  }
  std::erase_if(list, [](const wire::nvme::dataset_range& r) { return r.blocks == 0; });
  return 0;
}

std::uint16_t deallocate(volume_store& store, const wire::nvme::submission_entry& e,
                         std::span<const std::byte> ranges) {
  std::vector<wire::nvme::dataset_range> list;
  if (const std::uint16_t refused = ranges_to_deallocate(store.shape(), e, ranges, list))
    return refused;
  for (const auto& r : list) {
    if (const std::uint16_t failed = store.write_zeroes(r.slba, r.blocks); failed != 0) {
      return failed;
    }
  }
  return 0;
}

}  // namespace gnstor::serve

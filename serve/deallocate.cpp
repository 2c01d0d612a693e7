#include "deallocate.hpp"

#include "target_limits.hpp"
#include <gnstor/wire/nvme/read_write.hpp>
#include <gnstor/wire/nvme/status.hpp>

#include <cstring>
#include <vector>

namespace gnstor::serve {

std::uint16_t deallocate(volume_store& store, const wire::nvme::submission_entry& e,
                         std::span<const std::byte> ranges) {
  const volume_shape shape = store.shape();
  const std::size_t count = ranges.size() / sizeof(wire::nvme::dataset_range);
  std::vector<wire::nvme::dataset_range> list(count);
  std::memcpy(list.data(), ranges.data(), count * sizeof list[0]);
  std::uint64_t total = 0;
  for (const auto& r : list) {
    if (!shape.holds(r.slba, r.blocks))
      return wire::nvme::make_status(wire::nvme::generic_status::lba_out_of_range, true);
    total += r.blocks;
  }
  if (!wire::nvme::deallocates(e)) return 0;  // other attributes are hints
  if (total > most_zeroed_blocks) {
    return wire::nvme::make_status(wire::nvme::command_status::command_size_limit_exceeded, true);
  }
  for (const auto& r : list) {
    if (r.blocks == 0) continue;
    if (const std::uint16_t failed = store.write_zeroes(r.slba, r.blocks); failed != 0) {
      return failed;
    }
  }
  return 0;
}

}  // namespace gnstor::serve

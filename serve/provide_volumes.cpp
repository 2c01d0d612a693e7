#include "provide_volumes.hpp"

#include <gnstor/host/error.hpp>
#include <gnstor/wire/nvme/read_write.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace gnstor::serve {
namespace {

/// A size as --volume takes it, in the largest unit that shows it in full.
std::string size_text(std::uint64_t bytes) {
  constexpr const char* units[] = {"", "K", "M", "G", "T"};
  std::size_t unit = 0;
  for (; unit < 4 && bytes != 0 && bytes % 1024 == 0; ++unit) bytes /= 1024;
  return fmt::format("{}{}", bytes, units[unit]);
}

std::uint64_t whole_blocks(std::uint64_t bytes) {
  return bytes / block_bytes + (bytes % block_bytes != 0 ? 1 : 0);
}

/// Brings what was made to the disk: nobody who uses a volume would think of it.
void flush(emulated_gateway& array) {
  for (std::uint32_t ssd = 0; ssd < array.ssds(); ++ssd) {
    const status s = array.own().io(wire::nvme::make_flush(0, ssd + 1), {});
    if (!s.ok()) throw host::io_error("flushing new volumes: " + host::to_string(s), s);
  }
}

}  // namespace

void provide_volumes(emulated_gateway& array, std::span<const std::uint64_t> wanted) {
  const auto there = array.own().volumes(array.about());
  std::vector<std::uint64_t> missing;
  for (std::size_t k = 0; k < wanted.size(); ++k) {
    const auto at = std::find_if(there.begin(), there.end(),
                                 [&](const wire::afa::volume_record& r) { return r.vid == k + 1; });
    if (at == there.end()) {
      missing.push_back(wanted[k]);
    } else if (at->capacity_blocks != whole_blocks(wanted[k])) {
      const std::string found = size_text(at->capacity_blocks * block_bytes);
      throw host::input_error(fmt::format(
          "--volume {}: volume {} is there already and has {}; a volume keeps its size: say "
          "--volume {} to serve it as it is, or name another array (flash=)",
          size_text(wanted[k]), k + 1, found, found));
    }
  }
  for (const std::uint64_t bytes : missing) (void)array.create_volume(bytes);
  if (!missing.empty() && array.has_write_cache()) flush(array);
}

}  // namespace gnstor::serve

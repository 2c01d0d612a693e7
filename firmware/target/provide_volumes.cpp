#include <gnstor/host/error.hpp>
#include <target/provide_volumes.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace gnstor::fw {
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

}  // namespace

void provide_volumes(emulated_gateway& array, std::span<const std::uint64_t> wanted) {
  const auto there = array.own().volumes(array.about().epoch);
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
}

}  // namespace gnstor::fw

#include <gnstor/host/error.hpp>
#include <gnstor/host/volume_source.hpp>

#include <fmt/format.h>

#include <cstring>
#include <vector>

namespace gnstor::host {

std::string volume_source::name() const {
  return volume_.plain() ? fmt::format("namespace {}", volume_.namespace_id)
                         : fmt::format("volume {}", volume_.vid.value);
}

/// A session reads whole blocks of 4 KiB.
void volume_source::read(std::uint64_t offset, std::span<std::byte> to) {
  if (to.empty()) return;
  if (offset > bytes() || to.size() > bytes() - offset)
    throw error(
        fmt::format("{}: {} bytes at byte {} lie behind its end", name(), to.size(), offset));
  const std::uint64_t first = offset / block_bytes * block_bytes;
  const std::uint64_t skipped = offset - first;
  const std::uint64_t whole = (skipped + to.size() + block_bytes - 1) / block_bytes * block_bytes;
  if (whole == to.size()) return session_->read(volume_, first, to.data(), whole);
  std::vector<std::byte> blocks(whole);
  session_->read(volume_, first, blocks.data(), whole);
  std::memcpy(to.data(), blocks.data() + skipped, to.size());
}

}  // namespace gnstor::host

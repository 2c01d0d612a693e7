#include "files/structure.hpp"

#include "files/crc32c.hpp"
#include "files/ondisk/big_endian.hpp"
#include <gnstor/host/error.hpp>

#include <fmt/format.h>

namespace gnstor::host::files {

structure::structure(block_source& source, std::string what, std::uint64_t offset,
                     std::size_t bytes)
    : source_name_(source.name()), what_(std::move(what)), offset_(offset), bytes_(bytes) {
  source.read(offset, bytes_);
}

structure::structure(const block_source& source, std::string what, std::uint64_t offset,
                     std::vector<std::byte> bytes)
    : source_name_(source.name()),
      what_(std::move(what)),
      offset_(offset),
      bytes_(std::move(bytes)) {}

structure::structure(const structure& whole, std::size_t at, std::size_t bytes)
    : source_name_(whole.source_name_), what_(whole.what_), offset_(whole.offset_) {
  const auto part = whole.part(at, bytes);
  bytes_.assign(part.begin(), part.end());
}

void structure::damaged(const std::string& why) const {
  throw error(fmt::format("{}: the {} at byte {} is damaged: {}: run xfs_repair", source_name_,
                          what_, offset_, why));
}

void structure::require_crc(std::size_t crc_at) const {
  const std::uint32_t said = load<xfs::little32>(crc_at);
  const std::uint32_t found = crc32c_around(bytes_, crc_at);
  if (said != found)
    damaged(fmt::format("its checksum is {:08x}, and it says {:08x}", found, said));
}

}  // namespace gnstor::host::files

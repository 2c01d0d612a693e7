#pragma once

#include "files/geometry.hpp"
#include "files/structure.hpp"

#include <cstddef>

namespace gnstor::host::files {

/// Throws `error` unless a structure with a `Header` of version 5 is what it says: its checksum,
/// its file system, its address and its owner (an inode or a group). Version 4 has nothing of that.
template <class Header>
void verify(const structure& s, const geometry& shape, std::uint64_t owner) {
  if (!shape.version5) return;
  s.require_crc(offsetof(Header, crc));
  const auto header = s.load<Header>(0);
  s.require(header.id == shape.id, "it belongs to another file system (UUID)");
  s.require(header.sector == s.offset() / 512, "it says that it is at another address");
  s.require(header.owner == owner, "it says that another file or group owns it");
}

}  // namespace gnstor::host::files

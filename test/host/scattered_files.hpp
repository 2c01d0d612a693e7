#pragma once

#include <gnstor/files/file_layout.hpp>

#include <algorithm>
#include <cstring>
#include <random>
#include <string>
#include <vector>

namespace gnstor::test {

/// Files cut into pieces of whole blocks, which lie anywhere on a namespace, some of them nowhere.
class scattered_files {
 public:
  scattered_files(std::uint64_t namespace_bytes, std::uint32_t block, std::uint32_t seed)
      : block_(block), random_(seed) {
    for (std::uint64_t at = 0; at + part <= namespace_bytes; at += part) places_.push_back(at);
    std::shuffle(places_.begin(), places_.end(), random_);
  }
  host::files::file_layout make(const std::string& name, std::uint64_t bytes) {
    host::files::file_layout l{name, bytes, {}};
    for (std::uint64_t at = 0; at < bytes;) {
      const std::uint64_t blocks = 1 + random_() % (part / block_ / 2);
      const std::uint64_t n = std::min(blocks * block_, bytes - at);
      const std::uint32_t kind = random_() % 8;
      host::files::file_extent e{at, 0, n, host::files::extent_state::hole};
      if (kind == 1) e.state = host::files::extent_state::unwritten;
      if (kind > 1) {
        const std::uint64_t within = random_() % (part / block_ / 2) * block_;
        e = {at, places_[next_++ % places_.size()] + within, n, host::files::extent_state::data};
      }
      l.extents.push_back(e);
      at += n;
    }
    return l;
  }
  /// What the file reads, where `disk` is what its namespace holds.
  static std::vector<unsigned char> content(const host::files::file_layout& l,
                                            const std::vector<unsigned char>& disk) {
    std::vector<unsigned char> all(l.bytes);
    for (const host::files::file_extent& e : l.extents) {
      if (e.state == host::files::extent_state::data)
        std::memcpy(all.data() + e.file_offset, disk.data() + e.device_offset, e.bytes);
    }
    return all;
  }

 private:
  static constexpr std::uint64_t part = 64 << 10;
  std::uint32_t block_;
  std::mt19937 random_;
  std::vector<std::uint64_t> places_;
  std::size_t next_ = 0;
};

}  // namespace gnstor::test

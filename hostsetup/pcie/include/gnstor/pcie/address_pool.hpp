#pragma once

#include <cstdint>
#include <iterator>
#include <map>
#include <optional>

namespace gnstor::host::pcie {

/// Hands out pieces of address ranges: first fit, whole pages. One thread at a time.
class address_pool {
 public:
  static constexpr std::uint64_t page_bytes = 4096;

  /// `bytes` (a multiple of a page) that nobody has; nothing if there are not so many in a piece.
  std::optional<std::uint64_t> take(std::uint64_t bytes) {
    for (auto it = free_.begin(); it != free_.end(); ++it) {
      if (it->second < bytes) continue;
      const auto [at, length] = *it;
      free_.erase(it);
      if (length > bytes) free_.emplace(at + bytes, length - bytes);
      return at;
    }
    return {};
  }
  /// Adds a piece, or takes one back. Both numbers are multiples of a page.
  void give(std::uint64_t at, std::uint64_t bytes) {
    auto next = free_.lower_bound(at);
    if (next != free_.end() && at + bytes == next->first) {
      bytes += next->second;
      next = free_.erase(next);
    }
    if (next != free_.begin()) {
      const auto before = std::prev(next);
      if (before->first + before->second == at) {
        before->second += bytes;
        return;
      }
    }
    free_.emplace(at, bytes);
  }

 private:
  std::map<std::uint64_t, std::uint64_t> free_;  ///< by address; neighbours are one
};

}  // namespace gnstor::host::pcie

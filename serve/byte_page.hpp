#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

namespace gnstor::serve {

/// Fills a page of a fixed wire format by byte offset, little endian. The page starts as zeroes;
/// what lies beyond its end is dropped, because a host may ask for less than the whole.
class byte_page {
 public:
  explicit byte_page(std::span<std::byte> page) : page_(page) {
    std::memset(page_.data(), 0, page_.size());
  }

  void put8(std::size_t at, std::uint8_t v) { put(at, v, 1); }
  void put16(std::size_t at, std::uint16_t v) { put(at, v, 2); }
  void put32(std::size_t at, std::uint32_t v) { put(at, v, 4); }
  void put64(std::size_t at, std::uint64_t v) { put(at, v, 8); }
  /// An ASCII field of `bytes`, filled up with `pad`.
  void text(std::size_t at, std::size_t bytes, std::string_view words, char pad) {
    for (std::size_t k = 0; k < bytes; ++k) {
      put8(at + k, static_cast<std::uint8_t>(k < words.size() ? words[k] : pad));
    }
  }

 private:
  void put(std::size_t at, std::uint64_t v, std::size_t bytes) {
    for (std::size_t k = 0; k < bytes && at + k < page_.size(); ++k)
      page_[at + k] = static_cast<std::byte>(v >> 8 * k);
  }

  std::span<std::byte> page_;
};

}  // namespace gnstor::serve

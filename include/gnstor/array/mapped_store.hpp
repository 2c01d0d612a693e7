#pragma once

#include <gnstor/array/page_store.hpp>

namespace gnstor::inline v0 {

/// Pages in memory that the kernels' machine reaches by loads and stores: pinned host memory, say.
class mapped_store {
 public:
  /// Two rounds of four 16-byte loads per lane: enough to hide what it costs to take a chunk.
  static constexpr std::uint32_t chunk_bytes = 4096;

  /// @param memory aligned to 16 bytes, as kernels see it
  GNSTOR_HD mapped_store(void* memory, std::uint64_t bytes, std::uint32_t page_bytes)
      : memory_(static_cast<unsigned char*>(memory)), bytes_(bytes), page_bytes_(page_bytes) {}

  GNSTOR_HD std::uint32_t page_bytes() const { return page_bytes_; }
  GNSTOR_HD std::uint32_t page_bytes(page_index page) const {
    const std::uint64_t rest = bytes_ - offset(page);
    return rest < page_bytes_ ? static_cast<std::uint32_t>(rest) : page_bytes_;
  }
  GNSTOR_HD unsigned char* data(page_index page) const { return memory_ + offset(page); }

 private:
  GNSTOR_HD std::uint64_t offset(page_index page) const {
    return std::uint64_t{page.value} * page_bytes_;
  }

  unsigned char* memory_;
  std::uint64_t bytes_;
  std::uint32_t page_bytes_;
};
static_assert(mapped_page_store<mapped_store>);

}  // namespace gnstor::inline v0

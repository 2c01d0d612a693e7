#pragma once

#include <gnstor/core/config.hpp>

#include <type_traits>

namespace gnstor::fw {

/// What is wrong with a namespace, for tests.
enum class namespace_fault : std::uint32_t {
  none = 0,
  media_error,  ///< reads of the blocks named end with Unrecovered Read Error
  silent,       ///< commands are swallowed: no answer
};

/// One namespace of the emulated controller: blocks of memory, in their order.
struct alignas(64) nvme_namespace {
  unsigned char* data = nullptr;
  std::uint64_t blocks = 0;
  std::uint32_t block_shift = 12;  ///< 9 or 12
  std::uint32_t fault = 0;         ///< atomic: `namespace_fault`
  std::uint64_t bad_first = 0;     ///< atomic: blocks with a media error
  std::uint64_t bad_count = 0;     ///< atomic
};

static_assert(std::is_trivially_copyable_v<nvme_namespace> && sizeof(nvme_namespace) == 64);

}  // namespace gnstor::fw

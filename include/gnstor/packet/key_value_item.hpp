#pragma once

#include <gnstor/core/config.hpp>

#include <type_traits>

namespace gnstor::inline v0 {

/// What a `key_value_table` says of an item, and what an item is made of, but for its key.
struct key_value_item {
  const unsigned char* value = nullptr;  ///< of an item to be stored
  std::uint32_t bytes = 0;               ///< of the value
  std::uint32_t flags = 0;               ///< the client's own
  std::uint32_t expires = 0;             ///< seconds since 1970; 0: never
  std::uint64_t unique = 0;              ///< another one after each store: what `cas` compares
};

static_assert(std::is_trivially_copyable_v<key_value_item>);

}  // namespace gnstor::inline v0

#pragma once

#include <gnstor/core/config.hpp>

#include <type_traits>

namespace gnstor::inline v0 {

/// Where an mlx5 queue pair puts a command capsule: `blocks` is how many basic blocks of 64 bytes
/// each of its send entries takes, one for an entry that points to the capsule, two for one that
/// holds it.
template <class C>
concept capsule_placement = requires {
  std::integral_constant<std::uint32_t, C::blocks>{};
}
&&(C::blocks == 1 || C::blocks == 2);

}  // namespace gnstor::inline v0

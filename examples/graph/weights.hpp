#pragma once

#include "csr.hpp"
#include "parallel.hpp"
#include <gnstor/core/hash.hpp>

#include <cstdint>
#include <vector>

namespace graph {

/// The weight of an edge, 1 to 255 as in the GAP benchmark suite: drawn from its two vertices, so
/// that both directions have the same.
GNSTOR_HD constexpr std::uint32_t weight_of(std::uint32_t u, std::uint32_t v) {
  const std::uint64_t low = u < v ? u : v, high = u < v ? v : u;
  return static_cast<std::uint32_t>(gnstor::mix64(high << 32 | low) % 255) + 1;
}
static_assert(weight_of(3, 9) == weight_of(9, 3));

/// A weight per edge, in the order of the neighbours.
inline std::vector<std::uint32_t> draw_weights(const csr& g) {
  std::vector<std::uint32_t> weights(g.edges());
  for_each_index(worker_count(0), g.vertices(), [&](std::uint64_t v) {
    for (std::uint64_t k = g.offsets[v]; k < g.offsets[v + 1]; ++k)
      weights[k] = weight_of(static_cast<std::uint32_t>(v), g.neighbours[k]);
  });
  return weights;
}

}  // namespace graph

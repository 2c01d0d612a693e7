#pragma once

#include "csr.hpp"

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace graph {

/// What Balanced CSR adds to a `csr` (DREAM, figure 10): edges are divided into chunks of
/// `chunk_edges`, wherever lists begin and end, and each chunk says which vertex its first edge
/// belongs to. Warps that take a chunk each have equal work, however long a vertex's list is.
///
/// One word per chunk: 4 / (4 * chunk_edges) of the edges' bytes, 0.1 % at 1024 edges per chunk,
/// and at most 3 % from 34 on.
struct balanced_csr {
  std::uint64_t chunk_edges = 1024;
  /// The vertex of each chunk's first edge, and at last the vertex of the graph's last edge.
  std::vector<std::uint32_t> chunk_vertices{0};

  std::uint64_t chunks() const { return chunk_vertices.size() - 1; }
};

/// The fewest edges of a chunk: what the chunks add is then at most 3 % of the edges' bytes.
inline constexpr std::uint64_t least_chunk_edges = 64;

/// Divides the edges of `g`. Throws `std::invalid_argument` for chunks that are too small.
inline balanced_csr balance(const csr& g, std::uint64_t chunk_edges) {
  if (chunk_edges < least_chunk_edges) {
    throw std::invalid_argument("chunks of " + std::to_string(chunk_edges) +
                                " edges; give at least " + std::to_string(least_chunk_edges));
  }
  balanced_csr b;
  b.chunk_edges = chunk_edges;
  b.chunk_vertices.clear();
  // The last vertex whose list begins at or before the edge, and is not empty.
  auto list = g.offsets.begin();
  const auto owner = [&](std::uint64_t edge) {
    list = std::upper_bound(list, g.offsets.end(), edge) - 1;
    return static_cast<std::uint32_t>(list - g.offsets.begin());
  };
  for (std::uint64_t edge = 0; edge < g.edges(); edge += chunk_edges)
    b.chunk_vertices.push_back(owner(edge));
  b.chunk_vertices.push_back(g.edges() == 0 ? 0 : owner(g.edges() - 1));
  return b;
}

}  // namespace graph

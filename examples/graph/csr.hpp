#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace graph {

/// A graph in compressed sparse row form: the neighbours of vertex v are neighbours[offsets[v] ..
/// offsets[v + 1]).
///
/// Both arrays have the element types that the kernels read through an `array_view`.
struct csr {
  std::vector<std::uint64_t> offsets{0};  ///< one more than there are vertices
  std::vector<std::uint32_t> neighbours;  ///< vertex ids below `vertices()`
  bool directed = false;                  ///< false: u is in v's list exactly if v is in u's

  std::uint32_t vertices() const { return static_cast<std::uint32_t>(offsets.size() - 1); }
  /// Number of stored edges; an undirected edge counts twice.
  std::uint64_t edges() const { return neighbours.size(); }
  std::uint64_t degree(std::uint32_t v) const { return offsets[v + 1] - offsets[v]; }
  std::span<const std::uint32_t> of(std::uint32_t v) const {
    return std::span(neighbours).subspan(offsets[v], degree(v));
  }
};

}  // namespace graph

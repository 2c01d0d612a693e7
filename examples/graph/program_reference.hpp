#pragma once
/// Graph programs by one thread in this machine's memory, which the kernels' results are compared
/// with.

#include "bfs_reference.hpp"
#include "csr.hpp"
#include "pagerank_search.hpp"
#include "sssp_search.hpp"
#include "weights.hpp"

#include <cstdint>
#include <functional>
#include <numeric>
#include <queue>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace graph {

namespace detail {

/// What differs between two results, or an empty string.
template <class T>
std::string first_difference(const char* what, std::span<const T> is, std::span<const T> right) {
  if (is.size() != right.size()) return "there are " + std::to_string(is.size()) + " results";
  for (std::size_t v = 0; v < is.size(); ++v) {
    if (is[v] == right[v]) continue;
    return name(static_cast<std::uint32_t>(v)) + " has " + what + " " + std::to_string(is[v]) +
           ", right is " + std::to_string(right[v]);
  }
  return {};
}

}  // namespace detail

/// The smallest vertex of each vertex's component; edges count in both directions.
inline std::vector<std::uint32_t> component_labels(const csr& g) {
  std::vector<std::uint32_t> above(g.vertices());
  std::iota(above.begin(), above.end(), 0u);
  const auto root_of = [&](std::uint32_t v) {
    while (above[v] != v) v = above[v] = above[above[v]];
    return v;
  };
  for (std::uint32_t u = 0; u < g.vertices(); ++u) {
    for (const std::uint32_t v : g.of(u)) {
      const std::uint32_t a = root_of(u), b = root_of(v);
      above[std::max(a, b)] = std::min(a, b);
    }
  }
  for (std::uint32_t v = 0; v < g.vertices(); ++v) above[v] = root_of(v);
  return above;
}

/// Distances by Dijkstra's algorithm.
inline std::vector<std::uint32_t> shortest_distances(const csr& g,
                                                     std::span<const std::uint32_t> weights,
                                                     std::uint32_t source) {
  using entry = std::pair<std::uint64_t, std::uint32_t>;
  std::vector<std::uint32_t> distances(g.vertices(), no_path);
  std::priority_queue<entry, std::vector<entry>, std::greater<>> queue;
  distances[source] = 0;
  queue.push({0, source});
  while (!queue.empty()) {
    const auto [distance, u] = queue.top();
    queue.pop();
    if (distance != distances[u]) continue;
    for (std::uint64_t k = g.offsets[u]; k < g.offsets[u + 1]; ++k) {
      const std::uint64_t offered = distance + weights[k];
      const std::uint32_t v = g.neighbours[k];
      if (offered >= distances[v]) continue;
      distances[v] = static_cast<std::uint32_t>(offered);
      queue.push({offered, v});
    }
  }
  return distances;
}

/// Ranks after so many iterations, in the kernels' fixed-point numbers.
inline std::vector<std::uint64_t> ranks_after(const csr& g, std::uint32_t iterations) {
  const std::uint64_t least = (whole_rank - damped(whole_rank)) / g.vertices();
  std::vector<std::uint64_t> ranks(g.vertices(), whole_rank / g.vertices()), sums;
  for (std::uint32_t k = 0; k < iterations; ++k) {
    sums.assign(g.vertices(), 0);
    for (std::uint32_t u = 0; u < g.vertices(); ++u) {
      for (const std::uint32_t v : g.of(u)) sums[v] += ranks[u] / g.degree(u);
    }
    for (std::uint32_t v = 0; v < g.vertices(); ++v) ranks[v] = least + damped(sums[v]);
  }
  return ranks;
}

}  // namespace graph

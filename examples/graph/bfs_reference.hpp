#pragma once

#include "csr.hpp"

#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace graph {

/// Depth or parent of a vertex that a search has not reached.
inline constexpr std::uint32_t unreached = 0xffffffff;

namespace detail {

inline void require_vertex(const csr& g, std::uint32_t source) {
  if (source >= g.vertices()) {
    throw std::out_of_range("source vertex " + std::to_string(source) + " is not in a graph of " +
                            std::to_string(g.vertices()) + " vertices");
  }
}

inline std::string name(std::uint32_t v) { return "vertex " + std::to_string(v); }
inline std::string shown(std::uint32_t depth) {
  return depth == unreached ? "unreached" : std::to_string(depth);
}

}  // namespace detail

/// Depth of every vertex in a breadth-first search from `source`, by a plain in-memory search.
inline std::vector<std::uint32_t> bfs_depths(const csr& g, std::uint32_t source) {
  detail::require_vertex(g, source);
  std::vector<std::uint32_t> depths(g.vertices(), unreached);
  std::vector<std::uint32_t> queue{source};
  depths[source] = 0;
  for (std::size_t next = 0; next < queue.size(); ++next) {
    const std::uint32_t u = queue[next];
    for (std::uint32_t v : g.of(u)) {
      if (depths[v] != unreached) continue;
      depths[v] = depths[u] + 1;
      queue.push_back(v);
    }
  }
  return depths;
}

/// Checks depths against the in-memory search. Returns what is wrong, or an empty string.
inline std::string verify_bfs_depths(const csr& g, std::uint32_t source,
                                     std::span<const std::uint32_t> depths) {
  if (depths.size() != g.vertices()) {
    return std::to_string(depths.size()) + " depths for " + std::to_string(g.vertices()) +
           " vertices";
  }
  const std::vector<std::uint32_t> right = bfs_depths(g, source);
  for (std::uint32_t v = 0; v < g.vertices(); ++v) {
    if (depths[v] == right[v]) continue;
    return detail::name(v) + " has depth " + detail::shown(depths[v]) + ", right is " +
           detail::shown(right[v]);
  }
  return {};
}

/// Checks a tree of parents by the rules of the GAP benchmark suite. Returns what is wrong, or an
/// empty string.
///
/// The source is its own parent; every other reached vertex has an edge from its parent, whose
/// depth is one less; and exactly those vertices are unreached that no path reaches. Depths are
/// those of the in-memory search, so a cycle of parents or a detour cannot pass.
inline std::string verify_bfs_tree(const csr& g, std::uint32_t source,
                                   std::span<const std::uint32_t> parents) {
  using detail::name;
  if (parents.size() != g.vertices()) {
    return std::to_string(parents.size()) + " parents for " + std::to_string(g.vertices()) +
           " vertices";
  }
  const std::vector<std::uint32_t> depths = bfs_depths(g, source);
  if (parents[source] != source) return "the source, " + name(source) + ", is not its own parent";

  // One pass over the edges instead of a search for each parent: outgoing lists are all that a
  // directed graph has.
  std::vector<bool> has_edge(g.vertices());
  for (std::uint32_t u = 0; u < g.vertices(); ++u) {
    for (std::uint32_t v : g.of(u)) {
      if (parents[v] == u) has_edge[v] = true;
    }
  }
  for (std::uint32_t v = 0; v < g.vertices(); ++v) {
    const std::uint32_t parent = parents[v];
    if (v == source) continue;
    if (parent == unreached && depths[v] == unreached) continue;
    if (parent == unreached)
      return name(v) + " is missing: it can be reached at depth " + std::to_string(depths[v]);
    if (depths[v] == unreached) return name(v) + " has a parent, but no path reaches it";
    if (parent >= g.vertices())
      return name(v) + " has parent " + std::to_string(parent) + ", which is no vertex";
    if (!has_edge[v]) return name(v) + " has no edge from its parent " + std::to_string(parent);
    if (depths[parent] == unreached || depths[v] != depths[parent] + 1) {
      return name(v) + " at depth " + std::to_string(depths[v]) + " has parent " +
             std::to_string(parent) + " at depth " + detail::shown(depths[parent]);
    }
  }
  return {};
}

/// A vertex with at least one neighbour, drawn from `seed`; any vertex if the graph has no edge.
inline std::uint32_t pick_source(const csr& g, std::uint64_t seed) {
  const auto start = static_cast<std::uint32_t>((seed * 0x9e3779b97f4a7c15u >> 32) % g.vertices());
  if (g.edges() == 0) return start;
  std::uint32_t v = start;
  while (g.degree(v) == 0) v = v + 1 == g.vertices() ? 0 : v + 1;
  return v;
}

}  // namespace graph

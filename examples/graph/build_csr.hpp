#pragma once

#include "csr.hpp"
#include "machine_memory.hpp"
#include "parallel.hpp"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <new>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

namespace graph {

/// One edge of an edge list.
struct edge {
  std::uint32_t from;
  std::uint32_t to;
};

/// Whether each edge of a list also stands for its reverse.
enum class direction { as_given, both };

namespace detail {

/// Edges gathered by ranges of their first vertex: range b lies at starts[b] .. starts[b + 1).
///
/// An entry is (first vertex << 32 | second vertex). A range's entries fit a core's cache, so that
/// the sort by vertex that follows never leaves it: that is what makes the build fast, not the
/// number of passes.
struct gathered_edges {
  unsigned shift = 0;
  std::vector<std::uint64_t> starts;
  std::unique_ptr<std::uint64_t[]> entries;
};

/// Calls put(from, to) for every edge that is to be stored, without self loops.
template <class Put>
void for_each_stored(std::span<const edge> edges, direction way, Put put) {
  for (const edge& e : edges) {
    if (e.from == e.to) continue;
    put(e.from, e.to);
    if (way == direction::both) put(e.to, e.from);
  }
}

inline gathered_edges gather(std::uint32_t vertices, std::span<const edge> edges, direction way,
                             unsigned threads) {
  constexpr std::uint32_t max_ranges = 1024;
  gathered_edges out;
  while ((std::uint64_t{vertices} >> out.shift) >= max_ranges) ++out.shift;
  const std::size_t ranges = (vertices >> out.shift) + 1;

  const std::size_t part = edges.size() / threads + 1;
  auto share = [&](std::size_t t) {
    const std::size_t first = std::min(t * part, edges.size());
    return edges.subspan(first, std::min(part, edges.size() - first));
  };
  std::vector<std::vector<std::uint64_t>> at(threads, std::vector<std::uint64_t>(ranges));
  for_each_index(threads, threads, [&](std::uint64_t t) {
    auto& counts = at[t];
    for_each_stored(share(t), way,
                    [&](std::uint32_t from, std::uint32_t) { ++counts[from >> out.shift]; });
  });

  out.starts.assign(ranges + 1, 0);
  std::uint64_t total = 0;
  for (std::size_t b = 0; b < ranges; ++b) {
    out.starts[b] = total;
    for (auto& counts : at) total += std::exchange(counts[b], total);
  }
  out.starts[ranges] = total;

  out.entries = std::make_unique_for_overwrite<std::uint64_t[]>(total);
  for_each_index(threads, threads, [&](std::uint64_t t) {
    auto& next = at[t];
    for_each_stored(share(t), way, [&](std::uint32_t from, std::uint32_t to) {
      out.entries[next[from >> out.shift]++] = std::uint64_t{from} << 32 | to;
    });
  });
  return out;
}

/// Sorts one range by vertex and neighbour and drops duplicates. Leaves the neighbours at the
/// range's start and the degrees in `degrees`, which is the range's part of the graph's degrees.
inline void sort_range(std::span<std::uint64_t> entries, std::uint32_t first_vertex,
                       std::span<std::uint64_t> degrees) {
  std::vector<std::uint64_t> at(degrees.size() + 1);
  for (std::uint64_t e : entries) ++at[(e >> 32) - first_vertex + 1];
  std::partial_sum(at.begin(), at.end(), at.begin());
  const std::vector<std::uint64_t> starts = at;

  auto lists = std::make_unique_for_overwrite<std::uint32_t[]>(entries.size());
  for (std::uint64_t e : entries)
    lists[at[(e >> 32) - first_vertex]++] = static_cast<std::uint32_t>(e);
  std::size_t kept = 0;
  for (std::size_t v = 0; v < degrees.size(); ++v) {
    std::uint32_t* first = lists.get() + starts[v];
    std::uint32_t* last = lists.get() + starts[v + 1];
    std::sort(first, last);
    last = std::unique(first, last);
    degrees[v] = static_cast<std::uint64_t>(last - first);
    for (; first != last; ++first) entries[kept++] = *first;
  }
}

}  // namespace detail

/// Builds the CSR of an edge list as the GAP suite does: self loops and duplicates are dropped,
/// lists are sorted.
///
/// Two passes of counting sort, by ranges of vertices and then within each range; the result does
/// not depend on `threads`.
/// Throws `std::bad_alloc` for a graph larger than this machine's memory.
/// @param edges every vertex below `vertices`; with `direction::both` the graph is undirected
/// @param threads 0 means one a core
inline csr build_csr(std::uint32_t vertices, std::span<const edge> edges, direction way,
                     unsigned threads = 0) {
  threads = worker_count(threads);
  const std::uint64_t stored = edges.size() * (way == direction::both ? 2u : 1u);
  if (!fits_memory(vertices * std::uint64_t{8} + stored * 12)) throw std::bad_alloc();
  detail::gathered_edges gathered = detail::gather(vertices, edges, way, threads);
  const std::size_t ranges = gathered.starts.size() - 1;
  const std::uint64_t width = std::uint64_t{1} << gathered.shift;

  csr g;
  g.directed = way == direction::as_given;
  g.offsets.assign(std::size_t{vertices} + 1, 0);
  // Degrees are counted one index further on, so that a prefix sum turns them into offsets in
  // place.
  auto degrees = std::span(g.offsets).subspan(1);
  auto of_range = [&](std::uint64_t b) {
    const std::uint64_t first = std::min<std::uint64_t>(b * width, vertices);
    return degrees.subspan(first, std::min<std::uint64_t>(width, vertices - first));
  };
  for_each_index(threads, ranges, [&](std::uint64_t b) {
    detail::sort_range(std::span(gathered.entries.get() + gathered.starts[b],
                                 gathered.entries.get() + gathered.starts[b + 1]),
                       static_cast<std::uint32_t>(b * width), of_range(b));
  });
  std::partial_sum(g.offsets.begin(), g.offsets.end(), g.offsets.begin());

  g.neighbours.resize(g.offsets.back());
  for_each_index(threads, ranges, [&](std::uint64_t b) {
    const std::uint64_t first = std::min<std::uint64_t>(b * width, vertices);
    const std::uint64_t last = std::min<std::uint64_t>(first + width, vertices);
    const std::uint64_t* from = gathered.entries.get() + gathered.starts[b];
    for (std::uint64_t k = g.offsets[first]; k < g.offsets[last]; ++k) {
      g.neighbours[k] = static_cast<std::uint32_t>(*from++);
    }
  });
  return g;
}

}  // namespace graph

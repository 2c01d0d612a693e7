#pragma once

#include "csr.hpp"
#include "file_bytes.hpp"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

namespace graph {

namespace detail {

/// The parts of a GAP serialized file, in bytes from its start.
///
/// Layout (GAP benchmark suite, writer.h): bool directed, int64 stored edges, int64 vertices, int64
/// offsets[vertices + 1], the neighbours, and for a directed graph offsets and neighbours of the
/// incoming edges.
struct gap_layout {
  static constexpr std::size_t header_bytes = 17;
  bool directed = false;
  std::uint64_t edges = 0;
  std::uint64_t vertices = 0;
  std::uint64_t neighbour_bytes = 4;

  std::uint64_t offsets_at() const { return header_bytes; }
  std::uint64_t neighbours_at() const { return offsets_at() + (vertices + 1) * 8; }
  std::uint64_t total_bytes() const {
    const std::uint64_t one_way = (vertices + 1) * 8 + edges * neighbour_bytes;
    return header_bytes + (directed ? 2 : 1) * one_way;
  }
};

inline gap_layout read_gap_header(const std::string& path, const file_bytes& file, bool weighted) {
  const char* remedy =
      "write the file again with the GAP converter (converter -f GRAPH -b FILE.sg)";
  gap_layout layout;
  layout.neighbour_bytes = weighted ? 8 : 4;
  if (file.size() < gap_layout::header_bytes) {
    throw load_error(
        path, "holds " + std::to_string(file.size()) + " bytes, the header alone has 17: truncated",
        remedy);
  }
  std::uint8_t directed = 0;
  std::int64_t counts[2];
  file.read(0, &directed, 1);
  file.read(1, counts, 2);
  if (directed > 1) {
    throw load_error::at_byte(path, 0,
                              "the directed flag is " + std::to_string(directed) + ", not 0 or 1",
                              "check that this is a GAP serialized graph");
  }
  for (int k = 0; k < 2; ++k) {
    const bool is_vertices = k == 1;
    const std::int64_t limit = is_vertices ? std::int64_t{1} << 31 : std::int64_t{1} << 48;
    if (counts[k] >= (is_vertices ? 1 : 0) && counts[k] <= limit) continue;
    throw load_error::at_byte(
        path, is_vertices ? 9 : 1,
        (is_vertices ? "the number of vertices is " : "the number of edges is ") +
            std::to_string(counts[k]) + (counts[k] < 0 ? ", negative" : ", out of range"),
        remedy);
  }
  layout.directed = directed == 1;
  layout.edges = static_cast<std::uint64_t>(counts[0]);
  layout.vertices = static_cast<std::uint64_t>(counts[1]);
  if (file.size() != layout.total_bytes()) {
    throw load_error(path,
                     "holds " + std::to_string(file.size()) + " bytes, its header (" +
                         std::to_string(layout.vertices) + " vertices, " +
                         std::to_string(layout.edges) + " edges) says " +
                         std::to_string(layout.total_bytes()) + ": " +
                         (file.size() < layout.total_bytes() ? "truncated" : "wrong counts"),
                     std::string(remedy) + "; unweighted graphs end in .sg, weighted ones in .wsg");
  }
  return layout;
}

}  // namespace detail

/// Loads a GAP serialized graph (`.sg`; `.wsg` with weights, which are ignored). Of a directed
/// graph the outgoing edges are kept.
inline csr load_gap_serialized(const std::string& path, bool weighted) {
  const char* remedy = "the file is damaged: write or download it again";
  const file_bytes file(path);
  const detail::gap_layout layout = detail::read_gap_header(path, file, weighted);
  csr g;
  g.directed = layout.directed;
  g.offsets.resize(layout.vertices + 1);
  file.read(layout.offsets_at(), g.offsets.data(), g.offsets.size());
  for (std::uint64_t v = 0; v <= layout.vertices; ++v) {
    const std::uint64_t low = v == 0 ? 0 : g.offsets[v - 1];
    const std::uint64_t high = v == 0 ? 0 : layout.edges;
    const bool last = v == layout.vertices;
    if (g.offsets[v] >= (last ? layout.edges : low) && g.offsets[v] <= high) continue;
    throw load_error::at_byte(path, layout.offsets_at() + v * 8,
                              "offset " + std::to_string(static_cast<std::int64_t>(g.offsets[v])) +
                                  " of vertex " + std::to_string(v) + " is not between " +
                                  std::to_string(last ? layout.edges : low) + " and " +
                                  std::to_string(high),
                              remedy);
  }
  g.neighbours.resize(layout.edges);
  if (!weighted) {
    file.read(layout.neighbours_at(), g.neighbours.data(), layout.edges);
  } else {
    for (std::uint64_t k = 0; k < layout.edges; ++k) {
      file.read(layout.neighbours_at() + k * layout.neighbour_bytes, &g.neighbours[k], 1);
    }
  }
  const auto wrong = std::find_if(g.neighbours.begin(), g.neighbours.end(),
                                  [&](std::uint32_t v) { return v >= layout.vertices; });
  if (wrong != g.neighbours.end()) {
    const auto k = static_cast<std::uint64_t>(wrong - g.neighbours.begin());
    throw load_error::at_byte(path, layout.neighbours_at() + k * layout.neighbour_bytes,
                              "vertex id " + std::to_string(static_cast<std::int32_t>(*wrong)) +
                                  (*wrong >> 31 != 0 ? " is negative" : " is out of range") +
                                  ": the graph has " + std::to_string(layout.vertices) +
                                  " vertices",
                              remedy);
  }
  return g;
}

}  // namespace graph

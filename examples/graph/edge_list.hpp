#pragma once

#include "build_csr.hpp"
#include "file_bytes.hpp"
#include "text_lines.hpp"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

namespace graph {

/// The largest vertex id a graph may have: the GAP suite's own limit, 31 bits.
inline constexpr std::uint64_t max_vertex = 0x7fffffff;

/// Loads an edge list (`.el`: "source destination" a line; `.wel`: with a weight, which is
/// ignored).
///
/// The graph is directed and has as many vertices as its largest id says, ids from 0 on, as in the
/// GAP suite. Blank lines and lines that start with # or % are skipped.
inline csr load_edge_list(const std::string& path, bool weighted) {
  const char* remedy =
      weighted ? "a line of a .wel file is \"source destination weight\" with vertex ids from 0 on"
               : "a line of an .el file is \"source destination\" with vertex ids from 0 on";
  const file_bytes file(path);
  text_lines lines(file.text(), path);
  std::vector<edge> edges;
  std::uint64_t last = 0;
  while (lines.next_line()) {
    const std::string_view first = lines.peek_word();
    if (first.empty() || first.front() == '#' || first.front() == '%') continue;
    const std::uint64_t from = lines.next_number("source id", remedy);
    const std::uint64_t to = lines.next_number("destination id", remedy);
    if (weighted) lines.skip_value("weight", remedy);
    lines.expect_end(remedy);
    const std::uint64_t larger = std::max(from, to);
    if (larger > max_vertex) {
      lines.fail("vertex id " + std::to_string(larger) + " is out of range",
                 "ids go from 0 to " + std::to_string(max_vertex) + ": renumber the vertices");
    }
    last = std::max(last, larger);
    edges.push_back({static_cast<std::uint32_t>(from), static_cast<std::uint32_t>(to)});
  }
  if (edges.empty()) throw load_error(path, "holds no edge", remedy);
  return build_csr(static_cast<std::uint32_t>(last + 1), edges, direction::as_given);
}

}  // namespace graph

#pragma once

#include "edge_list.hpp"

#include <cctype>
#include <cstdint>
#include <string>
#include <vector>

namespace graph {

namespace detail {

/// What the first line of a Matrix Market file promises.
struct matrix_market_banner {
  bool has_value = false;
  bool symmetric = false;
};

inline std::string lower_case(std::string_view word) {
  std::string out(word);
  for (char& c : out) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

inline matrix_market_banner read_banner(text_lines& lines) {
  const std::string remedy =
      "a graph needs \"%%MatrixMarket matrix coordinate pattern|real|integer general|symmetric\"";
  lines.next_line();
  const std::string banner(lines.next_word());
  if (banner != "%%MatrixMarket") lines.fail("the first line is no Matrix Market header", remedy);
  const std::string object = lower_case(lines.next_word());
  const std::string format = lower_case(lines.next_word());
  const std::string field = lower_case(lines.next_word());
  const std::string symmetry = lower_case(lines.next_word());
  if (object != "matrix") lines.fail("unsupported object \"" + object + "\"", remedy);
  if (format != "coordinate") lines.fail("unsupported format \"" + format + "\"", remedy);
  if (field != "pattern" && field != "real" && field != "integer") {
    lines.fail("unsupported field \"" + field + "\"", remedy);
  }
  if (symmetry != "general" && symmetry != "symmetric") {
    lines.fail("unsupported symmetry \"" + symmetry + "\"", remedy);
  }
  return {field != "pattern", symmetry == "symmetric"};
}

/// Steps to the next line that is neither blank nor a comment; false at the end of the text.
inline bool next_data_line(text_lines& lines) {
  while (lines.next_line()) {
    const std::string_view word = lines.peek_word();
    if (!word.empty() && word.front() != '%') return true;
  }
  return false;
}

}  // namespace detail

/// Loads a Matrix Market coordinate file as a graph: entry (i, j) is the edge i -> j, ids from 1
/// on; values are ignored.
///
/// A symmetric matrix gives an undirected graph, a general one a directed graph.
inline csr load_matrix_market(const std::string& path) {
  const char* size_remedy = "the line after the comments is \"rows columns entries\"";
  const file_bytes file(path);
  text_lines lines(file.text(), path);
  const auto banner = detail::read_banner(lines);
  const char* remedy = banner.has_value ? "a line is \"row column value\" with ids from 1 on"
                                        : "a line is \"row column\" with ids from 1 on";
  if (!detail::next_data_line(lines)) {
    throw load_error(path, "ends before the size line: truncated", size_remedy);
  }
  const std::uint64_t rows = lines.next_number("number of rows", size_remedy);
  const std::uint64_t columns = lines.next_number("number of columns", size_remedy);
  const std::uint64_t entries = lines.next_number("number of entries", size_remedy);
  lines.expect_end(size_remedy);
  if (rows != columns) {
    lines.fail(
        "a matrix of " + std::to_string(rows) + " rows and " + std::to_string(columns) + " columns",
        "a graph needs a square matrix");
  }
  if (rows == 0 || rows > max_vertex + 1) {
    lines.fail(std::to_string(rows) + " rows are out of range",
               "a graph has 1 to " + std::to_string(max_vertex + 1) + " vertices");
  }
  const auto vertex = [&](const char* name) {
    const std::uint64_t id = lines.next_number(name, remedy);
    if (id == 0 || id > rows) {
      lines.fail(std::string(name) + " " + std::to_string(id) + " is out of range",
                 "ids go from 1 to " + std::to_string(rows) + ", the number of rows");
    }
    return static_cast<std::uint32_t>(id - 1);
  };
  std::vector<edge> edges;
  while (detail::next_data_line(lines)) {
    if (edges.size() == entries) {
      lines.fail("an entry more than the " + std::to_string(entries) + " of the size line",
                 "correct the count or remove the line");
    }
    const std::uint32_t from = vertex("row");
    const std::uint32_t to = vertex("column");
    if (banner.has_value) lines.skip_value("value", remedy);
    lines.expect_end(remedy);
    edges.push_back({from, to});
  }
  if (edges.size() != entries) {
    throw load_error(path,
                     "the size line says " + std::to_string(entries) + " entries, the file holds " +
                         std::to_string(edges.size()) + ": truncated or wrong count",
                     "download it again or correct the count");
  }
  return build_csr(static_cast<std::uint32_t>(rows), edges,
                   banner.symmetric ? direction::both : direction::as_given);
}

}  // namespace graph

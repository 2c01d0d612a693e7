#pragma once

#include "../../examples/graph/csr.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace graph_test {

/// Appends the bytes of a value.
template <class T>
void append(std::string& out, T value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

/// The bytes of a GAP serialized graph, as the suite's converter writes them.
inline std::string gap_bytes(const graph::csr& g, bool weighted) {
  std::string out;
  append(out, static_cast<std::uint8_t>(g.directed));
  append(out, static_cast<std::int64_t>(g.edges()));
  append(out, std::int64_t{g.vertices()});
  const auto append_half = [&](const graph::csr& half) {
    for (std::uint64_t offset : half.offsets) append(out, static_cast<std::int64_t>(offset));
    for (std::uint32_t v : half.neighbours) {
      append(out, static_cast<std::int32_t>(v));
      if (weighted) append(out, std::int32_t{-7});
    }
  };
  append_half(g);
  if (!g.directed) return out;

  std::vector<std::vector<std::uint32_t>> incoming(g.vertices());
  for (std::uint32_t u = 0; u < g.vertices(); ++u) {
    for (std::uint32_t v : g.of(u)) incoming[v].push_back(u);
  }
  graph::csr inverse;
  for (const auto& list : incoming) {
    inverse.neighbours.insert(inverse.neighbours.end(), list.begin(), list.end());
    inverse.offsets.push_back(inverse.neighbours.size());
  }
  append_half(inverse);
  return out;
}

}  // namespace graph_test

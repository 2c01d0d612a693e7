#pragma once

#include "csr.hpp"
#include "drawn_graph.hpp"
#include "machine_memory.hpp"

#include <cstdint>
#include <stdexcept>
#include <string>

namespace graph {

/// Generates a graph. Throws `std::invalid_argument` where this machine's memory is too small.
inline csr kronecker(const kronecker_options& options) {
  const drawn_graph drawn(options);
  if (!fits_memory(drawn.bytes())) {
    throw std::invalid_argument("a Kronecker graph of scale " + std::to_string(options.scale) +
                                " and degree " + std::to_string(options.degree) + " needs " +
                                std::to_string((drawn.bytes() >> 30) + 1) +
                                " GiB, more than this machine has; give a smaller --scale");
  }
  csr g;
  g.offsets.resize(std::uint64_t{drawn.vertices()} + 1);
  g.neighbours.resize(drawn.room());
  g.neighbours.resize(drawn.build(g.offsets, g.neighbours));
  return g;
}

}  // namespace graph

#pragma once

#include "edge_step.hpp"

#include <cstdint>

namespace graph {

/// What a graph program came to.
struct search_outcome {
  std::uint32_t steps = 0;    ///< passes over the edges of the vertices that took part
  std::uint64_t reached = 1;  ///< vertices that a search found, its source among them
  step_counts counts{};       ///< of all steps
  double seconds = 0;         ///< of its kernels and what the host does between them
};

}  // namespace graph

#pragma once

#include "../support/kernel_shape.hpp"
#include "edge_step.hpp"
#include <gnstor/host/executor.hpp>
#include <gnstor/host/memory_block.hpp>

#include <algorithm>
#include <cstdint>

namespace graph {

/// Runs kernels of graph programs, one at a time.
/// @tparam Place where the arrays lie, `support::on_volumes` or `support::on_memory`; outlives it
template <class Place>
class step_runner {
 public:
  step_runner(Place& place, const support::kernel_shape& shape)
      : place_(&place), shape_(shape), counts_(place.allocate(sizeof(step_counts))) {}

  /// One step of `program` over the edges of `active` vertices.
  template <class Offsets, class Neighbours, class Program>
  step_counts step(const csr_view<Offsets, Neighbours>& g, const Program& program,
                   std::uint64_t active) {
    return step_lists(g, program, active);
  }
  template <class Offsets, class Neighbours, class Weights, class Program>
  step_counts step(const weighted_view<Offsets, Neighbours, Weights>& g, const Program& program,
                   std::uint64_t active) {
    return step_lists(g, program, active);
  }
  template <class Graph, class Chunks, class Program>
  step_counts step(const balanced_view<Graph, Chunks>& g, const Program& program,
                   std::uint64_t active) {
    using balanced = balanced_view<Graph, Chunks>;
    turn();
    step_counts sum;
    std::uint32_t* bits = nullptr;
    if (active < g.graph.vertices) {
      bits = bits_for(g.chunks());
      sum = counted(mark_chunks<Graph, Program>{}, g.graph, program, counts(),
                    chunk_marks{g.chunk_edges, bits}, order_);
    }
    using visit = chunk_step<balanced, Program>;
    if constexpr (support::paged_view<decltype(g.graph.neighbours)>) {
      if (bits != nullptr) sum.add(counted(visit{true}, g, program, counts(), bits, order_));
    }
    sum.add(counted(visit{}, g, program, counts(), bits, order_));
    return sum;
  }
  /// A graph that brings its edges itself, and makes the step of steps on what it has brought.
  template <class Graph, class Program>
  step_counts step(const Graph& g, const Program& program, std::uint64_t active) {
    return g.step(*this, program, active);
  }

  /// A kernel of the program's own: `f(lane, args...)`.
  template <class Functor, class... Args>
  void run(Functor f, Args... args) {
    kernels_.spawn(shape_.grid, shape_.block, f, args...);
    place_->attach(kernels_);
    kernels_.run();
  }

 private:
  template <class Graph, class Program>
  step_counts step_lists(const Graph& g, const Program& program, std::uint64_t active) {
    const std::uint64_t words = detail::words_of(g.vertices);
    const std::uint64_t span = std::clamp<std::uint64_t>(words / std::max(active, one), 1, 32);
    turn();
    return counted(list_step<Graph, Program>{}, g, program, counts(),
                   static_cast<std::uint32_t>(span), order_);
  }
  template <class Functor, class... Args>
  step_counts counted(Functor f, Args... args) {
    step_counts c;
    counts_.write(0, &c, sizeof c);
    run(f, args...);
    counts_.read(0, &c, sizeof c);
    return c;
  }
  /// The next step goes against the order of the last one.
  void turn() {
    order_ = order_ == walk_order::forwards ? walk_order::backwards : walk_order::forwards;
  }
  step_counts* counts() const { return static_cast<step_counts*>(counts_.data()); }
  /// One bit per chunk, zero.
  std::uint32_t* bits_for(std::uint64_t chunks) {
    const std::uint64_t bytes = detail::words_of(chunks) * 4;
    if (chunk_bits_.bytes() < bytes) chunk_bits_ = place_->allocate(bytes);
    return static_cast<std::uint32_t*>(chunk_bits_.data());
  }

  static constexpr std::uint64_t one = 1;

  Place* place_;
  support::kernel_shape shape_;
  walk_order order_ = walk_order::backwards;  ///< of the last step
  gnstor::host::memory_block counts_;
  gnstor::host::memory_block chunk_bits_;
  gnstor::host::executor kernels_;
};

}  // namespace graph

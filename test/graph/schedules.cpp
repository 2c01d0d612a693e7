/// Kernels of graph programs however their lanes interleave. GNSTOR_SEEDS and GNSTOR_FIRST_SEED as
/// `qp/seed_sweep.hpp` says.
#include "../../examples/graph/balanced_csr.hpp"
#include "../../examples/graph/bfs_search.hpp"
#include "../../examples/graph/cc_search.hpp"
#include "../../examples/graph/kronecker.hpp"
#include "../../examples/graph/program_reference.hpp"
#include "../../examples/support/pointer_view.hpp"
#include "qp/seed_sweep.hpp"

#include <doctest/doctest.h>

#include <numeric>
#include <string>
#include <utility>
#include <vector>

namespace {

using gnstor::test::sweep;
namespace host = gnstor::simt::host;

constexpr std::uint64_t share = 150;
using words = support::pointer_view<const std::uint32_t>;
using plain_graph = graph::csr_view<support::pointer_view<const std::uint64_t>, words>;
using chunked_graph = graph::balanced_view<plain_graph, words>;

template <class T>
support::pointer_view<const T> seen(const std::vector<T>& v) {
  return {v.data(), v.size(), 64};
}

/// A small graph, and what kernels see of it.
struct rig {
  graph::csr g;
  graph::balanced_csr chunks = graph::balance(g, 64);
  graph::step_counts counts{};
  graph::walk_order order = graph::walk_order::backwards;
  std::vector<std::uint32_t> chunk_bits =
      std::vector<std::uint32_t>(graph::detail::words_of(chunks.chunks()));

  explicit rig(std::uint64_t seed)
      : g(graph::kronecker({.scale = 5, .degree = 4, .seed = seed, .threads = 1})) {}
  plain_graph lists() const { return {seen(g.offsets), seen(g.neighbours), g.vertices()}; }
  chunked_graph balanced() const {
    return {lists(), seen(chunks.chunk_vertices), chunks.chunk_edges, g.edges()};
  }

  /// One step, on lists or on chunks, by two warps.
  template <class Program>
  void step(host::options chosen, const Program& program, bool some_vertices) {
    host::executor kernels(chosen);
    order = order == graph::walk_order::forwards ? graph::walk_order::backwards
                                                 : graph::walk_order::forwards;
    const auto run = [&](auto f, auto... args) {
      counts.taken = 0;
      kernels.spawn(1, 64, f, args...);
      kernels.run();
    };
    if (chosen.seed % 2 == 0) {
      run(graph::list_step<plain_graph, Program>{}, lists(), program, &counts, 1u, order);
      return;
    }
    if (some_vertices) {
      run(graph::mark_chunks<plain_graph, Program>{}, lists(), program, &counts,
          graph::chunk_marks{chunks.chunk_edges, chunk_bits.data()}, order);
    }
    using visit = graph::chunk_step<chunked_graph, Program>;
    std::uint32_t* const bits = some_vertices ? chunk_bits.data() : nullptr;
    if (some_vertices && chosen.seed % 3 == 0)
      run(visit{true}, balanced(), program, &counts, bits, order);
    run(visit{}, balanced(), program, &counts, bits, order);
  }
};

std::string components(host::options chosen) {
  rig r(chosen.seed);
  std::vector<std::uint32_t> labels(r.g.vertices());
  std::iota(labels.begin(), labels.end(), 0u);
  const graph::cc_program program{labels.data(), {r.g.vertices()}, chosen.seed % 3 == 0};
  r.step(chosen, program, false);
  host::executor kernels(chosen);
  kernels.spawn(1, 32, graph::flatten_components{}, program);
  kernels.run();
  if (r.counts.failed != 0) return "reads failed";
  return graph::detail::first_difference<std::uint32_t>("component", labels,
                                                        graph::component_labels(r.g));
}

std::string tree(host::options chosen) {
  rig r(chosen.seed);
  const std::uint32_t source = graph::pick_source(r.g, chosen.seed);
  std::vector<std::uint32_t> parents(r.g.vertices(), graph::unreached);
  std::vector<std::uint32_t> bits[3];
  for (auto& b : bits) b.resize(r.g.vertices() / 32 + 1);
  parents[source] = source;
  bits[0][source / 32] = 1u << source % 32;
  std::uint64_t reached = 1;
  for (std::uint64_t level = 1; level != 0; reached += level) {
    r.counts = {};
    r.step(chosen,
           graph::bfs_program{parents.data(), {bits[0].data(), bits[1].data(), bits[2].data()}},
           true);
    level = r.counts.changed;
    std::swap(bits[0], bits[1]);
    std::swap(bits[1], bits[2]);
  }
  const auto found = static_cast<std::uint64_t>(std::count_if(
      parents.begin(), parents.end(), [](std::uint32_t p) { return p != graph::unreached; }));
  if (found != reached) return "a vertex was counted twice, or not at all";
  return graph::verify_bfs_tree(r.g, source, parents);
}

}  // namespace

TEST_CASE("components are those of the graph, seeded and weak") {
  sweep(host::mode::seeded, share, components);
  sweep(host::mode::weak, share, components);
}

TEST_CASE("a search gives each vertex one parent, a level above, seeded and weak") {
  sweep(host::mode::seeded, share, tree);
  sweep(host::mode::weak, share, tree);
}

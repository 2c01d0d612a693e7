#include "graph/kronecker.hpp"
#include "graph/load.hpp"
#include "graph/remote_bfs.hpp"
#include "support/memory_array.hpp"
#include "support/progress.hpp"
#include "support/volume_array.hpp"

#include <command_line/command_line.hpp>

#include <algorithm>
#include <cstdio>
#include <string>

namespace host = gnstor::host;

struct settings {
  graph::kronecker_options made{.scale = 16};
  std::string file;
  std::int64_t source = -1;
  std::uint32_t trials = 1;
  support::run_options run;
};

graph::csr make_graph(const settings& s) {
  support::stopwatch clock;
  graph::csr g = s.file.empty() ? graph::kronecker(s.made) : graph::load(s.file);
  std::fprintf(stderr, "graph: %u vertices, %llu edges, %s after %.2f s\n", g.vertices(),
               static_cast<unsigned long long>(g.edges()), s.file.empty() ? "generated" : "loaded",
               clock.seconds());
  return g;
}

/// The vertex that trial `trial` starts from.
std::uint32_t source_of(const settings& s, const graph::csr& g, std::uint32_t trial) {
  if (s.source < 0) return graph::pick_source(g, s.made.seed + trial);
  if (s.source >= g.vertices()) {
    throw host::input_error("source vertex " + std::to_string(s.source) + " is not in a graph of " +
                            std::to_string(g.vertices()) + " vertices; give --source 0 to " +
                            std::to_string(g.vertices() - 1));
  }
  return static_cast<std::uint32_t>(s.source);
}

/// Sums of all trials.
struct totals {
  std::uint32_t levels = 0;
  graph::bfs_counts counts{};
  double seconds = 0;
  std::string wrong;  ///< what the first wrong tree has; empty if all are right

  void add(const graph::bfs_outcome& o, const std::string& verdict) {
    levels += o.levels;
    counts.reached += o.counts.reached;
    counts.walked += o.counts.walked;
    counts.accesses += o.counts.accesses;
    counts.failed += o.counts.failed;
    seconds += o.seconds;
    if (wrong.empty()) wrong = verdict;
  }
};

/// Searches `trials` times and checks every tree against a search in this machine's memory.
template <class Place, class Offsets, class Neighbours>
totals search_all(const settings& s, const graph::csr& g, Place& place, const Offsets& offsets,
                  const Neighbours& neighbours) {
  graph::remote_bfs<Place> bfs(place, g.vertices(), s.run);
  totals sum;
  for (std::uint32_t trial = 0; trial < s.trials; ++trial) {
    const std::uint32_t source = source_of(s, g, trial);
    std::fprintf(stderr, "search %u of %u from vertex %u\n", trial + 1, s.trials, source);
    const graph::bfs_outcome outcome = bfs.search(source, offsets.view(), neighbours.view());
    if (outcome.counts.failed != 0) std::fprintf(stderr, "reads failed: the search stops\n");
    std::fprintf(stderr, "checking the tree\n");
    sum.add(outcome, graph::verify_bfs_tree(g, source, outcome.parents));
  }
  return sum;
}

/// @param open_place gives where the arrays lie, for so many bytes
template <class OpenPlace>
int search_graph(const settings& s, const graph::csr& g, const OpenPlace& open_place) {
  // An array has at least one element, also of a graph without edges.
  const std::uint64_t neighbour_count = std::max<std::uint64_t>(g.edges(), 1);
  const std::uint64_t offset_bytes = g.offsets.size() * 8, neighbour_bytes = neighbour_count * 4;
  const std::uint64_t bytes = offset_bytes + neighbour_bytes;
  s.run.check_frames({offset_bytes, neighbour_bytes});
  auto place = open_place(bytes);
  auto offsets =
      place.template make<std::uint64_t>(g.offsets.size(), s.run.paging(offset_bytes, bytes));
  auto neighbours =
      place.template make<std::uint32_t>(neighbour_count, s.run.paging(neighbour_bytes, bytes));
  support::write_shown("offsets", offsets.array(), g.offsets.data(), g.offsets.size());
  support::write_shown("neighbours", neighbours.array(), g.neighbours.data(), g.edges());

  const totals sum = search_all(s, g, place, offsets, neighbours);
  support::paging_figures pages;
  support::add_to(pages, offsets);
  support::add_to(pages, neighbours);
  const bool right = sum.wrong.empty() && sum.counts.failed == 0 && pages.io_errors() == 0;

  support::figure("vertices", g.vertices());
  support::figure("edges", std::to_string(g.edges()) + (g.directed ? "" : ", both ways counted"));
  support::figure("searches", s.trials);
  support::figure("levels", sum.levels);
  support::figure("reached", sum.counts.reached);
  support::figure("edges walked", sum.counts.walked);
  support::figure("time", support::with_unit(sum.seconds, "s"));
  support::figure("edges/s",
                  support::with_unit(1e-6 * double(sum.counts.walked) / sum.seconds, "M"));
  support::figure("data", support::in_bytes(double(bytes)));
  support::figure("offsets", "frames " + support::frames_of(offsets));
  support::figure("neighbours", "frames " + support::frames_of(neighbours));
  pages.print(sum.counts.accesses, sum.counts.failed, sum.seconds);
  support::figure("verified", sum.wrong.empty() ? (right ? "yes" : "yes, but see the errors")
                                                : "NO: " + sum.wrong);
  return right ? 0 : 1;
}

int run(const settings& s) {
  s.run.check();
  const graph::csr g = make_graph(s);
  (void)source_of(s, g, 0);  // a wrong source is refused before any work
  if (s.run.in_memory())
    return search_graph(s, g, [](std::uint64_t) { return support::on_memory(); });
  return search_graph(
      s, g, [&](std::uint64_t bytes) { return support::on_volumes(s.run.endpoint_for(bytes)); });
}

int main(int argc, char** argv) try {
  settings s;
  gnstor::tools::command_line line(
      "Breadth-first search by kernels over a graph on a remote flash array");
  const auto scale =
      line.option("--scale", s.made.scale, "Kronecker graph of 2^N vertices").show_default();
  const auto degree =
      line.option("--degree", s.made.degree, "edges drawn for each vertex").show_default();
  line.option("--graph", s.file, "file instead: .sg, .wsg, .el, .wel or .mtx")
      .excludes(scale)
      .excludes(degree);
  line.option("--source", s.source, "vertex to search from (default: drawn from the seed)")
      .non_negative();
  line.option("--seed", s.made.seed, "of the graph and the sources").show_default();
  line.option("--trials", s.trials, "searches, each from its own source").positive().show_default();
  s.run.add_to(line);
  if (const auto code = line.parse(argc, argv)) return *code;
  return run(s);
} catch (const std::exception& e) {
  std::fprintf(stderr, "bfs: %s\n", e.what());
  return 2;
}

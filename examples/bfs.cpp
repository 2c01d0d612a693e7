#include "graph/bfs_search.hpp"
#include "graph/program.hpp"

#include <cstdio>

/// Searches `trials` times and checks every tree against a search in this machine's memory.
struct search_trees {
  const graph::program_settings& settings;

  template <class Place, class Graph>
  graph::program_result operator()(Place& place, const Graph& view,
                                   const graph::program_input& in) const {
    const graph::csr& g = in.graph;
    graph::bfs_search<Place> bfs(place, g.vertices(), settings.run);
    return graph::search_trials(settings, g, [&](std::uint32_t source) {
      const graph::search_outcome out = bfs.search(source, view, [&](const auto& o, auto level) {
        graph::say_step(o, level, g.vertices());
      });
      std::fprintf(stderr, "checking the tree\n");
      return std::pair(out, graph::verify_bfs_tree(g, source, bfs.parents()));
    });
  }
};

int main(int argc, char** argv) try {
  graph::program_settings s;
  gnstor::tools::command_line line(
      "Breadth-first search by kernels over a graph on a remote flash array");
  s.add_to(line);
  s.add_sources_to(line);
  if (const auto code = line.parse(argc, argv)) return *code;
  return graph::run_program(s, search_trees{s});
} catch (const std::exception& e) {
  std::fprintf(stderr, "bfs: %s\n", e.what());
  return 2;
}

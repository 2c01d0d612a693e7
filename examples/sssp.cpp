#include "graph/program.hpp"
#include "graph/program_reference.hpp"
#include "graph/sssp_search.hpp"

#include <cstdio>

/// Searches `trials` times and checks all distances against those found in this machine's memory.
struct search_paths {
  const graph::program_settings& settings;

  template <class Place, class Graph>
  graph::program_result operator()(Place& place, const Graph& view,
                                   const graph::program_input& in) const {
    const graph::csr& g = in.graph;
    graph::sssp_search<Place> sssp(place, g.vertices(), settings.run);
    return graph::search_trials(settings, g, [&](std::uint32_t source) {
      graph::search_outcome out = sssp.search(source, view, [](const auto& o, auto vertices) {
        std::fprintf(stderr, "  step %u: %llu vertices, after %.2f s\n", o.steps,
                     static_cast<unsigned long long>(vertices), o.seconds);
      });
      std::fprintf(stderr, "checking the distances\n");
      const std::vector<std::uint32_t> distances = sssp.distances();
      out.reached = static_cast<std::uint64_t>(std::count_if(
          distances.begin(), distances.end(), [](std::uint32_t d) { return d != graph::no_path; }));
      return std::pair(
          out, graph::detail::first_difference<std::uint32_t>(
                   "distance", distances, graph::shortest_distances(g, in.weights, source)));
    });
  }
};

int main(int argc, char** argv) try {
  graph::program_settings s;
  gnstor::tools::command_line line(
      "Shortest paths by kernels in a graph on a remote flash array, or in host memory; weights "
      "are drawn");
  s.add_to(line);
  s.add_sources_to(line);
  if (const auto code = line.parse(argc, argv)) return *code;
  return graph::run_program<true>(s, search_paths{s});
} catch (const std::exception& e) {
  std::fprintf(stderr, "sssp: %s\n", e.what());
  return 2;
}

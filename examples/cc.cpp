#include "graph/cc_search.hpp"
#include "graph/program.hpp"
#include "graph/program_reference.hpp"

#include <cstdio>

/// Finds the components and checks them against those found in this machine's memory.
struct find_components {
  const graph::program_settings& settings;

  template <class Place, class Graph>
  graph::program_result operator()(Place& place, const Graph& view,
                                   const graph::program_input& in) const {
    const graph::csr& g = in.graph;
    graph::cc_search<Place> cc(place, g.vertices(), settings.run);
    graph::program_result result;
    const graph::search_outcome out = cc.search(view, g.directed);
    std::fprintf(stderr, "checking the components\n");
    const std::vector<std::uint32_t> labels = cc.labels(), right = graph::component_labels(g);
    result.add(out, graph::detail::first_difference<std::uint32_t>("component", labels, right));
    std::uint64_t components = 0;
    for (std::uint32_t v = 0; v < g.vertices(); ++v) components += labels[v] == v;
    result.figures = {{"components", std::to_string(components)}};
    return result;
  }
};

int main(int argc, char** argv) try {
  graph::program_settings s;
  gnstor::tools::command_line line(
      "Connected components by kernels of a graph on a remote flash array, or in host memory");
  s.add_to(line);
  if (const auto code = line.parse(argc, argv)) return *code;
  return graph::run_program(s, find_components{s});
} catch (const std::exception& e) {
  std::fprintf(stderr, "cc: %s\n", e.what());
  return 2;
}

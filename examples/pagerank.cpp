#include "graph/pagerank_search.hpp"
#include "graph/program.hpp"
#include "graph/program_reference.hpp"

#include <cstdio>

/// Ranks the vertices and checks the ranks, which are exact, against those found in this machine's
/// memory.
struct rank_vertices {
  const graph::program_settings& settings;
  const graph::pagerank_limits& limits;

  template <class Place, class Graph>
  graph::program_result operator()(Place& place, const Graph& view,
                                   const graph::program_input& in) const {
    const graph::csr& g = in.graph;
    graph::pagerank_search<Place> pagerank(place, g.vertices(), settings.run);
    const graph::search_outcome out =
        pagerank.search(view, limits, [](const auto& o, double change) {
          std::fprintf(stderr, "  iteration %u: ranks change by %.6f, after %.2f s\n", o.steps,
                       change, o.seconds);
        });
    std::fprintf(stderr, "checking the ranks\n");
    const std::vector<std::uint64_t> ranks = pagerank.ranks();
    graph::program_result result;
    result.add(out, graph::detail::first_difference<std::uint64_t>(
                        "rank", ranks, graph::ranks_after(g, out.steps)));
    const auto best = std::max_element(ranks.begin(), ranks.end());
    const double share = static_cast<double>(*best) / static_cast<double>(graph::whole_rank);
    result.figures = {{"iterations", std::to_string(out.steps)},
                      {"highest rank", "vertex " + std::to_string(best - ranks.begin()) + ", " +
                                           support::with_unit(100 * share, "%")}};
    return result;
  }
};

int main(int argc, char** argv) try {
  graph::program_settings s;
  graph::pagerank_limits limits;
  gnstor::tools::command_line line(
      "PageRank by kernels of a graph on a remote flash array, or in host memory");
  s.add_to(line);
  line.option("--iterations", limits.iterations, "at most").positive().show_default();
  if (const auto code = line.parse(argc, argv)) return *code;
  return graph::run_program(s, rank_vertices{s, limits});
} catch (const std::exception& e) {
  std::fprintf(stderr, "pagerank: %s\n", e.what());
  return 2;
}

#pragma once
/// Whether results of graph programs are right: kernels that look at every edge in device memory,
/// and follow none of the programs' own steps.

#include "graph/bfs_reference.hpp"
#include "graph/sssp_search.hpp"
#include "graphs.cuh"

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace gnstor::benchmarks {

/// Counts that kernels add up, one per kind of mistake.
class mistakes {
 public:
  mistakes() : word_(1) {
    cuda_check(cudaMemset(word_.data(), 0, sizeof(std::uint64_t)), "clearing");
  }
  unsigned long long* word() const { return word_.data(); }
  void require_none(const char* what) const {
    cuda_check(cudaDeviceSynchronize(), what);
    const auto wrong = word_.at(0);
    if (wrong != 0)
      throw std::runtime_error(std::string(what) + ": " + std::to_string(wrong) + " are wrong");
  }

 private:
  scratch<unsigned long long> word_;
};

/// The depth of every vertex in a tree of parents; a chain that does not come to the source is a
/// mistake.
__global__ void follow_parents(const std::uint32_t* parents, std::uint32_t vertices,
                               std::uint32_t source, std::uint32_t* depths,
                               unsigned long long* wrong) {
  constexpr std::uint32_t longest = 1 << 20;
  for (std::uint64_t v = thread_number(); v < vertices; v += thread_count()) {
    depths[v] = graph::unreached;
    if (parents[v] == graph::unreached) continue;
    auto at = static_cast<std::uint32_t>(v);
    std::uint32_t steps = 0;
    for (; at != source && at < vertices && steps < longest; ++steps) at = parents[at];
    if (at == source) {
      depths[v] = steps;
    } else {
      atomicAdd(wrong, 1ull);
    }
  }
}

/// No edge may lead more than one level down, nor out of what was reached.
__global__ void check_levels(edge_owners sources, const std::uint32_t* neighbours,
                             std::uint64_t edges, const std::uint32_t* parents,
                             const std::uint32_t* depths, std::uint32_t* has_edge,
                             unsigned long long* wrong) {
  for (std::uint64_t k = thread_number(); k < edges; k += thread_count()) {
    const std::uint32_t u = sources[k], v = neighbours[k];
    if (depths[u] == graph::unreached) continue;
    if (depths[v] == graph::unreached || depths[v] > depths[u] + 1) atomicAdd(wrong, 1ull);
    if (parents[v] == u) has_edge[v] = 1;
  }
}

/// Distances may not be improved by any edge; an edge that gives a vertex its distance is noted.
__global__ void check_distances(edge_owners sources, const std::uint32_t* neighbours,
                                const std::uint32_t* weights, std::uint64_t edges,
                                const std::uint32_t* distances, std::uint32_t* has_edge,
                                unsigned long long* wrong) {
  for (std::uint64_t k = thread_number(); k < edges; k += thread_count()) {
    const std::uint32_t u = sources[k], v = neighbours[k];
    if (distances[u] == graph::no_path) continue;
    const std::uint32_t offered = distances[u] + weights[k];
    if (distances[v] > offered) atomicAdd(wrong, 1ull);
    if (distances[v] == offered) has_edge[v] = 1;
  }
}

/// Every vertex that was reached was reached over an edge, but the source, whose value is `first`.
__global__ void check_reached(const std::uint32_t* values, std::uint32_t vertices,
                              std::uint32_t source, std::uint32_t first,
                              const std::uint32_t* has_edge, unsigned long long* wrong) {
  for (std::uint64_t v = thread_number(); v < vertices; v += thread_count()) {
    if (v == source) {
      if (values[v] != first) atomicAdd(wrong, 1ull);
    } else if (values[v] != 0xffffffffu && has_edge[v] == 0) {
      atomicAdd(wrong, 1ull);
    }
  }
}

__global__ void number_vertices(std::uint32_t* labels, std::uint32_t vertices) {
  for (std::uint64_t v = thread_number(); v < vertices; v += thread_count())
    labels[v] = static_cast<std::uint32_t>(v);
}
/// Both ends of an edge get the smaller label of both.
__global__ void spread_labels(edge_owners sources, const std::uint32_t* neighbours,
                              std::uint64_t edges, std::uint32_t* labels,
                              unsigned long long* changed) {
  std::uint32_t mine = 0;
  for (std::uint64_t k = thread_number(); k < edges; k += thread_count()) {
    const std::uint32_t u = sources[k], v = neighbours[k];
    const std::uint32_t label = labels[u];
    if (label < labels[v] && atomicMin(&labels[v], label) > label) ++mine;
  }
  if (mine != 0) atomicAdd(changed, static_cast<unsigned long long>(mine));
}
__global__ void compare_words(const std::uint32_t* is, const std::uint32_t* right,
                              std::uint64_t count, unsigned long long* wrong) {
  for (std::uint64_t v = thread_number(); v < count; v += thread_count())
    if (is[v] != right[v]) atomicAdd(wrong, 1ull);
}

inline void clear(const scratch<std::uint32_t>& words, std::uint64_t count) {
  cuda_check(cudaMemset(words.data(), 0, count * 4), "clearing");
}

/// Throws unless `parents` is a tree of shortest paths.
inline void check_bfs(peer_graph& g, std::uint32_t source, const std::uint32_t* parents) {
  const scratch<std::uint32_t> depths(g.vertices()), has_edge(g.vertices());
  clear(has_edge, g.vertices());
  const mistakes m;
  follow_parents<<<blocks, threads>>>(parents, g.vertices(), source, depths.data(), m.word());
  check_levels<<<blocks, threads>>>(g.owners(), g.neighbours().device(), g.edges(), parents,
                                    depths.data(), has_edge.data(), m.word());
  check_reached<<<blocks, threads>>>(depths.data(), g.vertices(), source, 0, has_edge.data(),
                                     m.word());
  cuda_check(cudaGetLastError(), "checking a tree");
  m.require_none("tree");
}

/// Throws unless `distances` are those of the shortest paths.
inline void check_sssp(peer_graph& g, std::uint32_t source, const std::uint32_t* distances) {
  const scratch<std::uint32_t> has_edge(g.vertices());
  clear(has_edge, g.vertices());
  const mistakes m;
  check_distances<<<blocks, threads>>>(g.owners(), g.neighbours().device(), g.weights().device(),
                                       g.edges(), distances, has_edge.data(), m.word());
  check_reached<<<blocks, threads>>>(distances, g.vertices(), source, 0, has_edge.data(), m.word());
  cuda_check(cudaGetLastError(), "checking distances");
  m.require_none("distances");
}

/// The smallest vertex of each vertex's component, by labels that spread until none changes.
inline std::unique_ptr<scratch<std::uint32_t>> spread_all_labels(peer_graph& g) {
  auto labels = std::make_unique<scratch<std::uint32_t>>(g.vertices());
  number_vertices<<<blocks, threads>>>(labels->data(), g.vertices());
  constexpr int most_rounds = 10'000;
  for (int round = 0; round < most_rounds; ++round) {
    const scratch<unsigned long long> changed(1);
    cuda_check(cudaMemset(changed.data(), 0, 8), "clearing");
    spread_labels<<<blocks, threads>>>(g.owners(), g.neighbours().device(), g.edges(),
                                       labels->data(), changed.data());
    cuda_check(cudaGetLastError(), "spreading labels");
    if (changed.at(0) == 0) return labels;
  }
  throw std::runtime_error("labels spread for 10,000 rounds");
}

/// Throws unless `labels` are `right`.
inline void check_cc(peer_graph& g, const std::uint32_t* right, const std::uint32_t* labels) {
  const mistakes m;
  compare_words<<<blocks, threads>>>(labels, right, g.vertices(), m.word());
  cuda_check(cudaGetLastError(), "comparing labels");
  m.require_none("components");
}

}  // namespace gnstor::benchmarks

#pragma once
/// What kernels see of a graph: its arrays as views, whatever they lie on.

#include "../support/held_page.hpp"

#include <cstdint>

namespace graph {

/// Where an edge leads.
struct edge_end {
  std::uint32_t to;
  std::uint32_t weight;  ///< 0 where the graph has no weights
};

/// The pages of edges that a warp holds.
/// @par Callers as `support::held_page`
template <class Neighbours>
class edge_pages {
 public:
  GNSTOR_HD explicit edge_pages(const Neighbours& neighbours) : ends_(neighbours) {}
  GNSTOR_HD bool turn_to(const gnstor::simt::group& warp, std::uint64_t k) {
    return ends_.turn_to(warp, k);
  }
  GNSTOR_HD void release(const gnstor::simt::group& warp) { ends_.release(warp); }
  GNSTOR_HD std::uint64_t end() const { return ends_.end(); }
  GNSTOR_HD edge_end operator[](std::uint64_t k) const { return {ends_[k], 0}; }

 private:
  support::held_page<Neighbours> ends_;
};

/// The same with weights, an array of the neighbours' order and page size.
///
/// A warp that holds a page of neighbours may wait for one of weights, and never the other way
/// round: so none waits for what another one keeps while it waits.
template <class Neighbours, class Weights>
class weighted_edge_pages {
 public:
  GNSTOR_HD weighted_edge_pages(const Neighbours& neighbours, const Weights& weights)
      : ends_(neighbours), weights_(weights) {}
  GNSTOR_HD bool turn_to(const gnstor::simt::group& warp, std::uint64_t k) {
    if (!ends_.holds(k)) weights_.release(warp);
    return ends_.turn_to(warp, k) && weights_.turn_to(warp, k);
  }
  GNSTOR_HD void release(const gnstor::simt::group& warp) {
    weights_.release(warp);
    ends_.release(warp);
  }
  GNSTOR_HD std::uint64_t end() const {
    return ends_.end() < weights_.end() ? ends_.end() : weights_.end();
  }
  GNSTOR_HD edge_end operator[](std::uint64_t k) const { return {ends_[k], weights_[k]}; }

 private:
  support::held_page<Neighbours> ends_;
  support::held_page<Weights> weights_;
};

/// A `csr` without weights.
template <class Offsets, class Neighbours>
struct csr_view {
  static constexpr std::uint32_t arrays_per_edge = 1;

  Offsets offsets;
  Neighbours neighbours;
  std::uint32_t vertices;

  GNSTOR_HD edge_pages<Neighbours> pages() const { return edge_pages<Neighbours>(neighbours); }
};

/// A `csr` whose edges have weights.
template <class Offsets, class Neighbours, class Weights>
struct weighted_view {
  static constexpr std::uint32_t arrays_per_edge = 2;

  Offsets offsets;
  Neighbours neighbours;
  std::uint32_t vertices;
  Weights weights;

  GNSTOR_HD weighted_edge_pages<Neighbours, Weights> pages() const { return {neighbours, weights}; }
};

/// A `balanced_csr`: a graph whose edges are also divided into chunks of equal size.
/// @tparam Graph `csr_view` or `weighted_view`
template <class Graph, class Chunks>
struct balanced_view {
  Graph graph;
  Chunks chunk_vertices;      ///< see `balanced_csr`
  std::uint64_t chunk_edges;  ///< of every chunk but the last
  std::uint64_t edges;

  GNSTOR_HD std::uint64_t chunks() const { return (edges + chunk_edges - 1) / chunk_edges; }
};

}  // namespace graph

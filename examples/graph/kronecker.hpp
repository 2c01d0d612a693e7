#pragma once

#include "build_csr.hpp"

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace graph {

/// A Graph500 Kronecker graph: 2^scale vertices, scale-free, undirected.
struct kronecker_options {
  unsigned scale = 18;     ///< 1 to 31
  unsigned degree = 16;    ///< edges drawn a vertex, before self loops and duplicates are dropped
  std::uint64_t seed = 1;  ///< the same seed gives the same graph on every machine
  unsigned threads = 0;    ///< 0 means one a core; has no influence on the graph
};

namespace detail {

/// SplitMix64: a stream of 64-bit numbers that may start anywhere.
class random_stream {
 public:
  explicit random_stream(std::uint64_t state) : state_(state) {}
  std::uint64_t operator()() {
    state_ += 0x9e3779b97f4a7c15u;
    std::uint64_t z = state_;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
  }

 private:
  std::uint64_t state_;
};

/// A permutation of the numbers of `scale` bits, drawn from a seed. Without it the hubs would be
/// the first vertices.
class vertex_permutation {
 public:
  vertex_permutation(unsigned scale, std::uint64_t seed)
      : mask_(scale >= 32 ? ~std::uint32_t{0} : (std::uint32_t{1} << scale) - 1),
        half_(scale / 2 + 1) {
    random_stream draw(seed);
    for (auto& k : keys_) k = static_cast<std::uint32_t>(draw());
  }
  /// Every step (add, multiply by an odd number, xor with the upper half) is a bijection on `scale`
  /// bits.
  std::uint32_t operator()(std::uint32_t v) const {
    for (std::uint32_t k : keys_) {
      v = ((v + k) * (k | 1u)) & mask_;
      v ^= v >> half_;
    }
    return v;
  }

 private:
  std::uint32_t mask_;
  unsigned half_;
  std::uint32_t keys_[4];
};

/// Draws one edge: each bit of the pair picks a quadrant of the adjacency matrix with A=.57 B=.19
/// C=.19 D=.05.
inline edge draw_edge(random_stream& draw, unsigned scale) {
  constexpr auto a = static_cast<std::uint32_t>(0.57 * 4294967296.0);
  constexpr auto ab = static_cast<std::uint32_t>(0.76 * 4294967296.0);
  constexpr auto abc = static_cast<std::uint32_t>(0.95 * 4294967296.0);
  edge e{0, 0};
  std::uint64_t bits = 0;
  for (unsigned level = 0; level < scale; ++level) {
    bits = level % 2 == 0 ? draw() : bits >> 32;
    const auto r = static_cast<std::uint32_t>(bits);
    const std::uint32_t past_a = r >= a, past_b = r >= ab, past_c = r >= abc;
    e.from = e.from << 1 | past_b;
    e.to = e.to << 1 | (past_a ^ past_b ^ past_c);
  }
  return e;
}

}  // namespace detail

/// The edge list of a Kronecker graph: 2^scale * degree edges, self loops and duplicates included.
inline std::vector<edge> kronecker_edges(const kronecker_options& options) {
  if (options.scale < 1 || options.scale > 31) {
    throw std::invalid_argument("Kronecker scale " + std::to_string(options.scale) +
                                " is outside 1 to 31; give --scale N with 2^N vertices");
  }
  if (options.degree < 1)
    throw std::invalid_argument("Kronecker degree 0; give --degree K of at least 1");
  constexpr std::uint64_t block = 1 << 16;
  const std::uint64_t count = (std::uint64_t{1} << options.scale) * options.degree;
  if (!fits_memory(count * (8 + 16))) {
    throw std::invalid_argument(
        "a Kronecker graph of scale " + std::to_string(options.scale) + " and degree " +
        std::to_string(options.degree) + " needs " + std::to_string((count * 24 >> 30) + 1) +
        " GiB to build, more than this machine has; give a smaller --scale");
  }
  const detail::vertex_permutation permute(options.scale, options.seed);
  std::vector<edge> edges(count);
  const std::uint64_t base = detail::random_stream(options.seed)();
  for_each_index(worker_count(options.threads), (count + block - 1) / block, [&](std::uint64_t b) {
    detail::random_stream draw(detail::random_stream(base + b)());
    for (std::uint64_t k = b * block; k < count && k < (b + 1) * block; ++k) {
      const edge e = detail::draw_edge(draw, options.scale);
      edges[k] = {permute(e.from), permute(e.to)};
    }
  });
  return edges;
}

/// Generates a Kronecker graph as the GAP suite does: symmetrised, without self loops and
/// duplicates.
inline csr kronecker(const kronecker_options& options) {
  const std::vector<edge> edges = kronecker_edges(options);
  return build_csr(std::uint32_t{1} << options.scale, edges, direction::both, options.threads);
}

}  // namespace graph

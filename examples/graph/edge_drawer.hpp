#pragma once

#include "build_csr.hpp"
#include <gnstor/core/config.hpp>

#include <cstdint>

namespace graph {

/// A generated graph: 2^scale vertices, undirected. A Graph500 Kronecker graph, which is
/// scale-free, or one whose edges join vertices drawn uniformly.
struct kronecker_options {
  unsigned scale = 18;     ///< 1 to 31
  unsigned degree = 16;    ///< edges drawn per vertex, before self loops and duplicates are dropped
  std::uint64_t seed = 1;  ///< the same seed gives the same graph on every machine
  unsigned threads = 0;    ///< 0 means one a core; has no influence on the graph
  bool uniform = false;
};

namespace detail {

/// SplitMix64: a stream of 64-bit numbers that may start anywhere.
class random_stream {
 public:
  GNSTOR_HD explicit random_stream(std::uint64_t state) : state_(state) {}
  /// Leaves out `count` numbers.
  GNSTOR_HD void skip(std::uint64_t count) { state_ += count * step; }
  GNSTOR_HD std::uint64_t operator()() {
    state_ += step;
    std::uint64_t z = state_;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
  }

 private:
  static constexpr std::uint64_t step = 0x9e3779b97f4a7c15u;
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
  GNSTOR_HD std::uint32_t operator()(std::uint32_t v) const {
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
GNSTOR_HD inline edge draw_edge(random_stream& draw, unsigned scale) {
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

/// Draws the edges of a generated graph, each by its number: on any machine, in any order.
class edge_drawer {
 public:
  explicit edge_drawer(const kronecker_options& o)
      : permute_(o.scale, o.seed),
        base_(detail::random_stream(o.seed)()),
        scale_(o.scale),
        uniform_(o.uniform) {}

  GNSTOR_HD edge operator()(std::uint64_t k) const {
    constexpr std::uint64_t block = 1 << 16;
    detail::random_stream draw(detail::random_stream(base_ + k / block)());
    draw.skip(k % block * (uniform_ ? 1 : (scale_ + 1) / 2));
    if (uniform_) {
      const std::uint64_t bits = draw();
      const std::uint64_t mask = (std::uint64_t{1} << scale_) - 1;
      return {static_cast<std::uint32_t>(bits & mask),
              static_cast<std::uint32_t>(bits >> 32 & mask)};
    }
    const edge e = detail::draw_edge(draw, scale_);
    return {permute_(e.from), permute_(e.to)};
  }

 private:
  detail::vertex_permutation permute_;
  std::uint64_t base_;
  unsigned scale_;
  bool uniform_;
};

}  // namespace graph

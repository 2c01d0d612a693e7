#pragma once

#include "edge_drawer.hpp"
#include "parallel.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace graph {

/// Builds a generated graph in memory of the caller's, without a list of its edges: they are drawn
/// twice from the same seed, once to count, once to fill. What it needs is 4 bytes for each
/// direction of each edge that is drawn, 8 per vertex, and 8 MiB per thread; so a graph is built
/// where its array will be, in pinned memory or a mapped file, though it has more than 2^32 edges.
///
///     const drawn_graph drawn(options);
///     const std::uint64_t edges = drawn.build(offsets, neighbours);
class drawn_graph {
 public:
  /// Throws `std::invalid_argument` for a scale or a degree that there is none of.
  explicit drawn_graph(const kronecker_options& o) : options_(o) {
    if (o.scale < 1 || o.scale > 31) {
      throw std::invalid_argument("Kronecker scale " + std::to_string(o.scale) +
                                  " is outside 1 to 31; give --scale N with 2^N vertices");
    }
    if (o.degree < 1)
      throw std::invalid_argument("Kronecker degree 0; give --degree K of at least 1");
  }

  std::uint32_t vertices() const { return std::uint32_t{1} << options_.scale; }
  std::uint64_t drawn() const { return (std::uint64_t{1} << options_.scale) * options_.degree; }
  /// Elements that `build` needs for neighbours. Self loops and duplicates leave some unused.
  std::uint64_t room() const { return 2 * drawn(); }
  /// Bytes of neighbours and offsets.
  std::uint64_t bytes() const { return room() * 4 + (std::uint64_t{vertices()} + 1) * 8; }

  /// Builds the graph as the GAP suite does: symmetrised, without self loops and duplicates, lists
  /// sorted; the same for every number of threads. Returns how many edges there are, which are the
  /// first of `neighbours`.
  /// @param offsets one more than there are vertices
  /// @param neighbours at least `room()`
  std::uint64_t build(std::span<std::uint64_t> offsets, std::span<std::uint32_t> neighbours) const {
    count(offsets);
    std::uint64_t total = 0;
    for (auto& o : offsets) total += std::exchange(o, total);
    fill(offsets, neighbours);
    const std::vector<range> ranges = tidy_lists(offsets, neighbours);
    return close_gaps(ranges, offsets, neighbours);
  }

 private:
  static constexpr std::uint64_t range_vertices = 4096;
  /// Where the lists of `range_vertices` vertices begin, and how many edges they kept.
  struct range {
    std::uint64_t first;
    std::uint64_t kept = 0;
  };

  unsigned workers() const { return worker_count(options_.threads); }
  static std::atomic_ref<std::uint64_t> shared(std::uint64_t& word) {
    return std::atomic_ref<std::uint64_t>(word);
  }

  /// What a worker draws at a time, gathered by ranges of the first vertex: so that what it then
  /// counts and stores lies close together, which takes less than half the time.
  class batch {
   public:
    static constexpr std::uint64_t edges = 1 << 18;

    /// @param most edges that are drawn at a time
    batch(unsigned scale, std::uint64_t most)
        : shift_(scale > 10 ? scale - 10 : 0), drawn_(2 * most), gathered_(2 * most) {}
    /// Draws edges `first` to `last` - 1.
    void draw(const edge_drawer& draw, std::uint64_t first, std::uint64_t last) {
      std::fill(at_.begin(), at_.end(), 0);
      std::size_t count = 0;
      const auto note = [&](std::uint64_t from, std::uint32_t to) {
        drawn_[count++] = from << 32 | to;
        ++at_[(from >> shift_) + 1];
      };
      for (std::uint64_t k = first; k < last; ++k) {
        const edge e = draw(k);
        if (e.from == e.to) continue;
        note(e.from, e.to);
        note(e.to, e.from);
      }
      std::partial_sum(at_.begin(), at_.end(), at_.begin());
      for (std::size_t k = 0; k < count; ++k)
        gathered_[at_[drawn_[k] >> 32 >> shift_]++] = drawn_[k];
      count_ = count;
    }
    /// Calls put(from, to) for both directions of what was drawn, but for self loops.
    template <class Put>
    void put_all(const Put& put) const {
      for (std::size_t k = 0; k < count_; ++k) {
        put(static_cast<std::uint32_t>(gathered_[k] >> 32),
            static_cast<std::uint32_t>(gathered_[k]));
      }
    }

   private:
    unsigned shift_;
    std::size_t count_ = 0;
    std::vector<std::uint64_t> drawn_, gathered_;
    std::array<std::size_t, 1026> at_{};
  };

  /// Calls put(from, to) for both directions of all edges but self loops, by all workers at once.
  template <class Put>
  void for_each_drawn(const Put& put) const {
    const edge_drawer draw(options_);
    std::atomic<std::uint64_t> next{0};
    for_each_index(workers(), workers(), [&](std::uint64_t) {
      batch mine(options_.scale, std::min(batch::edges, drawn()));
      for (std::uint64_t k = next.fetch_add(batch::edges); k < drawn();
           k = next.fetch_add(batch::edges)) {
        mine.draw(draw, k, std::min(k + batch::edges, drawn()));
        mine.put_all(put);
      }
    });
  }
  /// Each vertex's offset becomes the length of its list.
  void count(std::span<std::uint64_t> offsets) const {
    std::fill(offsets.begin(), offsets.end(), 0);
    for_each_drawn([&](std::uint32_t from, std::uint32_t) {
      shared(offsets[from]).fetch_add(1, std::memory_order_relaxed);
    });
  }
  /// Each vertex's offset is where the next neighbour goes, and at last where its list ends.
  void fill(std::span<std::uint64_t> offsets, std::span<std::uint32_t> neighbours) const {
    for_each_drawn([&](std::uint32_t from, std::uint32_t to) {
      neighbours[shared(offsets[from]).fetch_add(1, std::memory_order_relaxed)] = to;
    });
    std::copy_backward(offsets.begin(), offsets.end() - 1, offsets.end());
    offsets[0] = 0;
  }
  /// Sorts the lists, drops duplicates, and closes the gaps within each range of vertices. Each
  /// vertex's offset becomes the length of its list.
  std::vector<range> tidy_lists(std::span<std::uint64_t> offsets,
                                std::span<std::uint32_t> neighbours) const {
    std::vector<range> ranges;
    for (std::uint64_t v = 0; v < vertices(); v += range_vertices) ranges.push_back({offsets[v]});
    ranges.push_back({offsets[vertices()]});
    for_each_index(workers(), ranges.size() - 1, [&](std::uint64_t r) {
      const std::uint64_t end = std::min<std::uint64_t>((r + 1) * range_vertices, vertices());
      auto from = neighbours.begin() + static_cast<std::ptrdiff_t>(ranges[r].first);
      auto to = from;
      for (std::uint64_t v = r * range_vertices; v < end; ++v) {
        // The first offset of the next range is no longer what it was.
        const std::uint64_t list_end = v + 1 == end ? ranges[r + 1].first : offsets[v + 1];
        const auto last = neighbours.begin() + static_cast<std::ptrdiff_t>(list_end);
        std::sort(from, last);
        const auto kept = std::unique(from, last);
        offsets[v] = static_cast<std::uint64_t>(kept - from);
        to = std::copy(from, kept, to);
        from = last;
      }
      ranges[r].kept = static_cast<std::uint64_t>(to - neighbours.begin()) - ranges[r].first;
    });
    return ranges;
  }
  /// Closes the gaps between ranges. Each vertex's offset becomes what it says.
  std::uint64_t close_gaps(const std::vector<range>& ranges, std::span<std::uint64_t> offsets,
                           std::span<std::uint32_t> neighbours) const {
    std::uint64_t edges = 0;
    for (const range& r : ranges) {
      if (edges != r.first)
        std::memmove(neighbours.data() + edges, neighbours.data() + r.first, r.kept * 4);
      edges += r.kept;
    }
    std::uint64_t total = 0;
    for (auto& o : offsets.first(vertices())) total += std::exchange(o, total);
    return offsets[vertices()] = total;
  }

  kronecker_options options_;
};

}  // namespace graph

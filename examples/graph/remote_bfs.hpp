#pragma once

#include "../support/figures.hpp"
#include "../support/run_options.hpp"
#include "bfs_kernel.hpp"
#include <gnstor/host/executor.hpp>
#include <gnstor/host/memory_block.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <utility>
#include <vector>

namespace graph {

/// What a search came to.
struct bfs_outcome {
  std::uint32_t levels = 0;
  bfs_counts counts{};  ///< of all levels
  double seconds = 0;   ///< of its kernels and what the host does between them
  std::vector<std::uint32_t> parents;
};

/// Runs breadth-first searches by kernels, level by level.
/// @tparam Place where the arrays lie, `support::on_volumes` or `support::on_memory`; outlives it
template <class Place>
class remote_bfs {
 public:
  remote_bfs(Place& place, std::uint32_t vertices, const support::run_options& run)
      : place_(&place),
        run_(run),
        vertices_(vertices),
        words_(vertices / 32 + 1),
        parents_(place.allocate(std::uint64_t{vertices} * 4)),
        bits_{place.allocate(words_ * std::uint64_t{4}), place.allocate(words_ * std::uint64_t{4})},
        counts_(place.allocate(sizeof(bfs_counts))) {}

  /// Searches from `source`, a vertex; tells each level on stderr. Stops after a level in which a
  /// read failed: `counts.failed` says how many did.
  template <class Offsets, class Neighbours>
  bfs_outcome search(std::uint32_t source, const Offsets& offsets, const Neighbours& neighbours) {
    start_at(source);
    bfs_outcome out;
    out.counts.reached = 1;
    support::stopwatch clock;
    for (std::uint64_t frontier = 1; frontier != 0 && out.counts.failed == 0; ++out.levels) {
      const bfs_counts level = run_level(frontier, offsets, neighbours);
      out.counts.reached += level.reached;
      out.counts.walked += level.walked;
      out.counts.accesses += level.accesses;
      out.counts.failed += level.failed;
      std::fprintf(stderr, "  level %u: %llu vertices, then %.1f %% reached, after %.2f s\n",
                   out.levels, static_cast<unsigned long long>(frontier),
                   100.0 * static_cast<double>(out.counts.reached) / vertices_, clock.seconds());
      frontier = level.reached;
    }
    out.seconds = clock.seconds();
    out.parents.resize(vertices_);
    parents_.read(0, out.parents.data(), out.parents.size() * 4);
    return out;
  }

 private:
  void start_at(std::uint32_t source) {
    std::vector<std::uint32_t> start(vertices_, unreached);
    start[source] = source;
    parents_.write(0, start.data(), start.size() * 4);
    start.assign(words_, 0);
    bits_[1].write(0, start.data(), start.size() * 4);
    start[source / 32] = 1u << source % 32;
    bits_[0].write(0, start.data(), start.size() * 4);
  }

  template <class Offsets, class Neighbours>
  bfs_counts run_level(std::uint64_t frontier, const Offsets& offsets,
                       const Neighbours& neighbours) {
    bfs_counts counts;
    counts_.write(0, &counts, sizeof counts);
    bfs_state s{};
    s.parents = static_cast<std::uint32_t*>(parents_.data());
    s.frontier = static_cast<std::uint32_t*>(bits_[0].data());
    s.next = static_cast<std::uint32_t*>(bits_[1].data());
    s.counts = static_cast<bfs_counts*>(counts_.data());
    s.vertices = vertices_;
    s.words = words_;
    s.span = static_cast<std::uint32_t>(std::clamp<std::uint64_t>(words_ / frontier, 1, 32));
    kernels_.spawn(run_.grid, run_.block, bfs_level<Offsets, Neighbours>{}, offsets, neighbours, s);
    place_->attach(kernels_);
    kernels_.run();
    counts_.read(0, &counts, sizeof counts);
    std::swap(bits_[0], bits_[1]);
    return counts;
  }

  Place* place_;
  support::run_options run_;
  std::uint32_t vertices_;
  std::uint32_t words_;
  gnstor::host::memory_block parents_;
  gnstor::host::memory_block bits_[2];  ///< this level's frontier, and the next one's
  gnstor::host::memory_block counts_;
  gnstor::host::executor kernels_;
};

}  // namespace graph

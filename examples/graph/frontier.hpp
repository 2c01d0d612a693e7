#pragma once

#include <gnstor/host/memory_block.hpp>
#include <gnstor/simt/atomic_ref.hpp>

#include <cstdint>
#include <utility>
#include <vector>

namespace graph {

/// The vertices of a step and of the next one, one bit per vertex: so that a step visits edges in
/// the order of their pages, and each page comes in once a step however its vertices were found.
struct frontier_ref {
  std::uint32_t* now;   ///< the vertices of this step
  std::uint32_t* next;  ///< those of the next step; zero when this one starts
  std::uint32_t* old;   ///< those of the step before; zero when this one is done

  GNSTOR_HD std::uint32_t active(std::uint64_t word) const { return now[word]; }
  GNSTOR_HD void retire(std::uint64_t word) const { old[word] = 0; }
  /// True if this call adds `v` to the next step.
  GNSTOR_HD bool add(std::uint32_t v) const {
    const gnstor::device_word<std::uint32_t> word(next[v / 32]);
    const std::uint32_t bit = 1u << v % 32;
    if ((word.load(gnstor::relaxed) & bit) != 0) return false;
    return (word.fetch_or(bit, gnstor::relaxed) & bit) == 0;
  }
};

/// Every vertex of a graph, in each step.
struct all_vertices {
  std::uint32_t vertices;

  GNSTOR_HD std::uint32_t active(std::uint64_t word) const {
    const std::uint64_t rest = vertices - word * 32;
    return rest >= 32 ? ~0u : (1u << rest) - 1;
  }
  GNSTOR_HD void retire(std::uint64_t) const {}
};

/// Owns the bits of a `frontier_ref`.
class frontier {
 public:
  template <class Place>
  frontier(Place& place, std::uint32_t vertices) : words_(vertices / 32 + 1) {
    for (auto& bits : bits_) bits = place.allocate(words_ * std::uint64_t{4});
  }
  /// Only `source`.
  void start_at(std::uint32_t source) {
    std::vector<std::uint32_t> words(words_);
    for (auto& bits : bits_) bits.write(0, words.data(), words.size() * 4);
    const std::uint32_t bit = 1u << source % 32;
    bits_[0].write(source / 32 * 4, &bit, 4);
  }
  /// The next step's vertices become those of this step.
  void advance() {
    std::swap(bits_[0], bits_[1]);
    std::swap(bits_[1], bits_[2]);
  }
  frontier_ref ref() const {
    const auto at = [](const gnstor::host::memory_block& b) {
      return static_cast<std::uint32_t*>(b.data());
    };
    return {at(bits_[0]), at(bits_[1]), at(bits_[2])};
  }

 private:
  std::uint32_t words_;
  gnstor::host::memory_block bits_[3];
};

}  // namespace graph

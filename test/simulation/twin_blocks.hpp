#pragma once

#include <deengine/layout.hpp>

#include <map>
#include <vector>

namespace gnstor::test {

/// Generations of a volume in which two of its first blocks are twins: a mapping of so many buckets
/// cannot tell them apart but by the pages' OOB entries. Of 151 buckets, about one in 40,000 is
/// such.
inline std::vector<std::uint32_t> twin_generations(std::uint32_t buckets, std::size_t count) {
  constexpr std::uint32_t first_blocks = 16;
  constexpr auto anything = [](std::uint32_t) { return true; };
  struct alignas(16) bucket {
    std::uint64_t entries[fw::cuckoo_map::ways];
  };
  std::vector<bucket> memory(buckets);
  fw::cuckoo_map map(memory[0].entries, buckets);
  std::vector<std::uint32_t> found;
  for (std::uint32_t generation = 1; found.size() < count; ++generation) {
    std::vector<std::uint32_t> taken;
    for (std::uint32_t b = 0; b < first_blocks; ++b) {
      const std::uint64_t key = std::uint64_t{generation} << 32 | b;
      if (map.find(key, anything) != fw::cuckoo_map::none) {
        found.push_back(generation);
        break;
      }
      (void)map.insert(key, b);
      taken.push_back(map.find(key, anything));
    }
    for (const std::uint32_t slot : taken) map.erase(slot);
  }
  return found;
}

/// One of them, by number: an SSD of this shape comes to it in the course of its life. Of the
/// volume that is added next the two blocks may still fall to different shards or SSDs.
inline std::uint32_t twin_generation(const fw::geometry& shape, std::uint32_t number) {
  static std::map<std::uint32_t, std::vector<std::uint32_t>> known;
  constexpr std::uint32_t kept = 8;
  const std::uint32_t buckets = fw::layout::of(shape).buckets;
  auto& all = known[buckets];
  if (all.empty()) all = twin_generations(buckets, kept);
  return all[number % kept];
}

}  // namespace gnstor::test

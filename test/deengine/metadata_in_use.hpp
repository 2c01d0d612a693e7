#pragma once
/// Where an SSD's metadata holds something, for tests that damage it.

#include <deengine/checkpoint.hpp>

#include <cstring>
#include <vector>

namespace gnstor::test {

/// Kinds of metadata, and the ranges of each that is in use.
struct metadata_in_use {
  struct range {
    std::uint64_t at;
    std::uint32_t bytes;
  };
  struct kind {
    const char* name;
    std::vector<range> ranges{};
  };

  metadata_in_use(void* meta, const fw::geometry& g) {
    const fw::metadata m(meta, g);
    const fw::layout at = fw::layout::of(g);
    const auto header = [&](const auto& field) {
      const auto offset =
          reinterpret_cast<std::uintptr_t>(&field) - reinterpret_cast<std::uintptr_t>(&m.header());
      return range{offset, sizeof field};
    };
    const fw::metadata_header& h = m.header();
    kind identity{"identity", {header(h.magic), header(h.version), header(h.self)}};
    identity.ranges.push_back(header(h.ssd_count));
    identity.ranges.push_back(header(h.identity));
    identity.ranges.push_back(header(h.shape));
    kind counters{"counters", {header(h.deletions), header(h.next_generation), header(h.credit)}};
    counters.ranges.push_back(header(h.changes));
    counters.ranges.push_back(header(h.moved));
    const kind doubts{"doubts", {header(h.doubts)}};
    kind epochs{"epochs", {header(h.epoch), header(h.read_epoch), header(h.membership)}};
    kind volumes{"volumes"};
    for (std::uint32_t k = 0; k < g.max_volumes; ++k) {
      if (m.volumes()[k].version != 0)
        volumes.ranges.push_back({at.volumes + k * sizeof(fw::volume_slot), 280});
    }
    kind pages{"OOB entries"};
    for (std::uint32_t k = 0; k < g.pages; ++k) {
      if (m.oob()[k].sequence != 0)
        pages.ranges.push_back({at.oob + k * sizeof(fw::oob_entry), 32});
    }
    kind records{"live records"};
    const std::uint32_t words = fw::live_record::words_for(g.pages_per_block);
    for (std::uint32_t k = 0; k < g.blocks() * words; ++k) {
      if (m.records()[k] != 0) records.ranges.push_back({at.records(g) + k * 8, 8});
    }
    kind trims{"trim journal"};
    for (std::uint32_t k = 0; k < g.shards * g.trim_cells(); ++k) {
      if (word(meta, at.trims(g) + k * 24) != 0) trims.ranges.push_back({at.trims(g) + k * 24, 24});
    }
    kinds = {identity, counters, doubts, epochs, volumes, pages, pages, pages, records, trims};
    if (fw::seal::is_set(h.checkpoint)) {
      kinds.push_back({"seal", {header(h.checkpoint)}});
      kind mapping{"mapping"};
      for (std::uint64_t k = at.mapping; k < at.oob; k += 8) {
        if (word(meta, k) != 0) mapping.ranges.push_back({k, 8});
      }
      kinds.push_back(mapping);
      kind states{"block states"};
      for (std::uint32_t k = 0; k < g.blocks(); ++k) {
        if (m.blocks()[k].owner != 0)
          states.ranges.push_back({at.blocks + k * sizeof(fw::block_state), 32});
      }
      kinds.push_back(states);
      kinds.push_back({"shards", {{at.shards, g.shards * 128}}});
    }
    std::erase_if(kinds, [](const kind& k) { return k.ranges.empty(); });
  }
  static std::uint64_t word(const void* meta, std::uint64_t at) {
    std::uint64_t w = 0;
    std::memcpy(&w, static_cast<const char*>(meta) + at, sizeof w);
    return w;
  }

  std::vector<kind> kinds;
};

}  // namespace gnstor::test

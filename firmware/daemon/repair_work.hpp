#pragma once
/// What repairs of replicas are given to do.

#include <gnstor/wire/afa/dirty_regions.hpp>

#include <cstdint>
#include <map>
#include <vector>

namespace gnstor::daemon {

/// What a repairer is to do.
enum class repair_kind : std::uint8_t {
  converge,  ///< make all replicas of a volume equal; nobody else may write it
  fill,      ///< give an SSD what its places hold; writers go on
  scrub,     ///< read every replica of a volume, and find those that are damaged; writers go on
  mend,      ///< give those what a sound replica has, in a later epoch; writers go on
  spread,    ///< give an SSD its share of a volume that it joins; writers go on
  drain,     ///< give the other SSDs of a volume what its last one holds; writers go on
  forget,    ///< take from an SSD that is back what others have changed meanwhile; writers go on
  watch,     ///< ask where a volume was written since that was asked the last time
};

/// Regions of volumes, by VID.
using regions_by_volume = std::map<std::uint16_t, wire::afa::dirty_regions>;

/// What an SSD that is back has of the blocks that lie on it, though it was away. Places by bit.
struct blocks_kept {
  /// Of these volumes: of forget, all regions of which it has lost what it had; of fill, those and
  /// no others are to be filled. Other volumes are filled whole.
  regions_by_volume regions{};
  std::uint64_t together = 0;  ///< as in `ssd_absences::absence`
  std::uint64_t lost = 0;      ///< likewise
};

/// Work on data, done by a `repair`.
struct repair_order {
  std::uint64_t id = 0;
  repair_kind kind{};
  std::uint16_t vid = 0;                  ///< of all but fill and forget
  std::uint32_t ssd = 0;                  ///< of fill, spread, drain and forget
  std::vector<std::uint32_t> blocks{};    ///< of mend: what a scrub found, in order
  std::vector<std::uint16_t> left_out{};  ///< of fill: volumes that the SSD has as others do
  /// Of spread and drain: zeroes are written, too. SSDs may find blocks again that they dropped
  /// long ago, and one may have been given by now what has been deallocated since.
  bool zeroes = false;
  blocks_kept kept{};  ///< of fill and forget; of spread and drain `regions`, or nothing: all
  std::map<std::uint16_t, std::uint64_t> capacities{};  ///< of forget: blocks that its SSD knows
  /// It is one of so many that deal with stripes in turns, and this is its turn. Never of forget
  /// and watch.
  std::uint32_t parts = 1;
  std::uint32_t part = 0;
  bool live = false;         ///< of spread and drain: clients write meanwhile
  bool urgent = false;       ///< writers wait until it is over: it is not slowed down
  std::uint32_t fenced = 0;  ///< of forget: the epoch that others are in already; 0: its SSD's own
};

}  // namespace gnstor::daemon

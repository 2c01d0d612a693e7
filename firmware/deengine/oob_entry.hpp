#pragma once

#include <gnstor/core/hash.hpp>
#include <gnstor/core/units.hpp>

#include <type_traits>

namespace gnstor::fw {

/// What a flash page holds.
enum class page_state : std::uint16_t {
  erased = 0,  ///< nothing, or data of a write that was never committed
  valid = 1,   ///< the current contents of one block of one volume
  stale = 2,   ///< contents that were overwritten, deallocated, abandoned, or whose volume is gone
};

/// A flash page's out-of-band area: whose block the page is, and which version of it.
///
/// The mapping holds no keys, so this entry is the only proof that a page belongs to [VID, VBA]; it
/// is compared on every read and overwrite, and is all that recovery needs. `generation` is the
/// incarnation of the volume: a later volume with the same VID has another one, and cannot see
/// these bytes. OOB entries are an array of their own.
struct alignas(32) oob_entry {
  /// Order of the commits of a shard: of two pages with one key the higher is current.
  std::uint64_t sequence = 0;
  std::uint32_t generation = 0;  ///< incarnation of the volume on this SSD, never 0
  vba block;                     ///< the volume block
  volume_id vid;
  page_state state = page_state::erased;
  std::uint32_t check = 0;  ///< over all of the above but `state`: a torn entry is detected
  std::uint64_t reserved = 0;

  /// The key by which the mapping finds this page.
  GNSTOR_HD constexpr std::uint64_t key() const {
    return std::uint64_t{generation} << 32 | block.value;
  }

  /// True if this page holds the current contents of `key`.
  GNSTOR_HD constexpr bool holds(std::uint64_t wanted) const {
    return state == page_state::valid && key() == wanted;
  }

  /// The value `check` must have.
  GNSTOR_HD constexpr std::uint32_t expected_check() const {
    return static_cast<std::uint32_t>(
        mix64(mix64(sequence ^ std::uint64_t{vid.value} << 48) ^ key()) >> 32);
  }

  /// A valid entry, sealed by its check.
  GNSTOR_HD static constexpr oob_entry of(volume_id vid, std::uint64_t key,
                                          std::uint64_t sequence) {
    oob_entry e;
    e.sequence = sequence;
    e.generation = static_cast<std::uint32_t>(key >> 32);
    e.block = vba(static_cast<std::uint32_t>(key));
    e.vid = vid;
    e.state = page_state::valid;
    e.check = e.expected_check();
    return e;
  }
};

static_assert(sizeof(oob_entry) == 32 && std::is_trivially_copyable_v<oob_entry>);

}  // namespace gnstor::fw

#pragma once
/// Where in an array a volume's block belongs.

#include <deengine/known_grant.hpp>
#include <gnstor/core/config.hpp>
#include <gnstor/io/placement.hpp>

namespace gnstor::fw {

/// True if a block of a volume belongs at a place of the array.
/// @param fewer by a placement over so many SSDs fewer
GNSTOR_HD inline bool is_at(std::uint32_t place, volume_id vid, const known_grant& known, vba block,
                            std::uint32_t fewer = 0) {
  return rendezvous_placement(known.ssd_count - fewer)
      .holds(vid, known.hash_factor, known.stripe.quotient(block.value), known.replicas,
             ssd_index(static_cast<std::uint16_t>(place)));
}

/// The same, called. A placement inlined twice more made the array node's kernel a tenth longer,
/// and reads of flash in an H200's memory a quarter slower.
GNSTOR_HD_SLOW inline bool is_at_rarely(std::uint32_t place, volume_id vid, const known_grant known,
                                        vba block, std::uint32_t fewer) {
  return is_at(place, vid, known, block, fewer);
}

}  // namespace gnstor::fw

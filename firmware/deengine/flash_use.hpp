#pragma once
/// How an SSD's flash is used, and how worn it is.

#include <deengine/metadata.hpp>
#include <gnstor/wire/afa/ssd_description.hpp>

namespace gnstor::fw {

/// Erase blocks whose wear is looked at: whoever looks serves commands meanwhile, too.
inline constexpr std::uint32_t most_worn_seen = 1024;

/// Says how an SSD's flash is used, and how worn it is, while its shards go on: each number is as
/// it was at some time during the call.
/// @param out zeroes
/// @par Callers anybody, one lane
template <thread_scope Scope>
GNSTOR_HD_SLOW void look_at_flash(const metadata& meta, wire::afa::ssd_description& out) {
  const geometry& shape = meta.shape();
  // Below zero for a moment, while a shard finds that there is not enough.
  const auto left = static_cast<std::int32_t>(
      atomic_ref<std::uint32_t, Scope>(meta.header().credit).load(relaxed));
  out.usable_blocks = shape.usable_pages();
  out.used_blocks = shape.usable_pages() - static_cast<std::uint32_t>(left > 0 ? left : 0);
  out.erase_blocks = shape.blocks();
  out.least_erases = ~0u;
  const std::uint32_t step = (shape.blocks() + most_worn_seen - 1) / most_worn_seen;
  for (std::uint32_t block = 0; block < shape.blocks(); block += step) {
    const std::uint32_t erases =
        atomic_ref<std::uint32_t, Scope>(meta.blocks()[block].erases).load(relaxed) &
        ~block_state::erasing;
    ++out.seen_blocks;
    out.erases += erases;
    if (erases < out.least_erases) out.least_erases = erases;
    if (erases > out.most_erases) out.most_erases = erases;
  }
}

}  // namespace gnstor::fw

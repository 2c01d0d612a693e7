#pragma once

#include <gnstor/simt/block_group.hpp>
#include <gnstor/simt/warp.hpp>

#include <concepts>

namespace gnstor::simt {

/// Threads that act together: lanes of a warp, or a whole block.
template <class G>
concept thread_group = warp_group<G> || std::same_as<G, block_group>;

static_assert(thread_group<group> && thread_group<block_group>);

}  // namespace gnstor::simt

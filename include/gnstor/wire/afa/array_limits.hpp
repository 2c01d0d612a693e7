#pragma once
/// What an array and its volumes have at most, whoever sends or keeps their records.

#include <cstdint>

namespace gnstor::wire::afa {

inline constexpr std::uint32_t max_replicas = 8;  ///< replicas of one stripe
inline constexpr std::uint32_t max_ssds = 64;     ///< SSDs of one array
inline constexpr std::uint32_t max_stripe_blocks =
    256;  ///< blocks of one stripe: all of it falls to one shard
inline constexpr std::uint64_t max_volume_blocks = std::uint64_t{1} << 32;  ///< a VBA has 32 bits

}  // namespace gnstor::wire::afa

#pragma once
/// The model's one device, `model0`.

#include <infiniband/verbs.h>

#include <cstdint>

namespace gnstor::test::rdma_model {

ibv_context* the_context();

inline constexpr std::uint8_t most_reads_in_flight = 16;
inline constexpr std::uint32_t most_inline_bytes = 128;
inline constexpr std::uint32_t most_requests = 16 * 1024;

}  // namespace gnstor::test::rdma_model

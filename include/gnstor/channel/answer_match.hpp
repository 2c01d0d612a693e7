#pragma once
/// Answers go from the lanes of a warp that took them to the lanes that asked, through registers.

#include <gnstor/core/units.hpp>
#include <gnstor/qp/completion.hpp>
#include <gnstor/simt/group.hpp>

#include <cuda/std/bit>

namespace gnstor::detail {

/// The answer to a lane's request, and the rank that had taken it.
struct answer_match {
  static constexpr std::uint32_t none = ~0u;

  std::uint32_t from = none;
  std::uint16_t status = 0;  ///< NVMe status field
  std::uint32_t value = 0;   ///< dword 0 of the response
};

/// Finds the response to request `id` among the completions `c` that the lanes hold: one vote per
/// bit of the slots' numbers. Of several for one slot, duplicates of earlier requests included, one
/// is looked at.
/// @param asks this lane has a request under way
/// @param slots a power of two: the low bits of an id are its slot
/// @par Callers every lane of `g`, converged
GNSTOR_HD_INLINE answer_match matching_answer(const simt::group& g, const completion& c, bool asks,
                                              command_id id, std::uint32_t slots) {
  std::uint32_t has = g.ballot(c.kind == completion_kind::response);
  for (std::uint32_t bit = 1; bit < slots; bit *= 2) {
    const std::uint32_t ones = g.ballot((c.response.command_id & bit) != 0);
    has &= (id.value & bit) != 0 ? ones : ~ones;
  }
  const bool finds = asks && has != 0;
  const int rank = finds ? cuda::std::countr_zero(has) : 0;
  const std::uint32_t packed =
      g.shfl(std::uint32_t{c.response.command_id} | std::uint32_t{c.response.status} << 16, rank);
  const std::uint32_t value = g.shfl(c.response.dw0, rank);
  if (!finds || (packed & 0xffff) != id.value) return {};
  return {static_cast<std::uint32_t>(rank), static_cast<std::uint16_t>(packed >> 16), value};
}

}  // namespace gnstor::detail

#include "describe.hpp"

namespace gnstor::simt::host {

const char* name(domain d) {
  constexpr const char* names[] = {"gpu0", "gpu1", "nic", "cpu"};
  return names[static_cast<int>(d)];
}

std::string position(const lane_state& l) {
  const block_state& block = *l.warp->block;
  return "grid " + std::to_string(block.grid->index) + " (" + name(block.grid->where) + ") block " +
         std::to_string(block.index) + " warp " + std::to_string(l.warp->index) + " lane " +
         std::to_string(l.index);
}

std::string describe(const lane_state& l) {
  constexpr const char* waits[] = {"",          "sync",      "ballot",    "shfl",
                                   "match_any", "coalesced", "sync_block"};
  std::string text = position(l);
  if (l.waits == wait_kind::none) {
    text += std::string(": runs, last point: ") + l.last;
  } else {
    text += std::string(": waits in ") + waits[static_cast<int>(l.waits)];
  }
  if (l.file != nullptr) {
    text += l.waits == wait_kind::none ? ", last collective at " : " at ";
    text += l.file;
    text += ":" + std::to_string(l.line);
  }
  return text;
}

std::string describe(const std::vector<std::unique_ptr<grid_state>>& grids, std::size_t limit) {
  std::string text;
  std::size_t count = 0;
  for (const auto& grid : grids) {
    for (const block_state& block : grid->blocks) {
      for (const auto& warp : block.warps) {
        for (std::uint32_t rest = warp->alive; rest != 0; rest &= rest - 1) {
          if (count++ < limit) text += "\n  " + describe(warp->lanes[__builtin_ctz(rest)]);
        }
      }
    }
  }
  if (count > limit) text += "\n  and " + std::to_string(count - limit) + " more";
  return text;
}

}  // namespace gnstor::simt::host

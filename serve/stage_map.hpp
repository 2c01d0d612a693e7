#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace gnstor::serve {

/// A run of blocks of staging memory; `blocks` 0: none.
struct stage_range {
  std::uint32_t first = 0;
  std::uint32_t blocks = 0;
};

/// Which blocks of a connection's staging memory are in use: commands take as many in a row as
/// their data has.
class stage_map {
 public:
  explicit stage_map(std::uint32_t blocks = 0) : taken_(blocks, false), lost_(blocks, false) {}

  std::uint32_t size() const { return static_cast<std::uint32_t>(taken_.size()); }
  /// Blocks that never come back.
  std::uint32_t lost() const { return lost_count_; }
  /// True if a run of so many blocks can be had, once all that is not lost has come back.
  bool can_hold(std::uint32_t blocks) const { return longest_ >= blocks || lost_count_ == 0; }
  /// Takes a run: behind the last one if there is room, else the first that fits.
  /// @param blocks from 1 on
  std::optional<stage_range> take(std::uint32_t blocks) {
    std::optional<stage_range> found = find(next_, size(), blocks);
    if (!found) found = find(0, size(), blocks);
    if (!found) return found;
    mark(*found, true);
    next_ = found->first + blocks;
    return found;
  }
  void give(const stage_range& r) { mark(r, false); }
  /// A run that was taken stays so.
  void lose(const stage_range& r) {
    lost_count_ += r.blocks;
    for (std::uint32_t k = 0; k < r.blocks; ++k) lost_[r.first + k] = true;
    longest_ = 0;
    for (std::uint32_t k = 0, run = 0; k < size(); ++k) {
      run = lost_[k] ? 0 : run + 1;
      longest_ = run > longest_ ? run : longest_;
    }
  }

 private:
  std::optional<stage_range> find(std::uint32_t from, std::uint32_t end,
                                  std::uint32_t blocks) const {
    for (std::uint32_t k = from, run = 0; k < end; ++k) {
      run = taken_[k] ? 0 : run + 1;
      if (run == blocks) return stage_range{k + 1 - blocks, blocks};
    }
    return std::nullopt;
  }
  void mark(const stage_range& r, bool taken) {
    for (std::uint32_t k = 0; k < r.blocks; ++k) taken_[r.first + k] = taken;
  }

  std::vector<bool> taken_;
  std::vector<bool> lost_;
  std::uint32_t lost_count_ = 0;
  std::uint32_t longest_ = 0;  ///< run without lost blocks, once any is
  std::uint32_t next_ = 0;
};

}  // namespace gnstor::serve

#pragma once

#include "lane_state.hpp"
#include "word_map.hpp"

#include <string>

namespace gnstor::simt::host {

/// Finds words used at a scope too narrow for who uses them. On the host every scope looks right;
/// on a GPU a word at device scope is not coherent with a NIC or a CPU.
class scope_check {
 public:
  /// Records that `user` used `word` at `scope`; false if that word is now used at a scope too
  /// narrow.
  bool use(const void* word, hook_scope scope, const lane_state& user) {
    record& r = words_[word];
    const warp_state& warp = *user.warp;
    const domain where = warp.block->grid->where;
    if (!r.used) {
      r = {true, scope, where, where, warp.block->id, user.id, false, false};
      return true;
    }
    if (scope < r.narrowest) r.narrowest = scope;
    if (where != r.first) r.other = where;
    r.blocks = r.blocks || r.block != warp.block->id;
    r.lanes = r.lanes || r.lane != user.id;
    return r.narrowest == hook_scope::system || !broken(r);
  }
  /// What is wrong with `word`.
  std::string explain(const void* word);
  void clear() { words_.clear(); }

 private:
  struct record {
    bool used = false;
    hook_scope narrowest = hook_scope::system;
    domain first = domain::gpu0;
    domain other = domain::gpu0;  ///< differs from `first` once two domains used the word
    std::uint32_t block = 0;      ///< of the first use
    std::uint32_t lane = 0;       ///< of the first use
    bool blocks = false;          ///< several blocks used it
    bool lanes = false;           ///< several lanes used it
  };
  static bool broken(const record& r);

  word_map<record> words_;
};

}  // namespace gnstor::simt::host

#pragma once

#include <gnstor/simt/host_hook.hpp>

#include <cstdint>

namespace gnstor::simt::host {

/// Makes this thread a lane that is alone, for as long as the object lives: groups have one lane,
/// time is what it is set to, and a fuse may end whatever runs at any scheduling point, as a power
/// cut or a kill does. It costs a call an atomic operation, where an `executor` costs a switch.
///
/// One at a time on a thread, outside of executors.
class lone_lane {
 public:
  /// What a fuse throws.
  struct fuse_blown {};

  lone_lane() {
    hook_.point = point;
    hook_.load = [](const void*, std::uint64_t now, hook_order, hook_scope) { return now; };
    hook_.store = [](const void*, std::uint64_t, std::uint64_t, bool, hook_order, hook_scope) {};
    hook_.fence = [](hook_order) {};
    hook_.collective_call = collective_alone;
    hook_.coalesce = [](const char*, unsigned) { return std::uint32_t{1}; };
    hook_.block_sync = [](const char*, unsigned) {};
    hook_.pause = [] { current_->now_ns_ += 100; };
    hook_.now_ns = [] { return current_->now_ns_; };
    hook_.position = &position_;
    before_ = current_hook;
    current_ = this;
    current_hook = &hook_;
  }
  ~lone_lane() {
    current_hook = before_;
    current_ = nullptr;
  }
  lone_lane(const lone_lane&) = delete;
  lone_lane& operator=(const lone_lane&) = delete;

  std::uint64_t now_ns() const { return now_ns_; }
  void set_now_ns(std::uint64_t now) { now_ns_ = now; }

  /// Throws `fuse_blown` at the `points`-th scheduling point from here; an atomic store has one
  /// before and one after it. The fuse is gone then. 0: no fuse.
  void set_fuse(std::uint64_t points) { fuse_ = points; }
  bool has_fuse() const { return fuse_ != 0; }

 private:
  static void point(const char*) {
    lone_lane& me = *current_;
    if (me.fuse_ != 0 && --me.fuse_ == 0) throw fuse_blown{};
  }
  static std::uint64_t collective_alone(collective kind, std::uint32_t, std::uint64_t value, int,
                                        const char*, unsigned) {
    switch (kind) {
      case collective::sync: return 0;
      case collective::ballot: return value != 0 ? 1 : 0;
      case collective::shfl: return value;
      case collective::match_any: return 1;
    }
    return 0;
  }

  inline static thread_local lone_lane* current_ = nullptr;
  host_hook hook_;
  host_hook* before_ = nullptr;
  lane_position position_;
  std::uint64_t now_ns_ = 1;
  std::uint64_t fuse_ = 0;
};

}  // namespace gnstor::simt::host

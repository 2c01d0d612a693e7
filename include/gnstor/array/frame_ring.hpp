#pragma once

#include <gnstor/array/eviction.hpp>
#include <gnstor/array/frame_word.hpp>
#include <gnstor/core/units.hpp>
#include <gnstor/simt/atomic_ref.hpp>

#include <cstdint>

namespace gnstor::inline v0 {

/// The words of frames, and the hand that goes over them (a reference, passed by value). One array
/// has them for itself, or several share them.
class frame_ring {
 public:
  using word_ref = atomic_ref<std::uint64_t, thread_scope_device>;

  GNSTOR_HD static constexpr std::uint64_t bytes(std::uint32_t frames) {
    return sizeof(state) + 8ull * frames;
  }

  /// @param memory zero-filled, `bytes(frames)` long, aligned to 128 bytes
  GNSTOR_HD frame_ring(void* memory, std::uint32_t frames, eviction how = eviction::fifo)
      : state_(static_cast<state*>(memory)), frames_(frames), eviction_(how) {}

  GNSTOR_HD std::uint32_t frames() const { return frames_; }
  GNSTOR_HD eviction how() const { return eviction_; }
  GNSTOR_HD word_ref at(frame_index f) const { return word_ref(words()[f.value]); }
  /// What follows in memory.
  GNSTOR_HD std::uint64_t* end() const { return words() + frames_; }

  /// A hand's next frame.
  /// @param look how many the caller has looked at before: from `choosy_looks` on it is any frame's
  /// turn
  GNSTOR_HD frame_index next(std::uint32_t look) const {
    const std::uint64_t mine = word_ref(state_->cursor).fetch_add(1, relaxed);
    const eviction rule = look < choosy_looks() ? eviction_ : eviction::fifo;
    return frame_index(detail::frame_of_turn(rule, mine, frames_));
  }
  /// How many frames who needs one looks at for the best; then whatever is not pinned will do.
  GNSTOR_HD std::uint32_t choosy_looks() const {
    if (eviction_ == eviction::fifo) return 0;
    return frames_ < 24 ? frames_ : 24;
  }
  /// The hand's turn, and the frame of a later one.
  GNSTOR_HD std::uint64_t turn() const { return word_ref(state_->cursor).load(relaxed); }
  GNSTOR_HD frame_index of_turn(std::uint64_t turn) const {
    return frame_index(detail::frame_of_turn(eviction_, turn, frames_));
  }
  /// Frames ahead of the hand that are kept clean where somebody cleans: the low-water mark.
  GNSTOR_HD std::uint32_t clean_frames() const { return frames_ / 8 == 0 ? 1 : frames_ / 8; }

 private:
  struct state {
    alignas(128) std::uint64_t cursor;  ///< turns of the hand that looks for frames
  };

  GNSTOR_HD std::uint64_t* words() const { return reinterpret_cast<std::uint64_t*>(state_ + 1); }

  state* state_;
  std::uint32_t frames_;
  eviction eviction_;
};

/// What is an array's of frames that it shares. Both bounds are soft: lanes that need frames at the
/// same moment may each take one more.
struct frame_share {
  std::uint32_t array = 0;                 ///< its number among those that share
  std::uint32_t least = 0;                 ///< frames that no other array takes from it
  std::uint32_t most = ~std::uint32_t{0};  ///< frames beyond which it takes its own alone
};

}  // namespace gnstor::inline v0

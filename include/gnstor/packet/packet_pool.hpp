#pragma once

#include <gnstor/core/assert.hpp>
#include <gnstor/packet/packet_owner.hpp>
#include <gnstor/packet/packet_pool_shape.hpp>
#include <gnstor/packet/packet_state.hpp>
#include <gnstor/simt/atomic_ref.hpp>

namespace gnstor::inline v0 {

/// Packet buffers that kernels hand to each other without copying and without a lock.
///
/// Each lane has a small pool of its own: buffers `lane`, `lane + lanes`, and so on. Only the
/// receive lane takes a free buffer of its pool, so that taking is a load and a store; whoever has
/// done with one stores `free`. GPU-Ether, section III.D (mini-mempool) and IV.A (status register).
class packet_pool {
 public:
  /// Of the kernels of one GPU; a NIC sees buffers by descriptors alone.
  static constexpr thread_scope scope = thread_scope_device;
  static constexpr std::uint32_t none = ~0u;

  packet_pool() = default;
  /// @param states of all buffers, zeroed
  /// @param data `shape.data_bytes()`, aligned to `data_alignment`
  /// @param dma_address what the NIC calls `data`
  GNSTOR_HD packet_pool(const packet_pool_shape& shape, packet_state* states, unsigned char* data,
                        std::uint64_t dma_address)
      : shape_(shape), states_(states), data_(data), dma_address_(dma_address) {}

  GNSTOR_HD const packet_pool_shape& shape() const { return shape_; }
  GNSTOR_HD packet_state& state(std::uint32_t buffer) const { return states_[buffer]; }
  /// Where the NIC writes a frame: `headroom` bytes before and `tailroom` behind belong to it.
  GNSTOR_HD unsigned char* data(std::uint32_t buffer) const { return data_ + offset(buffer); }
  GNSTOR_HD std::uint64_t dma_address(std::uint32_t buffer) const {
    return dma_address_ + offset(buffer);
  }
  /// Buffer `k` of a lane's own.
  GNSTOR_HD std::uint32_t buffer_of(std::uint32_t lane, std::uint32_t k) const {
    return lane + k * shape_.lanes;
  }

  /// A word that is handed over with a buffer, by its ownership word.
  GNSTOR_HD static atomic_ref<std::uint32_t, scope> word(std::uint32_t& w) {
    return atomic_ref<std::uint32_t, scope>(w);
  }

  /// @par Order acquires what was done to the buffer before it was handed over
  GNSTOR_HD bool is_owned_by(std::uint32_t buffer, std::uint32_t who) const {
    // Paired with the release of `hand_over`.
    return word(states_[buffer].owner).load(acquire) == who;
  }

  /// Gives a buffer from one owner to the next.
  /// @par Callers one lane, which acts for `from`
  /// @par Order releases what the lane did to the buffer to who finds itself the owner
  /// @par Errors a buffer that is not `from`'s is in two hands: GNSTOR_VERIFY
  GNSTOR_HD void hand_over(std::uint32_t buffer, std::uint32_t from, std::uint32_t to) const {
    auto owner = word(states_[buffer].owner);
    GNSTOR_VERIFY(owner.load(relaxed) == from);
    // Paired with the acquire of `is_owned_by`.
    owner.store(to, release);
  }

  /// A free buffer of a lane's own, which is the receiver's from now on; `none` if there is none.
  /// @par Callers the receive lane whose pool it is
  GNSTOR_HD std::uint32_t take(std::uint32_t lane) const {
    for (std::uint32_t k = 0; k < shape_.per_lane(); ++k) {
      const std::uint32_t b = buffer_of(lane, k);
      if (!is_owned_by(b, packet_owner::free)) continue;
      hand_over(b, packet_owner::free, packet_owner::receiver);
      return b;
    }
    return none;
  }

  /// The buffer of a lane's own that `who` owns, does not hold back, and received first, of those
  /// received before lap `before`; `none` if there is none.
  ///
  /// It looks at one after another: a hand-over meanwhile shows a later one without an earlier one.
  /// So `before` must be a lap that was settled when the look began.
  /// @par Order as `is_owned_by`
  GNSTOR_HD std::uint32_t oldest(std::uint32_t lane, std::uint32_t who,
                                 std::uint32_t before) const {
    std::uint32_t found = none;
    for (std::uint32_t k = 0; k < shape_.per_lane(); ++k) {
      const std::uint32_t b = buffer_of(lane, k);
      if (!is_owned_by(b, who) || (states_[b].flags & packet_state::is_held) != 0) continue;
      const std::uint32_t lap = word(states_[b].lap).load(relaxed);
      if (static_cast<std::int32_t>(lap - before) >= 0) continue;
      found = b;
      before = lap;
    }
    return found;
  }
  /// True if `who` owns one of a lane's buffers.
  GNSTOR_HD bool has_any(std::uint32_t lane, std::uint32_t who) const {
    bool any = false;
    for (std::uint32_t k = 0; k < shape_.per_lane(); ++k)
      any = any || is_owned_by(buffer_of(lane, k), who);
    return any;
  }

 private:
  GNSTOR_HD std::uint64_t offset(std::uint32_t buffer) const {
    return shape_.first() + std::uint64_t{buffer} * shape_.stride();
  }

  packet_pool_shape shape_;
  packet_state* states_ = nullptr;
  unsigned char* data_ = nullptr;
  std::uint64_t dma_address_ = 0;
};

static_assert(std::is_trivially_copyable_v<packet_pool> && sizeof(packet_pool) == 48);

}  // namespace gnstor::inline v0

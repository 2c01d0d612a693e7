#pragma once

#include <gnstor/io/warp_io.hpp>
#include <gnstor/volume/remote_volume.hpp>

#include <cuda/std/optional>

namespace gnstor::detail {

/// A session's channel in the hands of one warp.
using warp_channel = exclusive_channel<mlx5_owned_queue<thread_scope_system, capsule::in_entry>>;

/// Of a warp that waits for all that it asks: it has nothing under way beside that.
struct nothing_begun {
  GNSTOR_HD_INLINE nothing_begun(void*, std::uint32_t) {}
  GNSTOR_HD_INLINE bool make_room(const simt::group&, warp_channel&) { return false; }
};

}  // namespace gnstor::detail

namespace gnstor::inline v0 {

/// A volume as one warp uses it that has a channel to itself: the shortest way from a lane to an
/// SSD.
///
/// It takes over the calling warp's channel of the volume's session and keeps it until `release`:
/// make as many channels as there are such warps (`session_options::channels`). Every operation is
/// the whole warp's: all lanes call converged, each with a range and a buffer of its own, and lanes
/// without a request say so. Ranges may differ in length; the warp returns when all are done. Where
/// a proxy drives the NIC, and in a warp of fewer than 32 lanes, the warp goes on sharing its
/// channel, and is no faster. One object, passed by reference: a copy goes its own way.
///
/// Operations follow an array's epochs as those of `volume_ref` do, unless it is an
/// `async_exclusive_volume`.
/// @tparam Begun what the warp keeps of operations that it takes later; see async_exclusive_volume
template <placement Placement = rendezvous_placement, class Begun = detail::nothing_begun>
class exclusive_volume {
  using opcode = wire::nvme::nvm_opcode;

 public:
  using shared_type = volume_ref<remote_channel, Placement>;

  /// Takes the warp's channel over. Nothing is in flight on it, and no other lane uses it until
  /// `release`.
  /// @par Callers every lane of warp `g`, converged
  GNSTOR_HD_INLINE exclusive_volume(const simt::group& g, const shared_type& volume)
      : exclusive_volume(g, volume, volume.channels().mine()) {}

  GNSTOR_HD_INLINE const volume_info& info() const { return volume_.info(); }

  /// Reads `blocks` blocks from `first` on into `memory`, for each lane that wants to: registered,
  /// at least blocks * 4096 bytes long; in several places if it is a `scatter_list`.
  /// @par Callers every lane of the warp, converged; they return together
  /// @par Order on success the data is visible to the whole warp
  /// @par Bound the latest `d`
  /// @par Errors as `volume_ref::read`, each lane its own; ok for a lane that wants nothing
  template <io_memory Memory>
  GNSTOR_HD_INLINE status read(const simt::group& g, vba first, std::uint32_t blocks,
                               const Memory& memory, deadline d, bool wants = true) {
    const auto one = [=](const shared_type& v) { return v.read(first, blocks, memory, d); };
    if (!channel_) return shared(g, wants, one);
    return followed(g, io().read({first, blocks, d}, detail::cursor_of(memory), wants), wants, one);
  }
  /// Writes `blocks` blocks from `first` on to every replica.
  /// @par Errors as `volume_ref::write`
  template <io_memory Memory>
  GNSTOR_HD_INLINE status write(const simt::group& g, vba first, std::uint32_t blocks,
                                const Memory& memory, deadline d, bool wants = true) {
    const auto one = [=](const shared_type& v) { return v.write(first, blocks, memory, d); };
    if (!channel_) return shared(g, wants, one);
    return followed(g,
                    io().write(opcode::write, {first, blocks, d}, detail::cursor_of(memory), wants),
                    wants, one);
  }
  /// Gives blocks back to the SSDs: they read as zeroes until they are written again.
  /// @par Errors as `write`
  GNSTOR_HD_INLINE status deallocate(const simt::group& g, vba first, std::uint32_t blocks,
                                     deadline d, bool wants = true) {
    const auto one = [=](const shared_type& v) { return v.deallocate(first, blocks, d); };
    if (!channel_) return shared(g, wants, one);
    return followed(
        g, io().write(opcode::write_zeroes, {first, blocks, d}, detail::no_data_cursor(), wants),
        wants, one);
  }

  /// Makes what was acknowledged survive a power cut, on every SSD of the array.
  /// @par Callers every lane of the warp, converged
  /// @par Errors as `volume_ref::flush`, the same for every lane
  GNSTOR_HD_INLINE status flush(const simt::group& g, deadline d) {
    const auto one = [=](const shared_type& v) { return v.flush(d); };
    if (!channel_) return detail::combined(g, shared(g, g.leads(), one));
    return status::unpack(g.broadcast(followed(g, io().flush(d), g.leads(), one).pack()));
  }

  /// Gives the channel back: to other lanes, or to whoever takes it over next.
  /// @par Callers every lane of the warp, converged; the object is of no use afterwards
  GNSTOR_HD_INLINE void release([[maybe_unused]] const simt::group& g) {
    if (channel_) channel_->release(warp());
  }

 protected:
  /// The owner, of which the compiler knows that it is a whole warp.
  GNSTOR_HD_INLINE static simt::group warp() { return simt::group::whole_warp(); }

  /// Every lane does as a lane of a shared channel does, and a lane that wants nothing gets `none`.
  template <class Operation, class Outcome = status>
  GNSTOR_HD_INLINE Outcome shared(const simt::group& g, bool wants, const Operation& one,
                                  const Outcome& none = {}) const {
    const shared_type copy = volume_;  // this object has no address
    Outcome outcome = none;
    if (wants) outcome = called(one, copy);
    g.sync();
    return outcome;
  }

 private:
  GNSTOR_HD_INLINE exclusive_volume(const simt::group& g, const shared_type& volume,
                                    const remote_channel& mine)
      : volume_(volume), begun_(mine.step_memory(), mine.queue().depth()) {
    take_over(g, mine);
  }
  GNSTOR_HD_INLINE void take_over(const simt::group& g, const remote_channel& mine) {
    const nic_queue_pair* nic = mine.queue().nic();
    if (nic != nullptr && g.size() == 32) channel_.emplace(warp(), *nic, mine.counters());
  }

  /// Every lane that failed as it may not in another epoch of the array goes on as a lane of a
  /// shared channel does, meanwhile this warp's no more. Not while operations are begun on it.
  template <class Operation>
  GNSTOR_HD_INLINE status followed(const simt::group& g, status mine, bool wants,
                                   const Operation& one) {
    if constexpr (std::is_same_v<Begun, detail::nothing_begun>) {
      if (volume_.info().epochs == nullptr) return mine;
      const bool again = wants && detail::another_epoch_may_help(mine);
      if (!g.any(again)) return mine;
      channel_->release(warp());
      const status last = shared(g, again, one, mine);
      take_over(g, volume_.channels().mine());
      return last;
    }
    return mine;
  }

  GNSTOR_HD_INLINE auto io() {
    auto room = [this](const simt::group& g) { return begun_.make_room(g, *channel_); };
    return detail::warp_io<detail::warp_channel, Placement, decltype(room)>(volume_.plan(),
                                                                            *channel_, room);
  }

  template <class Operation>
  GNSTOR_HD_SLOW static auto called(const Operation& one, const shared_type& volume) {
    return one(volume);
  }

 protected:
  shared_type volume_;
  cuda::std::optional<detail::warp_channel> channel_;
  [[no_unique_address]] Begun begun_;
};

}  // namespace gnstor::inline v0

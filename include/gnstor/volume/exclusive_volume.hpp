#pragma once

#include <gnstor/channel/exclusive_channel.hpp>
#include <gnstor/volume/remote_volume.hpp>

#include <cuda/std/optional>

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
template <placement Placement = rendezvous_placement>
class exclusive_volume {
  using opcode = wire::nvme::nvm_opcode;
  using split = detail::volume_split<Placement>;
  using range = typename split::range;
  using piece = typename split::piece;

 public:
  using shared_type = volume_ref<remote_channel, Placement>;

  /// Takes the warp's channel over. Nothing is in flight on it, and no other lane uses it until
  /// `release`.
  /// @par Callers every lane of warp `g`, converged
  GNSTOR_HD_INLINE exclusive_volume(const simt::group& g, const shared_type& volume)
      : volume_(volume) {
    const remote_channel mine = volume.channels().mine();
    const nic_queue_pair* nic = mine.queue().nic();
    if (nic != nullptr && g.size() == 32) channel_.emplace(warp(), *nic, mine.counters());
  }

  GNSTOR_HD_INLINE const volume_info& info() const { return volume_.info(); }

  /// Reads `blocks` blocks from `first` on into `buffer` (registered memory, at least blocks * 4096
  /// bytes), for each lane that wants to.
  /// @par Callers every lane of the warp, converged; they return together
  /// @par Order on success the data is visible to the whole warp
  /// @par Bound the latest `d`
  /// @par Errors as `volume_ref::read`, each lane its own; ok for a lane that wants nothing
  GNSTOR_HD_INLINE status read(const simt::group& g, vba first, std::uint32_t blocks,
                               io_buffer buffer, deadline d, bool wants = true) {
    if (channel_) return read_each({first, blocks, d}, detail::buffer_cursor(buffer), wants);
    return shared(g, wants, [=](const shared_type& v) { return v.read(first, blocks, buffer, d); });
  }
  /// Writes `blocks` blocks from `first` on to every replica.
  /// @par Errors as `volume_ref::write`
  GNSTOR_HD_INLINE status write(const simt::group& g, vba first, std::uint32_t blocks,
                                io_buffer buffer, deadline d, bool wants = true) {
    if (channel_)
      return write_each(opcode::write, {first, blocks, d}, detail::buffer_cursor(buffer), wants);
    return shared(g, wants,
                  [=](const shared_type& v) { return v.write(first, blocks, buffer, d); });
  }
  /// The same with memory in several places.
  /// @par Errors invalid_argument also where a segment is no multiple of 4096 bytes
  GNSTOR_HD_INLINE status read(const simt::group& g, vba first, std::uint32_t blocks,
                               scatter_list to, deadline d, bool wants = true) {
    if (channel_) return read_each({first, blocks, d}, detail::scatter_cursor(to), wants);
    return shared(g, wants, [=](const shared_type& v) { return v.read(first, blocks, to, d); });
  }
  GNSTOR_HD_INLINE status write(const simt::group& g, vba first, std::uint32_t blocks,
                                scatter_list from, deadline d, bool wants = true) {
    if (channel_)
      return write_each(opcode::write, {first, blocks, d}, detail::scatter_cursor(from), wants);
    return shared(g, wants, [=](const shared_type& v) { return v.write(first, blocks, from, d); });
  }
  /// Gives blocks back to the SSDs: they read as zeroes until they are written again.
  /// @par Errors as `write`
  GNSTOR_HD_INLINE status deallocate(const simt::group& g, vba first, std::uint32_t blocks,
                                     deadline d, bool wants = true) {
    if (channel_)
      return write_each(opcode::write_zeroes, {first, blocks, d}, detail::no_data_cursor(), wants);
    return shared(g, wants, [=](const shared_type& v) { return v.deallocate(first, blocks, d); });
  }

  /// Makes what was acknowledged survive a power cut, on every SSD of the array.
  /// @par Callers every lane of the warp, converged
  /// @par Errors as `volume_ref::flush`, the same for every lane
  GNSTOR_HD_INLINE status flush(const simt::group& g, deadline d) {
    status outcome;
    if (!channel_) {
      outcome = shared(g, g.leads(), [=](const shared_type& v) { return v.flush(d); });
    } else {
      const auto absent = static_cast<std::uint32_t>(cuda::std::popcount(info().absent));
      const std::uint32_t ssds = info().plain() ? 1 : info().ssd_count - absent;
      for (std::uint32_t k = g.thread_rank(); g.any(k < ssds); k += g.size()) {
        io_part p;
        p.opcode = opcode::flush;
        p.namespace_id = info().namespace_id;
        p.ssds = volume_.pieces().present(k);
        const bool asks = k < ssds;
        const status s = channel_->execute(warp(), p.command(), d, nullptr, asks);
        if (asks) outcome = combined(outcome, named(s, p.ssd().value));
      }
    }
    const std::uint32_t failed = g.ballot(!outcome.ok());
    const int who = failed == 0 ? 0 : cuda::std::countr_zero(failed);
    return status::unpack(g.shfl(outcome.pack(), who));
  }

  /// Gives the channel back: to other lanes, or to whoever takes it over next.
  /// @par Callers every lane of the warp, converged; the object is of no use afterwards
  GNSTOR_HD_INLINE void release([[maybe_unused]] const simt::group& g) {
    if (channel_) channel_->release(warp());
  }

 private:
  /// The owner, of which the compiler knows that it is a whole warp.
  GNSTOR_HD_INLINE static simt::group warp() { return simt::group::whole_warp(); }

  /// Every lane does as a lane of a shared channel does.
  template <class Operation>
  GNSTOR_HD_INLINE status shared(const simt::group& g, bool wants, const Operation& one) const {
    const shared_type copy = volume_;  // this object has no address
    const status outcome = wants ? called(one, copy) : status{};
    g.sync();
    return outcome;
  }
  template <class Operation>
  GNSTOR_HD_SLOW static status called(const Operation& one, const shared_type& volume) {
    return one(volume);
  }

  /// Reads one range a lane: piece after piece, each from one replica, and from the next where that
  /// may help. No lane waits for another's SSD.
  template <class Data>
  GNSTOR_HD_INLINE status read_each(const range& r, const Data& data, bool wants) {
    const split& pieces = volume_.pieces();
    status outcome;
    if (wants) outcome = pieces.checked(r, data);
    typename split::template walk<Data> at{r, data};
    std::uint64_t silent = 0;
    detail::read_attempts attempts(io_part{}, silent);
    bool asked = false;
    channel_->execute_each(warp(), wants && outcome.ok(),
                           [&](const status& last, std::uint32_t,
                               wire::nvme::submission_entry& command, deadline& ends) {
                             if (!asked || !attempts.again(last, silent)) {
                               if (asked && !attempts.clean())
                                 outcome = combined(outcome, attempts.outcome());
                               piece p;
                               if (!pieces.next(opcode::read, at, p)) return false;
                               attempts = detail::read_attempts(pieces.reading(p), silent);
                             }
                             command = attempts.command();
                             ends = attempts.turn(r.ends);
                             return asked = true;
                           });
    return outcome;
  }

  /// Writes or clears one range a lane: piece after piece, on all replicas at once as far as the
  /// channel has room. A lane takes its answers as they come, and so keeps no slot from others.
  template <class Data>
  GNSTOR_HD_INLINE status write_each(opcode op, const range& r, const Data& data, bool wants) {
    const simt::group g = warp();
    const split& pieces = volume_.pieces();
    status outcome;
    if (wants) outcome = pieces.checked(r, data);
    typename split::template walk<Data> at{r, data};
    piece p;
    ticket sent[max_replicas];
    std::uint32_t under_way = 0;  // replicas of the piece, by bit
    std::uint32_t unsent = 0;
    bool more = wants && outcome.ok();
    bool moved = true;
    for (until round{deadline::never()}; moved || round;) {
      if (more && (unsent | under_way) == 0) {
        more = pieces.next(op, at, p);
        if (more) unsent = (1u << p.where.count) - 1;
      }
      if (!g.any((unsent | under_way) != 0)) break;
      const auto k = static_cast<std::uint32_t>(cuda::std::countr_zero(unsent)) % max_replicas;
      if (g.any(unsent != 0)) {
        const bool asks = unsent != 0;
        const result<ticket> t = channel_->submit(g, pieces.writing(op, p, k).command(), asks);
        if (asks && t.status.code != status_code::would_block) {
          unsent &= unsent - 1;
          sent[k] = t.value;
          if (t) under_way |= 1u << k;
          if (!t) outcome = combined(outcome, t.status);
        }
      }
      moved = channel_->poll(g);
      if (moved) round.progressed();
      const bool in_time = !r.ends.expired(simt::now_ns());
      for (std::uint32_t n = 0; g.any(under_way >> n != 0); ++n) {
        const bool waits = (under_way >> n & 1) != 0;
        const status s = channel_->try_wait(g, sent[n], in_time, nullptr, waits);
        if (!waits || s.code == status_code::would_block) continue;
        outcome = combined(outcome, named(s, p.where.ssd[n].value));
        under_way &= ~(1u << n);
      }
      if (unsent != 0 && !in_time) {
        outcome = combined(outcome, status::make(status_code::timed_out, reporter::volume));
        unsent = 0;
      }
    }
    return outcome;
  }

  shared_type volume_;
  cuda::std::optional<exclusive_channel<mlx5_owned_queue<thread_scope_system, capsule::in_entry>>>
      channel_;
};

}  // namespace gnstor::inline v0

#pragma once

#include <gnstor/packet/packet_path.hpp>
#include <gnstor/packet/packet_source.hpp>
#include <gnstor/packet/send_place.hpp>
#include <gnstor/simt/clock.hpp>

namespace gnstor::inline v0 {

/// One lane of a source's kernel: the places `lane`, `lane + lanes` and so on, and the buffers of
/// one small pool.
template <class Path>
class source_lane {
 public:
  /// @param positions where it ends
  GNSTOR_HD source_lane(const Path& path, std::uint32_t lane, std::uint64_t positions)
      : path_(path), lane_(lane), position_(lane), end_(positions) {}

  /// Fills the next place if there is a buffer. False if there was none, or the source had nothing.
  /// @param after_nothing the one before was left empty, or waits
  /// @par Callers each lane for itself
  template <class Source, class Lane>
  GNSTOR_HD bool fill_next(Source& source, Lane& lane, bool after_nothing) {
    if (waits_ || (after_nothing && !is_near())) return false;
    const std::uint32_t buffer = path_.pool.take(lane_);
    if (buffer == packet_pool::none) return false;
    const bool made = fill(source, lane, buffer);
    position_ += path_.lanes();
    // Paired with the acquire of the next stage, which then sees the hand-over.
    path_.settled(0, lane_).store(++lap_, release);
    return made;
  }

  /// True once all places are filled, or the path has stopped. After a stop the lanes agree on one
  /// end for all, so that no place before it stays empty.
  /// @par Callers each lane for itself, between two places
  GNSTOR_HD bool has_ended() {
    if (!stops_ && (path_.must_stop() || position_ >= end_)) announce();
    if (waits_ && packet_pool::word(path_.control->source_lanes).load(acquire) == path_.lanes()) {
      const std::uint64_t last = word64(path_.control->source_end).load(relaxed);
      if (last < end_) end_ = last;
      waits_ = false;
    }
    if (position_ < end_ && !(stops_ && until_.expired(simt::now_ns()))) return false;
    // Paired with the acquire of `has_ended` of the path.
    path_.ended(0).fetch_add(1, acq_rel);
    return true;
  }

 private:
  using word64 = atomic_ref<std::uint64_t, packet_pool::scope>;

  /// Says up to where this lane has filled its places. @par Order acquires what others have said
  GNSTOR_HD void announce() {
    stops_ = true;
    waits_ = position_ < end_;
    until_ = simt::within(path_.drain_ns);
    word64(path_.control->source_end).fetch_max(position_, relaxed);
    packet_pool::word(path_.control->source_lanes).fetch_add(1, acq_rel);
  }
  /// True if a place may be left empty: who sends is not far behind. Laps are counted in 32 bits.
  GNSTOR_HD bool is_near() const {
    if (!path_.sends) return true;
    const auto sent = send_place::unpack(word64(path_.control->send_taken).load(relaxed));
    return sent.is_near(position_, path_.pool.shape().buffers);
  }
  template <class Source, class Lane>
  GNSTOR_HD bool fill(Source& source, Lane& lane, std::uint32_t buffer) const {
    packet_state& s = path_.pool.state(buffer);
    s.start = 0;
    s.flags = 0;
    s.status = 0;
    s.hash = 0;
    s.hash_type = 0;
    packet_pool::word(s.length).store(0, relaxed);
    packet_pool::word(s.lap).store(lap_, relaxed);
    constexpr std::uint32_t me = packet_owner::receiver;
    const std::uint32_t next = path_.owner_after(0);
    const packet p(path_.pool, buffer, me, next, path_.control->counters);
    const bool made = source.make(lane, p, position_);
    if (made) path_.count(packet_cause::made);
    path_.pool.hand_over(buffer, me, made ? next : packet_owner::free);
    return made;
  }

  Path path_;
  std::uint32_t lane_;
  std::uint32_t lap_ = 0;
  std::uint64_t position_;
  std::uint64_t end_;
  bool stops_ = false;  ///< it has said how far it is
  bool waits_ = false;  ///< for the others to say so
  deadline until_ = deadline::never();
};

}  // namespace gnstor::inline v0

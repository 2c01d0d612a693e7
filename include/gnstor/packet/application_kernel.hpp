#pragma once

#include <gnstor/core/bounded.hpp>
#include <gnstor/packet/packet_application.hpp>
#include <gnstor/packet/packet_path.hpp>
#include <gnstor/simt/clock.hpp>

namespace gnstor::inline v0 {

/// The persistent kernel of an application: each thread has the packets of one small pool, in the
/// order in which they came.
template <packet_application App>
struct application_kernel {
  App application;
  std::uint32_t index = 0;  ///< in the chain

  /// @par Callers as `receive_kernel`
  /// @par Bound until the stage before has ended
  template <class Lane, class Receive, class Transmit>
  GNSTOR_HD void operator()(Lane& lane, packet_path<Receive, Transmit> path) const {
    App own = application;
    const std::uint32_t mine = lane.global_thread();
    std::uint32_t settled = 0;
    std::uint32_t quiet = 0;
    for (bounded rounds{~std::uint64_t{0}}; rounds;) {
      const bool was_last = quiet != 0 && path.has_ended(index);
      // Before the look: what is settled then is in this lane's hands, or has gone.
      const std::uint32_t before = path.settled(index, mine).load(acquire);
      const std::uint32_t buffer = path.pool.oldest(mine, packet_owner::application(index), before);
      std::uint32_t now = before;
      if (buffer != packet_pool::none) {
        now = packet_pool::word(path.pool.state(buffer).lap).load(relaxed) + 1;
        handle(own, lane, path, buffer);
      }
      // Paired with the acquire of the next stage.
      if (now != settled) path.settled(index + 1, mine).store(now, release);
      quiet = buffer != packet_pool::none || now != settled ? 0 : quiet + 1;
      settled = now;
      if (quiet == 0) continue;
      if (was_last) return leave(path, mine);
      simt::pause(quiet);
    }
  }

 private:
  template <class Lane, class Path>
  GNSTOR_HD void handle(App& own, Lane& lane, const Path& path, std::uint32_t buffer) const {
    const std::uint32_t me = packet_owner::application(index);
    const std::uint32_t next = path.owner_after(index + 1);
    switch (own.receive(lane, packet(path.pool, buffer, me, next, path.control->counters))) {
      case packet_verdict::forward: return path.pool.hand_over(buffer, me, next);
      case packet_verdict::drop:
        path.count(packet_cause::dropped);
        return path.pool.hand_over(buffer, me, packet_owner::free);
      case packet_verdict::hold: path.pool.state(buffer).flags |= packet_state::is_held;
    }
  }

  /// Nothing comes any more: gives back what is held.
  template <class Path>
  GNSTOR_HD void leave(const Path& path, std::uint32_t lane) const {
    const std::uint32_t me = packet_owner::application(index);
    for (std::uint32_t k = 0; k < path.pool.shape().per_lane(); ++k) {
      const std::uint32_t b = path.pool.buffer_of(lane, k);
      if (!path.pool.is_owned_by(b, me)) continue;
      path.count(packet_cause::held_back);
      path.pool.hand_over(b, me, packet_owner::free);
    }
    // Paired with the acquire of `has_ended`.
    path.ended(index + 1).fetch_add(1, acq_rel);
  }
};

}  // namespace gnstor::inline v0

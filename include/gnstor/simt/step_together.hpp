#pragma once
/// Polling by lanes that keep each other company.

#include <gnstor/core/bounded.hpp>
#include <gnstor/simt/clock.hpp>
#include <gnstor/simt/group.hpp>

namespace gnstor::simt {

/// Repeats `step` until it was true in every lane of `g`: what lanes do that wait for the same kind
/// of thing, each for its own.
///
/// Who is done stays for a moment and helps, so that the group goes on whole: lanes that leave one
/// by one poll, and ask again, in ever smaller groups, whose collectives cost hundreds of cycles
/// each. But nobody is held up for long: after `most_stays`
/// rounds of company the group falls apart, as it does once a deadline has passed or nothing has
/// come for `most_rounds`.
///
/// Only a whole warp does so. Groups of one warp, each in a loop of its own, may stand still on a
/// GPU: the compiler makes lanes meet that branched together, and one may wait there for a lane
/// that waits in its own group's vote.
/// @param step `step(done)` does one round, true if this lane is done; a lane that was `done` only
/// helps
/// @par Callers every lane of `g`, converged; each may have another deadline
/// @par Result whether this lane is done; false, and no step was done, if `g` is a part of a warp
/// @par Bound `most_rounds` rounds
template <class Step>
GNSTOR_HD inline bool step_together(const group& g, deadline d, const Step& step) {
  constexpr std::uint32_t most_rounds = 1024;
  constexpr std::uint32_t most_stays = 96;
  constexpr std::uint32_t rounds_a_clock = 8;
  constexpr std::uint32_t short_rounds = 256;
  if (g.size() != 32 && g.size() != group::warp().size()) return false;
  bool done = false;
  std::uint32_t stays = 0;
  std::uint32_t round = 0;
  for (bounded rounds{most_rounds}; rounds; ++round) {
    done = step(done) || done;
    const std::uint32_t waiting = g.count(!done);
    if (waiting == 0 || (waiting < g.size() && ++stays == most_stays)) break;
    // Once the pauses are long, each is worth a look at the clock.
    if ((round % rounds_a_clock == 0 || round > short_rounds) && g.any(d.expired(now_ns()))) break;
    pause(round);
  }
  return done;
}

}  // namespace gnstor::simt

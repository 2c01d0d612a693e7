#pragma once

#include <gnstor/qp/queue_bar.hpp>
#include <gnstor/qp/queue_pair.hpp>

namespace gnstor::inline v0 {

/// A queue pair that can be made again at both ends while lanes hold references to it.
///
/// No index ever moves back: a lane that looked at one in the former life finds it changed, and its
/// compare-and-swap fails. So the ordinary operations need no word that says which life it is.
///
/// - `bar()` stops handing out indices: it moves `reserved` further than the credit goes.
/// - `is_written(end)` tells whether every index before `end` was published.
/// - `taken()` counts completions taken, all lives together.
/// - `restart(next)` makes rings and indices ready for a peer that begins anew; false if a lane is
///   just ringing: try again. Only after the peer was drained and what it wrote was taken.
/// - `open(next)` hands out index `next`, for the first request. When it is retired the bar falls.
template <class Q>
concept restartable_queue_pair = queue_pair<Q> && requires(const Q& q, std::uint64_t i) {
  { q.bar() } -> std::same_as<queue_bar>;
  { q.is_written(i) } -> std::same_as<bool>;
  { q.taken() } -> std::same_as<std::uint64_t>;
  { q.restart(i) } -> std::same_as<bool>;
  { q.open(i) } -> std::same_as<bool>;
};

}  // namespace gnstor::inline v0

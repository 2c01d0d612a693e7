#pragma once

namespace gnstor::serve {

/// Carries out requests for one thread that never waits: sends them to the array by a channel of a
/// link, as many at once as that has room for, and says when they have ended. Requests have no
/// order: one that must come behind another is submitted when that has ended.
///
/// All members are its thread's; engines of several threads may share a channel.
class request_engine {
 public:
  request_engine() = default;
  /// @pre `is_idle()`
  virtual ~request_engine() = default;
  request_engine(const request_engine&) = delete;
  request_engine& operator=(const request_engine&) = delete;

  /// Has an event descriptor written when there is something to do after `arm`: not for requests
  /// that only wait. False: the link wakes nobody, and `progress` has to be called all the time.
  /// @param event_fd outlives the engine
  virtual bool wakes(int event_fd) = 0;
  /// Asks for that. Call `progress` once more before you sleep, and sleep a few milliseconds at
  /// most: time-outs ring no bell.
  virtual void arm() = 0;
  /// Sends and takes answers, as far as can be done now. True if anything moved.
  virtual bool progress() = 0;
  /// True if there is no request.
  virtual bool is_idle() const = 0;
  /// True if there are requests that wait for something else than an answer or room, and no others.
  virtual bool only_waits() const = 0;
  /// Ends what is not under way with `closed`; the rest ends within its time.
  virtual void give_up() = 0;
};

}  // namespace gnstor::serve

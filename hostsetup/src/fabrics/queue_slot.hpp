#pragma once

#include "controller.hpp"

#include <functional>

namespace gnstor::host::fabrics {

/// An I/O queue's slot at its controller: the queue id that it holds, its connection, and the
/// association that the connection belongs to.
///
/// The last member of who owns the queue's memory: a slot that goes away ends the connection, and
/// only then nobody uses that memory.
class queue_slot {
 public:
  /// Takes a queue id. Throws `input_error` if all are in use. The controller outlives the slot.
  explicit queue_slot(controller& of);
  ~queue_slot();
  queue_slot(const queue_slot&) = delete;
  queue_slot& operator=(const queue_slot&) = delete;

  controller& of() const { return controller_; }
  std::uint16_t queue_id() const { return queue_id_; }
  /// `controller::fresh_starts` when its connection was made.
  std::uint64_t fresh_starts() const { return in_.fresh_starts; }
  /// True without a connection, or if it has ended.
  bool ended() const { return link_ == nullptr || link_->ended(); }
  /// Ends the connection: what is in flight comes back flushed. @par Callers any thread
  void end() {
    if (link_ != nullptr) link_->disconnect();
  }

  /// Joins the queue in `memory`, of `depth` requests. Throws as `controller::open_link` does.
  queue_link& join(unsigned char* memory, std::uint32_t depth);
  /// Ends the connection and forgets it.
  void leave() { link_.reset(); }
  /// What the queue's Connect says.
  /// @param data registered memory that holds `controller::connect_data()`
  connect_options connect(const io_buffer& data, std::uint32_t depth) const;
  /// For `io_queue::reopen`: leaves, waits at most `timeout` for the association after the slot's
  /// own, and calls `open`, which joins. Throws what either throws: the slot is then left, and may
  /// be renewed once more.
  void renew(std::chrono::milliseconds timeout, const std::function<void()>& open);
  /// True if that would not wait. Throws `io_error` once the controller has given up.
  bool may_renew() const { return controller_.is_ready(in_.number); }

  /// True if lanes may go on in the queue by another connection now: nothing of what they have sent
  /// by the one before is under way. Throws as `may_renew`.
  bool may_resume() const;
  /// For that, as those of `restartable_link`.
  bool discard(std::uint64_t end);
  void skip_to(std::uint64_t next);
  /// Then joins the controller's present association for lanes that go on. Throws as `join`.
  void resume(unsigned char* memory, std::uint32_t depth);
  /// Takes that back, where the target has not let the queue in: nothing was sent by the lanes.
  void leave_resumed();

 private:
  controller& controller_;
  std::uint16_t queue_id_;
  controller::joined_association in_;
  controller::joined_association before_{};  ///< `resume`
  controller::link_handle link_;
};

}  // namespace gnstor::host::fabrics

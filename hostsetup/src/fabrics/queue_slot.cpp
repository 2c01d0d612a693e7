#include "queue_slot.hpp"

namespace gnstor::host::fabrics {

queue_slot::queue_slot(controller& of)
    : controller_(of), queue_id_(of.take_queue_id()), in_{of.association(), of.fresh_starts()} {}

queue_slot::~queue_slot() {
  leave();
  controller_.give_queue_id(queue_id_);
}

queue_link& queue_slot::join(unsigned char* memory, std::uint32_t depth) {
  link_ = controller_.open_link(queue_id_, memory, depth, in_);
  return *link_;
}

connect_options queue_slot::connect(const io_buffer& data, std::uint32_t depth) const {
  connect_options said;
  said.data = data;
  said.queue_id = queue_id_;
  said.queue_entries = static_cast<std::uint16_t>(depth);
  said.priority = controller_.options().priority;
  return said;
}

void queue_slot::renew(std::chrono::milliseconds timeout, const std::function<void()>& open) {
  // A queue that its user gave up costs the association, as one that died by itself.
  end();
  leave();
  (void)controller_.wait_ready(timeout, in_.number);
  const controller::joined_association before = in_;
  try {
    open();
  } catch (...) {
    leave();
    in_ = before;  // it may be tried once more in the same association
    throw;
  }
}

bool queue_slot::may_resume() const {
  if (dynamic_cast<const restartable_link*>(link_.get()) == nullptr || !ended()) return false;
  return controller_.is_ready(in_.number) && controller_.has_ended(in_.number);
}

bool queue_slot::discard(std::uint64_t end) {
  return dynamic_cast<restartable_link&>(*link_).discard(end);
}

void queue_slot::skip_to(std::uint64_t next) {
  dynamic_cast<restartable_link&>(*link_).skip_to(next);
}

void queue_slot::resume(unsigned char* memory, std::uint32_t depth) {
  before_ = in_;
  controller_.reopen_link(dynamic_cast<restartable_link&>(*link_), queue_id_, memory, depth, in_);
}

void queue_slot::leave_resumed() {
  controller_.forget_link(*link_);  // the association is none the worse
  link_->disconnect();
  in_ = before_;
}

}  // namespace gnstor::host::fabrics

#include "queue_slot.hpp"

namespace gnstor::host::fabrics {

queue_slot::queue_slot(controller& of)
    : controller_(of),
      queue_id_(of.take_queue_id()),
      association_(of.association()),
      fresh_starts_(of.fresh_starts()) {}

queue_slot::~queue_slot() {
  leave();
  controller_.give_queue_id(queue_id_);
}

queue_link& queue_slot::join(unsigned char* memory, std::uint32_t depth) {
  link_ = controller_.open_link(queue_id_, memory, depth);
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
  const std::uint64_t fresh = controller_.wait_ready(timeout, association_);
  // Before it joins: it may be too few, and is never too many.
  const std::uint64_t starts = controller_.fresh_starts();
  try {
    open();
  } catch (...) {
    leave();
    throw;
  }
  association_ = fresh;
  fresh_starts_ = starts;
}

}  // namespace gnstor::host::fabrics

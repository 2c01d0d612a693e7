#include "emulated_port.hpp"

namespace gnstor::host {

emulated_port::emulated_port(queue_type queue) : queue_(queue), indices_(queue.depth()) {
  queue_.post_receives();
}

bool emulated_port::post(const proxy_request& r) {
  const bool mark = unmarked_ + 1 >= queue_.depth() / 2;
  const std::uint32_t entries = mark ? 2 : 1;
  const result<std::uint64_t> first = queue_.try_reserve(entries);
  if (!first) return false;
  index_at(first.value) = r.index;
  switch (r.kind) {
    case proxy_request_kind::capsule: queue_.write_send(first.value, r.capsule); break;
    case proxy_request_kind::one_sided: queue_.write_one_sided(first.value, r.transfer); break;
    default: queue_.write_nop(first.value); break;
  }
  if (mark) {
    index_at(first.value + 1) = own;
    queue_.write_nop(first.value + 1);
  }
  queue_.publish(first.value, entries);
  unmarked_ = mark ? 0 : unmarked_ + 1;
  return true;
}

void emulated_port::flush() { queue_.ring(); }

std::uint32_t emulated_port::poll(completion* out, std::uint32_t most) {
  std::uint32_t count = 0;
  for (std::uint32_t looks = 0; looks < 2 * most && count < most; ++looks) {
    completion c = queue_.poll(simt::group::self());
    if (c.kind == completion_kind::none) break;
    if (translate(c)) out[count++] = c;
  }
  return count;
}

/// Gives a completion the index of its request. False if it tells of the port's own NOP.
bool emulated_port::translate(completion& c) {
  if (c.kind != completion_kind::sent && c.kind != completion_kind::failed) return true;
  const std::uint64_t slot = c.index;
  const std::uint64_t index = index_at(slot);
  // In order: a signalled entry is done after all before it.
  if (c.kind == completion_kind::sent) queue_.retire(slot);
  if (index != own) {
    c.index = index;
    return true;
  }
  if (c.outcome.code != status_code::transport_error) return false;
  c.kind = completion_kind::broken;
  return true;
}

}  // namespace gnstor::host

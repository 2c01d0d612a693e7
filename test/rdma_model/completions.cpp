#include "completions.hpp"

#include "descriptor.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace gnstor::test::rdma_model {

completion_channel::completion_channel(ibv_context* of) : ibv_comp_channel{} {
  context = of;
  fd = make_counter();
}
completion_channel::~completion_channel() { close(fd); }

void completion_channel::raise(ibv_cq* of) {
  const std::lock_guard lock(guard);
  raised.push_back(of);
  add_one(fd);
}

void completion_channel::forget(const ibv_cq* of) {
  const std::lock_guard lock(guard);
  for (auto gone = std::erase(raised, of); gone > 0; --gone) (void)take_one(fd);
}

completion_queue::completion_queue(ibv_context* of, int wanted, void* user, ibv_comp_channel* wakes)
    : ibv_cq{} {
  context = of;
  channel = wakes;
  cq_context = user;
  cqe = wanted;
  if (wakes != nullptr) ++static_cast<completion_channel*>(wakes)->users;
}

completion_queue::~completion_queue() {
  if (channel == nullptr) return;
  auto* wakes = static_cast<completion_channel*>(channel);
  wakes->forget(this);
  --wakes->users;
}

void completion_queue::put(const entry& e) {
  const std::lock_guard lock(guard);
  if (entries.size() >= static_cast<std::size_t>(cqe)) misused("a completion queue is overrun");
  entries.push_back(e);
  count.store(entries.size(), std::memory_order_release);
  if (armed && channel != nullptr) static_cast<completion_channel*>(channel)->raise(this);
  armed = false;
}

int completion_queue::poll(int most, ibv_wc* out) {
  if (count.load(std::memory_order_acquire) == 0) return 0;
  const std::lock_guard lock(guard);
  int taken = 0;
  for (; taken < most && !entries.empty(); ++taken) {
    const entry& e = entries.front();
    out[taken] = e.what;
    (e.receive ? e.slots->receives : e.slots->sends) = e.reclaims;
    entries.pop_front();
  }
  count.store(entries.size(), std::memory_order_release);
  return taken;
}

void completion_queue::arm() {
  const std::lock_guard lock(guard);
  armed = true;
}

void completion_queue::forget(const reclaimed_slots* slots) {
  const std::lock_guard lock(guard);
  std::erase_if(entries, [&](const entry& e) { return e.slots == slots; });
  count.store(entries.size(), std::memory_order_release);
}

}  // namespace gnstor::test::rdma_model

using gnstor::test::rdma_model::completion_channel;
using gnstor::test::rdma_model::completion_queue;

extern "C" {

ibv_comp_channel* ibv_create_comp_channel(ibv_context* context) {
  return new completion_channel(context);
}

int ibv_destroy_comp_channel(ibv_comp_channel* channel) {
  auto* of = static_cast<completion_channel*>(channel);
  if (of->users != 0) return EBUSY;
  delete of;
  return 0;
}

ibv_cq* ibv_create_cq(ibv_context* context, int cqe, void* user, ibv_comp_channel* channel,
                      int vector) {
  if (cqe > 0 && vector == 0) return new completion_queue(context, cqe, user, channel);
  errno = EINVAL;
  return nullptr;
}

int ibv_destroy_cq(ibv_cq* cq) {
  auto* of = static_cast<completion_queue*>(cq);
  if (of->users != 0) return EBUSY;
  // rdma-core would wait here for ever.
  if (of->events_given != of->events_acked)
    gnstor::test::rdma_model::misused("a completion queue ends before its events are acknowledged");
  delete of;
  return 0;
}

int ibv_get_cq_event(ibv_comp_channel* channel, ibv_cq** cq, void** context) {
  auto* of = static_cast<completion_channel*>(channel);
  if (!gnstor::test::rdma_model::wait_for_one(of->fd)) return -1;
  const std::lock_guard lock(of->guard);
  *cq = of->raised.front();
  of->raised.pop_front();
  *context = (*cq)->cq_context;
  ++static_cast<completion_queue*>(*cq)->events_given;
  return 0;
}

void ibv_ack_cq_events(ibv_cq* cq, unsigned int count) {
  static_cast<completion_queue*>(cq)->events_acked += count;
}

}  // extern "C"

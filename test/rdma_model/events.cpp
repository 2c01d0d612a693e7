#include "events.hpp"

#include "descriptor.hpp"

#include <unistd.h>

#include <cerrno>
#include <deque>
#include <memory>
#include <mutex>
#include <utility>

namespace gnstor::test::rdma_model {
namespace {

struct channel : rdma_event_channel {
  std::deque<std::unique_ptr<waiting_event>> waiting;
};

/// Of all channels: identifiers move between them.
std::mutex& guard() {
  static auto* const one = new std::mutex;
  return *one;
}

channel& channel_of(rdma_event_channel* c) { return static_cast<channel&>(*c); }

void put(channel& on, std::unique_ptr<waiting_event> event) {
  on.waiting.push_back(std::move(event));
  add_one(on.fd);
}

/// Takes the events that `chosen` names.
template <class Chosen>
std::vector<std::unique_ptr<waiting_event>> take(channel& from, const Chosen& chosen) {
  std::vector<std::unique_ptr<waiting_event>> taken;
  std::erase_if(from.waiting, [&](auto& event) {
    if (!chosen(*event)) return false;
    taken.push_back(std::move(event));
    (void)take_one(from.fd);
    return true;
  });
  return taken;
}

}  // namespace

void put_event(waiting_event event) {
  const std::lock_guard lock(guard());
  channel& on = channel_of(event.id->channel);
  auto kept = std::make_unique<waiting_event>(std::move(event));
  kept->param.conn.private_data = kept->data.empty() ? nullptr : kept->data.data();
  kept->param.conn.private_data_len = static_cast<std::uint8_t>(kept->data.size());
  put(on, std::move(kept));
}

std::vector<rdma_cm_id*> drop_events(const rdma_cm_id* of) {
  const std::lock_guard lock(guard());
  std::vector<rdma_cm_id*> abandoned;
  if (of->channel == nullptr) return abandoned;
  const auto concerns = [&](const waiting_event& e) { return e.id == of || e.listen_id == of; };
  for (const auto& event : take(channel_of(of->channel), concerns)) {
    if (event->listen_id == of) abandoned.push_back(event->id);
  }
  return abandoned;
}

void move_events(rdma_cm_id* of, rdma_event_channel* to) {
  const std::lock_guard lock(guard());
  auto moved = take(channel_of(of->channel), [&](const waiting_event& e) { return e.id == of; });
  of->channel = to;
  for (auto& event : moved) put(channel_of(to), std::move(event));
}

}  // namespace gnstor::test::rdma_model

using namespace gnstor::test::rdma_model;

extern "C" {

rdma_event_channel* rdma_create_event_channel() {
  auto* made = new channel;
  made->fd = make_counter();
  return made;
}

void rdma_destroy_event_channel(rdma_event_channel* c) {
  close(c->fd);
  delete &channel_of(c);
}

int rdma_get_cm_event(rdma_event_channel* c, rdma_cm_event** event) {
  for (;;) {
    if (!wait_for_one(c->fd)) return -1;
    const std::lock_guard lock(guard());
    channel& from = channel_of(c);
    if (from.waiting.empty()) continue;  // it has been dropped meanwhile
    *event = from.waiting.front().release();
    from.waiting.pop_front();
    return 0;
  }
}

int rdma_ack_cm_event(rdma_cm_event* event) {
  delete static_cast<waiting_event*>(event);
  return 0;
}

int rdma_migrate_id(rdma_cm_id* id, rdma_event_channel* to) {
  move_events(id, to);
  return 0;
}

}  // extern "C"

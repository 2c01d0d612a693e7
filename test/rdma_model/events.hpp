#pragma once
/// Events of the connection manager, and the channels on which they wait.

#include <rdma/rdma_cma.h>

#include <vector>

namespace gnstor::test::rdma_model {

/// An event and the private data to which it points.
struct waiting_event : rdma_cm_event {
  std::vector<unsigned char> data;
};

/// Puts an event on the channel of its identifier.
void put_event(waiting_event event);
/// Drops the events of an identifier that ends; those peers that asked `listener` are given back.
std::vector<rdma_cm_id*> drop_events(const rdma_cm_id* of);
/// Moves an identifier and its events to another channel.
void move_events(rdma_cm_id* of, rdma_event_channel* to);

}  // namespace gnstor::test::rdma_model

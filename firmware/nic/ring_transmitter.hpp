#pragma once

#include <nic/block_team.hpp>
#include <nic/ring_engine.hpp>
#include <nic/ring_receiver.hpp>
#include <nic/transmit_request.hpp>

namespace gnstor::fw {

/// The way out of one transmit ring, served by a block: as `transmit_engine`, many descriptors at a
/// time.
/// @tparam Model `nic_82599` or `nic_82574`
template <class Model>
class ring_transmitter {
 public:
  GNSTOR_HD ring_transmitter(const nic_node& node, std::uint32_t port, std::uint32_t queue)
      : node_(&node),
        port_(&node.ports[port]),
        position_(&port_->transmit[queue]),
        ring_(node, *port_, Model::registers::transmit(queue), *position_),
        port_number_(port) {}

  /// One round. True if anything was done.
  /// @par Callers every lane of `team`
  GNSTOR_HD bool tick(const block_team& team) {
    beginning b{};
    if (team.leads()) {
      b.ring = ring_.begin(false);
      b.may_send = b.ring.given != 0 && is_free();
    }
    b = team.share(b);
    ring_.report(team, b.ring, request::template set_done<block_team::scope>);
    const std::uint32_t sent = b.may_send ? send(team, b.ring) : 0;
    return sent != 0 || b.ring.due != 0;
  }

 private:
  using request = transmit_request<Model>;
  struct beginning {
    ring_engine::round ring;
    bool may_send;
  };

  GNSTOR_HD bool is_free() const {
    if (node_->rate.byte_ps == 0 || node_->is_loop(port_number_)) return true;
    const std::uint64_t due = device_word<std::uint64_t>(port_->out_due).load(relaxed);
    return node_->rate.is_free(due, simt::now_ns());
  }

  /// Sends the frames of the next descriptors, one per lane.
  /// @return how many descriptors it has used up
  GNSTOR_HD std::uint32_t send(const block_team& team, const ring_engine::round& r) {
    std::uint32_t n = r.given < team.size() ? r.given : team.size();
    const wire::intel::descriptor* d = nullptr;
    if (team.rank() < n) d = ring_.entry(r, r.head + team.rank());
    const request frame = d == nullptr ? request{} : request::of(*node_, *d);
    if (node_->is_loop(port_number_)) {
      n = bring_back(team, n, frame);
    } else {
      give(team, frame);
    }
    const bool mine = d != nullptr && team.rank() < n;
    std::uint64_t* const fault = frame.fault(port_->counters);
    team.count(mine ? fault : nullptr);
    team.count(mine && fault == nullptr ? &port_->counters.sent : nullptr);
    team.count(mine && fault == nullptr ? &position_->frames : nullptr);
    team.sync();
    if (team.leads() && n != 0) ring_.use(n);
    return n;
  }

  /// To the other end of the wire.
  GNSTOR_HD void give(const block_team& team, const request& frame) {
    wire::ethernet::numbered_frame::label which{};
    const bool is_known = port_->sinks.take(team, frame.from, frame.bytes, node_->addresses, which);
    if (is_known && node_->transits != nullptr)
      node_->transits->ends(which.stream, which.sequence, simt::now_ns());
    if (node_->rate.byte_ps == 0) return;
    const bool is_one = frame.from != nullptr;
    const std::uint64_t bytes = team.add_up(is_one ? frame.bytes : 0).all;
    const std::uint64_t frames = team.add_up(is_one).all;
    if (team.leads() && frames != 0)
      node_->rate.take_shared(port_->out_due, bytes, frames, simt::now_ns());
  }

  /// To the port's own receive rings: as many as are for the same ring as the first.
  GNSTOR_HD std::uint32_t bring_back(const block_team& team, std::uint32_t n,
                                     const request& frame) {
    typename ring_receiver<Model>::returned back{frame.from, frame.bytes, {}};
    if (frame.from != nullptr && node_->queues != 1)
      back.where = receive_steering(*port_).of(frame.from, frame.bytes);
    const std::uint32_t queue = team.share(back.where.queue);
    const bool is_same = frame.from == nullptr || back.where.queue == queue;
    n = team.leading(team.rank() < n && is_same);
    return ring_receiver<Model>(*node_, port_number_, queue).bring_back(team, n, back);
  }

  const nic_node* node_;
  nic_port* port_;
  ring_position* position_;
  ring_engine ring_;
  std::uint32_t port_number_;
};

}  // namespace gnstor::fw

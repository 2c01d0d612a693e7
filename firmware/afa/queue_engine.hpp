#pragma once

#include <afa/fabrics_target.hpp>
#include <afa/queue_drain.hpp>
#include <gnstor/wire/afa/admin_command.hpp>
#include <gnstor/wire/afa/array_description.hpp>
#include <gnstor/wire/afa/slba.hpp>
#include <gnstor/wire/afa/volume_chmod.hpp>
#include <gnstor/wire/afa/volume_list.hpp>
#include <gnstor/wire/nvme/read_write.hpp>
#include <hca/queue_reader.hpp>
#include <hca/transfer.hpp>

namespace gnstor::fw {

/// Serves one queue pair: fetches send entries up to 32 at a time, routes their commands to the
/// shards, and sends the responses of finished commands.
///
/// Exactly one warp (or CPU thread) runs the engine of a queue. Nothing in it waits: `tick` does
/// what can be done now.
class queue_engine {
 public:
  GNSTOR_HD queue_engine(const node& n, std::uint32_t queue)
      : node_(&n),
        queue_(queue),
        context_(&n.queues[queue]),
        reader_(n.queues[queue].at, n.keys()) {}

  /// One round. True if anything was done.
  /// @par Callers every lane of `g`, converged; always the same owner
  GNSTOR_HD bool tick(const simt::group& g) const {
    std::uint32_t active = 0;
    if (g.leads()) active = device_word<std::uint32_t>(context_->active).load(acquire);
    active = g.broadcast(active);
    if (active == static_cast<std::uint32_t>(queue_life::absent)) return false;
    g.sync();
    if (active != static_cast<std::uint32_t>(queue_life::serving)) {
      return active == static_cast<std::uint32_t>(queue_life::draining) &&
             queue_drain(*node_, queue_).tick(g);
    }
    const bool answered = respond(g);
    const bool fetched = fetch(g);
    return answered || fetched;
  }

 private:
  GNSTOR_HD std::uint32_t* stack() const {
    return node_->free_slots + std::uint64_t{queue_} * node_->shape.max_depth;
  }
  GNSTOR_HD std::uint32_t handle_of(std::uint32_t slot) const {
    return queue_ * node_->shape.max_depth + slot;
  }
  GNSTOR_HD static std::uint32_t least(std::uint32_t a, std::uint32_t b) { return a < b ? a : b; }
  /// The number of lanes before this one for which the bit in `mask` is set.
  GNSTOR_HD static std::uint32_t before(const simt::group& g, std::uint32_t mask) {
    return static_cast<std::uint32_t>(cuda::std::popcount(mask & ((1u << g.thread_rank()) - 1)));
  }

  // ---- responses

  GNSTOR_HD bool respond(const simt::group& g) const {
    const handle_ring done = node_->done_ring(queue_);
    const std::uint64_t head = done.head();
    std::uint32_t handle = 0;
    std::uint32_t ready = g.leading(done.peek(head + g.thread_rank(), handle));
    if (ready == 0) return false;
    const bool broken = context_->broken != 0;
    if (!broken) {
      std::uint32_t posted = 0;
      if (g.leads())
        posted = static_cast<std::uint16_t>(reader_.receive_tail() - context_->receive_head);
      ready = least(ready, g.broadcast(posted));
      if (ready == 0) return false;  // receiver not ready: the peer has to post a receive first
    }
    const bool mine = g.thread_rank() < ready;
    bool delivered = true;
    if (mine && !broken) delivered = answer(handle, g.thread_rank());
    const bool all = g.all(delivered);
    g.sync();
    if (mine) stack()[context_->free_commands + g.thread_rank()] = handle - handle_of(0);
    g.sync();
    if (g.leads()) {
      context_->free_commands += ready;
      done.advance(head + ready);
      if (!broken) {
        context_->receive_head += ready;
        context_->completion_tail += ready;
      }
      if (!all) context_->broken = 1;
    }
    g.sync();
    return true;
  }

  /// Sends one response: receive entry, then completion entry.
  GNSTOR_HD bool answer(std::uint32_t handle, std::uint32_t rank) const {
    const io_command& c = node_->commands[handle];
    wire::nvme::completion_entry response{};
    response.dw0 = c.result;
    response.sq_head =
        static_cast<std::uint16_t>(context_->send_head & (context_->at.send_entries - 1));
    response.command_id = c.entry.command_id;
    response.status = c.status;
    const std::uint64_t receive = context_->receive_head + rank;
    const std::uint64_t at = context_->completion_tail + rank;
    const bool key_failed = c.stage == command_stage::refused;
    if (key_failed || !reader_.respond(at, receive, response)) {
      const auto why = key_failed ? wire::mlx5::syndrome::local_access_error
                                  : wire::mlx5::syndrome::local_protection_error;
      reader_.complete(at, wire::mlx5::cqe_opcode::responder_error, receive, 0, why);
      return false;
    }
    return true;
  }

  // ---- requests

  GNSTOR_HD bool fetch(const simt::group& g) const {
    std::uint32_t news = 0;
    if (g.leads()) {
      const std::uint64_t bell = reader_.doorbell();
      news = bell != context_->doorbell_seen || context_->work_left != 0;
      context_->doorbell_seen = bell;
    }
    if (g.broadcast(news) == 0) return false;
    std::uint32_t waiting = 0;
    if (g.leads()) waiting = static_cast<std::uint16_t>(reader_.send_tail() - context_->send_head);
    waiting = g.broadcast(waiting);
    g.sync();
    const std::uint64_t head = context_->send_head;
    const std::uint32_t stride = context_->wide != 0 ? 2 : 1;
    const std::uint32_t room = context_->broken != 0 ? 32 : context_->free_commands;
    const std::uint32_t count = least(least((waiting + stride - 1) / stride, room), g.size());
    if (g.leads()) context_->work_left = waiting > 0;
    if (count == 0) return false;
    decoded_request r;
    if (waiting > context_->at.send_entries) {
      r.fault = wire::mlx5::syndrome::local_queue_pair_error;  // the doorbell record went back, or
                                                               // ran ahead
    } else if (g.thread_rank() < count) {
      r = reader_.request(head + g.thread_rank() * stride);
    }
    const bool sound =
        context_->broken == 0 && r.fault == wire::mlx5::syndrome::none &&
        g.thread_rank() * stride + r.blocks <= waiting &&
        (r.opcode == wire::mlx5::opcode::send || r.opcode == wire::mlx5::opcode::nop);
    const std::uint32_t run = g.leading(sound && r.blocks == stride && g.thread_rank() < count);
    if (run == 0) {
      // What only the other stride fits is taken with that one, in the next round.
      const bool other = g.broadcast(static_cast<std::uint32_t>(sound)) != 0;
      if (other && g.leads()) context_->wide = 2 - stride;
      if (!other) serve_one(g, head, waiting);
    } else {
      // Until Connect each command depends on the one before it: one at a time.
      std::uint32_t most = 1;
      if (g.leads() && context_->joined.connected != 0) most = 32;
      accept(g, least(run, g.broadcast(most)), stride, r);
    }
    g.sync();
    return true;
  }

  /// Accepts the sends among the first `run` entries, of `stride` blocks each: one command slot
  /// each.
  GNSTOR_HD void accept(const simt::group& g, std::uint32_t run, std::uint32_t stride,
                        const decoded_request& r) const {
    const bool mine = g.thread_rank() < run;
    const std::uint32_t sends = g.ballot(mine && r.opcode == wire::mlx5::opcode::send);
    const std::uint32_t signalled = g.ballot(mine && r.signalled);
    const std::uint32_t free = context_->free_commands;
    if (mine && r.signalled) {
      reader_.complete(context_->completion_tail + before(g, signalled),
                       wire::mlx5::cqe_opcode::requester, r.index, 0, wire::mlx5::syndrome::none,
                       r.opcode);
    }
    if (mine && r.opcode == wire::mlx5::opcode::send) {
      const std::uint32_t slot = stack()[free - 1 - before(g, sends)];
      start(reader_.capsule(r), handle_of(slot));
    }
    g.sync();
    if (g.leads()) {
      context_->send_head += std::uint64_t{run} * stride;
      context_->completion_tail += static_cast<std::uint32_t>(cuda::std::popcount(signalled));
      context_->free_commands = free - static_cast<std::uint32_t>(cuda::std::popcount(sends));
    }
  }

  /// Serves the entry at `head` alone: one-sided transfers, faults, and what a broken queue pair
  /// flushes.
  GNSTOR_HD void serve_one(const simt::group& g, std::uint64_t head, std::uint32_t waiting) const {
    decoded_request r = reader_.request(head);
    const bool overrun = waiting > context_->at.send_entries || (r.known && r.blocks > waiting);
    if (overrun) r.fault = wire::mlx5::syndrome::local_queue_pair_error;
    if (context_->broken != 0) r.fault = wire::mlx5::syndrome::flushed;
    if (r.fault == wire::mlx5::syndrome::none) r.fault = one_sided(g, r);
    g.sync();
    if (!g.leads()) return;
    const bool failed = r.fault != wire::mlx5::syndrome::none;
    if (failed || r.signalled) {
      const auto kind =
          failed ? wire::mlx5::cqe_opcode::requester_error : wire::mlx5::cqe_opcode::requester;
      reader_.complete(context_->completion_tail++, kind, head, r.local.bytes(), r.fault, r.opcode);
    }
    if (failed) context_->broken = 1;
    // What an overrun announces is no request: nothing of it is flushed.
    context_->send_head = head + (overrun ? waiting : (r.known ? r.blocks : 1));
  }

  GNSTOR_HD wire::mlx5::syndrome one_sided(const simt::group& g, const decoded_request& r) const {
    if (r.opcode != wire::mlx5::opcode::rdma_read && r.opcode != wire::mlx5::opcode::rdma_write) {
      return wire::mlx5::syndrome::local_queue_pair_error;
    }
    const bool write = r.opcode == wire::mlx5::opcode::rdma_write;
    const std::uint32_t bytes = r.local.bytes();
    if (!node_->keys().allows(r.remote.rkey(), r.remote.address(), bytes,
                              write ? remote_write : remote_read, context_->at.domain)) {
      return wire::mlx5::syndrome::remote_access_error;
    }
    auto* here = reinterpret_cast<void*>(r.local.address());
    auto* there = reinterpret_cast<void*>(r.remote.address());
    transfer(g, write ? there : here, write ? here : there, bytes);
    return wire::mlx5::syndrome::none;
  }

  // ---- commands

  /// Decides about a command, then writes it down and hands it on: a store before the decision
  /// would make every ordered load of it wait.
  GNSTOR_HD void start(const wire::nvme::submission_entry& entry, std::uint32_t handle) const {
    command_head c;
    c.entry = entry;
    c.queue = queue_;
    c.client = context_->joined.client;
    c.admin = context_->joined.queue_id == 0;
    const bool goes = route(c);
    if (!goes && c.stage == command_stage::lookup) c.stage = command_stage::done;
    static_cast<command_head&>(node_->commands[handle]) = c;
    if (goes) {
      node_->inbox(c.ssd, c.where.shard).push(handle);
    } else if (c.stage != command_stage::lost) {
      node_->done_ring(queue_).push(handle);
    }
  }

  /// Decides where the command goes. False if it is answered already (or refused by its key).
  GNSTOR_HD bool route(command_head& c) const {
    const wire::nvme::submission_entry& e = c.entry;
    const std::uint32_t length = e.dptr.length();
    if (e.dptr.type() != wire::nvme::keyed_data_block) {
      return answer_now(c, wire::nvme::generic_status::invalid_sgl_type);
    }
    if (e.opcode == wire::nvme::fabrics_opcode) {
      if (!aligned(c)) return false;
      if (length == sizeof(wire::fabrics::connect_data) && opens(c, remote_read)) {
        fabrics_target(*node_).execute(c, *context_);
      } else if (c.stage != command_stage::refused) {
        c.status = wire::nvme::make_status(wire::nvme::generic_status::invalid_sgl_length);
      }
      return false;
    }
    if (context_->joined.connected == 0)
      return answer_now(c, wire::nvme::generic_status::command_sequence_error);
    if (c.admin == 0 && is(e, wire::nvme::nvm_opcode::flush)) return false;
    if (e.nsid == 0 || e.nsid > node_->shape.ssd_count) {
      return answer_now(c, wire::nvme::generic_status::invalid_namespace);
    }
    c.ssd = e.nsid - 1;
    return c.admin != 0 ? route_admin(c) : route_io(c);
  }

  /// Checks a Read, Write or Write Zeroes and finds its shard. Write Zeroes moves no data and may
  /// be as long as a stripe.
  GNSTOR_HD bool route_io(command_head& c) const {
    const wire::nvme::submission_entry& e = c.entry;
    const bool read = is(e, wire::nvme::nvm_opcode::read);
    const bool zeroes = is(e, wire::nvme::nvm_opcode::write_zeroes);
    if (!read && !zeroes && !is(e, wire::nvme::nvm_opcode::write)) {
      return answer_now(c, wire::nvme::generic_status::invalid_opcode);
    }
    const std::uint32_t blocks = wire::nvme::blocks_of(e);
    if (!zeroes && blocks > max_transfer_blocks)
      return answer_now(c, wire::nvme::generic_status::invalid_field);
    if (e.dptr.length() != (zeroes ? 0 : blocks * block_bytes))
      return answer_now(c, wire::nvme::generic_status::invalid_sgl_length);
    if (!zeroes && !opens(c, read ? remote_write : remote_read)) return false;
    const auto fault =
        static_cast<ssd_fault>(device_word<std::uint32_t>(node_->faults[c.ssd]).load(relaxed));
    const auto at = wire::afa::slba::unpack(wire::nvme::slba_of(e));
    request r;
    r.vid = at.volume;
    r.client = at.client;
    r.bound_client = c.client;
    r.first = at.block;
    r.blocks = blocks;
    r.epoch = e.cdw2;
    r.write = !read;
    c.where = node_->ssds[c.ssd].check(r);
    if (c.where.ok() && !healthy(c, fault, !read)) return false;
    c.status = c.where.status;
    return c.where.ok();
  }

  GNSTOR_HD static bool is(const wire::nvme::submission_entry& e, wire::nvme::nvm_opcode op) {
    return e.opcode == static_cast<std::uint8_t>(op);
  }

  /// False if an injected fault answers, or swallows, the command.
  GNSTOR_HD bool healthy(command_head& c, ssd_fault fault, bool write) const {
    switch (fault) {
      case ssd_fault::none: return true;
      case ssd_fault::media_error:
        if (write) return true;
        c.status = wire::nvme::make_status(wire::nvme::media_status::unrecovered_read_error);
        return false;
      case ssd_fault::dead: return answer_now(c, wire::nvme::generic_status::internal_error);
      case ssd_fault::silent:
        c.stage = command_stage::lost;
        device_word<std::uint32_t>(context_->lost_commands).fetch_add(1, relaxed);
        return false;
    }
    return true;
  }

  GNSTOR_HD bool route_admin(command_head& c) const {
    std::uint32_t needs = 0;
    std::uint32_t length = 0;
    switch (static_cast<wire::afa::admin_opcode>(c.entry.opcode)) {
      case wire::afa::admin_opcode::volume_add:
        needs = remote_read;
        length = sizeof(wire::afa::volume_record);
        break;
      case wire::afa::admin_opcode::volume_chmod:
        needs = remote_read;
        length = sizeof(wire::afa::volume_chmod);
        break;
      case wire::afa::admin_opcode::volume_delete: return true;
      case wire::afa::admin_opcode::volume_list:
        needs = remote_write;
        length = sizeof(wire::afa::volume_list);
        break;
      case wire::afa::admin_opcode::array_describe:
        needs = remote_write;
        length = sizeof(wire::afa::array_description);
        break;
      default: return answer_now(c, wire::nvme::generic_status::invalid_opcode);
    }
    if (c.entry.dptr.length() < length)
      return answer_now(c, wire::nvme::generic_status::invalid_sgl_length);
    return aligned(c) && opens(c, needs);
  }

  /// False, and answered, if structured data does not lie as the firmware's loads and stores need
  /// it.
  GNSTOR_HD static bool aligned(command_head& c) {
    return c.entry.dptr.address % 8 == 0 ||
           answer_now(c, wire::nvme::generic_status::invalid_sgl_offset);
  }

  /// True if the command's key opens its data. If not, the queue pair breaks, as an RDMA access
  /// error breaks it.
  GNSTOR_HD bool opens(command_head& c, std::uint32_t access) const {
    const wire::nvme::keyed_sgl& data = c.entry.dptr;
    if (node_->keys().allows(data.key(), data.address, data.length(), access, context_->at.domain))
      return true;
    c.stage = command_stage::refused;
    return false;
  }

  GNSTOR_HD static bool answer_now(command_head& c, wire::nvme::generic_status why) {
    c.status = wire::nvme::make_status(why, true);
    return false;
  }

  const node* node_;
  std::uint32_t queue_;
  queue_context* context_;
  queue_reader reader_;
};

}  // namespace gnstor::fw

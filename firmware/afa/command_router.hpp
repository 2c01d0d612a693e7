#pragma once

#include <afa/fabrics_target.hpp>
#include <afa/grant_cache.hpp>
#include <gnstor/wire/afa/admin_command.hpp>
#include <gnstor/wire/afa/array_description.hpp>
#include <gnstor/wire/afa/array_membership.hpp>
#include <gnstor/wire/afa/io_opcode.hpp>
#include <gnstor/wire/afa/slba.hpp>
#include <gnstor/wire/afa/ssd_description.hpp>
#include <gnstor/wire/afa/volume_chmod.hpp>
#include <gnstor/wire/afa/volume_list.hpp>
#include <gnstor/wire/nvme/features.hpp>
#include <gnstor/wire/nvme/lba_status.hpp>
#include <gnstor/wire/nvme/read_write.hpp>
#include <hca/queue_reader.hpp>

namespace gnstor::fw {

/// Decides about the commands of one queue: which are refused, with which status, and where the
/// others go. One lane per command; it stores nothing but counters, as a store before the decision
/// would make every ordered load of it wait.
class command_router {
 public:
  /// What was decided. The command's stage says where it goes.
  struct decision {
    command_head command;
    std::uint32_t page = node::ssd::no_page;  ///< of a read that needs no shard
    association joined;                       ///< in: the queue's; out: as Connect has left it
    known_grant known{};                      ///< the grant of the command's SSD
    bool learnt = false;                      ///< ... was not known before
  };

  /// @param keys opens what commands name
  GNSTOR_HD command_router(const node& n, std::uint32_t queue, queue_reader& keys,
                           const grant_cache& grants)
      : node_(&n), queue_(queue), keys_(&keys), grants_(grants) {}

  /// @par Callers a lane of the queue's engine, which is a reader of the node's quiescence
  GNSTOR_HD void decide(const wire::nvme::submission_entry& entry, decision& d) {
    command_head& c = d.command;
    c.entry = entry;
    c.queue = queue_;
    c.client = d.joined.client;
    c.admin = d.joined.queue_id == 0;
    node::ssd::foresight early;
    if (!route(d, early)) {
      if (c.stage == command_stage::lookup) c.stage = command_stage::done;
    } else if (is_look(c)) {
      look(d, early);
    }
  }

 private:
  /// A read of one block, which is looked up here; one with FUA is served by the shard's owner,
  /// behind every write that was committed before.
  GNSTOR_HD static bool is_look(const command_head& c) {
    return c.admin == 0 && is(c.entry, wire::nvme::nvm_opcode::read) &&
           (c.entry.cdw12 & (0xffff | wire::nvme::force_unit_access)) == 0;
  }
  /// Looks for the page. Only where there is none is it asked whether the block belongs here: the
  /// shard's owner would answer zeroes.
  GNSTOR_HD void look(decision& d, node::ssd::foresight& early) const {
    command_head& c = d.command;
    const node::ssd drive = node_->ssds[c.ssd];
    d.page = drive.peek(c.where, early);
    if (d.page != node::ssd::no_page) {
      c.stage = command_stage::copy;
      c.remaining = 1;
    } else if (!drive.belongs(c.where, d.known)) {
      c.status = wire::afa::make_status(wire::afa::status::wrong_ssd);
      c.stage = command_stage::done;
    }
  }

  /// Decides where the command goes. False if it is answered already (or refused by its key).
  /// @param early what was seen of the mapping by the way
  GNSTOR_HD bool route(decision& d, node::ssd::foresight& early) {
    command_head& c = d.command;
    const wire::nvme::submission_entry& e = c.entry;
    const std::uint32_t length = e.dptr.length();
    if (e.dptr.type() != wire::nvme::keyed_data_block) {
      return answer_now(c, wire::nvme::generic_status::invalid_sgl_type);
    }
    if (e.opcode == wire::nvme::fabrics_opcode) {
      if (!aligned(c)) return false;
      if (length == sizeof(wire::fabrics::connect_data) && opens(c, remote_read)) {
        const auto answer = fabrics_target(*node_).execute(e, c.queue, d.joined);
        c.status = answer.status;
        c.result = answer.result;
        d.joined = answer.joined;
      } else if (c.stage != command_stage::refused) {
        c.status = wire::nvme::make_status(wire::nvme::generic_status::invalid_sgl_length);
      }
      return false;
    }
    if (d.joined.connected == 0)
      return answer_now(c, wire::nvme::generic_status::command_sequence_error);
    if (e.nsid == 0 || e.nsid > node_->shape.ssd_count) {
      return answer_now(c, wire::nvme::generic_status::invalid_namespace);
    }
    c.ssd = e.nsid - 1;
    if (c.admin != 0) return route_admin(c, d.joined.host);
    if (!is(e, wire::nvme::nvm_opcode::flush)) return route_io(d, early);
    (void)healthy(c, fault_of(c.ssd), true);  // what was acknowledged is in the medium already
    return false;
  }
  GNSTOR_HD ssd_fault fault_of(std::uint32_t ssd) const {
    return static_cast<ssd_fault>(device_word<std::uint32_t>(node_->faults[ssd]).load(relaxed));
  }

  /// Checks a Read, Write, Fill or Write Zeroes and finds its shard. Write Zeroes moves no data and
  /// may be as long as a stripe, as may Forget. That and Dirty Regions have the rights of a Fill.
  GNSTOR_HD bool route_io(decision& d, node::ssd::foresight& early) {
    command_head& c = d.command;
    const wire::nvme::submission_entry& e = c.entry;
    const bool read = is(e, wire::nvme::nvm_opcode::read);
    const bool forget = is(e, wire::afa::io_opcode::forget);
    const bool dataless = forget || is(e, wire::nvme::nvm_opcode::write_zeroes);
    const bool regions = is(e, wire::afa::io_opcode::dirty_regions);
    const bool fill = regions || forget || is(e, wire::afa::io_opcode::fill);
    if (!read && !dataless && !fill && !is(e, wire::nvme::nvm_opcode::write)) {
      return answer_now(c, wire::nvme::generic_status::invalid_opcode);
    }
    const node::ssd drive = node_->ssds[c.ssd];  // asked for early, with what comes next
    const std::uint32_t blocks = wire::nvme::blocks_of(e);
    if (!dataless && blocks > node_->transfer_blocks())
      return answer_now(c, wire::nvme::generic_status::invalid_field);
    const std::uint32_t length = dataless ? 0 : blocks * block_bytes;
    const bool fits =
        regions ? e.dptr.length() >= sizeof(wire::afa::dirty_regions) : e.dptr.length() == length;
    if (!fits) return answer_now(c, wire::nvme::generic_status::invalid_sgl_length);
    if (regions && !aligned(c)) return false;
    if (!dataless && !opens(c, read || regions ? remote_write : remote_read)) return false;
    const ssd_fault fault = fault_of(c.ssd);
    const auto at = wire::afa::slba::unpack(wire::nvme::slba_of(e));
    if (at.client == d.joined.host) c.client = at.client;
    request r;
    r.vid = at.volume;
    r.client = at.client;
    r.bound_client = c.client;
    r.first = at.block;
    r.blocks = blocks;
    r.epoch = e.cdw2;
    r.write = !read;
    r.fill = fill;
    c.media = reinterpret_cast<std::uint64_t>(drive.page(0));
    d.known = grants_.of(c.ssd);
    const known_grant before = d.known;
    if (is_look(c)) {
      drive.foresee(r, d.known, early);
      c.where = drive.check_rights(r, d.known, early);
    } else {
      c.where = regions ? drive.check_volume(r, d.known) : drive.check(r, d.known);
    }
    d.learnt = d.known.slot != nullptr && !d.known.same(before);
    // Of one that is gone no refusal counts either: it may know less than others do by now.
    const bool gone = fault == ssd_fault::dead || fault == ssd_fault::silent;
    if ((c.where.ok() || gone) && !healthy(c, fault, !read)) return false;
    c.status = c.where.status;
    return c.where.ok();
  }

  GNSTOR_HD static bool is(const wire::nvme::submission_entry& e, wire::afa::io_opcode op) {
    return e.opcode == static_cast<std::uint8_t>(op);
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
        device_word<std::uint32_t>(node_->queues[queue_].lost_commands).fetch_add(1, relaxed);
        return false;
    }
    return true;
  }

  GNSTOR_HD bool route_admin(command_head& c, client_id host) {
    std::uint32_t needs = 0;
    std::uint32_t length = 0;
    if (wire::nvme::is_feature_command(c.entry)) return true;
    if (wire::nvme::is_get_lba_status(c.entry)) return route_lba_status(c, host);
    switch (static_cast<wire::afa::admin_opcode>(c.entry.opcode)) {
      case wire::afa::admin_opcode::volume_add:
        needs = remote_read;
        length = sizeof(wire::afa::volume_record);
        break;
      case wire::afa::admin_opcode::volume_chmod:
        needs = remote_read;
        length = sizeof(wire::afa::volume_chmod);
        break;
      case wire::afa::admin_opcode::array_update:
        needs = remote_read;
        length = sizeof(wire::afa::array_membership);
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
      case wire::afa::admin_opcode::ssd_describe:
        needs = remote_write;
        length = sizeof(wire::afa::ssd_description);
        break;
      default: return answer_now(c, wire::nvme::generic_status::invalid_opcode);
    }
    if (c.entry.dptr.length() < length)
      return answer_now(c, wire::nvme::generic_status::invalid_sgl_length);
    return aligned(c) && opens(c, needs);
  }

  GNSTOR_HD bool route_lba_status(command_head& c, client_id host) {
    if (wire::afa::slba::unpack(wire::nvme::slba_of(c.entry)).client == host) c.client = host;
    const std::uint64_t length = wire::nvme::lba_status_bytes(c.entry);
    if (length < sizeof(wire::nvme::lba_status_list) || c.entry.dptr.length() < length)
      return answer_now(c, wire::nvme::generic_status::invalid_sgl_length);
    return aligned(c) && opens(c, remote_write) && healthy(c, fault_of(c.ssd), false);
  }
  /// False, and answered, if structured data does not lie as the firmware's loads and stores need
  /// it.
  GNSTOR_HD static bool aligned(command_head& c) {
    return c.entry.dptr.address % 8 == 0 ||
           answer_now(c, wire::nvme::generic_status::invalid_sgl_offset);
  }

  /// True if the command's key opens its data. If not, the queue pair breaks, as an RDMA access
  /// error breaks it.
  GNSTOR_HD bool opens(command_head& c, std::uint32_t access) {
    const wire::nvme::keyed_sgl& data = c.entry.dptr;
    if (keys_->opens(data.key(), data.address, data.length(), access)) return true;
    c.stage = command_stage::refused;
    return false;
  }

  GNSTOR_HD static bool answer_now(command_head& c, wire::nvme::generic_status why) {
    c.status = wire::nvme::make_status(why, true);
    return false;
  }

  const node* node_;
  std::uint32_t queue_;
  queue_reader* keys_;
  grant_cache grants_;
};

}  // namespace gnstor::fw

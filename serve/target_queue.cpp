#include "target_queue.hpp"

#include "block_volume.hpp"
#include "deallocate.hpp"
#include "identify.hpp"
#include "status_field.hpp"
#include <gnstor/wire/afa/admin_opcode.hpp>
#include <gnstor/wire/afa/array_description.hpp>
#include <gnstor/wire/afa/array_membership.hpp>
#include <gnstor/wire/afa/association_end.hpp>
#include <gnstor/wire/afa/dirty_regions.hpp>
#include <gnstor/wire/afa/host_list.hpp>
#include <gnstor/wire/afa/io_opcode.hpp>
#include <gnstor/wire/afa/ssd_description.hpp>
#include <gnstor/wire/afa/ssd_detach.hpp>
#include <gnstor/wire/afa/status.hpp>
#include <gnstor/wire/afa/traffic_list.hpp>
#include <gnstor/wire/afa/volume_chmod.hpp>
#include <gnstor/wire/afa/volume_list.hpp>
#include <gnstor/wire/fabrics/capsule.hpp>
#include <gnstor/wire/fabrics/connect.hpp>
#include <gnstor/wire/fabrics/property_command.hpp>
#include <gnstor/wire/nvme/identify.hpp>
#include <gnstor/wire/nvme/lba_status.hpp>
#include <gnstor/wire/nvme/log_page.hpp>
#include <gnstor/wire/nvme/read_write.hpp>

#include <cstring>
#include <utility>

namespace gnstor::serve {
namespace {

using wire::afa::admin_opcode;
using wire::afa::io_opcode;
using wire::fabrics::command_type;
using wire::fabrics::connect_command;
using wire::fabrics::property_command;
using wire::nvme::command_status;
using wire::nvme::generic_status;
using wire::nvme::make_status;
using wire::nvme::nvm_opcode;
using wire::nvme::submission_entry;

constexpr std::size_t command_bytes = wire::fabrics::command_capsule_bytes;

std::uint16_t no(generic_status why) { return make_status(why, true); }

bool is(const submission_entry& e, nvm_opcode op) {
  return e.opcode == static_cast<std::uint8_t>(op);
}
bool is(const submission_entry& e, io_opcode op) {
  return e.opcode == static_cast<std::uint8_t>(op);
}
bool is(const submission_entry& e, wire::nvme::admin_opcode op) {
  return e.opcode == static_cast<std::uint8_t>(op);
}

/// True for what only the array's manager may send.
bool is_managers(const submission_entry& e) {
  return e.opcode == static_cast<std::uint8_t>(admin_opcode::array_update) ||
         e.opcode == wire::afa::ssd_detach::opcode || e.opcode == wire::afa::host_list::opcode ||
         e.opcode == wire::afa::traffic_list::opcode;
}

/// The command of a plan, as SSDs are to carry it out: what is to last says so itself.
submission_entry as_lasting(const plan& p) {
  submission_entry e = p.entry;
  if (p.lasting && !is(e, nvm_opcode::flush)) e.cdw12 |= wire::nvme::force_unit_access;
  return e;
}

}  // namespace

target_queue::target_queue(target_model& target, std::uint16_t qid, std::uint32_t entries,
                           target_port port)
    : target_(&target), qid_(qid), receives_(entries), port_(std::move(port)) {}

target_queue::~target_queue() { close(false); }

// ---- verdicts

plan target_queue::admit(std::span<const std::byte> message, std::uint64_t now_ms) {
  plan p;
  if (message.size() < command_bytes) {
    p.next = next_step::give_up;
    return p;
  }
  std::memcpy(&p.entry, message.data(), command_bytes);
  if (connected()) controller_->touch(now_ms);
  const bool sgl = (p.entry.flags & wire::nvme::flags_data_mask) == wire::nvme::flags_sgl;
  needs n;
  if (!sgl || (p.entry.flags & wire::nvme::flags_fused_mask) != 0) {
    n.refused = no(generic_status::invalid_field);
  } else {
    n = needs_of(p.entry);
  }
  p.status = n.refused != 0 ? n.refused : take_data(p, n, message.size());
  if (p.status != 0) {
    p.data = data_phase::none;
    return p;
  }
  p.next = next_step::execute;
  p.blocking = n.blocking;
  p.lasting = n.lasting;
  p.behind_others = n.behind_others;
  p.moves_blocks = n.moves_blocks && controller_->of().store->blocks() != nullptr;
  p.relayed = connected() && qid_ != 0 && p.blocking &&
              p.entry.opcode != wire::nvme::fabrics_opcode &&
              controller_->of().kind == subsystem_kind::array && controller_->manager() == nullptr;
  p.joins = !connected();
  p.managing = connected() && controller_->manager() != nullptr;
  if (connected() && qid_ == 0 &&
      is(p.entry, wire::nvme::admin_opcode::asynchronous_event_request)) {
    const bool held = controller_->hold_event(p.entry.command_id);
    p.next = held ? next_step::hold : next_step::respond;
    p.status = held ? std::uint16_t{0}
                    : make_status(command_status::asynchronous_event_limit_exceeded, true);
  }
  if (!connected()) connecting_ = true;
  return p;
}

target_queue::needs target_queue::needs_of(const submission_entry& e) const {
  if (e.opcode == wire::nvme::fabrics_opcode) return fabrics_needs(e);
  if (!connected() || !controller_->ready() || controller_->ended()) {
    return {.refused = no(generic_status::command_sequence_error)};
  }
  const subsystem_kind kind = controller_->of().kind;
  if (qid_ == 0) {
    const bool own =
        e.opcode >= wire::nvme::first_vendor_admin_opcode && kind == subsystem_kind::array;
    if (own && e.opcode == wire::afa::association_end::opcode)
      return {.blocking = true, .behind_others = true};
    if (own && is_managers(e)) return manager_needs(e);
    if (kind == subsystem_kind::array && wire::nvme::is_get_lba_status(e))
      return {.data = data_phase::send,
              .bytes = wire::nvme::lba_status_bytes(e),
              .blocking = true,
              .more_is_fine = true};
    return own ? array_admin_needs(e) : admin_needs(e);
  }
  return kind == subsystem_kind::array ? array_needs(e) : volume_needs(e);
}

target_queue::needs target_queue::fabrics_needs(const submission_entry& e) const {
  const command_type type = wire::fabrics::type_of(e);
  if (type == command_type::connect) {
    if (connected() || connecting_) return {.refused = no(generic_status::command_sequence_error)};
    return {
        .data = data_phase::fetch, .bytes = sizeof(wire::fabrics::connect_data), .blocking = true};
  }
  if (!connected()) return {.refused = no(generic_status::command_sequence_error)};
  const bool property = type == command_type::property_get || type == command_type::property_set;
  if (property && qid_ == 0) return nothing();
  return {.refused = no(generic_status::invalid_opcode)};
}

target_queue::needs target_queue::admin_needs(const submission_entry& e) const {
  switch (static_cast<wire::nvme::admin_opcode>(e.opcode)) {
    case wire::nvme::admin_opcode::identify:
      return {.data = data_phase::send, .bytes = wire::nvme::identify_bytes};
    case wire::nvme::admin_opcode::get_log_page:
      return {.data = data_phase::send, .bytes = wire::nvme::log_bytes_of(e)};
    case wire::nvme::admin_opcode::get_features: {
      const std::uint32_t bytes = controller::feature_bytes(e);
      return {.data = bytes == 0 ? data_phase::none : data_phase::send,
              .bytes = bytes,
              .more_is_fine = true};
    }
    case wire::nvme::admin_opcode::set_features: return {.more_is_fine = true};
    case wire::nvme::admin_opcode::abort:
    case wire::nvme::admin_opcode::asynchronous_event_request:
    case wire::nvme::admin_opcode::keep_alive: return nothing();
    case wire::nvme::admin_opcode::get_lba_status: break;  // of the array alone
    case wire::nvme::admin_opcode::create_submission_queue:
    case wire::nvme::admin_opcode::delete_submission_queue:
    case wire::nvme::admin_opcode::create_completion_queue:
    case wire::nvme::admin_opcode::delete_completion_queue: break;  // over PCIe alone
    case wire::nvme::admin_opcode::format_nvm:
    case wire::nvme::admin_opcode::sanitize: break;  // nobody erases volumes so
  }
  return {.refused = no(generic_status::invalid_opcode)};
}

target_queue::needs target_queue::array_admin_needs(const submission_entry& e) const {
  switch (static_cast<admin_opcode>(e.opcode)) {
    case admin_opcode::volume_add:
      return {.data = data_phase::fetch,
              .bytes = sizeof(wire::afa::volume_record),
              .blocking = true,
              .more_is_fine = true};
    case admin_opcode::volume_chmod:
      return {.data = data_phase::fetch,
              .bytes = sizeof(wire::afa::volume_chmod),
              .blocking = true,
              .more_is_fine = true};
    case admin_opcode::volume_delete: return {.blocking = true};
    case admin_opcode::volume_list:
      return {.data = data_phase::send,
              .bytes = sizeof(wire::afa::volume_list),
              .blocking = true,
              .more_is_fine = true};
    case admin_opcode::array_describe:
      return {.data = data_phase::send,
              .bytes = sizeof(wire::afa::array_description),
              .blocking = true,
              .more_is_fine = true};
    case admin_opcode::ssd_describe:
      return {.data = data_phase::send,
              .bytes = sizeof(wire::afa::ssd_description),
              .blocking = true,
              .more_is_fine = true};
    case admin_opcode::array_update: break;
  }
  return {.refused = no(generic_status::invalid_opcode)};
}

/// Of what the array's manager alone may send.
target_queue::needs target_queue::manager_needs(const submission_entry& e) const {
  if (controller_->manager() == nullptr)
    return {.refused = wire::afa::make_status(wire::afa::status::not_permitted, true)};
  if (e.opcode == wire::afa::ssd_detach::opcode) return {.blocking = true};
  if (e.opcode == wire::afa::host_list::opcode)
    return {.data = data_phase::send,
            .bytes = sizeof(wire::afa::host_list),
            .blocking = true,
            .more_is_fine = true};
  if (e.opcode == wire::afa::traffic_list::opcode)
    return {.data = data_phase::send,
            .bytes = sizeof(wire::afa::traffic_list),
            .blocking = true,
            .more_is_fine = true};
  return {.data = data_phase::fetch,
          .bytes = sizeof(wire::afa::array_membership),
          .blocking = true,
          .more_is_fine = true};
}

/// True for a Flush, and for a change that is not to stay in a cache.
bool target_queue::is_to_last(const submission_entry& e) const {
  if (!controller_->has_write_cache() || is(e, nvm_opcode::read)) return false;
  return is(e, nvm_opcode::flush) || controller_->writes_through() ||
         (!is(e, nvm_opcode::dataset_management) && (e.cdw12 & wire::nvme::force_unit_access) != 0);
}

target_queue::needs target_queue::volume_needs(const submission_entry& e) const {
  const bool lasts = is_to_last(e);
  const bool flush = is(e, nvm_opcode::flush);
  if (e.nsid != only_namespace && !(flush && e.nsid == wire::nvme::all_namespaces)) {
    return {.refused = no(generic_status::invalid_namespace)};
  }
  if (flush) return {.blocking = true, .lasting = lasts, .moves_blocks = lasts};
  if (is(e, nvm_opcode::dataset_management)) {
    if (wire::nvme::ranges_of(e) > most_dataset_ranges)
      return {.refused = make_status(command_status::command_size_limit_exceeded, true)};
    return {.data = data_phase::fetch,
            .bytes = wire::nvme::ranges_of(e) * sizeof(wire::nvme::dataset_range),
            .blocking = true,
            .lasting = lasts,
            .moves_blocks = true,
            .more_is_fine = true};
  }
  const bool read = is(e, nvm_opcode::read);
  const bool write = is(e, nvm_opcode::write);
  const bool zeroes = is(e, nvm_opcode::write_zeroes);
  if (!read && !write && !zeroes) return {.refused = no(generic_status::invalid_opcode)};
  const std::uint64_t blocks = wire::nvme::blocks_of(e);
  if (!controller_->of().store->shape().holds(wire::nvme::slba_of(e), blocks)) {
    return {.refused = no(generic_status::lba_out_of_range)};
  }
  if (zeroes) return {.blocking = true, .lasting = lasts, .moves_blocks = true};
  if (blocks * block_bytes > target_->limits().transfer_bytes) {
    return {.refused = no(generic_status::invalid_field)};
  }
  return {.data = read ? data_phase::send : data_phase::fetch,
          .bytes = blocks * block_bytes,
          .blocking = true,
          .lasting = lasts,
          .moves_blocks = true};
}

target_queue::needs target_queue::array_needs(const submission_entry& e) const {
  const bool lasts = is_to_last(e);
  const bool read = is(e, nvm_opcode::read);
  const bool fill = is(e, io_opcode::fill);
  const bool regions = is(e, io_opcode::dirty_regions);
  const bool forget = is(e, io_opcode::forget);
  if ((fill || regions || forget) && controller_->manager() == nullptr)
    return {.refused = wire::afa::make_status(wire::afa::status::not_permitted, true)};
  if (forget || is(e, nvm_opcode::flush) || is(e, nvm_opcode::write_zeroes))
    return {.blocking = true, .lasting = lasts};
  if (regions)
    return {.data = data_phase::send,
            .bytes = sizeof(wire::afa::dirty_regions),
            .blocking = true,
            .more_is_fine = true};
  if (!read && !fill && !is(e, nvm_opcode::write))
    return {.refused = no(generic_status::invalid_opcode)};
  const std::uint32_t blocks = wire::nvme::blocks_of(e);
  if (blocks > target_->array().max_transfer_blocks()) {
    return {.refused = no(generic_status::invalid_field)};
  }
  return {.data = read ? data_phase::send : data_phase::fetch,
          .bytes = std::uint64_t{blocks} * block_bytes,
          .blocking = true,
          .lasting = lasts};
}

/// Reads the data pointer into the plan; 0, or why it is refused. NVMe Base 2.3, 4.3.2; NVMe RDMA
/// Transport 1.1, "SGL Support".
std::uint16_t target_queue::take_data(plan& p, const needs& n, std::size_t message_bytes) const {
  const wire::nvme::keyed_sgl& sgl = p.entry.dptr;
  const bool inside = sgl.type() == wire::nvme::offset_data_block;
  if (n.bytes > target_->limits().transfer_bytes) return no(generic_status::invalid_field);
  p.bytes = static_cast<std::uint32_t>(n.bytes);
  p.data = n.data;
  if (!inside && sgl.type() != wire::nvme::keyed_data_block &&
      sgl.type() != wire::nvme::keyed_invalidated_block) {
    return no(generic_status::invalid_sgl_type);
  }
  const std::uint64_t length = inside ? sgl.unkeyed_length() : sgl.length();
  const bool fits = length == n.bytes || (n.more_is_fine && length > n.bytes);
  if (!fits) return no(generic_status::invalid_sgl_length);
  if (!inside) {
    p.address = sgl.address;
    p.key = sgl.key();
    p.invalidate = sgl.type() == wire::nvme::keyed_invalidated_block && length != 0;
    return 0;
  }
  if (n.data == data_phase::none) return 0;
  if (n.data == data_phase::send) return no(generic_status::invalid_sgl_type);
  const std::uint64_t behind = message_bytes - command_bytes;
  if (sgl.address > behind || length > behind - sgl.address) {
    return no(generic_status::invalid_sgl_offset);
  }
  p.data = data_phase::in_capsule;
  p.offset = static_cast<std::uint32_t>(command_bytes + sgl.address);
  return 0;
}

// ---- execution

answer target_queue::execute(const plan& p, std::span<std::byte> data, std::uint64_t now_ms) {
  // Nobody waits for it, and its host may have been answered that it never happened.
  if (closing_.load(std::memory_order_acquire) || ended()) {
    return {make_status(generic_status::aborted_by_queue_deletion)};
  }
  if (p.entry.opcode == wire::nvme::fabrics_opcode) return execute_fabrics(p, data, now_ms);
  if (qid_ == 0) return execute_admin(p, data);
  if (controller_->of().kind == subsystem_kind::volume) {
    answer a = execute_volume(p, data);
    const bool lasts = p.lasting && !is(p.entry, nvm_opcode::flush);
    if (lasts && a.status == 0) a.status = controller_->of().store->flush();
    return a;
  }
  const submission_entry own = as_lasting(p);
  if (auto* manager = controller_->manager()) return {manager->io(own, data)};
  return {target_->array().io(controller_->host().client, own, data)};
}

answer target_queue::execute_fabrics(const plan& p, std::span<std::byte> data,
                                     std::uint64_t now_ms) {
  const command_type type = wire::fabrics::type_of(p.entry);
  if (type != command_type::connect) {
    const auto c = wire::fabrics::capsule_cast<property_command>(p.entry);
    const int size = c.attributes & wire::fabrics::property_size_mask;
    const bool wide = size == wire::fabrics::property_of_8_bytes;
    if (size > wire::fabrics::property_of_8_bytes) return {no(generic_status::invalid_field)};
    return type == command_type::property_get ? controller_->property_get(c.offset, wide)
                                              : controller_->property_set(c.offset, wide, c.value);
  }
  const auto c = wire::fabrics::capsule_cast<connect_command>(p.entry);
  wire::fabrics::connect_data who{};
  std::memcpy(&who, data.data(), sizeof who);
  if (c.qid != qid_) {
    return {wire::fabrics::make_status(wire::fabrics::connect_status::invalid_parameters, true),
            wire::fabrics::make_invalid_parameter(offsetof(connect_command, qid), false)};
  }
  if (c.sqsize >= receives_) {
    return {wire::fabrics::make_status(wire::fabrics::connect_status::invalid_parameters, true),
            wire::fabrics::make_invalid_parameter(offsetof(connect_command, sqsize), false)};
  }
  join_result r = target_->connect(c, who, now_ms, port_.peer);
  if (r.joined != nullptr) {
    entries_ = c.sqsize + 1u;
    no_flow_control_ = (c.cattr & wire::fabrics::cattr_no_flow_control) != 0;
    controller_ = std::move(r.joined);
    connected_.store(true, std::memory_order_release);
  }
  return r.said;
}

answer target_queue::execute_admin(const plan& p, std::span<std::byte> data) {
  const submission_entry& e = p.entry;
  if (e.opcode == wire::afa::association_end::opcode)
    return target_->end_association(*controller_, wire::afa::association_end::unpack(e));
  if (e.opcode >= wire::nvme::first_vendor_admin_opcode || wire::nvme::is_get_lba_status(e)) {
    if (auto* manager = controller_->manager()) return {manager->admin(e, data)};
    return {target_->array().admin(controller_->host().client, e, data)};
  }
  switch (static_cast<wire::nvme::admin_opcode>(e.opcode)) {
    case wire::nvme::admin_opcode::identify:
      return identify(*controller_, e, target_->array(), data);
    case wire::nvme::admin_opcode::get_log_page:
      return log_page(*target_, *controller_, port_, e, data);
    case wire::nvme::admin_opcode::get_features: return controller_->get_features(e, data);
    case wire::nvme::admin_opcode::set_features: return controller_->set_features(e);
    case wire::nvme::admin_opcode::abort: {
      answer a;
      a.dw0 = wire::nvme::abort_missed;  // it will be answered
      return a;
    }
    default: return {};
  }
}

answer target_queue::execute_volume(const plan& p, std::span<std::byte> data) {
  volume_store& store = *controller_->of().store;
  const submission_entry& e = p.entry;
  const std::uint64_t first = wire::nvme::slba_of(e);
  traffic_counters& traffic = controller_->traffic();
  answer a;
  switch (static_cast<nvm_opcode>(e.opcode)) {
    case nvm_opcode::read:
      a.status = store.read(first, data);
      traffic.reads.fetch_add(1, std::memory_order_relaxed);
      traffic.read_blocks.fetch_add(data.size() / block_bytes, std::memory_order_relaxed);
      return a;
    case nvm_opcode::write:
      a.status = store.write(first, data);
      traffic.writes.fetch_add(1, std::memory_order_relaxed);
      traffic.written_blocks.fetch_add(data.size() / block_bytes, std::memory_order_relaxed);
      return a;
    case nvm_opcode::write_zeroes:
      a.status = store.write_zeroes(first, wire::nvme::blocks_of(e));
      return a;
    case nvm_opcode::dataset_management: a.status = deallocate(store, e, data); return a;
    default: a.status = store.flush(); return a;
  }
}

bool target_queue::prepare(const plan& p, const io_buffer& memory, block_request& r, answer& a) {
  using kind = block_request::kind;
  if (closing_.load(std::memory_order_acquire) || ended()) {
    a = {make_status(generic_status::aborted_by_queue_deletion)};
    return false;
  }
  if (is(p.entry, nvm_opcode::flush)) {
    a = prepare_flush(r);
    return a.status == 0;
  }
  r.what = is(p.entry, nvm_opcode::read)    ? kind::read
           : is(p.entry, nvm_opcode::write) ? kind::write
                                            : kind::write_zeroes;
  r.first = wire::nvme::slba_of(p.entry);
  r.blocks = wire::nvme::blocks_of(p.entry);
  r.memory = memory;
  a = {controller_->of().store->blocks()->prepare(r)};
  return a.status == 0;
}

answer target_queue::ranges_of(const plan& p, std::span<const std::byte> data,
                               std::vector<wire::nvme::dataset_range>& ranges) const {
  return {ranges_to_deallocate(controller_->of().store->shape(), p.entry, data, ranges)};
}

answer target_queue::prepare_range(block_request& r, const wire::nvme::dataset_range& range) {
  if (closing_.load(std::memory_order_acquire) || ended())
    return {make_status(generic_status::aborted_by_queue_deletion)};
  r.what = block_request::kind::write_zeroes;
  r.first = range.slba;
  r.blocks = range.blocks;
  r.memory = {};
  return {controller_->of().store->blocks()->prepare(r)};
}

answer target_queue::prepare_flush(block_request& r) {
  r.what = block_request::kind::flush;
  r.first = r.blocks = 0;
  r.memory = {};
  return {controller_->of().store->blocks()->prepare(r)};
}

answer target_queue::conclude(const block_request& r, std::chrono::nanoseconds took) {
  traffic_counters& traffic = controller_->traffic();
  const bool read = r.what == block_request::kind::read;
  if (read || r.what == block_request::kind::write) {
    (read ? traffic.reads : traffic.writes).fetch_add(1, std::memory_order_relaxed);
    (read ? traffic.read_blocks : traffic.written_blocks)
        .fetch_add(r.blocks, std::memory_order_relaxed);
  }
  return {controller_->of().store->blocks()->conclude(r, took)};
}

bool target_queue::relay(const plan& p, const io_buffer& memory, ssd_command& c, answer& a) const {
  if (closing_.load(std::memory_order_acquire) || ended()) {
    a = {make_status(generic_status::aborted_by_queue_deletion)};
    return false;
  }
  c.entry = as_lasting(p);
  c.memory = memory;
  return true;
}

answer target_queue::conclude(const ssd_command& c) { return {status_field(c.outcome)}; }

// ---- responses

wire::nvme::completion_entry target_queue::respond(const plan& p, const answer& a) {
  // Before Connect, nothing but a Connect is executed.
  if (!connected() && p.next == next_step::execute) connecting_ = false;
  wire::nvme::completion_entry r{};
  r.dw0 = a.dw0;
  r.dw1 = a.dw1;
  r.command_id = p.entry.command_id;
  r.status = a.status;
  if (entries_ != 0) sq_head_ = (sq_head_ + 1) % entries_;
  r.sq_head = no_flow_control_ ? wire::fabrics::no_sq_head : static_cast<std::uint16_t>(sq_head_);
  return r;
}

std::optional<wire::nvme::completion_entry> target_queue::take_event() {
  if (!connected() || qid_ != 0) return std::nullopt;
  std::optional<wire::nvme::completion_entry> r = controller_->take_event();
  if (!r) return std::nullopt;
  sq_head_ = (sq_head_ + 1) % entries_;
  r->sq_head = no_flow_control_ ? wire::fabrics::no_sq_head : static_cast<std::uint16_t>(sq_head_);
  return r;
}

void target_queue::end(bool broken) {
  closing_.store(true, std::memory_order_release);
  if (!connected()) return;
  if (qid_ == 0) {
    controller_->end("its admin queue is gone");
  } else if (broken) {
    controller_->end("one of its queues broke");
  }
}

void target_queue::close(bool broken) {
  end(broken);
  if (controller_ == nullptr) return;
  controller_->release_queue(qid_);
  connected_.store(false, std::memory_order_release);
  controller_ = nullptr;
}

}  // namespace gnstor::serve

#include "nvme_controller.hpp"

#include "nvme_refusal.hpp"
#include <gnstor/simt/atomic_ref.hpp>
#include <gnstor/wire/nvme/asynchronous_event.hpp>
#include <gnstor/wire/nvme/controller_properties.hpp>
#include <gnstor/wire/nvme/controller_register.hpp>
#include <gnstor/wire/nvme/error_log_entry.hpp>
#include <gnstor/wire/nvme/features.hpp>
#include <gnstor/wire/nvme/firmware_log.hpp>
#include <gnstor/wire/nvme/health_log.hpp>
#include <gnstor/wire/nvme/identify.hpp>
#include <gnstor/wire/nvme/log_page.hpp>
#include <gnstor/wire/nvme/status.hpp>

#include <algorithm>
#include <bit>
#include <cstring>

namespace gnstor::fw {
namespace {

using namespace wire::nvme;

constexpr std::size_t most_event_requests = 4;
constexpr std::uint32_t ready_timeout = 2000;  ///< milliseconds

/// Copies text into a field that is padded with blanks.
template <std::size_t N>
void fill(char (&field)[N], const std::string& text) {
  std::memset(field, ' ', N);
  std::memcpy(field, text.data(), std::min(N, text.size()));
}

/// The half of an 8-byte register that a 4-byte access at `offset` means.
std::uint64_t part(std::uint64_t whole, std::uint64_t offset, std::uint32_t bytes) {
  if (bytes == 8) return whole;
  return static_cast<std::uint32_t>(offset % 8 == 0 ? whole : whole >> 32);
}
std::uint64_t with_part(std::uint64_t whole, std::uint64_t offset, std::uint64_t value,
                        std::uint32_t bytes) {
  if (bytes == 8) return value;
  const std::uint32_t shift = offset % 8 == 0 ? 0 : 32;
  return (whole & ~(std::uint64_t{0xffffffff} << shift)) | (value & 0xffffffff) << shift;
}

constexpr std::uint64_t at(controller_register r) { return static_cast<std::uint64_t>(r); }

}  // namespace

nvme_controller::nvme_controller(const nvme_node& node, nvme_back_end& back, options o)
    : node_(node),
      back_(&back),
      options_(std::move(o)),
      queues_(node.shape.queues),
      has_completions_(node.shape.queues) {}

std::uint64_t nvme_controller::read(std::uint64_t offset, std::uint32_t bytes) {
  const std::lock_guard lock(use_);
  constexpr std::uint64_t all_ones = ~std::uint64_t{0};
  const std::uint64_t nothing = bytes == 8 ? all_ones : all_ones >> 32;
  if (removed_) return nothing;
  const std::uint64_t capabilities = with_doorbell_stride(
      make_capabilities(options_.max_entries, ready_timeout), options_.stride_bytes);
  switch (offset) {
    case at(controller_register::capabilities):
    case at(controller_register::capabilities) + 4: return part(capabilities, offset, bytes);
    case at(controller_register::version): return version_1_4;
    case at(controller_register::configuration): return configuration_;
    case at(controller_register::status): return status_;
    case at(controller_register::admin_queue_attributes): return admin_attributes_;
    case at(controller_register::admin_submission_queue):
    case at(controller_register::admin_submission_queue) + 4:
      return part(admin_submissions_, offset, bytes);
    case at(controller_register::admin_completion_queue):
    case at(controller_register::admin_completion_queue) + 4:
      return part(admin_completions_, offset, bytes);
    default: return offset < at(controller_register::doorbells) ? 0 : nothing;
  }
}

void nvme_controller::write(std::uint64_t offset, std::uint64_t value, std::uint32_t bytes) {
  const std::lock_guard lock(use_);
  if (removed_) return;
  const auto word = static_cast<std::uint32_t>(value);
  switch (offset) {
    case at(controller_register::configuration): return configure(word);
    case at(controller_register::admin_queue_attributes): admin_attributes_ = word; return;
    case at(controller_register::admin_submission_queue):
    case at(controller_register::admin_submission_queue) + 4:
      admin_submissions_ = with_part(admin_submissions_, offset, value, bytes);
      return;
    case at(controller_register::admin_completion_queue):
    case at(controller_register::admin_completion_queue) + 4:
      admin_completions_ = with_part(admin_completions_, offset, value, bytes);
      return;
    default: break;
  }
  if (offset < at(controller_register::doorbells)) return;
  const std::uint64_t beyond = offset - at(controller_register::doorbells);
  const std::uint64_t number = beyond / options_.stride_bytes;
  if (beyond % options_.stride_bytes != 0 || number >= 2 * (1 + node_.shape.queues)) return;
  if (number == 0) return serve_admin(word);
  if (number == 1) return;
  const bool near = queues_[number / 2 - 1].same_device != 0;
  back_->put(doorbell(static_cast<std::uint32_t>(number), near), &word, sizeof word);
}

void nvme_controller::configure(std::uint32_t value) {
  const bool was_enabled = (configuration_ & cc_enable) != 0;
  const bool enables = (value & cc_enable) != 0;
  configuration_ = value;
  if (was_enabled && !enables) return reset();
  if (!was_enabled && enables) status_ = may_enable() ? csts_ready : csts_fatal;
  if ((value & cc_shutdown_mask) != 0) {
    if (node_.store != nullptr) {
      for (std::uint32_t k = 1; k <= node_.shape.namespaces; ++k) (void)node_.store->flush(k);
    }
    status_ = (status_ & ~csts_shutdown_mask) | csts_shutdown_complete;
  }
}

bool nvme_controller::may_enable() const {
  const auto bytes = [](std::uint32_t entries, std::size_t each) { return entries * each; };
  if (!is_basic_configuration(configuration_)) return false;
  for (const std::uint64_t queue : {admin_submissions_, admin_completions_})
    if (queue % prp_page_bytes != 0) return false;
  return back_->host_memory(admin_submissions_, bytes(admin_submission_entries(admin_attributes_),
                                                      sizeof(submission_entry))) != nullptr &&
         back_->host_memory(admin_completions_, bytes(admin_completion_entries(admin_attributes_),
                                                      sizeof(completion_entry))) != nullptr;
}

void nvme_controller::reset() {
  for (std::uint32_t k = 0; k < queues_.size(); ++k) {
    if (queues_[k].id != 0) (void)drain(k);
    queues_[k] = nvme_queue{};
    has_completions_[k] = false;
  }
  event_requests_.clear();
  admin_head_ = 0;
  admin_answers_ = 0;
  arbitration_ = 7;
  events_wanted_ = 0;
  cache_enabled_ = 1;
  status_ = 0;
}

void nvme_controller::remove() {
  const std::lock_guard lock(use_);
  reset();
  removed_ = true;
}

void nvme_controller::report(std::uint32_t event) {
  const std::lock_guard lock(use_);
  if (event_requests_.empty()) return;
  const std::uint16_t id = event_requests_.front();
  event_requests_.pop_front();
  answer(id, {0, event});
}

/// Carries out the admin commands up to `tail`.
void nvme_controller::serve_admin(std::uint32_t tail) {
  const std::uint32_t entries = admin_submission_entries(admin_attributes_);
  if ((status_ & csts_ready) == 0) return;
  if (tail >= entries) {
    status_ |= csts_fatal;
    return;
  }
  for (std::uint32_t most = entries; most != 0 && admin_head_ != tail; --most) {
    const unsigned char* from =
        back_->host_memory(admin_submissions_ + admin_head_ * sizeof(command), sizeof(command));
    if (from == nullptr) {
      status_ |= csts_fatal;
      return;
    }
    command c;
    std::memcpy(&c, from, sizeof c);
    admin_head_ = (admin_head_ + 1) % entries;
    const outcome o = execute(c);
    if (!o.later) answer(c.command_id, o);
  }
}

void nvme_controller::answer(std::uint16_t id, const outcome& o) {
  const std::uint32_t entries = admin_completion_entries(admin_attributes_);
  unsigned char* to =
      back_->host_memory(admin_completions_ + admin_answers_ % entries * sizeof(completion_entry),
                         sizeof(completion_entry));
  if (to == nullptr) {
    status_ |= csts_fatal;
    return;
  }
  const bool phase = admin_answers_++ / entries % 2 == 0;
  auto* words = reinterpret_cast<std::uint32_t*>(to);
  system_word<std::uint32_t>(words[0]).store(o.value, relaxed);
  system_word<std::uint32_t>(words[1]).store(0, relaxed);
  system_word<std::uint32_t>(words[2]).store(admin_head_, relaxed);
  system_word<std::uint32_t>(words[3]).store(id | std::uint32_t{with_phase(o.status, phase)} << 16,
                                             release);
}

nvme_controller::outcome nvme_controller::execute(const command& c) {
  if ((c.flags & (flags_data_mask | flags_fused_mask)) != 0)
    return {refusal(generic_status::invalid_field)};
  switch (static_cast<admin_opcode>(c.opcode)) {
    case admin_opcode::create_completion_queue: return create_completions(c);
    case admin_opcode::create_submission_queue: return create_submissions(c);
    case admin_opcode::delete_completion_queue: return delete_completions(c);
    case admin_opcode::delete_submission_queue: return delete_submissions(c);
    case admin_opcode::identify: return identify(c);
    case admin_opcode::get_log_page: return log_page(c);
    case admin_opcode::set_features: return set_feature(c);
    case admin_opcode::get_features: return get_feature(c);
    case admin_opcode::abort: return {0, abort_missed};
    case admin_opcode::asynchronous_event_request:
      if (event_requests_.size() == most_event_requests)
        return {refusal(command_status::asynchronous_event_limit_exceeded)};
      event_requests_.push_back(c.command_id);
      return {0, 0, true};
    default: return {refusal(generic_status::invalid_opcode)};
  }
}

/// Hands `bytes` (at most a page) to the host.
nvme_controller::outcome nvme_controller::reply(const command& c, const void* data,
                                                std::size_t bytes) {
  const prp_pair to = prp_of(c);
  const std::size_t here = std::min<std::size_t>(bytes, bytes_to_page_end(to.prp1));
  unsigned char* first = back_->host_memory(to.prp1, here);
  if (first == nullptr) return {refusal(generic_status::data_transfer_error)};
  std::memcpy(first, data, here);
  if (here == bytes) return {};
  if (to.prp2 % prp_page_bytes != 0) return {refusal(generic_status::invalid_prp_offset)};
  unsigned char* second = back_->host_memory(to.prp2, bytes - here);
  if (second == nullptr) return {refusal(generic_status::data_transfer_error)};
  std::memcpy(second, static_cast<const unsigned char*>(data) + here, bytes - here);
  return {};
}

nvme_controller::outcome nvme_controller::identify(const command& c) {
  const std::uint32_t count = node_.shape.namespaces;
  switch (cns_of(c)) {
    case cns_controller: {
      identify_controller said{};
      fill(said.sn, options_.serial);
      fill(said.mn, options_.model);
      fill(said.fr, "1");
      said.mdts = static_cast<std::uint8_t>(std::countr_zero(options_.max_transfer / 4096));
      said.cntlid = 1;
      said.ver = version_1_4;
      said.cntrltype = cntrltype_io;
      said.aerl = most_event_requests - 1;
      said.frmw = frmw_first_read_only | frmw_one_slot;
      said.lpa = lpa_extended;
      said.wctemp = 343;
      said.cctemp = 353;
      said.sqes = sqes_64_bytes;
      said.cqes = cqes_16_bytes;
      said.nn = count;
      said.oncs = oncs_dataset_management | oncs_write_zeroes;
      said.vwc = options_.volatile_cache ? vwc_present | vwc_flush_all : vwc_flush_all;
      std::snprintf(said.subnqn, sizeof said.subnqn, "nqn.2026-11.io.gnstor:emulated-nvme:%s",
                    options_.serial.c_str());
      return reply(c, &said, sizeof said);
    }
    case cns_namespace: {
      identify_namespace said{};
      if (c.nsid == 0 || c.nsid > count) return {refusal(generic_status::invalid_namespace)};
      nvme_namespace n;
      back_->get(&n, node_.namespaces + (c.nsid - 1), sizeof n);
      said.nsze = said.ncap = said.nuse = n.blocks;
      said.dlfeat = dlfeat_reads_zeroes | dlfeat_write_zeroes;
      said.lbaf[0].data_shift = static_cast<std::uint8_t>(n.block_shift);
      return reply(c, &said, sizeof said);
    }
    case cns_active_namespaces: {
      namespace_list said{};
      std::uint32_t k = 0;
      for (std::uint64_t id = std::uint64_t{c.nsid} + 1; id <= count && k < 1024; ++id)
        said.nsid[k++] = static_cast<std::uint32_t>(id);
      return reply(c, &said, sizeof said);
    }
    default: return {refusal(generic_status::invalid_field)};
  }
}

nvme_controller::outcome nvme_controller::log_page(const command& c) {
  unsigned char page[4096] = {};
  std::size_t bytes = 0;
  switch (log_of(c)) {
    case log_error_information: bytes = sizeof(error_log_entry); break;
    case log_firmware_slot: bytes = 512; break;
    case log_health: {
      health_log said{};
      const std::uint16_t kelvin = 313;
      std::memcpy(said.temperature, &kelvin, sizeof kelvin);
      said.spare_percent = 100;
      said.spare_threshold_percent = 10;
      for (std::uint32_t k = 0; k < queues_.size(); ++k) {
        nvme_queue q;
        back_->get(&q, node_.queues + k, sizeof q);
        said.host_reads.low += q.reads;
        said.host_writes.low += q.writes;
        said.data_units_read.low += q.bytes_read / 512;
        said.data_units_written.low += q.bytes_written / 512;
      }
      said.data_units_read.low = data_units(said.data_units_read.low);
      said.data_units_written.low = data_units(said.data_units_written.low);
      std::memcpy(page, &said, sizeof said);
      bytes = sizeof said;
      break;
    }
    default: return {refusal(command_status::invalid_log_page)};
  }
  const std::uint64_t offset = log_offset_of(c);
  const std::uint64_t wanted = log_bytes_of(c);
  if (offset > bytes || log_by_index(c)) return {refusal(generic_status::invalid_field)};
  return reply(c, page + offset, std::min<std::uint64_t>(wanted, sizeof page - offset));
}

nvme_controller::outcome nvme_controller::set_feature(const command& c) {
  if (saves_feature(c)) return {refusal(command_status::feature_not_saveable)};
  switch (feature_of(c)) {
    case feature_arbitration: arbitration_ = c.cdw11; return {};
    case feature_asynchronous_events: events_wanted_ = c.cdw11; return {};
    case feature_volatile_write_cache:
      if (!options_.volatile_cache) return {refusal(generic_status::invalid_field)};
      cache_enabled_ = c.cdw11 & 1;
      return {};
    case feature_number_of_queues:
      if (!is_queue_count(c.cdw11)) return {refusal(generic_status::invalid_field)};
      return {0, queue_count_value(node_.shape.queues)};
    default: return {refusal(generic_status::invalid_field)};
  }
}

nvme_controller::outcome nvme_controller::get_feature(const command& c) {
  switch (feature_of(c)) {
    case feature_arbitration: return {0, arbitration_};
    case feature_asynchronous_events: return {0, events_wanted_};
    case feature_volatile_write_cache:
      if (!options_.volatile_cache) return {refusal(generic_status::invalid_field)};
      return {0, cache_enabled_};
    case feature_number_of_queues: return {0, queue_count_value(node_.shape.queues)};
    default: return {refusal(generic_status::invalid_field)};
  }
}

}  // namespace gnstor::fw

#include "controller.hpp"

#include "product.hpp"
#include <gnstor/wire/fabrics/property_offset.hpp>
#include <gnstor/wire/nvme/arbitration.hpp>
#include <gnstor/wire/nvme/asynchronous_event.hpp>
#include <gnstor/wire/nvme/controller_properties.hpp>
#include <gnstor/wire/nvme/features.hpp>
#include <gnstor/wire/nvme/log_page.hpp>
#include <gnstor/wire/nvme/status.hpp>

#include <algorithm>
#include <cstring>
#include <utility>

namespace gnstor::serve {
namespace {

using wire::fabrics::property_offset;
namespace nvme = wire::nvme;
using nvme::command_status;
using nvme::generic_status;
using nvme::make_status;

constexpr std::uint32_t ready_within_ms = 7500;

std::uint32_t bit(target_event e) { return 1u << static_cast<unsigned>(e); }

/// The bit of the asynchronous event configuration that enables `e`. NVMe Base 2.3, 5.1.25.1.5.
std::uint32_t enabled_by(target_event e) {
  return e == target_event::namespace_changed ? nvme::event_namespace_attribute
                                              : nvme::event_discovery_log;
}

/// The event that reports `e`.
nvme::asynchronous_event report(target_event e) {
  if (e == target_event::namespace_changed) {
    return {nvme::event_type_notice, nvme::notice_namespace_changed, nvme::log_changed_namespaces};
  }
  return {nvme::event_type_notice, nvme::notice_discovery_changed, nvme::log_discovery};
}

/// True if a host may change feature `id`.
bool is_changeable(std::uint8_t id) {
  return id == nvme::feature_temperature_threshold || id == nvme::feature_volatile_write_cache ||
         id == nvme::feature_number_of_queues || id == nvme::feature_asynchronous_events ||
         id == nvme::feature_keep_alive_timer;
}

}  // namespace

controller::controller(std::uint16_t id, std::shared_ptr<const subsystem> of, host_identity host,
                       const target_limits& limits, array_side array)
    : id_(id),
      of_(std::move(of)),
      host_(std::move(host)),
      limits_(limits),
      array_(std::move(array)),
      temperature_(warning_kelvin),
      granted_(of_->kind == subsystem_kind::discovery ? 0 : limits.io_queues),
      queues_(limits.io_queues + 1) {}

controller::~controller() {
  if (attached_) of_->store->detach();
}

std::uint16_t controller::open() {
  if (of_->kind != subsystem_kind::volume) return 0;
  const std::uint16_t refused = of_->store->attach();
  attached_ = refused == 0;
  return refused;
}

// ---- registers

std::uint64_t controller::capabilities() const {
  return nvme::make_capabilities(limits_.queue_entries, ready_within_ms);
}

answer controller::property_get(std::uint32_t offset, bool wide) const {
  answer a;
  const std::lock_guard lock(guard_);
  const auto property = static_cast<property_offset>(offset);
  if (wide != (property == property_offset::capabilities)) {
    return refuse(generic_status::invalid_field);
  }
  switch (property) {
    case property_offset::capabilities:
      a.dw0 = static_cast<std::uint32_t>(capabilities());
      a.dw1 = static_cast<std::uint32_t>(capabilities() >> 32);
      return a;
    case property_offset::version: a.dw0 = nvme::version_1_4; return a;
    case property_offset::configuration: a.dw0 = cc_; return a;
    case property_offset::status: a.dw0 = csts_; return a;
    default: return refuse(generic_status::invalid_field);
  }
}

answer controller::property_set(std::uint32_t offset, bool wide, std::uint64_t value) {
  if (wide || static_cast<property_offset>(offset) != property_offset::configuration) {
    return refuse(generic_status::invalid_field);
  }
  configure(static_cast<std::uint32_t>(value));
  return {};
}

void controller::configure(std::uint32_t value) {
  const std::lock_guard lock(guard_);
  const std::uint32_t before = std::exchange(cc_, value);
  const bool enabled = (value & nvme::cc_enable) != 0;
  if (enabled && (before & nvme::cc_enable) == 0) {
    csts_ = nvme::is_basic_configuration(value) ? nvme::csts_ready : nvme::csts_fatal;
  }
  if (!enabled && (before & nvme::cc_enable) != 0) {
    csts_ = 0;
    event_config_ = 0;
    cache_on_ = true;
    held_.clear();
    pending_ = silenced_ = 0;
  }
  if ((value & nvme::cc_shutdown_mask) != 0) {
    if (array_.held) array_.held->goes_in_order();
    csts_ = (csts_ & nvme::csts_ready) | nvme::csts_shutdown_complete;
  } else {
    csts_ &= ~nvme::csts_shutdown_mask;
  }
  const bool serves = csts_ == nvme::csts_ready && enabled;
  ready_.store(serves, std::memory_order_release);
}

// ---- features

std::uint32_t controller::feature_bytes(const wire::nvme::submission_entry& e) {
  return nvme::feature_of(e) == nvme::feature_host_identifier ? sizeof(host_identity::id) : 0;
}

answer controller::get_features(const wire::nvme::submission_entry& e,
                                std::span<std::byte> data) const {
  const std::uint8_t select = nvme::selected_value(e);
  if (select > nvme::select_capabilities) return refuse(generic_status::invalid_field);
  const std::lock_guard lock(guard_);
  const bool current = select == nvme::select_current;
  answer a;
  switch (nvme::feature_of(e)) {
    case nvme::feature_arbitration:
    case nvme::feature_power_management:
    case nvme::feature_error_recovery:
    case nvme::feature_write_atomicity: break;
    case nvme::feature_temperature_threshold:
      if (nvme::threshold_sensor(e.cdw11) != 0) return refuse(generic_status::invalid_field);
      a.dw0 = current ? temperature_ : warning_kelvin;
      break;
    case nvme::feature_volatile_write_cache:
      if (!array_.cached) return refuse(generic_status::invalid_field);
      a.dw0 = !current || cache_on_ ? nvme::write_cache_enabled : 0;
      break;
    case nvme::feature_number_of_queues:
      if (granted_ == 0) return refuse(generic_status::invalid_field);
      a.dw0 = nvme::queue_count_value(granted_);
      break;
    case nvme::feature_asynchronous_events: a.dw0 = current ? event_config_ : 0; break;
    case nvme::feature_keep_alive_timer:
      a.dw0 = keep_alive_ms_.load(std::memory_order_relaxed);
      break;
    case nvme::feature_host_identifier:
      if ((e.cdw11 & nvme::host_identifier_long) == 0) {
        return refuse(generic_status::host_id_inconsistent_format);
      }
      std::memcpy(data.data(), host_.id.data(), host_.id.size());
      break;
    default: return refuse(generic_status::invalid_field);
  }
  if (select == nvme::select_capabilities) {
    a.dw0 = is_changeable(nvme::feature_of(e)) ? nvme::feature_changeable : 0;
  }
  return a;
}

answer controller::set_features(const wire::nvme::submission_entry& e) {
  if (nvme::saves_feature(e)) return refuse(command_status::feature_not_saveable);
  const std::lock_guard lock(guard_);
  answer a;
  switch (nvme::feature_of(e)) {
    case nvme::feature_number_of_queues: {
      if (of_->kind == subsystem_kind::discovery || !nvme::is_queue_count(e.cdw11)) {
        return refuse(generic_status::invalid_field);
      }
      // Queues that exist would not survive a smaller grant. NVMe Base 2.3, 5.1.25.2.1.
      if (std::find(queues_.begin() + 1, queues_.end(), true) != queues_.end()) {
        return refuse(generic_status::command_sequence_error);
      }
      granted_ = std::min(nvme::granted_queues(e.cdw11), limits_.io_queues);
      a.dw0 = nvme::queue_count_value(granted_);
      return a;
    }
    case nvme::feature_asynchronous_events: {
      const bool discovery = of_->kind == subsystem_kind::discovery;
      const std::uint32_t known = optional_events() | (discovery ? 0 : nvme::event_health_warnings);
      if ((e.cdw11 & ~known) != 0) return refuse(generic_status::invalid_field);
      event_config_ = e.cdw11;
      return a;
    }
    case nvme::feature_keep_alive_timer: {
      keep_alive_ms_.store(e.cdw11, std::memory_order_relaxed);
      return a;
    }
    case nvme::feature_volatile_write_cache:
      if (!array_.cached || (e.cdw11 & ~nvme::write_cache_enabled) != 0)
        return refuse(generic_status::invalid_field);
      cache_on_ = e.cdw11 != 0;
      return a;
    case nvme::feature_temperature_threshold:
      if (nvme::threshold_sensor(e.cdw11) != 0) return refuse(generic_status::invalid_field);
      temperature_ = nvme::threshold_kelvin(e.cdw11);
      return a;
    case nvme::feature_host_identifier: return refuse(generic_status::command_sequence_error);
    case nvme::feature_arbitration:
    case nvme::feature_power_management:
    case nvme::feature_error_recovery:
    case nvme::feature_write_atomicity: return refuse(command_status::feature_not_changeable);
    default: return refuse(generic_status::invalid_field);
  }
}

// ---- queues

bool controller::claim_queue(std::uint16_t qid) {
  const std::lock_guard lock(guard_);
  if (ended() || qid > granted_ || queues_[qid]) return false;
  queues_[qid] = true;
  return true;
}

void controller::release_queue(std::uint16_t qid) {
  const std::lock_guard lock(guard_);
  queues_[qid] = false;
  released_.notify_all();
}

bool controller::await_release(std::chrono::milliseconds most) const {
  std::unique_lock lock(guard_);
  return released_.wait_for(lock, most, [&] {
    return std::none_of(queues_.begin(), queues_.end(), [](bool taken) { return taken; });
  });
}

// ---- events

std::uint32_t controller::optional_events() const {
  return enabled_by(of_->kind == subsystem_kind::discovery ? target_event::discovery_changed
                                                           : target_event::namespace_changed);
}

bool controller::hold_event(std::uint16_t command_id) {
  const std::lock_guard lock(guard_);
  if (held_.size() >= limits_.held_events) return false;
  held_.push_back(command_id);
  return true;
}

void controller::raise(target_event event) {
  const std::lock_guard lock(guard_);
  if (event == target_event::namespace_changed) changed_ = true;
  if ((event_config_ & enabled_by(event)) != 0) pending_ |= bit(event);
}

bool controller::take_changed() {
  const std::lock_guard lock(guard_);
  return std::exchange(changed_, false);
}

void controller::log_read(target_event event) {
  const std::lock_guard lock(guard_);
  silenced_ &= ~bit(event);
}

std::optional<wire::nvme::completion_entry> controller::take_event() {
  const std::lock_guard lock(guard_);
  if (held_.empty()) return std::nullopt;
  for (const target_event e : {target_event::namespace_changed, target_event::discovery_changed}) {
    if ((pending_ & ~silenced_ & bit(e)) == 0) continue;
    pending_ &= ~bit(e);
    silenced_ |= bit(e);
    wire::nvme::completion_entry done{};
    done.dw0 = report(e).dw0();
    done.command_id = held_.front();
    held_.pop_front();
    return done;
  }
  return std::nullopt;
}

// ---- life

void controller::keep_alive(std::uint32_t timeout_ms, std::uint64_t now_ms) {
  keep_alive_ms_.store(timeout_ms, std::memory_order_relaxed);
  touch(now_ms);
}

bool controller::expired(std::uint64_t now_ms) const {
  const std::uint32_t granted = keep_alive_ms_.load(std::memory_order_relaxed);
  const bool looks_only = of_->kind == subsystem_kind::discovery;
  const std::uint64_t limit = granted == 0 && looks_only ? discovery_patience_ms : granted;
  const std::uint64_t heard = heard_ms_.load(std::memory_order_relaxed);
  return limit != 0 && now_ms > heard && now_ms - heard > limit;
}

void controller::end(const char* why) {
  const char* none = nullptr;
  why_.compare_exchange_strong(none, why, std::memory_order_acq_rel);
  ready_.store(false, std::memory_order_release);
}

}  // namespace gnstor::serve

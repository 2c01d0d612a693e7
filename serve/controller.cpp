#include "controller.hpp"

#include "byte_page.hpp"
#include <gnstor/wire/fabrics/property_offset.hpp>
#include <gnstor/wire/nvme/arbitration.hpp>
#include <gnstor/wire/nvme/status.hpp>

#include <algorithm>
#include <utility>

namespace gnstor::serve {
namespace {

using wire::fabrics::property_offset;
using wire::nvme::command_status;
using wire::nvme::generic_status;
using wire::nvme::make_status;

// CC and CSTS. NVMe Base 2.3, 3.1.4.5 and 3.1.4.6.
constexpr std::uint32_t cc_enable = 1;
constexpr std::uint32_t cc_shutdown = 3u << 14;
constexpr std::uint32_t csts_ready = 1;
constexpr std::uint32_t csts_fatal = 2;
constexpr std::uint32_t csts_shutdown_complete = 2u << 2;

// Feature identifiers. NVMe Base 2.3, 5.1.25, "Feature Identifiers".
constexpr std::uint8_t power_management = 0x02;
constexpr std::uint8_t temperature_threshold = 0x04;
constexpr std::uint8_t error_recovery = 0x05;
constexpr std::uint8_t volatile_write_cache = 0x06;
constexpr std::uint8_t number_of_queues = 0x07;
constexpr std::uint8_t write_atomicity = 0x0a;
constexpr std::uint8_t event_configuration = 0x0b;
constexpr std::uint8_t keep_alive_timer = 0x0f;
constexpr std::uint8_t host_identifier = 0x81;

constexpr std::uint32_t default_temperature = 343;  ///< kelvin

constexpr std::uint32_t health_events = 0x1f;  ///< of the event configuration

std::uint32_t bit(target_event e) { return 1u << static_cast<unsigned>(e); }

/// The bit of the asynchronous event configuration that enables `e`. NVMe Base 2.3, 5.1.25.1.5.
std::uint32_t enabled_by(target_event e) {
  return e == target_event::namespace_changed ? 1u << 8 : 1u << 31;
}

/// Dword 0 of the event's completion: type notice, information, log page. NVMe Base 2.3, 5.1.2.
std::uint32_t report(target_event e) {
  return e == target_event::namespace_changed ? 0x040002u : 0x70f002u;
}

}  // namespace

controller::controller(std::uint16_t id, std::shared_ptr<const subsystem> of, host_identity host,
                       const target_limits& limits, array_side array)
    : id_(id),
      of_(std::move(of)),
      host_(std::move(host)),
      limits_(limits),
      array_(std::move(array)),
      temperature_(default_temperature),
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
  const std::uint64_t mqes = limits_.queue_entries - 1;
  const std::uint64_t contiguous = 1u << 16;
  const std::uint64_t timeout = std::uint64_t{15} << 24;  // 7.5 s
  const std::uint64_t nvm_command_set = std::uint64_t{1} << 37;
  return mqes | contiguous | timeout | nvm_command_set;
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
    case property_offset::version: a.dw0 = 0x00010400; return a;
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
  const bool enabled = (value & cc_enable) != 0;
  if (enabled && (before & cc_enable) == 0) {
    const bool entries = (value >> 16 & 0xf) == 6 && (value >> 20 & 0xf) == 4;
    const bool pages = (value >> 7 & 0xf) == 0 && (value >> 11 & 7) == 0;
    const bool commands = (value >> 4 & 7) == 0;
    csts_ = entries && pages && commands ? csts_ready : csts_fatal;
  }
  if (!enabled && (before & cc_enable) != 0) {
    csts_ = 0;
    event_config_ = 0;
    cache_on_ = true;
    held_.clear();
    pending_ = silenced_ = 0;
  }
  if ((value & cc_shutdown) != 0) {
    if (array_.held) array_.held->goes_in_order();
    csts_ = (csts_ & csts_ready) | csts_shutdown_complete;
  } else {
    csts_ &= ~(3u << 2);
  }
  const bool serves = csts_ == csts_ready && enabled;
  ready_.store(serves, std::memory_order_release);
}

// ---- features

std::uint32_t controller::feature_bytes(const wire::nvme::submission_entry& e) {
  return (e.cdw10 & 0xff) == host_identifier ? 16 : 0;
}

answer controller::get_features(const wire::nvme::submission_entry& e,
                                std::span<std::byte> data) const {
  const std::uint32_t select = e.cdw10 >> 8 & 7;
  if (select > 3) return refuse(generic_status::invalid_field);
  const std::lock_guard lock(guard_);
  const bool current = select == 0;
  answer a;
  switch (static_cast<std::uint8_t>(e.cdw10)) {
    case wire::nvme::feature_arbitration:
    case power_management:
    case error_recovery:
    case write_atomicity: break;
    case temperature_threshold:
      if ((e.cdw11 >> 16 & 0xf) != 0) return refuse(generic_status::invalid_field);
      a.dw0 = current ? temperature_ : default_temperature;
      break;
    case volatile_write_cache:
      if (!array_.cached) return refuse(generic_status::invalid_field);
      a.dw0 = !current || cache_on_ ? 1 : 0;
      break;
    case number_of_queues:
      if (granted_ == 0) return refuse(generic_status::invalid_field);
      a.dw0 = (granted_ - 1) | (granted_ - 1) << 16;
      break;
    case event_configuration: a.dw0 = current ? event_config_ : 0; break;
    case keep_alive_timer: a.dw0 = keep_alive_ms_.load(std::memory_order_relaxed); break;
    case host_identifier:
      if ((e.cdw11 & 1) == 0) return refuse(generic_status::host_id_inconsistent_format);
      std::memcpy(data.data(), host_.id.data(), host_.id.size());
      break;
    default: return refuse(generic_status::invalid_field);
  }
  if (select == 3) {  // capabilities: changeable or not
    const auto id = static_cast<std::uint8_t>(e.cdw10);
    const bool changeable = id == temperature_threshold || id == volatile_write_cache ||
                            id == number_of_queues || id == event_configuration ||
                            id == keep_alive_timer;
    a.dw0 = changeable ? 4 : 0;
  }
  return a;
}

answer controller::set_features(const wire::nvme::submission_entry& e) {
  if ((e.cdw10 >> 31) != 0) return refuse(command_status::feature_not_saveable);
  const std::lock_guard lock(guard_);
  answer a;
  switch (static_cast<std::uint8_t>(e.cdw10)) {
    case number_of_queues: {
      const std::uint32_t submission = e.cdw11 & 0xffff;
      const std::uint32_t completion = e.cdw11 >> 16;
      if (of_->kind == subsystem_kind::discovery || submission == 0xffff || completion == 0xffff) {
        return refuse(generic_status::invalid_field);
      }
      // Queues that exist would not survive a smaller grant. NVMe Base 2.3, 5.1.25.2.1.
      if (std::find(queues_.begin(), queues_.end(), true) != queues_.end()) {
        return refuse(generic_status::command_sequence_error);
      }
      granted_ = std::min({submission + 1, completion + 1, limits_.io_queues});
      a.dw0 = (granted_ - 1) | (granted_ - 1) << 16;
      return a;
    }
    case event_configuration: {
      const bool discovery = of_->kind == subsystem_kind::discovery;
      const std::uint32_t known = optional_events() | (discovery ? 0 : health_events);
      if ((e.cdw11 & ~known) != 0) return refuse(generic_status::invalid_field);
      event_config_ = e.cdw11;
      return a;
    }
    case keep_alive_timer: {
      keep_alive_ms_.store(e.cdw11, std::memory_order_relaxed);
      return a;
    }
    case volatile_write_cache:
      if (!array_.cached || (e.cdw11 & ~1u) != 0) return refuse(generic_status::invalid_field);
      cache_on_ = e.cdw11 != 0;
      return a;
    case temperature_threshold:
      if ((e.cdw11 >> 16 & 0xf) != 0) return refuse(generic_status::invalid_field);
      temperature_ = e.cdw11 & 0xffff;
      return a;
    case host_identifier: return refuse(generic_status::command_sequence_error);
    case wire::nvme::feature_arbitration:
    case power_management:
    case error_recovery:
    case write_atomicity: return refuse(command_status::feature_not_changeable);
    default: return refuse(generic_status::invalid_field);
  }
}

// ---- I/O queues

bool controller::claim_queue(std::uint16_t qid) {
  const std::lock_guard lock(guard_);
  if (qid == 0 || qid > granted_ || queues_[qid]) return false;
  queues_[qid] = true;
  return true;
}

void controller::release_queue(std::uint16_t qid) {
  const std::lock_guard lock(guard_);
  queues_[qid] = false;
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
    done.dw0 = report(e);
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

#pragma once

#include <gnstor/core/duration.hpp>
#include <gnstor/host/error.hpp>
#include <gnstor/pcie/nvme_admin_queue.hpp>
#include <gnstor/wire/nvme/asynchronous_event.hpp>
#include <gnstor/wire/nvme/controller_properties.hpp>
#include <gnstor/wire/nvme/features.hpp>
#include <gnstor/wire/nvme/health_log.hpp>
#include <gnstor/wire/nvme/identify.hpp>
#include <gnstor/wire/nvme/io_queue.hpp>
#include <gnstor/wire/nvme/log_page.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace gnstor::host::pcie {

/// An NVMe controller, driven from user space: brought up by a reset, identified, and given I/O
/// queues whose memory and doorbells are somebody else's to use. NVMe Base 2.3, 3.5.
///
/// One thread at a time. Its end disables the controller: it touches no memory afterwards.
class nvme_controller {
 public:
  struct options {
    std::string name;                             ///< for messages: "0000:01:00.0"
    std::uint32_t io_queues = 1;                  ///< wanted; a controller may grant fewer
    duration timeout = std::chrono::seconds(10);  ///< of an admin command
    bool may_erase = false;                       ///< `execute` sends Format NVM and Sanitize
  };

  /// Resets and identifies. Throws `error` that says what the controller does not do.
  nvme_controller(pcie_device& device, options o)
      : device_(&device), options_(std::move(o)), capabilities_(read_capabilities()) {
    disable();
    admin_.emplace_back(device, wire::nvme::doorbell_stride_bytes(capabilities_));
    enable();
    page_ = dma_pages(device, wire::nvme::identify_bytes);
    identity_ = identify<wire::nvme::identify_controller>(wire::nvme::cns_controller, 0);
    std::uint32_t granted = 0;
    checked(admin_[0].execute(
                wire::nvme::make_set_features(0, wire::nvme::feature_number_of_queues,
                                              wire::nvme::queue_count_value(options_.io_queues)),
                limit(), &granted),
            "asking for I/O queues");
    io_queues_ = std::min(options_.io_queues, wire::nvme::granted_queues(granted));
  }
  nvme_controller(const nvme_controller&) = delete;
  nvme_controller& operator=(const nvme_controller&) = delete;
  ~nvme_controller() {
    try {
      disable();
    } catch (const std::exception&) {
      // It is gone, or deaf: nothing reaches memory through it but by a fault of the bus.
    }
  }

  const wire::nvme::identify_controller& identity() const { return identity_; }
  /// I/O queues granted: ids 1 to this.
  std::uint32_t io_queues() const { return io_queues_; }
  std::uint32_t max_queue_entries() const { return wire::nvme::max_queue_entries(capabilities_); }
  std::uint32_t doorbell_stride_bytes() const {
    return wire::nvme::doorbell_stride_bytes(capabilities_);
  }
  /// The largest transfer of a command; 2 MiB where the controller names no limit.
  std::uint32_t max_transfer_bytes() const {
    constexpr std::uint32_t most = 2u << 20;
    if (identity_.mdts == 0 || identity_.mdts > 20) return most;
    const std::uint64_t bytes = std::uint64_t{wire::nvme::min_page_bytes(capabilities_)}
                                << identity_.mdts;
    return static_cast<std::uint32_t>(std::min<std::uint64_t>(bytes, most));
  }
  /// True if what was written may be lost in a power cut before a Flush.
  bool has_volatile_cache() const { return (identity_.vwc & wire::nvme::vwc_present) != 0; }

  /// The ids of its namespaces, in their order; the first 1,024.
  std::vector<std::uint32_t> namespaces() {
    const auto list = identify<wire::nvme::namespace_list>(wire::nvme::cns_active_namespaces, 0);
    std::vector<std::uint32_t> ids;
    for (const std::uint32_t id : list.nsid) {
      if (id != 0) ids.push_back(id);
    }
    return ids;
  }
  wire::nvme::identify_namespace identify_namespace(std::uint32_t nsid) {
    return identify<wire::nvme::identify_namespace>(wire::nvme::cns_namespace, nsid);
  }

  /// Creates I/O queue pair `queue` in zero-filled memory at these DMA addresses.
  void create_queues(std::uint16_t queue, std::uint32_t entries, std::uint64_t submissions,
                     std::uint64_t completions,
                     wire::nvme::queue_class priority = wire::nvme::queue_class::urgent) {
    if (entries > max_queue_entries()) {
      throw input_error(
          fmt::format("{}: a queue of {} entries was asked for, and this controller has at most "
                      "{}: use a smaller session_options::depth",
                      options_.name, entries, max_queue_entries()));
    }
    checked(admin_[0].execute(
                wire::nvme::make_create_completion_queue(0, queue, entries, completions), limit()),
            "creating a completion queue");
    checked(admin_[0].execute(wire::nvme::make_create_submission_queue(
                                  0, queue, entries, submissions, queue, priority),
                              limit()),
            "creating a submission queue");
  }
  /// Deletes it: the controller answers nothing more, and touches nothing that its commands named.
  void delete_queues(std::uint16_t queue) {
    using wire::nvme::admin_opcode;
    for (const admin_opcode op :
         {admin_opcode::delete_submission_queue, admin_opcode::delete_completion_queue}) {
      checked(admin_[0].execute(wire::nvme::make_delete_queue(op, 0, queue), limit()),
              "deleting a queue");
    }
  }

  /// Sends an admin command without data. Throws `input_error` for one that erases a namespace,
  /// unless that is allowed.
  status execute(const wire::nvme::submission_entry& command, deadline d,
                 std::uint32_t* value = nullptr) {
    const auto op = static_cast<wire::nvme::admin_opcode>(command.opcode);
    const bool erases =
        op == wire::nvme::admin_opcode::format_nvm || op == wire::nvme::admin_opcode::sanitize;
    if (erases && !options_.may_erase) {
      throw input_error(options_.name +
                        ": Format NVM and Sanitize erase namespaces: allow them by "
                        "nvme_controller::options::may_erase");
    }
    return admin_[0].execute(command, d, value);
  }
  /// The current value of a feature. Throws `io_error` for one that the controller does not have.
  std::uint32_t feature(std::uint8_t id) {
    std::uint32_t value = 0;
    checked(admin_[0].execute(wire::nvme::make_get_features(0, id), limit(), &value),
            "asking for a feature");
    return value;
  }
  void set_feature(std::uint8_t id, std::uint32_t value) {
    checked(admin_[0].execute(wire::nvme::make_set_features(0, id, value), limit()),
            "setting a feature");
  }

  /// Its health, and what it was asked to do so far. Reading it makes room for the next event of
  /// health. Throws `io_error` with what it said.
  wire::nvme::health_log health() {
    wire::nvme::submission_entry command = wire::nvme::make_get_log_page(
        0, wire::nvme::log_health, 0, sizeof(wire::nvme::health_log), {});
    wire::nvme::set_prp(command, {page_.address(), 0});
    checked(admin_[0].execute(command, limit()), "asking for its health");
    wire::nvme::health_log said;
    std::memcpy(&said, page_.data(), sizeof said);
    return said;
  }

  /// What the controller has to say, if anything since the last call: the first call begins to
  /// listen. The same kind of event comes again once the log page that it names was read. Which
  /// kinds: `feature_asynchronous_events`.
  std::optional<wire::nvme::asynchronous_event> poll_event() {
    const auto request = wire::nvme::make_command(
        static_cast<std::uint8_t>(wire::nvme::admin_opcode::asynchronous_event_request), 0, 0);
    if (!std::exchange(listens_, true)) admin_[0].send_late(request);
    const auto answer = admin_[0].late();
    if (!answer) return {};
    if ((answer->status & ~wire::nvme::status_phase) != 0) return {};  // it does not do that
    admin_[0].send_late(request);
    return wire::nvme::asynchronous_event::from(answer->dw0);
  }

 private:
  using reg = wire::nvme::controller_register;
  static std::uint64_t at(reg r) { return static_cast<std::uint64_t>(r); }
  deadline limit() const { return simt::within(options_.timeout); }

  std::uint64_t read_capabilities() const {
    const std::uint64_t cap = device_->read64(at(reg::capabilities));
    if (cap == ~std::uint64_t{0} || cap == 0) {
      throw error(options_.name +
                  ": the controller's registers read nothing: it was removed, or its memory space "
                  "is not enabled");
    }
    if (wire::nvme::min_page_bytes(cap) > wire::nvme::prp_page_bytes ||
        (cap & wire::nvme::cap_nvm_command_set) == 0) {
      throw error(options_.name +
                  ": the controller has no pages of 4096 bytes, or not the NVM command set");
    }
    return cap;
  }

  /// Waits until CSTS.RDY is as wanted. Throws `error` if it does not come so far.
  void await_ready(bool ready) {
    const auto patience =
        std::chrono::milliseconds(std::max(wire::nvme::ready_timeout_ms(capabilities_), 500u));
    for (until more{simt::within(patience)}; more;) {
      const std::uint32_t now = device_->read32(at(reg::status));
      if (now == ~0u) throw error(options_.name + ": the controller was removed");
      if ((now & wire::nvme::csts_fatal) != 0 && ready)
        throw error(options_.name + ": the controller reports a fatal error (CSTS.CFS)");
      if (((now & wire::nvme::csts_ready) != 0) == ready) return;
    }
    throw error(fmt::format("{}: the controller did not become {} within {} ms", options_.name,
                            ready ? "ready" : "idle", patience.count()));
  }
  void disable() {
    const std::uint32_t now = device_->read32(at(reg::configuration));
    if (now == ~0u) return;
    device_->write32(at(reg::configuration), now & ~wire::nvme::cc_enable);
    await_ready(false);
  }
  void enable() {
    const nvme_admin_queue& q = admin_[0];
    constexpr std::uint32_t n = nvme_admin_queue::entries;
    device_->write32(at(reg::admin_queue_attributes),
                     wire::nvme::make_admin_queue_attributes(n, n));
    device_->write64(at(reg::admin_submission_queue), q.submissions());
    device_->write64(at(reg::admin_completion_queue), q.completions());
    device_->write32(at(reg::configuration), wire::nvme::cc_enable | wire::nvme::cc_entry_sizes |
                                                 wire::nvme::command_set_selection(capabilities_));
    await_ready(true);
  }

  template <class Structure>
  Structure identify(std::uint8_t cns, std::uint32_t nsid) {
    static_assert(sizeof(Structure) == wire::nvme::identify_bytes);
    wire::nvme::submission_entry command = wire::nvme::make_identify(0, cns, nsid, {});
    wire::nvme::set_prp(command, {page_.address(), 0});
    checked(admin_[0].execute(command, limit()), "identifying");
    Structure said;
    std::memcpy(&said, page_.data(), sizeof said);
    return said;
  }
  void checked(const status& s, const char* what) const {
    if (!s.ok()) throw io_error(fmt::format("{}: {}: {}", options_.name, what, to_string(s)), s);
  }

  pcie_device* device_;
  options options_;
  std::uint64_t capabilities_;
  std::vector<nvme_admin_queue> admin_;  ///< one, once the controller is disabled
  dma_pages page_;                       ///< of Identify
  wire::nvme::identify_controller identity_{};
  std::uint32_t io_queues_ = 0;
  bool listens_ = false;  ///< for events
};

}  // namespace gnstor::host::pcie

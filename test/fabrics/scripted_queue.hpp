#pragma once

#include "target_script.hpp"
#include <gnstor/wire/fabrics/capsule.hpp>
#include <gnstor/wire/fabrics/connect.hpp>
#include <gnstor/wire/fabrics/property.hpp>
#include <gnstor/wire/mlx5/syndrome.hpp>
#include <gnstor/wire/nvme/controller_properties.hpp>
#include <gnstor/wire/nvme/log_page.hpp>
#include <proxy/proxy_port.hpp>

#include <algorithm>
#include <atomic>
#include <deque>

namespace gnstor::test {

/// What a scripted target answers to a command.
struct scripted_reply {
  std::uint16_t status = 0;
  std::uint64_t value = 0;  ///< dwords 0 and 1
  bool held = false;        ///< an Asynchronous Event Request: answered when there is an event
  bool silent = false;      ///< never answered
};

/// One queue of a scripted target: a proxy port that answers capsules where they are posted and
/// moves data by plain copies.
class scripted_queue {
 public:
  /// @param ended set by this end or the other: the connection is dead
  /// @param event dword 0 of an event to send, 0 for none; taken by the queue
  scripted_queue(target_script& script, std::uint16_t queue_id, const std::atomic<bool>& ended,
                 std::atomic<std::uint32_t>& event)
      : script_(&script), queue_id_(queue_id), ended_(&ended), event_(&event) {}

  bool post(const proxy_request& r) {
    const std::lock_guard lock(script_->mutex);
    if (*ended_ || script_->silent) return true;
    const reply answer = execute(r.capsule);
    if (answer.held) {
      held_.push_back(r.capsule.command_id);
    } else if (!answer.silent) {
      respond(r.capsule.command_id, answer);
    }
    return true;
  }
  void flush() {}
  std::uint32_t poll(completion* out, std::uint32_t most) {
    if (most == 0) return 0;
    if (*ended_) {
      if (reported_) return 0;
      reported_ = true;
      out[0] = completion{};
      out[0].kind = completion_kind::broken;
      out[0].outcome = status::make(status_code::flushed, reporter::nic);
      out[0].outcome.syndrome = static_cast<std::uint8_t>(wire::mlx5::syndrome::flushed);
      return 1;
    }
    if (!held_.empty()) {
      if (const std::uint32_t value = event_->exchange(0); value != 0) {
        respond(held_.front(), {0, value});
        held_.pop_front();
      }
    }
    std::uint32_t n = 0;
    for (; n < most && !answers_.empty(); ++n) {
      out[n] = answers_.front();
      answers_.pop_front();
    }
    return n;
  }

 private:
  using sqe = wire::nvme::submission_entry;
  using reply = scripted_reply;

  static unsigned char* data(const sqe& c) {
    return reinterpret_cast<unsigned char*>(c.dptr.address);
  }

  void respond(std::uint16_t id, const reply& r) {
    completion c;
    c.kind = completion_kind::response;
    c.response.command_id = id;
    c.response.status = r.status;
    c.response.dw0 = static_cast<std::uint32_t>(r.value);
    c.response.dw1 = static_cast<std::uint32_t>(r.value >> 32);
    answers_.push_back(c);
  }

  reply execute(const sqe& c) {
    using wire::nvme::admin_opcode;
    if (c.opcode == wire::nvme::fabrics_opcode) return fabrics(c);
    if (queue_id_ != 0) return read_write(c);
    if (c.opcode == wire::afa::association_end::opcode) {
      script_->ended.push_back(wire::afa::association_end::unpack(c));
      return {script_->end_status};
    }
    switch (static_cast<admin_opcode>(c.opcode)) {
      case admin_opcode::identify: return identify(c);
      case admin_opcode::get_log_page: return log_page(c);
      case admin_opcode::set_features:
        if (c.cdw10 == wire::nvme::feature_number_of_queues) {
          return {0, wire::nvme::queue_count_value(script_->granted_queues)};
        }
        script_->events_enabled.push_back(c.cdw11);
        return {};
      case admin_opcode::keep_alive:
        ++script_->keep_alives;
        if (script_->refuse_keep_alive) break;
        return {0, 0, false, script_->silent_keep_alive};
      case admin_opcode::asynchronous_event_request: return {0, 0, true};
      default: break;
    }
    return {wire::nvme::make_status(wire::nvme::generic_status::invalid_opcode)};
  }

  reply fabrics(const sqe& c) {
    const auto property = wire::fabrics::capsule_cast<wire::fabrics::property_command>(c);
    using wire::fabrics::command_type;
    using wire::fabrics::property_offset;
    switch (static_cast<command_type>(property.fctype)) {
      case command_type::connect: return connect(c);
      case command_type::property_set:
        if ((property.value & wire::nvme::cc_shutdown_normal) != 0) ++script_->shutdowns;
        script_->configuration = property.value;
        return {};
      case command_type::property_get:
        if (property.offset == static_cast<std::uint32_t>(property_offset::capabilities)) {
          return {0, script_->cap};
        }
        if (script_->fatal) return {0, wire::nvme::csts_fatal};
        if ((script_->configuration & wire::nvme::cc_enable) == 0) return {};
        if (script_->polls_to_ready == 0) return {0, wire::nvme::csts_ready};
        --script_->polls_to_ready;
        return {};
      default: return {wire::nvme::make_status(wire::nvme::generic_status::invalid_field)};
    }
  }

  reply connect(const sqe& c) {
    using wire::fabrics::connect_status;
    wire::fabrics::connect_data who{};
    std::memcpy(&who, data(c), sizeof who);
    const auto said = wire::fabrics::capsule_cast<wire::fabrics::connect_command>(c);
    script_->connects.push_back(said.qid);
    script_->connect_data.push_back(who);
    if (said.qid == 0) script_->configuration = 0;
    if (said.qid == 0) script_->keep_alive_ms = said.kato_ms;
    if (script_->subsystem != who.subnqn) {
      return {wire::fabrics::make_status(connect_status::invalid_parameters, true),
              wire::fabrics::make_invalid_parameter(offsetof(wire::fabrics::connect_data, subnqn),
                                                    true)};
    }
    if (!script_->only_host.empty() && script_->only_host != who.hostnqn) {
      return {wire::fabrics::make_status(connect_status::invalid_host, true)};
    }
    if (said.qid > script_->granted_queues) {
      return {wire::fabrics::make_status(connect_status::invalid_parameters, true),
              wire::fabrics::make_invalid_parameter(offsetof(wire::fabrics::connect_command, qid),
                                                    false)};
    }
    return {0, script_->connect_value};
  }

  reply identify(const sqe& c) {
    const auto cns = static_cast<std::uint8_t>(c.cdw10);
    if (cns == wire::nvme::cns_controller) {
      std::memcpy(data(c), &script_->identity, sizeof script_->identity);
      return {};
    }
    if (cns == wire::nvme::cns_active_namespaces) {
      wire::nvme::namespace_list list{};
      std::size_t n = 0;
      for (const auto& [nsid, said] : script_->namespaces)
        if (nsid > c.nsid && n < std::size(list.nsid)) list.nsid[n++] = nsid;
      std::memcpy(data(c), &list, sizeof list);
      return {};
    }
    if (cns != wire::nvme::cns_namespace)
      return {wire::nvme::make_status(wire::nvme::generic_status::invalid_field)};
    const auto at = script_->namespaces.find(c.nsid);
    if (at != script_->namespaces.end()) std::memcpy(data(c), &at->second, sizeof at->second);
    return {};
  }

  reply log_page(const sqe& c) {
    const std::uint64_t offset = std::uint64_t{c.cdw13} << 32 | c.cdw12;
    const std::size_t bytes = ((c.cdw10 >> 16 | c.cdw11 << 16) + std::size_t{1}) * 4;
    std::vector<unsigned char> page(4096);
    if ((c.cdw10 & 0xff) == wire::nvme::log_discovery) {
      if (offset == 0 && ++script_->header_reads <= script_->log_changes) ++script_->log_generation;
      wire::fabrics::discovery_header header{};
      header.genctr = script_->log_generation;
      header.numrec = script_->log.size();
      page.resize(sizeof header + script_->log.size() * sizeof script_->log[0]);
      std::memcpy(page.data(), &header, sizeof header);
      if (!script_->log.empty()) {
        std::memcpy(page.data() + sizeof header, script_->log.data(), page.size() - sizeof header);
      }
    }
    if (offset > page.size() || bytes > page.size() - offset || bytes != c.dptr.length()) {
      return {wire::nvme::make_status(wire::nvme::generic_status::invalid_field)};
    }
    std::memcpy(data(c), page.data() + offset, bytes);
    return {};
  }

  reply read_write(const sqe& c) {
    const auto at = script_->namespaces.find(c.nsid);
    if (at == script_->namespaces.end()) {
      return {wire::nvme::make_status(wire::nvme::generic_status::invalid_namespace)};
    }
    const std::uint32_t shift = at->second.lbaf[0].data_shift;
    const std::uint64_t first = wire::nvme::slba_of(c);
    const std::uint64_t blocks = wire::nvme::blocks_of(c);
    if (first >= at->second.nsze || blocks > at->second.nsze - first) {
      return {wire::nvme::make_status(wire::nvme::generic_status::lba_out_of_range)};
    }
    unsigned char* here = script_->media[c.nsid].data() + (first << shift);
    if (c.opcode == static_cast<std::uint8_t>(wire::nvme::nvm_opcode::write)) {
      std::memcpy(here, data(c), blocks << shift);
    } else {
      std::memcpy(data(c), here, blocks << shift);
    }
    return {};
  }

  target_script* script_;
  std::uint16_t queue_id_;
  const std::atomic<bool>* ended_;
  std::atomic<std::uint32_t>* event_;
  bool reported_ = false;
  std::deque<completion> answers_;
  std::deque<std::uint16_t> held_;
};

static_assert(host::proxy_port<scripted_queue>);

}  // namespace gnstor::test

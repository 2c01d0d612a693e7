#pragma once

#include "fake_array.hpp"
#include "fake_volume.hpp"
#include <gnstor/wire/fabrics/capsule.hpp>
#include <gnstor/wire/fabrics/connect.hpp>
#include <gnstor/wire/fabrics/property.hpp>
#include <gnstor/wire/nvme/read_write.hpp>
#include <serve/target_queue.hpp>

#include <doctest/doctest.h>

#include <cstring>
#include <optional>

namespace gnstor::test {

using wire::nvme::generic_status;
using wire::nvme::submission_entry;

inline constexpr const char* array_nqn = "nqn.2026-11.io.gnstor:array";
inline constexpr const char* volume_nqn = "nqn.2026-11.io.gnstor:volume.1";
inline constexpr const char* alice = "nqn.2014-08.org.nvmexpress:uuid:alice";
inline constexpr const char* bob = "nqn.2014-08.org.nvmexpress:uuid:bob";
inline constexpr std::uint32_t volume_blocks = 100;

/// A status field with the bit that says "do not repeat".
constexpr std::uint16_t dnr(generic_status s) { return wire::nvme::make_status(s, true); }
constexpr std::uint16_t dnr(wire::nvme::command_status s) {
  return wire::nvme::make_status(s, true);
}
constexpr std::uint16_t dnr(wire::fabrics::connect_status s) {
  return wire::fabrics::make_status(s, true);
}

/// How a command ended, as the host sees it.
struct reply {
  serve::next_step step = serve::next_step::respond;
  std::uint16_t status = 0;
  std::uint32_t dw0 = 0;
  std::uint32_t dw1 = 0;
  std::uint16_t sq_head = 0;
  std::uint16_t command_id = 0;
  bool invalidated = false;
  std::vector<std::byte> data;  ///< what was written to the host

  std::uint64_t number(std::size_t at, std::size_t bytes) const {
    std::uint64_t v = 0;
    for (std::size_t k = 0; k < bytes; ++k)
      v |= std::to_integer<std::uint64_t>(data.at(at + k)) << 8 * k;
    return v;
  }
  std::string text(std::size_t at, std::size_t most) const {
    std::string s;
    for (std::size_t k = 0; k < most && data.at(at + k) != std::byte{0}; ++k)
      s += static_cast<char>(data.at(at + k));
    return s;
  }
};

/// Plays transport and host towards one queue of a target: moves data as the plans say.
class host_queue {
 public:
  static constexpr std::uint64_t address = 0x7000'0000;
  static constexpr std::uint32_t key = 0x1234;

  /// @param peer the host's address; empty: the target does not know it
  host_queue(serve::target_model& target, std::uint16_t qid, std::uint32_t entries = 32,
             const std::string& peer = {})
      : host_queue(target, qid, entries, serve::target_port{"192.0.2.1", "4420", peer}) {}
  /// @param port where the target was reached
  host_queue(serve::target_model& target, std::uint16_t qid, std::uint32_t entries,
             const serve::target_port& port)
      : queue_(target, qid, entries, port) {}

  /// Sends a capsule with `behind` after the command; `memory` is what the host's key opens.
  reply send(const submission_entry& e, const std::vector<std::byte>& memory = {},
             const std::vector<std::byte>& behind = {}) {
    std::vector<std::byte> message(sizeof e);
    std::memcpy(message.data(), &e, sizeof e);
    message.insert(message.end(), behind.begin(), behind.end());
    return raw(message, memory);
  }
  reply raw(std::span<const std::byte> message, const std::vector<std::byte>& memory = {}) {
    const serve::plan p = queue_.admit(message, now_ms);
    reply r;
    r.step = p.next;
    serve::answer a{p.status};
    if (p.next == serve::next_step::execute) {
      std::vector<std::byte> data(p.bytes, std::byte{0xa5});  // what a command before left there
      if (p.data == serve::data_phase::fetch)
        std::copy_n(memory.begin(), std::min(memory.size(), data.size()), data.begin());
      if (p.data == serve::data_phase::in_capsule) {
        REQUIRE(std::size_t{p.offset} + p.bytes <= message.size());
        std::copy_n(message.begin() + p.offset, p.bytes, data.begin());
      }
      a = queue_.execute(p, data, now_ms);
      if (p.data == serve::data_phase::send && a.status == 0) r.data = std::move(data);
    }
    if (p.next == serve::next_step::give_up || p.next == serve::next_step::hold) return r;
    take(r, queue_.respond(p, a));
    r.invalidated = p.invalidate;
    return r;
  }
  /// The verdict on a command, which nobody carries out.
  serve::plan planned(const submission_entry& e) {
    std::vector<std::byte> message(sizeof e);
    std::memcpy(message.data(), &e, sizeof e);
    return queue_.admit(message, now_ms);
  }
  std::optional<reply> event() {
    const auto c = queue_.take_event();
    if (!c) return std::nullopt;
    reply r;
    take(r, *c);
    return r;
  }

  /// A Connect of this queue.
  reply connect(const char* nqn, const char* host, std::uint16_t controller = 0xffff,
                std::uint32_t kato_ms = 0) {
    const auto e = wire::fabrics::capsule_cast<submission_entry>(connecting(32, kato_ms));
    return send(e, connect_bytes(nqn, host, controller));
  }
  /// A Connect whose host identifier is another than `connect`'s.
  reply connect_as_impostor(const char* nqn, const char* host) {
    const auto e = wire::fabrics::capsule_cast<submission_entry>(connecting(32));
    return send(e, connect_bytes(nqn, host, 0xffff, 1));
  }
  wire::fabrics::connect_command connecting(std::uint32_t entries,
                                            std::uint32_t kato_ms = 0) const {
    return wire::fabrics::make_connect(1, queue_.id(), entries,
                                       wire::nvme::make_keyed_sgl(address, 1024, key), kato_ms);
  }
  static std::vector<std::byte> connect_bytes(const char* nqn, const char* host,
                                              std::uint16_t controller = 0xffff,
                                              std::uint8_t last_of_id = 0) {
    wire::fabrics::connect_data d{};
    d.hostid[15] = last_of_id;
    d.hostid[0] = static_cast<std::uint8_t>(std::strlen(host));
    d.cntlid = controller;
    std::strcpy(d.subnqn, nqn);
    std::strcpy(d.hostnqn, host);
    std::vector<std::byte> bytes(sizeof d);
    std::memcpy(bytes.data(), &d, sizeof d);
    return bytes;
  }
  reply set(wire::fabrics::property_offset p, std::uint64_t v) {
    return send(
        wire::fabrics::capsule_cast<submission_entry>(wire::fabrics::make_property_set(2, p, v)));
  }
  reply get(wire::fabrics::property_offset p) {
    return send(
        wire::fabrics::capsule_cast<submission_entry>(wire::fabrics::make_property_get(3, p)));
  }
  reply enable() { return set(wire::fabrics::property_offset::configuration, 0x00460001); }
  /// A command with `bytes` of data in the host's memory.
  static submission_entry command(std::uint8_t opcode, std::uint32_t nsid, std::uint32_t bytes) {
    submission_entry e = wire::nvme::make_command(opcode, 0x77, nsid);
    if (bytes != 0) e.dptr = wire::nvme::make_keyed_sgl(address, bytes, key);
    return e;
  }
  static submission_entry command(wire::nvme::admin_opcode op, std::uint32_t nsid,
                                  std::uint32_t bytes) {
    return command(static_cast<std::uint8_t>(op), nsid, bytes);
  }
  reply identify(std::uint32_t cns, std::uint32_t nsid = 0) {
    submission_entry e = command(wire::nvme::admin_opcode::identify, nsid, 4096);
    e.cdw10 = cns;
    return send(e);
  }
  /// Get or Set Features; `cdw10` has the feature's id.
  reply feature(wire::nvme::admin_opcode op, std::uint32_t cdw10, std::uint32_t value = 0,
                std::uint32_t bytes = 0) {
    submission_entry e = command(op, 0, bytes);
    e.cdw10 = cdw10;
    e.cdw11 = value;
    return send(e);
  }
  static submission_entry get_log(std::uint32_t id, std::uint32_t bytes, std::uint64_t offset = 0,
                                  std::uint32_t nsid = 0xffffffff) {
    submission_entry e = command(wire::nvme::admin_opcode::get_log_page, nsid, bytes);
    const std::uint32_t dwords = bytes / 4 - 1;
    e.cdw10 = id | dwords << 16;
    e.cdw11 = dwords >> 16;
    e.cdw12 = static_cast<std::uint32_t>(offset);
    e.cdw13 = static_cast<std::uint32_t>(offset >> 32);
    return e;
  }
  static submission_entry io(wire::nvme::nvm_opcode op, std::uint64_t first, std::uint32_t blocks) {
    const bool data = op == wire::nvme::nvm_opcode::read || op == wire::nvme::nvm_opcode::write;
    return wire::nvme::make_read_write(
        op, 0x55, 1, first, blocks,
        wire::nvme::make_keyed_sgl(data ? address : 0, data ? blocks * block_bytes : 0,
                                   data ? key : 0));
  }

  serve::target_queue& queue() { return queue_; }
  std::uint64_t now_ms = 1000;

 private:
  static void take(reply& r, const wire::nvme::completion_entry& c) {
    r.status = c.status;
    r.dw0 = c.dw0;
    r.dw1 = c.dw1;
    r.sq_head = c.sq_head;
    r.command_id = c.command_id;
  }
  serve::target_queue queue_;
};

/// A target with a discovery subsystem, the array, and one volume.
struct target_rig {
  /// @param first_association as of `serve::target_model`
  explicit target_rig(const serve::target_limits& limits = {}, std::uint64_t first_association = 0)
      : target(limits, array, first_association) {
    target.offer(
        {std::string(serve::discovery_nqn), serve::subsystem_kind::discovery, {}, nullptr});
    target.offer({array_nqn, serve::subsystem_kind::array, {}, nullptr});
    target.offer({volume_nqn, serve::subsystem_kind::volume, {}, volume});
  }
  /// An admin queue of `host`, connected and enabled; its controller id in `id`.
  std::unique_ptr<host_queue> admin(const char* nqn, const char* host = alice) {
    auto q = std::make_unique<host_queue>(target, 0);
    const reply r = q->connect(nqn, host);
    REQUIRE(r.status == 0);
    id = static_cast<std::uint16_t>(r.dw0);
    REQUIRE(q->enable().status == 0);
    return q;
  }
  /// An I/O queue of the controller made last.
  std::unique_ptr<host_queue> io(const char* nqn, const char* host = alice, std::uint16_t qid = 1) {
    auto q = std::make_unique<host_queue>(target, qid);
    REQUIRE(q->connect(nqn, host, id).status == 0);
    return q;
  }

  fake_array array;
  std::shared_ptr<fake_volume> volume = std::make_shared<fake_volume>(volume_blocks);
  serve::target_model target;
  std::uint16_t id = 0;
};

}  // namespace gnstor::test

#pragma once
/// Sessions of several hosts on one emulated array.

#include "late_link.hpp"
#include "session_impl.hpp"
#include <emulated/emulated_client.hpp>

#include <chrono>
#include <memory>
#include <string>
#include <utility>

namespace gnstor::test {

/// An array in this process; as many hosts as the NIC has queues for, two each.
struct shared_sessions {
  explicit shared_sessions(const std::string& endpoint = "emu:?capacity=16M&runner=cpu",
                           std::uint32_t hosts = 4)
      : where(host::endpoint::parse(endpoint)),
        array(
            std::make_shared<host::emulated_array>(where, host::this_machine, 0, 2 * hosts, 128)) {}

  /// A connection of the host that calls itself `name`.
  std::unique_ptr<host::emulated_client> link(const std::string& name, bool manager = false) const {
    return std::make_unique<host::emulated_client>(array, options(name),
                                                   host::client_identity::named(name), manager);
  }
  /// A session over one; `meddler` gets the link that may keep SSDs from answering.
  host::session open(const std::string& name, late_link** meddler = nullptr) const {
    auto to = std::make_unique<late_link>(link(name));
    if (meddler != nullptr) *meddler = to.get();
    return host::session_access::over(where, options(name), std::move(to));
  }
  static host::session_options options(const std::string& name) {
    host::session_options o;
    o.channels = 0;
    o.host_name = name;
    o.timeout = std::chrono::seconds(5);
    return o;
  }

  host::endpoint where;
  std::shared_ptr<host::emulated_array> array;
};

/// A connection that sends admin commands as they are.
class raw_admin {
 public:
  explicit raw_admin(std::unique_ptr<host::emulated_client> link)
      : link_(std::move(link)),
        memory_(link_->allocate(link_->node_reach(), 4096)),
        buffer_(link_->register_memory(memory_.data(), 4096)) {}
  raw_admin(const raw_admin&) = delete;
  raw_admin& operator=(const raw_admin&) = delete;

  /// Sends `payload` with the command to an SSD; what the SSD answers lies in `answer`.
  template <class Payload>
  status send(wire::afa::admin_command c, std::uint32_t ssd, const Payload& payload) {
    std::memcpy(memory_.data(), &payload, sizeof payload);
    c.nsid = ssd + 1;
    c.payload = wire::nvme::make_keyed_sgl(buffer_.address, sizeof payload, buffer_.rkey);
    status s;
    link_->drive([&] { s = link_->execute_admin(c.pack(), simt::within(5'000'000'000)); });
    return s;
  }
  template <class Payload>
  Payload answer() const {
    Payload p;
    std::memcpy(&p, memory_.data(), sizeof p);
    return p;
  }
  status add(std::uint32_t ssd, const wire::afa::volume_record& r, std::uint32_t epoch = 1) {
    wire::afa::admin_command c;
    c.opcode = wire::afa::admin_opcode::volume_add;
    c.volume = volume_id(r.vid);
    c.epoch = epoch;
    return send(c, ssd, r);
  }
  status update(std::uint32_t ssd, const wire::afa::array_membership& m) {
    wire::afa::admin_command c;
    c.opcode = wire::afa::admin_opcode::array_update;
    return send(c, ssd, m);
  }
  /// The volumes of one SSD.
  wire::afa::volume_list list(std::uint32_t ssd, std::uint32_t epoch = 1) {
    wire::afa::admin_command c;
    c.opcode = wire::afa::admin_opcode::volume_list;
    c.volume = volume_id(1);
    c.epoch = epoch;
    if (!send(c, ssd, wire::afa::volume_list{}).ok()) return {};
    return answer<wire::afa::volume_list>();
  }
  client_id client() const { return link_->client(); }

 private:
  std::unique_ptr<host::emulated_client> link_;
  host::memory_block memory_;
  io_buffer buffer_{};
};

}  // namespace gnstor::test

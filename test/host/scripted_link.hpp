#pragma once
/// A connection that answers what a test wants.

#include <gnstor/host/error.hpp>
#include <gnstor/simt/clock.hpp>
#include <gnstor/wire/afa/admin_command.hpp>
#include <gnstor/wire/afa/array_description.hpp>
#include <gnstor/wire/afa/volume_list.hpp>
#include <link/array_link.hpp>

#include <cstring>
#include <functional>
#include <initializer_list>
#include <vector>

namespace gnstor::test {

/// An array of which only admin commands arrive, or a subsystem of plain namespaces.
class scripted_link : public host::array_link {
 public:
  host::place node_reach() const override { return host::place::host; }
  host::place kernel_reach() const override { return host::place::host; }
  host::memory_block allocate(host::place where, std::size_t bytes) override {
    return {where, bytes};
  }
  io_buffer register_memory(void* address, std::uint64_t bytes) override {
    return {reinterpret_cast<std::uint64_t>(address), bytes, ++last_key, last_key};
  }
  void unregister_memory(const io_buffer&) noexcept override {}
  bool last_of_host() const override { return listed.count != 0; }
  status execute_admin(const wire::nvme::submission_entry& command, deadline d) override {
    in_a_second = d.expired(simt::now_ns() + 1'000'000'000);
    const auto c = wire::afa::admin_command::unpack(command);
    sent.push_back(c);
    if (c.opcode == wire::afa::admin_opcode::array_describe)
      std::memcpy(reinterpret_cast<void*>(command.dptr.address), &said, sizeof said);
    if (c.opcode == wire::afa::admin_opcode::volume_list)
      std::memcpy(reinterpret_cast<void*>(command.dptr.address), &listed, sizeof listed);
    return answer ? answer(c) : status{};
  }
  const remote_channel& host() const override { throw host::error("no channel"); }
  const remote_channel* kernels() const override { return nullptr; }
  std::uint32_t kernel_count() const override { return 0; }
  void reset(std::uint32_t, std::uint64_t) override {}
  const std::vector<volume_info>& namespaces() const override { return plain; }
  void drive(const std::function<void()>& work) override { work(); }
  void attach(simt::host::executor&) override {}
  void attach(simt::cuda::executor&) override {}
  void inject_fault(std::uint32_t, std::string_view) override {}
  std::unique_ptr<host::array_link> another(const host::endpoint&,
                                            const host::session_options&) const override {
    return nullptr;
  }
  void inject_nic_fault(std::uint32_t, std::string_view) override {}

  wire::afa::array_description said{};
  wire::afa::volume_list listed{};
  bool in_a_second = false;  ///< the last command had no more time
  std::function<status(const wire::afa::admin_command&)> answer;
  std::vector<wire::afa::admin_command> sent;
  std::vector<volume_info> plain;
  std::uint32_t last_key = 0;
};

/// A volume of 10 blocks that one client may use.
inline wire::afa::volume_record record_of(std::uint16_t vid, wire::afa::volume_client who) {
  wire::afa::volume_record r{};
  r.version = wire::afa::payload_version;
  r.vid = vid;
  r.replicas = 1;
  r.hash_factor = 5;
  r.capacity_blocks = 10;
  r.stripe_blocks = 16;
  r.ssd_count = 4;
  r.client_count = 1;
  r.clients[0] = who;
  return r;
}

inline wire::afa::volume_list list_of(std::initializer_list<wire::afa::volume_record> records) {
  wire::afa::volume_list l{};
  l.version = wire::afa::payload_version;
  for (const wire::afa::volume_record& r : records) l.records[l.count++] = r;
  l.total = l.count;
  return l;
}

/// What a command brings along.
template <class Payload>
Payload payload_of(const wire::afa::admin_command& c) {
  Payload p;
  std::memcpy(&p, reinterpret_cast<const void*>(c.payload.address), sizeof p);
  return p;
}

inline wire::afa::array_description array_of(std::uint32_t ssds) {
  wire::afa::array_description d{};
  d.version = wire::afa::payload_version;
  d.ssd_count = static_cast<decltype(d.ssd_count)>(ssds);
  d.epoch = 9;
  d.block_bytes = block_bytes;
  d.max_transfer_blocks = 32;
  d.own_client = 77;
  d.capacity_blocks = 1000;
  return d;
}

}  // namespace gnstor::test

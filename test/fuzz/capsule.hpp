#pragma once

#include "hostile_node.hpp"
#include <gnstor/wire/afa/admin_command.hpp>
#include <gnstor/wire/fabrics/connect.hpp>
#include <gnstor/wire/nvme/read_write.hpp>

#include <array>

namespace gnstor::test {

/// Command capsules, and the payloads that admin commands point to, on a sound queue pair: an admin
/// queue, an I/O queue, or one that is not connected yet.
inline void fuzz_capsule(fuzz_input in) {
  hostile_node n;
  fw::association& joined = n.context().joined;
  switch (in.take<std::uint8_t>() % 3) {
    case 0: joined = {}; break;
    case 1: joined.queue_id = 0; break;
    case 2: break;
  }
  in.fill(n.f.buffer, in.take<std::uint16_t>() % 1024);
  const mlx5_queue_pair<> queue = n.f.refs[0].queue();
  for (int k = 0; !in.empty() && k < 32; ++k) {
    wire::nvme::submission_entry e;
    in.fill(&e, sizeof e);
    e.dptr.address = n.address(e.dptr.address);
    const auto index = queue.try_reserve(1);
    if (!index) break;
    queue.write_send(index.value, e);
    queue.publish(index.value, 1);
    queue.ring();
    n.f.step(4);
    bool alive = true;
    for (completion c = queue.poll(simt::group::self()); c.kind != completion_kind::none;
         c = queue.poll(simt::group::self())) {
      alive = alive && c.kind == completion_kind::response;
    }
    if (!alive) break;
    queue.retire(index.value);
  }
  n.check();
}

/// One of each command that is served.
inline std::vector<std::vector<std::uint8_t>> capsule_seeds() {
  using wire::nvme::nvm_opcode;
  std::vector<std::vector<std::uint8_t>> all;
  const auto add = [&](std::uint8_t kind, const void* payload, std::uint16_t bytes,
                       const wire::nvme::submission_entry& e) {
    std::vector<std::uint8_t> one{kind, static_cast<std::uint8_t>(bytes),
                                  static_cast<std::uint8_t>(bytes >> 8)};
    const auto* p = static_cast<const std::uint8_t*>(payload);
    one.insert(one.end(), p, p + bytes);
    const auto* c = reinterpret_cast<const std::uint8_t*>(&e);
    one.insert(one.end(), c, c + sizeof e);
    all.push_back(std::move(one));
  };
  const auto sgl = [](std::uint32_t bytes) {
    return wire::nvme::make_keyed_sgl(0, bytes, hostile_node::buffer_key);
  };
  for (const nvm_opcode op : {nvm_opcode::read, nvm_opcode::write, nvm_opcode::write_zeroes}) {
    const bool data = op != nvm_opcode::write_zeroes;
    auto e = wire::nvme::make_read_write(
        op, 3, 1, wire::afa::pack_slba(volume_id(9), node_fixture::client, vba(4)), 2,
        data ? sgl(2 * block_bytes) : wire::nvme::make_keyed_sgl(0, 0, 0));
    e.cdw2 = 1;
    add(2, nullptr, 0, e);
  }
  add(2, nullptr, 0, wire::nvme::make_flush(4, 1));
  wire::fabrics::connect_data who{};
  who.hostid[0] = 0x5a;
  who.cntlid = node_fixture::controller;
  std::strcpy(who.subnqn, node_fixture::nqn);
  std::strcpy(who.hostnqn, "nqn.2026-11.io.gnstor:host:test");
  const auto join = wire::fabrics::make_connect(1, 1, hostile_node::depth, sgl(1024));
  wire::nvme::submission_entry connect;
  std::memcpy(&connect, &join, sizeof connect);
  add(0, &who, 1000, connect);
  wire::afa::volume_record added{};
  added.version = wire::afa::payload_version;
  added.vid = 11;
  added.replicas = 1;
  added.capacity_blocks = 100;
  added.stripe_blocks = 4;
  added.epoch = 1;
  added.client_count = 1;
  added.clients[0] = {7, 3};
  wire::afa::volume_chmod change{};
  change.version = wire::afa::payload_version;
  change.vid = 9;
  change.client_count = 1;
  change.clients[0] = {7, 1};
  const auto admin = [&](wire::afa::admin_opcode op, std::uint32_t bytes) {
    return wire::afa::admin_command{op, 5, 1, 1, volume_id(9), sgl(bytes)}.pack();
  };
  add(1, &added, sizeof added < 1000 ? sizeof added : 1000,
      admin(wire::afa::admin_opcode::volume_add, sizeof added));
  add(1, &change, sizeof change < 1000 ? sizeof change : 1000,
      admin(wire::afa::admin_opcode::volume_chmod, sizeof change));
  add(1, nullptr, 0, admin(wire::afa::admin_opcode::volume_delete, 0));
  add(1, nullptr, 0, admin(wire::afa::admin_opcode::volume_list, sizeof(wire::afa::volume_list)));
  add(1, nullptr, 0,
      admin(wire::afa::admin_opcode::array_describe, sizeof(wire::afa::array_description)));
  add(1, nullptr, 0,
      admin(wire::afa::admin_opcode::ssd_describe, sizeof(wire::afa::ssd_description)));
  return all;
}

}  // namespace gnstor::test

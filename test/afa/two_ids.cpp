/// A session's queue: it writes by the session's client id, and reads by its host's, too.
#include "courier.hpp"
#include "node_fixture.hpp"
#include "qp/seed_sweep.hpp"
#include <gnstor/wire/afa/admin_command.hpp>
#include <gnstor/wire/afa/array_description.hpp>
#include <gnstor/wire/afa/slba.hpp>
#include <gnstor/wire/afa/status.hpp>
#include <gnstor/wire/nvme/lba_status.hpp>
#include <gnstor/wire/nvme/read_write.hpp>

#include <utility>

using namespace gnstor;
using namespace gnstor::test;
using wire::afa::right_read;
using wire::afa::right_write;
using wire::nvme::nvm_opcode;

namespace {

constexpr client_id session = node_fixture::client;
constexpr client_id whole_host{12};
constexpr client_id stranger{8};

/// A node with a volume that the session writes, its host reads, and a stranger, too.
struct shared_volume {
  shared_volume() : f({.ssds = 1, .depth = 8}) {
    wire::afa::volume_record r{};
    REQUIRE(f.drive(0).volume_delete(1, volume_id(9)) == 0);
    r.version = wire::afa::payload_version;
    r.vid = 9;
    r.replicas = 1;
    r.hash_factor = 77;
    r.capacity_blocks = 64;
    r.stripe_blocks = 4;
    r.epoch = 1;
    r.client_count = 3;
    r.clients[0] = {session.value, right_read | right_write};
    r.clients[1] = {whole_host.value, right_read};
    r.clients[2] = {stranger.value, right_read};
    REQUIRE(f.drive(0).volume_add(1, r) == 0);
    f.node.hosts[0].client = session.value | std::uint32_t{whole_host.value} << 16;
    f.connect(0);
    f.node.queues[0].joined.host = whole_host;
  }
  courier_request block(nvm_opcode op, client_id as, bool owned = false) const {
    auto e = wire::nvme::make_read_write(
        op, 0, 1, wire::afa::pack_slba(volume_id(9), as, vba(0)), 1,
        wire::nvme::make_keyed_sgl(f.block(0).address, block_bytes, node_fixture::key));
    e.cdw2 = 1;
    if (owned) e.cdw12 |= wire::nvme::force_unit_access;
    return {e};
  }

  node_fixture f;
};

std::string refused(const courier_request& r, wire::afa::status why) {
  const bool so = !r.outcome.ok() && r.outcome.nvme_type == 7 &&
                  r.outcome.nvme_code == static_cast<std::uint8_t>(why);
  return so ? "" : "not refused as it should be: " + std::to_string(r.outcome.nvme_code);
}

std::string served(std::uint32_t lanes, host::options o) {
  shared_volume v;
  std::vector<courier_request> all{
      v.block(nvm_opcode::write, session),   v.block(nvm_opcode::read, session),
      v.block(nvm_opcode::read, whole_host), v.block(nvm_opcode::read, whole_host, true),
      v.block(nvm_opcode::read, session),    v.block(nvm_opcode::write, whole_host),
      v.block(nvm_opcode::read, stranger),   v.block(nvm_opcode::write, stranger),
      v.block(nvm_opcode::write, session)};
  *v.f.node.stop = 0;
  host::executor machine(o);
  machine.spawn(1, 1, courier{v.f.channels, all.data(), static_cast<std::uint32_t>(all.size())});
  machine.serve_in(simt::domain::nic, v.f.node.shape.roles(), lanes, *v.f.node.stop,
                   fw::service{v.f.node});
  const std::string fault = run_to_end(machine);
  if (!fault.empty()) return fault;
  for (const std::size_t k : {0, 1, 2, 3, 4, 8})
    if (!all[k].outcome.ok()) return "command " + std::to_string(k) + " fails";
  for (const std::size_t k : {6, 7}) {
    if (const std::string what = refused(all[k], wire::afa::status::wrong_client); !what.empty())
      return what;
  }
  return refused(all[5], wire::afa::status::not_permitted);
}

}  // namespace

TEST_CASE("a session writes by its own id, reads by its host's, too, and is nobody else") {
  for (const std::uint32_t lanes : {1u, 32u}) {
    CAPTURE(lanes);
    CHECK(served(lanes, {}) == "");
    const auto run = [&](host::options o) { return served(lanes, o); };
    sweep(host::mode::seeded, 20, run);
    sweep(host::mode::weak, 20, run);
  }
}

TEST_CASE("an array says to a session as whom it writes, and as whom its host reads") {
  shared_volume v;
  v.f.node.queues[0].joined.queue_id = 0;
  wire::afa::admin_command c;
  c.opcode = wire::afa::admin_opcode::array_describe;
  c.nsid = 1;
  c.payload = wire::nvme::make_keyed_sgl(v.f.block(0).address, sizeof(wire::afa::array_description),
                                         node_fixture::key);
  courier_request ask{c.pack()};
  const auto* said = reinterpret_cast<const wire::afa::array_description*>(v.f.block(0).address);
  for (const bool is_session : {true, false}) {
    if (!is_session) v.f.node.hosts[0].client = session.value;
    *v.f.node.stop = 0;
    host::executor machine;
    machine.spawn(1, 1, courier{v.f.channels, &ask, 1});
    machine.serve_in(simt::domain::nic, v.f.node.shape.roles(), 32, *v.f.node.stop,
                     fw::service{v.f.node});
    machine.run();
    CHECK(ask.outcome.ok());
    CHECK(said->own_client == session.value);
    CHECK(said->own_host == (is_session ? whole_host : session).value);
  }
}

TEST_CASE("a session learns which blocks there are by its host's id, too") {
  shared_volume v;
  v.f.node.queues[0].joined.queue_id = 0;
  for (const auto& [as, why] : {std::pair{session, 0}, {whole_host, 0}, {stranger, 3}}) {
    CAPTURE(as.value);
    courier_request ask{wire::nvme::make_get_lba_status(
        0, 1, wire::afa::pack_slba(volume_id(9), as, vba(0)), 4, 256)};
    ask.command.dptr = wire::nvme::make_keyed_sgl(v.f.block(0).address, 256, node_fixture::key);
    ask.command.cdw2 = 1;
    *v.f.node.stop = 0;
    host::executor machine;
    machine.spawn(1, 1, courier{v.f.channels, &ask, 1});
    machine.serve_in(simt::domain::nic, v.f.node.shape.roles(), 32, *v.f.node.stop,
                     fw::service{v.f.node});
    machine.run();
    CHECK(ask.outcome.ok() == (why == 0));
    CHECK(ask.outcome.nvme_code == why);
  }
}

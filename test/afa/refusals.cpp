/// Every wrong capsule gets an answer of its own from the real firmware, served by one lane per
/// warp and by thirty-two.
#include "courier.hpp"
#include "node_fixture.hpp"
#include "qp/seed_sweep.hpp"
#include <gnstor/wire/afa/command.hpp>
#include <gnstor/wire/fabrics/connect.hpp>
#include <gnstor/wire/fabrics/connect_status.hpp>

#include <set>
#include <utility>

using namespace gnstor;
using namespace gnstor::test;
using wire::nvme::generic_status;
using wire::nvme::submission_entry;

namespace {

constexpr std::uint32_t service_lanes[] = {1, 32};

/// Sends commands by channel `k` of a running node.
std::vector<courier_request> sent(node_fixture& f, std::uint32_t lanes,
                                  const std::vector<submission_entry>& commands,
                                  std::uint32_t k = 0) {
  std::vector<courier_request> requests(commands.size());
  for (std::size_t i = 0; i < commands.size(); ++i) requests[i].command = commands[i];
  *f.node.stop = 0;
  host::executor machine;
  machine.spawn(
      1, 1, courier{f.channels + k, requests.data(), static_cast<std::uint32_t>(requests.size())});
  machine.serve_in(simt::domain::nic, f.node.shape.roles(), lanes, *f.node.stop,
                   fw::service{f.node});
  machine.run();
  return requests;
}

/// Lanes that send a command each, all at once.
struct fellow_courier {
  const mlx5_channel* channel;
  courier_request* requests;

  template <class Lane>
  void operator()(Lane& lane) const {
    courier_request& e = requests[lane.global_thread()];
    e.outcome = channel->execute(e.command, deadline::never(), &e.value);
  }
};

/// A lane that only gives the firmware time.
struct patience {
  template <class Lane>
  void operator()(Lane& lane) const {
    for (int k = 0; k < 2000; ++k) lane.pause();
  }
};

struct code {
  std::uint8_t type;
  std::uint8_t value;
  friend bool operator==(const code&, const code&) = default;
  friend bool operator<(const code& a, const code& b) {
    return std::pair(a.type, a.value) < std::pair(b.type, b.value);
  }
};
code generic(generic_status s) { return {0, static_cast<std::uint8_t>(s)}; }
code afa(wire::afa::status s) { return {7, static_cast<std::uint8_t>(s)}; }
code connect(wire::fabrics::connect_status s) { return {1, static_cast<std::uint8_t>(s)}; }

void check_refused(const courier_request& e, code expected) {
  CHECK(e.outcome.code == status_code::nvme_error);
  CHECK(e.outcome.by == reporter::ssd);
  CHECK(code{e.outcome.nvme_type, e.outcome.nvme_code} == expected);
}

/// A good read of block 0 of volume 9, and a way to spoil it.
struct good_io {
  explicit good_io(node_fixture& fixture) : f(fixture) {
    const auto set = rendezvous_placement(4).replicas(volume_id(9), 77, 0, 2);
    right_ssd = set.ssd[0].value;
    for (std::uint16_t s = 0; s < 4; ++s) {
      if (!set.contains(ssd_index(s))) wrong_ssd = s;
    }
  }
  submission_entry operator()(wire::nvme::nvm_opcode op, volume_id vid = volume_id(9),
                              client_id who = node_fixture::client, std::uint32_t block = 0,
                              std::uint32_t blocks = 1) const {
    auto e = wire::nvme::make_read_write(
        op, 0, right_ssd + 1u, wire::afa::pack_slba(vid, who, vba(block)), blocks,
        wire::nvme::make_keyed_sgl(f.block(0).address, blocks * block_bytes, node_fixture::key));
    e.cdw2 = 1;
    return e;
  }

  node_fixture& f;
  std::uint32_t right_ssd = 0;
  std::uint32_t wrong_ssd = 0;
};

submission_entry connect_command(const node_fixture& f, std::uint16_t qid = 1) {
  const auto data = wire::nvme::make_keyed_sgl(reinterpret_cast<std::uint64_t>(f.connect_data),
                                               1024, node_fixture::key);
  return cuda::std::bit_cast<submission_entry>(wire::fabrics::make_connect(0, qid, 4, data));
}

/// A node whose channels may send, though no Connect has bound them.
void open_channels(node_fixture& f) {
  for (const mlx5_channel& c : f.refs) {
    c.queue().post_receives();
    c.counters().phase = static_cast<std::uint32_t>(channel_phase::ready);
  }
}

}  // namespace

TEST_CASE("each forged field of a read or write has its own status, and the queue pair lives on") {
  for (const std::uint32_t lanes : service_lanes) {
    for (const auto op : {wire::nvme::nvm_opcode::write, wire::nvme::nvm_opcode::read}) {
      CAPTURE(lanes);
      CAPTURE(static_cast<int>(op));
      node_fixture f({});
      f.connect(0);
      const good_io io(f);
      std::vector<submission_entry> commands;
      std::vector<code> expected;
      const auto forge = [&](code why, submission_entry e) {
        commands.push_back(e);
        expected.push_back(why);
      };
      const auto spoil = [&](code why, auto change) {
        submission_entry e = io(op);
        change(e);
        forge(why, e);
      };
      using wire::afa::status;
      forge(afa(status::unknown_volume), io(op, volume_id(8)));
      forge(afa(status::unknown_volume), io(op, volume_id(0)));
      forge(afa(status::wrong_client), io(op, volume_id(9), client_id(8)));
      forge(afa(status::wrong_client), io(op, volume_id(9), client_id(0)));
      forge(afa(status::beyond_capacity), io(op, volume_id(9), node_fixture::client, 256));
      forge(afa(status::beyond_capacity), io(op, volume_id(9), node_fixture::client, ~0u));
      forge(afa(status::crosses_stripe), io(op, volume_id(9), node_fixture::client, 3, 2));
      spoil(afa(status::wrong_ssd), [&](auto& e) { e.nsid = io.wrong_ssd + 1; });
      spoil(afa(status::stale_epoch), [](auto& e) { e.cdw2 = 0; });
      spoil(afa(status::stale_epoch), [](auto& e) { e.cdw2 = 2; });
      spoil(generic(generic_status::invalid_namespace), [](auto& e) { e.nsid = 0; });
      spoil(generic(generic_status::invalid_namespace), [](auto& e) { e.nsid = 5; });
      spoil(generic(generic_status::invalid_namespace), [](auto& e) { e.nsid = ~0u; });
      spoil(generic(generic_status::invalid_opcode), [](auto& e) { e.opcode = 0x99; });
      spoil(generic(generic_status::invalid_opcode), [](auto& e) { e.opcode = 0xc1; });
      spoil(generic(generic_status::invalid_field), [](auto& e) { e.cdw12 = 32; });
      const auto sgl = [&](std::uint32_t bytes) {
        return wire::nvme::make_keyed_sgl(f.block(0).address, bytes, node_fixture::key);
      };
      spoil(generic(generic_status::invalid_sgl_length), [&](auto& e) { e.dptr = sgl(4095); });
      spoil(generic(generic_status::invalid_sgl_length), [&](auto& e) { e.dptr = sgl(8192); });
      spoil(generic(generic_status::invalid_sgl_length), [&](auto& e) { e.dptr = sgl(0); });
      spoil(generic(generic_status::invalid_sgl_type), [](auto& e) {
        e.dptr.length_key_type = (e.dptr.length_key_type & ~(0xffull << 56)) | 0x4full << 56;
      });
      spoil(generic(generic_status::invalid_sgl_type),
            [](auto& e) { e.dptr.length_key_type &= ~(0xffull << 56); });
      const auto outcomes = sent(f, lanes, commands);
      for (std::size_t k = 0; k < outcomes.size(); ++k) {
        CAPTURE(k);
        check_refused(outcomes[k], expected[k]);
      }
      CHECK(std::set<code>(expected.begin(), expected.end()).size() == 11);
      CHECK(sent(f, lanes, {io(op)})[0].outcome.ok());
    }
  }
}

TEST_CASE("no command but Connect is served before Connect, and none of an unknown kind") {
  for (const std::uint32_t lanes : service_lanes) {
    CAPTURE(lanes);
    node_fixture f({});
    open_channels(f);
    const good_io io(f);
    submission_entry property = connect_command(f);
    reinterpret_cast<unsigned char*>(&property)[4] = 0x04;
    const auto e = sent(f, lanes,
                        {io(wire::nvme::nvm_opcode::read), wire::nvme::make_flush(0, 1), property,
                         connect_command(f), io(wire::nvme::nvm_opcode::read)});
    check_refused(e[0], generic(generic_status::command_sequence_error));
    check_refused(e[1], generic(generic_status::command_sequence_error));
    check_refused(e[2], generic(generic_status::invalid_field));
    CHECK(e[3].outcome.ok());
    CHECK(e[3].value == node_fixture::controller);
    CHECK(e[4].outcome.ok());
  }
}

TEST_CASE("each wrong Connect has its own status, and binds nothing") {
  for (const std::uint32_t lanes : service_lanes) {
    CAPTURE(lanes);
    const auto refused = [&](auto spoil, code why, std::uint32_t detail) {
      node_fixture f({});
      open_channels(f);
      submission_entry c = connect_command(f);
      spoil(f, c);
      const auto e = sent(f, lanes, {c, good_io(f)(wire::nvme::nvm_opcode::read)});
      check_refused(e[0], why);
      CHECK(e[0].value == detail);
      check_refused(e[1], generic(generic_status::command_sequence_error));
    };
    using wire::fabrics::connect_status;
    const code parameters = connect(connect_status::invalid_parameters);
    refused([](auto& f, auto&) { f.image.here(f.connect_data)->subnqn[0] = 'x'; }, parameters,
            0x10000 | 256);
    refused([](auto& f, auto&) { f.image.here(f.connect_data)->subnqn[25] = 'x'; }, parameters,
            0x10000 | 256);
    refused([](auto& f, auto&) { f.image.here(f.connect_data)->cntlid = 4; }, parameters,
            0x10000 | 16);
    refused([](auto& f, auto&) { f.image.here(f.connect_data)->hostid[15] = 1; },
            connect(connect_status::invalid_host), 0);
    const auto sgl = [](auto& f, std::uint32_t bytes) {
      return wire::nvme::make_keyed_sgl(reinterpret_cast<std::uint64_t>(f.connect_data), bytes,
                                        node_fixture::key);
    };
    const code length = generic(generic_status::invalid_sgl_length);
    refused([&](auto& f, auto& c) { c.dptr = sgl(f, 1023); }, length, 0);
    refused([&](auto& f, auto& c) { c.dptr = sgl(f, 0); }, length, 0);
    refused([](auto&, auto& c) { c.dptr.length_key_type ^= 0xfull << 56; },
            generic(generic_status::invalid_sgl_type), 0);
  }
}

TEST_CASE("a second Connect is a sequence error, and the first one's client stays bound") {
  for (const std::uint32_t lanes : service_lanes) {
    CAPTURE(lanes);
    node_fixture f({});
    open_channels(f);
    const auto e =
        sent(f, lanes,
             {connect_command(f), connect_command(f), good_io(f)(wire::nvme::nvm_opcode::read)});
    CHECK(e[0].outcome.ok());
    check_refused(e[1], generic(generic_status::command_sequence_error));
    CHECK(e[2].outcome.ok());
  }
}

TEST_CASE("a flush goes to an SSD that is there and works") {
  for (const std::uint32_t lanes : service_lanes) {
    CAPTURE(lanes);
    node_fixture f({});
    f.connect(0);
    f.image.here(f.node.faults)[2] = static_cast<std::uint32_t>(fw::ssd_fault::dead);
    f.image.here(f.node.faults)[3] = static_cast<std::uint32_t>(fw::ssd_fault::media_error);
    const auto e = sent(
        f, lanes,
        {wire::nvme::make_flush(0, 2), wire::nvme::make_flush(0, 3), wire::nvme::make_flush(0, 4),
         wire::nvme::make_flush(0, 0), wire::nvme::make_flush(0, 5)});
    CHECK(e[0].outcome.ok());
    check_refused(e[1], generic(generic_status::internal_error));
    CHECK(e[2].outcome.ok());
    check_refused(e[3], generic(generic_status::invalid_namespace));
    check_refused(e[4], generic(generic_status::invalid_namespace));
  }
}

TEST_CASE(
    "of two Connects in one doorbell one is accepted, and what follows it is served, seeded") {
  sweep(host::mode::seeded, 100, [](host::options o) {
    node_fixture f({.ssds = 1});
    open_channels(f);
    const mlx5_queue_pair<> q = f.refs[0].queue();
    REQUIRE(q.try_reserve(3));
    submission_entry c = connect_command(f);
    for (std::uint16_t k = 0; k < 3; ++k) {
      if (k == 2) c = wire::nvme::make_flush(0, 1);
      c.command_id = k;
      q.write_send(k, c);
    }
    q.publish(0, 3);
    q.ring();
    host::executor machine(o);
    machine.spawn(1, 1, patience{});
    machine.serve_in(simt::domain::nic, f.node.shape.roles(), 4, *f.node.stop, fw::service{f.node});
    const std::string fault = run_to_end(machine);
    if (!fault.empty()) return fault;
    std::uint16_t outcome[3] = {1, 1, 1};
    for (int k = 0; k < 3; ++k) {
      const completion done = q.poll(simt::group::self());
      if (done.kind != completion_kind::response) return std::string("no answer");
      outcome[done.response.command_id] = done.response.status;
    }
    if (outcome[0] != 0) return std::string("the first Connect was refused");
    if (wire::nvme::status_code(outcome[1]) != 0x0c) return std::string("the second was accepted");
    return std::string(outcome[2] == 0 ? "" : "the command behind them was refused");
  });
}

TEST_CASE("a command whose key does not open its data is blamed, and breaks no other queue pair") {
  using f = node_fixture;
  for (const std::uint32_t lanes : service_lanes) {
    const auto broken = [&](wire::nvme::nvm_opcode op, std::uint32_t key, std::uint64_t shift) {
      CAPTURE(lanes);
      CAPTURE(key);
      node_fixture node({.queues = 2});
      node.connect(0);
      node.connect(1);
      const good_io io(node);
      submission_entry e = io(op);
      e.dptr = wire::nvme::make_keyed_sgl(node.block(0).address + shift, block_bytes, key);
      const auto outcomes = sent(node, lanes, {e, io(op)});
      CHECK(outcomes[0].outcome.code == status_code::transport_error);
      CHECK(outcomes[0].outcome.syndrome == 0x11);
      CHECK(outcomes[1].outcome.code == status_code::flushed);
      CHECK(node.refs[0].phase() == channel_phase::error);
      CHECK(sent(node, lanes, {io(op)}, 1)[0].outcome.ok());
    };
    for (const auto op : {wire::nvme::nvm_opcode::write, wire::nvme::nvm_opcode::read}) {
      broken(op, 0, 0);
      broken(op, f::key + 1, 0);
      broken(op, 0x40000001, 0);
      broken(op, f::foreign_key, 0);
      broken(op, f::key, std::uint64_t{1} << 40);
      broken(op, f::read_only, std::uint64_t{8} * block_bytes - 1);
    }
    broken(wire::nvme::nvm_opcode::read, f::read_only, 0);
  }
}

TEST_CASE("nothing is answered behind a command whose key does not open its data") {
  using f = node_fixture;
  node_fixture node({});
  node.connect(0);
  const good_io io(node);
  const auto read = wire::nvme::nvm_opcode::read;
  // A page that is there is answered in the round that finds it.
  REQUIRE(sent(node, 32, {io(wire::nvme::nvm_opcode::write)})[0].outcome.ok());
  std::vector<courier_request> requests(3);
  for (courier_request& e : requests) e.command = io(read);
  requests[1].command.dptr =
      wire::nvme::make_keyed_sgl(node.block(0).address, block_bytes, f::key + 1);
  *node.node.stop = 0;
  host::executor machine;
  machine.spawn(1, 3, fellow_courier{node.channels, requests.data()});
  machine.serve_in(simt::domain::nic, node.node.shape.roles(), 32, *node.node.stop,
                   fw::service{node.node});
  machine.run();
  CHECK(requests[0].outcome.ok());
  CHECK(requests[1].outcome.code == status_code::transport_error);
  CHECK(requests[2].outcome.code == status_code::flushed);
}

TEST_CASE("an admin command wants its own queue, length, key and an aligned address") {
  for (const std::uint32_t lanes : service_lanes) {
    CAPTURE(lanes);
    node_fixture f({});
    f.connect(0);
    f.node.queues[0].joined.queue_id = 0;
    wire::afa::admin_command list;
    list.opcode = wire::afa::admin_opcode::array_describe;
    list.nsid = 2;
    const auto with = [&](std::uint64_t shift, std::uint32_t bytes) {
      list.payload = wire::nvme::make_keyed_sgl(f.block(0).address + shift, bytes, f.key);
      return list.pack();
    };
    constexpr std::uint32_t all = sizeof(wire::afa::array_description);
    submission_entry unknown = with(0, all);
    unknown.opcode = 0xc2;
    const auto e = sent(f, lanes,
                        {with(0, all - 1), with(1, all), unknown,
                         good_io(f)(wire::nvme::nvm_opcode::read), with(0, all)});
    check_refused(e[0], generic(generic_status::invalid_sgl_length));
    check_refused(e[1], generic(generic_status::invalid_sgl_offset));
    check_refused(e[2], generic(generic_status::invalid_opcode));
    check_refused(e[3], generic(generic_status::invalid_opcode));
    CHECK(e[4].outcome.ok());
    const auto* seen = reinterpret_cast<const wire::afa::array_description*>(f.block(0).address);
    CHECK(seen->own_ssd == 1);
    const std::uint32_t seen_epoch = seen->epoch;
    CHECK(seen->own_client == node_fixture::client.value);

    list.opcode = wire::afa::admin_opcode::ssd_describe;
    constexpr std::uint32_t flash = sizeof(wire::afa::ssd_description);
    const auto f_says = sent(f, lanes, {with(0, flash - 1), with(4, flash), with(0, flash)});
    check_refused(f_says[0], generic(generic_status::invalid_sgl_length));
    check_refused(f_says[1], generic(generic_status::invalid_sgl_offset));
    CHECK(f_says[2].outcome.ok());
    const auto* said = reinterpret_cast<const wire::afa::ssd_description*>(f.block(0).address);
    CHECK(said->version == wire::afa::payload_version);
    CHECK(said->epoch == seen_epoch);
    CHECK(said->erase_blocks == said->seen_blocks);
    CHECK(said->used_blocks == 0);
  }
}

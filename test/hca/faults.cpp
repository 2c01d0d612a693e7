/// What the emulated NIC does to entries, keys and doorbells that are wrong, step by step.
// label: thorough
#include "afa/node_fixture.hpp"
#include <gnstor/wire/afa/slba.hpp>
#include <gnstor/wire/nvme/read_write.hpp>

using namespace gnstor;
using namespace gnstor::test;
using wire::mlx5::syndrome;

namespace {

/// Two queue pairs on one node: what happens to the first must not disturb the second.
struct rig {
  rig() : f({.ssds = 1, .queues = 2, .depth = 8}) {
    f.connect(0);
    f.connect(1);
  }

  mlx5_queue_pair<> queue(std::uint32_t k = 0) const { return f.refs[k].queue(); }
  mlx5_queue_state& state() { return *reinterpret_cast<mlx5_queue_state*>(memory()); }
  unsigned char* memory() {
    const auto at = f.node.queues[0].at.send_ring - mlx5_queue_layout::of(8).send_ring;
    return reinterpret_cast<unsigned char*>(at);
  }
  /// The send entry of a request.
  unsigned char* entry(std::uint64_t index) {
    return reinterpret_cast<unsigned char*>(f.node.queues[0].at.send_ring) + index % 8 * 64;
  }
  /// A Flush: answered by the NIC's target alone.
  std::uint64_t write_flush(std::uint16_t id, std::uint32_t k = 0) {
    const auto index = queue(k).try_reserve(1);
    REQUIRE(index);
    queue(k).write_send(index.value, wire::nvme::make_flush(id, 1));
    return index.value;
  }
  void send(std::uint64_t index, std::uint32_t k = 0) {
    queue(k).publish(index, 1);
    queue(k).ring();
  }
  completion poll(std::uint32_t k = 0) { return queue(k).poll(simt::group::self()); }

  /// The second queue pair works as ever.
  void check_other() {
    send(write_flush(77, 1), 1);
    f.step();
    const completion c = poll(1);
    CHECK(c.kind == completion_kind::response);
    CHECK(c.response.command_id == 77);
    CHECK(c.response.status == 0);
    queue(1).retire(f.node.queues[1].send_head - 1);
  }
  /// The next completion of the first queue pair is a failure of `index` with `why`.
  void check_failure(std::uint64_t index, syndrome why) {
    const completion c = poll();
    CHECK(c.kind == completion_kind::failed);
    CHECK(c.index == index);
    CHECK(c.outcome.syndrome == static_cast<std::uint8_t>(why));
    CHECK(c.outcome.code ==
          (why == syndrome::flushed ? status_code::flushed : status_code::transport_error));
  }

  node_fixture f;
};

/// One request whose entry `spoil` changes fails with `why`; what comes after it is flushed.
template <class Spoil>
void check_spoilt(syndrome why, Spoil spoil) {
  rig r;
  r.send(r.write_flush(1));
  r.f.step();
  CHECK(r.poll().response.command_id == 1);
  const std::uint64_t index = r.write_flush(2);
  spoil(r.entry(index));
  r.send(index);
  r.send(r.write_flush(3));
  r.f.step();
  r.check_failure(index, why);
  r.check_failure(index + 1, syndrome::flushed);
  r.send(r.write_flush(4));
  r.f.step();
  r.check_failure(index + 2, syndrome::flushed);
  CHECK(r.poll().kind == completion_kind::none);
  r.check_other();
}

one_sided transfer(rig& r, bool write, std::uint32_t lkey, std::uint32_t rkey) {
  one_sided t;
  t.local_address = r.f.block(0).address;
  t.remote_address = r.f.block(1).address;
  t.bytes = block_bytes;
  t.lkey = lkey;
  t.rkey = rkey;
  t.write = write;
  return t;
}

/// What becomes of a one-sided transfer.
completion moved(rig& r, const one_sided& t) {
  const auto index = r.queue().try_reserve(1);
  REQUIRE(index);
  r.queue().write_one_sided(index.value, t);
  r.send(index.value);
  r.f.step();
  return r.poll();
}

}  // namespace

TEST_CASE("an entry of another position, queue pair, opcode or size is a queue pair error") {
  check_spoilt(syndrome::local_queue_pair_error, [](unsigned char* e) { e[2] ^= 1; });
  check_spoilt(syndrome::local_queue_pair_error, [](unsigned char* e) { e[1] ^= 0x80; });
  check_spoilt(syndrome::local_queue_pair_error, [](unsigned char* e) { e[6] ^= 2; });
  check_spoilt(syndrome::local_queue_pair_error, [](unsigned char* e) { e[4] ^= 0x40; });
  check_spoilt(syndrome::local_queue_pair_error, [](unsigned char* e) { e[3] = 0x12; });
  check_spoilt(syndrome::local_queue_pair_error, [](unsigned char* e) { e[7] = 3; });
  check_spoilt(syndrome::local_queue_pair_error, [](unsigned char* e) { e[7] = 0; });
}

TEST_CASE("a capsule of another length is a length error") {
  check_spoilt(syndrome::local_length_error, [](unsigned char* e) { e[19] = 32; });
}

TEST_CASE("a capsule whose local key opens nothing is a protection error") {
  check_spoilt(syndrome::local_protection_error, [](unsigned char* e) { e[23] ^= 1; });
  check_spoilt(syndrome::local_protection_error, [](unsigned char* e) { e[22] = 3; });
  check_spoilt(syndrome::local_protection_error, [](unsigned char* e) { e[20] = 0xff; });
  check_spoilt(syndrome::local_protection_error, [](unsigned char* e) { e[24] = 0xff; });
}

TEST_CASE("a lost doorbell stalls the queue until the next one, which loses nothing") {
  rig r;
  const std::uint64_t first = r.write_flush(1);
  const std::uint64_t before = r.state().doorbell;
  r.send(first);
  r.state().doorbell = before;
  r.f.step(50);
  CHECK(r.poll().kind == completion_kind::none);
  r.send(r.write_flush(2));
  r.f.step();
  CHECK(r.poll().response.command_id == 1);
  CHECK(r.poll().response.command_id == 2);
  CHECK(r.poll().kind == completion_kind::none);
}

TEST_CASE("a duplicate doorbell, or one with another hint, changes nothing") {
  rig r;
  r.send(r.write_flush(1));
  r.f.step();
  CHECK(r.poll().response.command_id == 1);
  r.queue().ring();
  r.f.step();
  r.state().doorbell = wire::mlx5::doorbell_value(5, 1);
  r.f.step();
  CHECK(r.poll().kind == completion_kind::none);
  r.send(r.write_flush(2));
  r.f.step();
  CHECK(r.poll().response.command_id == 2);
  CHECK(r.poll().kind == completion_kind::none);
}

TEST_CASE("a doorbell record that runs back breaks the queue pair once, and floods nothing") {
  rig r;
  for (std::uint16_t k = 0; k < 3; ++k) r.send(r.write_flush(k));
  r.f.step();
  for (std::uint16_t k = 0; k < 3; ++k) CHECK(r.poll().response.command_id == k);
  r.state().doorbell_record.send = wire::mlx5::record_value(2);
  r.state().doorbell = wire::mlx5::doorbell_value(2, 1);
  r.f.step(100);
  const completion c = r.poll();
  CHECK(c.kind == completion_kind::failed);
  CHECK(c.outcome.syndrome == static_cast<std::uint8_t>(syndrome::local_queue_pair_error));
  CHECK(r.poll().kind == completion_kind::none);
  r.check_other();
}

TEST_CASE("without a posted receive an answer waits, and comes when one is posted") {
  rig r;
  const std::uint32_t posted = r.state().doorbell_record.receive;
  r.send(r.write_flush(1));
  r.send(r.write_flush(2));
  r.state().doorbell_record.receive = wire::mlx5::record_value(0);
  r.f.step(50);
  CHECK(r.poll().kind == completion_kind::none);
  CHECK(r.f.node.queues[0].broken == 0);
  r.check_other();
  r.state().doorbell_record.receive = wire::mlx5::record_value(1);
  r.f.step();
  CHECK(r.poll().response.command_id == 1);
  CHECK(r.poll().kind == completion_kind::none);
  r.state().doorbell_record.receive = posted;
  r.f.step();
  CHECK(r.poll().response.command_id == 2);
}

TEST_CASE("a read waits for a receive like any other command, and moves its data once") {
  rig r;
  const std::uint32_t posted = r.state().doorbell_record.receive;
  std::uint32_t granted = wire::mlx5::record_value(1);
  const auto io = [&](wire::nvme::nvm_opcode op, std::uint16_t id, std::uint32_t block) {
    auto e = wire::nvme::make_read_write(
        op, id, 1, wire::afa::pack_slba(volume_id(9), node_fixture::client, vba(0)), 1,
        wire::nvme::make_keyed_sgl(r.f.block(block).address, block_bytes, node_fixture::key));
    e.cdw2 = 1;
    const auto index = r.queue().try_reserve(1);
    REQUIRE(index);
    r.queue().write_send(index.value, e);
    r.send(index.value);
    if (granted != posted) r.state().doorbell_record.receive = granted;
    r.f.step(50);
  };
  std::memset(r.f.block(0).data(), 0x5c, block_bytes);
  io(wire::nvme::nvm_opcode::write, 1, 0);
  CHECK(r.poll().response.command_id == 1);
  io(wire::nvme::nvm_opcode::read, 2, 1);
  CHECK(r.poll().kind == completion_kind::none);
  CHECK(r.f.node.queues[0].broken == 0);
  r.state().doorbell_record.receive = granted = posted;
  r.f.step(50);
  const completion c = r.poll();
  CHECK(c.kind == completion_kind::response);
  CHECK(c.response.command_id == 2);
  CHECK(c.response.status == 0);
  CHECK(r.poll().kind == completion_kind::none);
  CHECK(std::memcmp(r.f.block(0).data(), r.f.block(1).data(), block_bytes) == 0);
  // With receives at hand, and nothing else to do, it needs no slot and no hand-over.
  std::memset(r.f.block(1).data(), 0, block_bytes);
  const std::uint64_t copies = r.f.image.here(r.f.node.ring_ends)[2 + 1].tail;
  io(wire::nvme::nvm_opcode::read, 3, 1);
  CHECK(r.poll().response.command_id == 3);
  CHECK(std::memcmp(r.f.block(0).data(), r.f.block(1).data(), block_bytes) == 0);
  CHECK(r.f.image.here(r.f.node.ring_ends)[2 + 1].tail == copies);
}

TEST_CASE("a receive whose key opens nothing breaks the queue pair") {
  rig r;
  const auto ring = reinterpret_cast<unsigned char*>(r.f.node.queues[0].at.receive_ring);
  ring[7] ^= 1;
  r.send(r.write_flush(1));
  r.f.step();
  const completion c = r.poll();
  CHECK(c.kind == completion_kind::broken);
  CHECK(c.outcome.syndrome == static_cast<std::uint8_t>(syndrome::local_protection_error));
  r.check_other();
}

TEST_CASE("RDMA READ and WRITE move the bytes that their keys open, and no others") {
  rig r;
  auto* here = static_cast<unsigned char*>(r.f.block(0).data());
  auto* there = static_cast<unsigned char*>(r.f.block(1).data());
  std::memset(here, 0x11, block_bytes);
  CHECK(moved(r, transfer(r, true, node_fixture::key, node_fixture::key)).kind ==
        completion_kind::sent);
  CHECK(std::memcmp(here, there, block_bytes) == 0);
  std::memset(there, 0x22, block_bytes);
  one_sided part = transfer(r, false, node_fixture::key, node_fixture::key);
  part.local_address += 3;
  part.remote_address += 5;
  part.bytes = 100;
  CHECK(moved(r, part).kind == completion_kind::sent);
  CHECK(here[2] == 0x11);
  CHECK(here[3] == 0x22);
  CHECK(here[102] == 0x22);
  CHECK(here[103] == 0x11);
}

TEST_CASE("each wrong key of a one-sided transfer has its own syndrome") {
  using f = node_fixture;
  const auto failed = [](bool write, std::uint32_t lkey, std::uint32_t rkey, auto change) {
    rig r;
    one_sided t = transfer(r, write, lkey, rkey);
    change(t);
    const completion c = moved(r, t);
    CHECK(c.kind == completion_kind::failed);
    r.check_other();
    return static_cast<syndrome>(c.outcome.syndrome);
  };
  const auto as_it_is = [](one_sided&) {};
  for (const bool write : {false, true}) {
    CHECK(failed(write, f::key, f::key + 1, as_it_is) == syndrome::remote_access_error);
    CHECK(failed(write, f::key, 0, as_it_is) == syndrome::remote_access_error);
    CHECK(failed(write, f::key, f::foreign_key, as_it_is) == syndrome::remote_access_error);
    CHECK(failed(write, f::key, f::read_only, [](one_sided& t) { t.remote_address -= 4097; }) ==
          syndrome::remote_access_error);
    CHECK(failed(write, f::foreign_key, f::key, as_it_is) == syndrome::local_protection_error);
    CHECK(failed(write, f::key, f::key, [](one_sided& t) { t.remote_address = ~0ull - 5; }) ==
          syndrome::remote_access_error);
    CHECK(failed(write, f::key, f::key, [](one_sided& t) { t.bytes = 0x7fffffff; }) ==
          syndrome::local_protection_error);
  }
  CHECK(failed(true, f::key, f::read_only, as_it_is) == syndrome::remote_access_error);
  CHECK(failed(false, f::read_only, f::key, as_it_is) == syndrome::local_protection_error);
  rig r;
  CHECK(moved(r, transfer(r, false, f::key, f::read_only)).kind == completion_kind::sent);
}

TEST_CASE("an engine that keeps keys forgets them when one is withdrawn") {
  rig r;
  fw::queue_engine engine(r.f.node, 0);
  const auto moved_by_engine = [&] {
    const auto index = r.queue().try_reserve(1);
    REQUIRE(index);
    r.queue().write_one_sided(index.value, transfer(r, true, node_fixture::key, node_fixture::key));
    r.send(index.value);
    for (int k = 0; k < 8; ++k) engine.tick(simt::group::self());
    const completion c = r.poll();
    if (c.kind == completion_kind::sent) r.queue().retire(c.index);
    return c;
  };
  CHECK(moved_by_engine().kind == completion_kind::sent);
  CHECK(moved_by_engine().kind == completion_kind::sent);
  r.f.image.here(r.f.node.regions)[node_fixture::key >> 8].key = 0;
  ++*r.f.image.here(r.f.node.region_changes);
  const completion refused = moved_by_engine();
  CHECK(refused.kind == completion_kind::failed);
  CHECK(refused.outcome.syndrome == static_cast<std::uint8_t>(syndrome::local_protection_error));
}

/// The bytes of each device command, word by word as the PRM counts them.
#include "rig.hpp"

#include <doctest/doctest.h>

#include <set>

using namespace gnstor;
using namespace gnstor::test;

namespace {

constexpr std::uint32_t umem = 0x500;      ///< what the fake calls the first
constexpr std::uint32_t page = 0x321;      ///< the fake's doorbell page
constexpr std::uint32_t cq = 0x001c40;     ///< the fake's completion queue
constexpr std::uint32_t qp = 0x00beef;     ///< the fake's queue pair
constexpr std::size_t context = 0x18;      ///< of a queue pair command
constexpr std::size_t path = 0x18 + 0x18;  ///< of a queue pair command

struct setup {
  explicit setup(ibv_gid_type gid = IBV_GID_TYPE_ROCE_V2, bool global = true) {
    fake_machine& m = fake_machine::get();
    m.reset();
    m.gid_type = gid;
    m.global = global;
    all = std::make_unique<rig>();
    base = all->block->offset(rig::index);
  }
  const fake_machine::command& command(std::uint32_t opcode) const {
    return fake_machine::get().last(opcode);
  }
  std::unique_ptr<rig> all;
  std::uint64_t base = 0;
  mlx5_queue_layout layout = mlx5_queue_layout::of(rig::depth, nic_queue_pair::blocks);
};

/// Checks that every word of a command is one of `words`, or zero.
void check_rest_is_zero(const fake_machine::command& c, const std::set<std::size_t>& words) {
  for (std::size_t at = 0; at < c.bytes.size(); at += 4) {
    CAPTURE(at);
    if (!words.contains(at)) CHECK(c.word(at) == 0);
  }
}

}  // namespace

TEST_CASE("the capabilities are asked for as they are now") {
  const setup s;
  const auto& all = fake_machine::get().commands;
  REQUIRE(all.size() >= 2);
  CHECK(all[0].bytes.size() == 16);
  CHECK(all[0].word(0) == 0x01000000);
  CHECK(all[0].word(4) == 1);
  CHECK(all[1].word(0) == 0x01000000);
  CHECK(all[1].word(4) == 9);
}

TEST_CASE("a NIC without RoCE is not asked about it") {
  fake_machine& m = fake_machine::get();
  m.reset();
  m.general[0x43] = 0;
  const rig r;
  CHECK(m.commands[0].opcode() == 0x100);
  CHECK(m.commands[1].opcode() == 0x400);
}

TEST_CASE("CREATE_CQ describes the completion ring, ignoring overrun") {
  const setup s;
  const fake_machine::command& c = s.command(0x400);
  CHECK(c.bytes.size() == 0x110);
  CHECK(c.word(0x00) == 0x04000000);
  CHECK(c.word(0x10) == (1u << 25 | 1u << 17));  // doorbell umem valid, ignore overrun
  CHECK(c.word(0x14) == umem);
  CHECK(c.word(0x1c) == (4u << 24 | page));  // 16 entries for a depth of 8
  CHECK(c.word(0x24) == 0x1d);
  CHECK(c.wide(0x48) == s.base + offsetof(mlx5_queue_state, completion_record));
  CHECK(c.wide(0x50) == s.base + s.layout.completions);
  CHECK(c.word(0x58) == umem);
  CHECK(c.word(0x5c) == 1u << 31);
  check_rest_is_zero(c, {0, 0x10, 0x14, 0x1c, 0x24, 0x48, 0x4c, 0x50, 0x54, 0x58, 0x5c});
}

TEST_CASE("CREATE_QP describes the work queue, receives first, and its doorbell record") {
  const setup s;
  const fake_machine::command& c = s.command(0x500);
  CHECK(c.bytes.size() == 0x110);
  CHECK(c.word(0x00) == 0x05000000);
  CHECK(c.word(context + 0x00) == 3u << 11);  // reliable connection, migrated
  CHECK(c.word(context + 0x04) == 0xabc);     // protection domain
  CHECK(c.word(context + 0x08) ==
        (3u << 19 | 4u << 11));  // 8 receives of 16 bytes, 8 sends of 2 blocks
  CHECK(c.word(context + 0x0c) == page);
  CHECK(c.word(context + 0x10) == rig::index);
  CHECK(c.word(context + 0x7c) == cq);
  CHECK(c.word(context + 0x9c) == cq);
  CHECK(c.wide(context + 0xa0) == s.base + offsetof(mlx5_queue_state, doorbell_record));
  CHECK(c.word(context + 0xd0) == 1u << 28);
  CHECK(c.word(context + 0xe4) == umem);
  CHECK(c.wide(0x100) == s.base + s.layout.receive_ring);
  CHECK(c.word(0x108) == umem);
  CHECK(c.word(0x10c) == 1u << 31);
  check_rest_is_zero(c, {0, 0x18, 0x1c, 0x20, 0x24, 0x28, 0x94, 0xb4, 0xb8, 0xbc, 0xe8, 0xfc, 0x100,
                         0x104, 0x108, 0x10c});
}

TEST_CASE("CREATE_QP asks for responses inside completions, of 32 bytes, only where asked to") {
  fake_machine& m = fake_machine::get();
  for (const bool scatter : {false, true}) {
    m.reset();
    const rig r(fake_gpu(), scatter);
    CHECK(m.last(0x500).word(context + 0xc4) == (scatter ? 1 : 0));
  }
}

TEST_CASE("a NIC with a choice of clocks gets the default one") {
  fake_machine& m = fake_machine::get();
  m.reset();
  m.roce[3] = 2;
  const rig r;
  CHECK((m.last(0x500).word(context + 0x08) >> 6 & 3) == 1);
}

TEST_CASE("rings begin at pages of the umem, and the send ring right behind the receives") {
  const setup s;
  const fake_machine::registration& where = fake_machine::get().umem(umem);
  CHECK(s.command(0x400).wide(0x50) % 4096 == 0);
  CHECK(s.command(0x500).wide(0x100) % 4096 == 0);
  CHECK(where.address % 4096 == 0);
  CHECK(s.layout.send_ring == s.layout.receive_ring + 16 * rig::depth);
  CHECK(s.command(0x400).wide(0x50) + 64 * 16 <= where.bytes);
  CHECK(s.layout.completions + 64 * 16 <= s.layout.receive_ring);
  CHECK(s.command(0x500).wide(0x100) + (16 + 128) * rig::depth <= where.bytes);
  CHECK((where.access & IBV_ACCESS_LOCAL_WRITE) != 0);
}

TEST_CASE("RST2INIT opens the queue pair to the target's reads and writes") {
  const setup s;
  const fake_machine::command& c = s.command(0x502);
  CHECK(c.bytes.size() == 0x110);
  CHECK(c.word(0x00) == 0x05020000);
  CHECK(c.word(0x08) == qp);
  CHECK(c.word(context + 0x00) == 3u << 11);
  CHECK(c.word(context + 0x90) == (1u << 15 | 1u << 14));
  CHECK(c.word(path + 0x00) == 5);         // partition key index
  CHECK(c.word(path + 0x24) == 2u << 16);  // port
  check_rest_is_zero(c, {0, 8, context, context + 0x90, path, path + 0x24});
}

TEST_CASE("INIT2RTR carries the peer and a RoCE v2 path to it") {
  const setup s;
  const fake_machine::command& c = s.command(0x503);
  CHECK(c.word(0x00) == 0x05030000);
  CHECK(c.word(0x08) == qp);
  CHECK(c.word(context + 0x00) == 3u << 11);
  CHECK(c.word(context + 0x08) == (5u << 29 | 30u << 24));  // 4096 bytes; messages of 1 GiB
  CHECK(c.word(context + 0x14) == 0x345678);
  CHECK(c.word(context + 0x90) == 4u << 21);  // 16 reads served
  CHECK(c.word(context + 0x94) == (9u << 24 | 0x9abcde));
  CHECK(c.word(path + 0x00) == 5);
  CHECK(c.word(path + 0x08) == (3u << 16 | 7u << 8 | 64));  // source address, rate, hop limit
  CHECK(c.word(path + 0x0c) == (0x68u << 20 | 0xfedcb));
  CHECK(c.wide(path + 0x10) == 0x4041424344454647);
  CHECK(c.wide(path + 0x18) == 0x48494a4b4c4d4e4f);
  CHECK((c.word(path + 0x20) >> 16) == (0x68 >> 2));  // differentiated services
  CHECK((c.word(path + 0x20) & 0xffff) >= 49152);     // UDP source port
  CHECK(c.word(path + 0x24) == (6u << 28 | 2u << 16 | 0xa1b2));
  CHECK(c.word(path + 0x28) == 0xc3d4e5f6);
  check_rest_is_zero(
      c, {0, 8, 0x18, 0x20, 0x2c, 0xa8, 0xac, path, path + 8, path + 0xc, path + 0x10, path + 0x14,
          path + 0x18, path + 0x1c, path + 0x20, path + 0x24, path + 0x28});
}

TEST_CASE("a RoCE v1 path has no UDP port, an InfiniBand path no MAC") {
  {
    const setup s(IBV_GID_TYPE_ROCE_V1);
    const fake_machine::command& c = s.command(0x503);
    CHECK(c.word(path + 0x20) == 0);
    CHECK(c.word(path + 0x24) == (6u << 28 | 2u << 16 | 0xa1b2));
  }
  {
    const setup s(IBV_GID_TYPE_IB);
    const fake_machine::command& c = s.command(0x503);
    CHECK(c.word(path + 0x04) == (1u << 23 | 3u << 16 | 0x1234));
    CHECK(c.wide(path + 0x10) == 0x4041424344454647);
    CHECK(c.word(path + 0x20) == 0);
    CHECK(c.word(path + 0x24) == (6u << 24 | 2u << 16));
    CHECK(c.word(path + 0x28) == 0);
  }
  {
    const setup s(IBV_GID_TYPE_IB, false);
    const fake_machine::command& c = s.command(0x503);
    CHECK(c.word(path + 0x04) == (3u << 16 | 0x1234));
    CHECK(c.word(path + 0x08) == 7u << 8);
    CHECK(c.wide(path + 0x10) == 0);
    for (const std::string& call : fake_machine::get().calls) CHECK(call != "ibv_query_gid_ex");
  }
}

TEST_CASE("RTR2RTS carries the retries and the first packet's number") {
  const setup s;
  const fake_machine::command& c = s.command(0x504);
  CHECK(c.word(0x00) == 0x05040000);
  CHECK(c.word(0x08) == qp);
  CHECK(c.word(context + 0x70) == (8u << 28 | 7u << 16 | 6u << 13));
  CHECK(c.word(context + 0x78) == 0x112233);
  CHECK(c.word(path + 0x08) == 19u << 27);
  CHECK(c.word(path + 0x24) == 2u << 16);
  check_rest_is_zero(c, {0, 8, 0x88, 0x90, path + 8, path + 0x24});
}

TEST_CASE("2ERR is the head of a command, sent once") {
  const setup s;
  s.all->queue->disconnect();
  s.all->queue->disconnect();
  CHECK_FALSE(s.all->queue->alive());
  const fake_machine::command& c = s.command(0x507);
  CHECK(c.bytes.size() == 16);
  CHECK(c.word(0) == 0x05070000);
  CHECK(c.word(8) == qp);
  int sent = 0;
  for (const fake_machine::command& each : fake_machine::get().commands)
    sent += each.opcode() == 0x507;
  CHECK(sent == 1);
}

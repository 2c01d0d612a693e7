/// How requests become commands, without a channel: pieces, and whom each of them asks.

#include <gnstor/io/io_plan.hpp>

#include <doctest/doctest.h>

#include <set>
#include <vector>

using namespace gnstor;

namespace {

using plan = gnstor::detail::io_plan<rendezvous_placement>;
using opcode = wire::nvme::nvm_opcode;
using gnstor::detail::buffer_cursor;
using gnstor::detail::no_data_cursor;

volume_info spread_over(std::uint32_t ssds, std::uint32_t replicas) {
  volume_info v;
  v.vid = volume_id(5);
  v.client = client_id(77);
  v.epoch = 9;
  v.hash_factor = 0xabcdef;
  v.capacity_blocks = 10'000;
  v.stripe_blocks = 6;
  v.replicas = replicas;
  v.ssd_count = ssds;
  v.max_transfer_blocks = 4;
  return v;
}
plan::range range_of(std::uint32_t first, std::uint32_t blocks) {
  return {vba(first), blocks, deadline::never()};
}
plan plan_of(const volume_info& v) { return {v, rendezvous_placement(v.ssd_count)}; }
io_buffer buffer(std::uint32_t blocks) {
  return {0x10000, std::uint64_t{blocks} * block_bytes, 3, 4};
}
std::vector<plan::piece> pieces(const plan& s, opcode op, const plan::range& r) {
  std::vector<plan::piece> all;
  s.for_pieces(op, r, buffer_cursor(buffer(r.blocks)),
               [&](const plan::piece& p) { all.push_back(p); });
  return all;
}
plan::piece first_piece(const volume_info& v, opcode op, std::uint32_t first) {
  const auto all = pieces(plan_of(v), op, range_of(first, 1));
  REQUIRE(all.size() == 1);
  return all[0];
}
std::set<std::uint32_t> asked(const detail::io_step& read) {
  std::set<std::uint32_t> all;
  for (std::uint32_t k = 0; k < read.candidates; ++k) all.insert(read.ssds >> 8 * k & 0xff);
  return all;
}
std::uint64_t bits(const replica_set& set) {
  std::uint64_t all = 0;
  for (std::uint32_t k = 0; k < set.count; ++k) all |= std::uint64_t{1} << set.ssd[k].value;
  return all;
}

}  // namespace

TEST_CASE("pieces end with their stripe and at the transfer limit, and leave nothing out") {
  const plan s = plan_of(spread_over(5, 2));
  for (std::uint32_t first = 0; first < 13; ++first) {
    for (std::uint32_t blocks = 1; blocks < 30; ++blocks) {
      std::uint32_t at = first;
      for (const plan::piece& p : pieces(s, opcode::write, range_of(first, blocks))) {
        REQUIRE(p.first.value == at);
        REQUIRE(p.buffer.address == 0x10000 + std::uint64_t{at - first} * block_bytes);
        REQUIRE(p.buffer.bytes == p.blocks * block_bytes);
        const std::uint32_t end = at + p.blocks;
        CHECK(p.blocks <= 4);
        CHECK(at / 6 == (end - 1) / 6);
        // No shorter than it has to be.
        CHECK((p.blocks == 4 || end % 6 == 0 || end == first + blocks));
        at = end;
      }
      CHECK(at == first + blocks);
    }
  }
}

TEST_CASE("lanes that share a request have each piece once between them") {
  const plan s = plan_of(spread_over(5, 2));
  for (std::uint32_t lanes : {1u, 3u, 32u}) {
    std::vector<std::uint32_t> taken(50);
    for (std::uint32_t lane = 0; lane < lanes; ++lane) {
      for (const plan::piece& p :
           pieces(s, opcode::read, {vba(7), 50, deadline::never(), lane, lanes})) {
        CHECK(p.buffer.address == 0x10000 + std::uint64_t{p.first.value - 7} * block_bytes);
        for (std::uint32_t k = 0; k < p.blocks; ++k) ++taken[p.first.value - 7 + k];
      }
    }
    for (const std::uint32_t times : taken) CHECK(times == 1);
  }
}

TEST_CASE("the largest volume's last blocks are split like any other") {
  volume_info v = spread_over(4, 2);
  v.capacity_blocks = std::uint64_t{1} << 32;
  v.stripe_blocks = 16;
  const plan s = plan_of(v);
  const plan::range all = range_of(0xfffffff0, 16);
  CHECK(s.checked(all, buffer_cursor(buffer(16))).ok());
  std::uint32_t blocks = 0;
  for (const plan::piece& p : pieces(s, opcode::read, all)) {
    CHECK(p.first.value == 0xfffffff0 + blocks);
    blocks += p.blocks;
  }
  CHECK(blocks == 16);
  CHECK(s.checked(range_of(0xfffffff1, 16), buffer_cursor(buffer(16))).code ==
        status_code::out_of_range);
}

TEST_CASE("a request that cannot be meant is refused before anything is sent") {
  const plan s = plan_of(spread_over(4, 2));
  const auto said = [&](std::uint32_t first, std::uint32_t blocks, const io_buffer& b) {
    return s.checked(range_of(first, blocks), buffer_cursor(b)).code;
  };
  CHECK(said(9999, 1, buffer(1)) == status_code::ok);
  CHECK(said(9999, 2, buffer(2)) == status_code::out_of_range);
  CHECK(said(10000, 1, buffer(1)) == status_code::out_of_range);
  CHECK(said(0, 0, buffer(1)) == status_code::invalid_argument);
  CHECK(said(0, 2, buffer(1)) == status_code::invalid_argument);
  CHECK(said(0, 2, buffer(3)) == status_code::ok);
  CHECK(s.checked(range_of(0, 500), no_data_cursor()).ok());
}

TEST_CASE("reads take turns among the replicas, and know all of them") {
  const volume_info v = spread_over(5, 3);
  std::vector<std::uint32_t> first_asked(5);
  std::vector<std::uint32_t> placed(5);
  std::uint32_t turns[3] = {};  // by the index in the stripe's list of the one asked first
  for (std::uint32_t b = 0; b < 3000; ++b) {
    const plan::piece p = first_piece(v, opcode::read, b);
    const detail::io_step part = plan_of(v).reading(p);
    REQUIRE(part.candidates == 3);
    std::uint64_t all = 0;
    for (const std::uint32_t ssd : asked(part)) all |= std::uint64_t{1} << ssd;
    REQUIRE(all == bits(p.where));
    ++first_asked[part.ssd().value];
    for (std::uint32_t k = 0; k < 3; ++k) {
      ++placed[p.where.ssd[k].value];
      if (p.where.ssd[k] == part.ssd()) ++turns[k];
    }
  }
  for (const std::uint32_t times : turns) CHECK((times > 900 && times < 1100));
  for (std::uint32_t k = 0; k < 5; ++k) {  // a third of what it holds
    CHECK(first_asked[k] > placed[k] / 3 * 8 / 10);
    CHECK(first_asked[k] < placed[k] / 3 * 12 / 10);
  }
}

TEST_CASE("reads pass by who is absent or filled, writes by who is absent") {
  volume_info v = spread_over(5, 3);
  for (std::uint32_t b = 0; b < 600; b += 6) {
    v.absent = v.filling = 0;
    const std::uint64_t all = bits(first_piece(v, opcode::write, b).where);
    v.absent = 0b00010;
    v.filling = 0b01000;
    const plan::piece read = first_piece(v, opcode::read, b);
    const plan::piece write = first_piece(v, opcode::write, b);
    const plan::piece zeroes = first_piece(v, opcode::write_zeroes, b);
    CHECK(bits(read.where) == (all & ~0b01010ull));  // of three replicas one is left
    CHECK(bits(write.where) == (all & ~0b00010ull));
    CHECK(bits(zeroes.where) == (all & ~0b00010ull));
    CHECK(asked(plan_of(v).reading(read)).size() == read.where.count);
    for (std::uint32_t k = 0; k < write.where.count; ++k)
      CHECK(plan_of(v).writing(opcode::write, write, k).ssd().value == write.where.ssd[k].value);
  }
}

TEST_CASE("a read that avoids SSDs goes on passing by who is filled, and by all that it avoided") {
  volume_info v = spread_over(6, 4);
  v.absent = 0b000001;
  v.filling = 0b001000;
  for (std::uint32_t b = 0; b < 600; b += 6) {
    const std::uint64_t in_sync = bits(first_piece(v, opcode::read, b).where);
    std::uint64_t left = in_sync;
    plan s = plan_of(v);
    for (const std::uint32_t silent : {1u, 4u}) {
      s = s.avoiding(ssd_index(static_cast<std::uint16_t>(silent)));
      left &= ~(std::uint64_t{1} << silent);
      const auto read = pieces(s, opcode::read, range_of(b, 1));
      REQUIRE(read.size() == 1);
      if (left != 0) CHECK(bits(read[0].where) == left);
    }
    const auto write = pieces(s, opcode::write, range_of(b, 1));
    CHECK(bits(write.at(0).where) == bits(first_piece(v, opcode::write, b).where));
  }
}

TEST_CASE("a read avoids any SSD of the largest array") {
  const volume_info v = spread_over(64, 2);
  std::uint64_t avoided = 0;
  for (std::uint32_t first = 0; first < 6 * 400; first += 6) {
    const plan::piece p = first_piece(v, opcode::read, first);
    const ssd_index ssd = p.where.ssd[0];
    const plan around = plan_of(v).avoiding(ssd);
    around.for_pieces(
        opcode::read, range_of(first, 1), buffer_cursor(buffer(1)), [&](const plan::piece& q) {
          CHECK(asked(around.reading(q)) == std::set<std::uint32_t>{p.where.ssd[1].value});
        });
    avoided |= std::uint64_t{1} << ssd.value;
  }
  CHECK(avoided == ~std::uint64_t{0});
}

TEST_CASE("an SSD that is avoided is asked all the same where no other replica is in sync") {
  volume_info v = spread_over(5, 2);
  for (std::uint32_t b = 0; b < 600; b += 6) {
    v.absent = 0;
    const replica_set placed = first_piece(v, opcode::write, b).where;
    v.absent = std::uint64_t{1} << placed.ssd[0].value;
    const plan s = plan_of(v).avoiding(placed.ssd[1]);
    const auto read = pieces(s, opcode::read, range_of(b, 1));
    REQUIRE(read.size() == 1);
    CHECK(bits(read[0].where) == std::uint64_t{1} << placed.ssd[1].value);
  }
}

TEST_CASE("where no replica is left, one of them is asked and says so: never another SSD") {
  volume_info v = spread_over(5, 2);
  for (std::uint32_t b = 0; b < 600; b += 6) {
    v.absent = v.filling = 0;
    const std::uint64_t all = bits(first_piece(v, opcode::write, b).where);
    for (const bool away : {false, true}) {
      v.absent = away ? all : 0;
      v.filling = away ? 0 : all;
      const plan::piece read = first_piece(v, opcode::read, b);
      CHECK(bits(read.where) == all);
      const detail::io_step part = plan_of(v).reading(read);
      CHECK(part.candidates == 2);
      CHECK((all >> part.ssd().value & 1) == 1);
      CHECK(bits(first_piece(v, opcode::write, b).where) == all);
    }
  }
}

TEST_CASE("a flush counts the SSDs that are there, in order") {
  volume_info v = spread_over(6, 2);
  for (std::uint32_t k = 0; k < 6; ++k) CHECK(plan_of(v).flush_step(k).ssd().value == k);
  v.absent = 0b010011;
  CHECK(plan_of(v).flush_step(0).ssd().value == 2);
  CHECK(plan_of(v).flush_step(1).ssd().value == 3);
  CHECK(plan_of(v).flush_step(2).ssd().value == 5);
  CHECK(plan_of(v).flush_steps() == 3);
}

TEST_CASE("a flush reaches the SSDs that are being filled, too: they take writes") {
  volume_info v = spread_over(6, 2);
  v.absent = 0b000010;
  v.filling = 0b001001;
  const plan p = plan_of(v);
  plan::all_flush_steps steps{p};
  std::vector<std::uint32_t> reached;
  for (detail::io_step s; reached.size() < 64 && steps(s);) reached.push_back(s.ssd().value);
  CHECK(reached == std::vector<std::uint32_t>{0, 2, 3, 4, 5});
}

TEST_CASE("a namespace of 512-byte blocks is addressed beyond the 2 TiB of a 32-bit LBA") {
  volume_info v = spread_over(1, 1);
  v.namespace_id = 3;
  v.lba_bytes = 512;
  for (const std::uint32_t block : {(1u << 29) - 1, 1u << 29, ~0u}) {
    const plan::piece p = first_piece(v, opcode::read, block);
    CHECK(plan_of(v).reading(p).slba == std::uint64_t{block} * 8);
    CHECK(plan_of(v).writing(opcode::write, p, 0).slba == std::uint64_t{block} * 8);
  }
}

TEST_CASE("a namespace that is counted in its logical blocks is addressed by these") {
  volume_info v = spread_over(1, 1);
  v.namespace_id = 3;
  v.lba_bytes = 512;
  CHECK(v.can_count_logical_blocks());
  const volume_info small = v.in_logical_blocks();
  CHECK(small.unit_bytes() == 512);
  CHECK(small.capacity_blocks == 8 * v.capacity_blocks);
  CHECK(small.max_transfer_blocks == 8 * v.max_transfer_blocks);
  plan::piece p = first_piece(small, opcode::read, 123);
  CHECK(plan_of(small).reading(p).slba == 123);
  CHECK(plan_of(small).reading(p).blocks == p.blocks);
  CHECK(p.buffer.bytes == p.blocks * 512);
  CHECK(plan_of(v).reading(first_piece(v, opcode::read, 123)).slba == 123 * 8);
  v.capacity_blocks = (1u << 29) + 1;
  CHECK_FALSE(v.can_count_logical_blocks());
  v.lba_bytes = block_bytes;
  CHECK(v.can_count_logical_blocks());
  CHECK(v.in_logical_blocks().unit_bytes() == block_bytes);
  v.namespace_id = 0;
  CHECK_FALSE(v.can_count_logical_blocks());
}

TEST_CASE("commands of a volume carry its ids and epoch, those of a namespace its own addresses") {
  volume_info v = spread_over(5, 2);
  const plan::piece p = first_piece(v, opcode::read, 123);
  const detail::io_step ours = plan_of(v).reading(p);
  const auto at = wire::afa::slba::unpack(ours.slba);
  CHECK(at.volume == volume_id(5));
  CHECK(at.client == client_id(77));
  CHECK(at.block == vba(123));
  CHECK(ours.blocks == 1);
  CHECK(ours.epoch == 9);
  CHECK(ours.namespace_id == 0);
  CHECK_FALSE(ours.may_deallocate);
  CHECK(plan_of(v).writing(opcode::write_zeroes, p, 0).may_deallocate);
  v.namespace_id = 3;
  v.lba_bytes = 512;
  v.replicas = v.ssd_count = 1;
  const detail::io_step plain = plan_of(v).reading(first_piece(v, opcode::read, 123));
  CHECK(plain.slba == 123 * 8);
  CHECK(plain.blocks == 8);
  CHECK(plain.epoch == 0);
  CHECK(plain.namespace_id == 3);
  REQUIRE(plan_of(v).flush_steps() == 1);
  CHECK(plan_of(v).flush_step(0).command().nsid == 3);
}

TEST_CASE("a deallocation is as long as a command may count, not as a transfer may be") {
  volume_info v = spread_over(4, 1);
  v.capacity_blocks = 1 << 20;
  v.stripe_blocks = 1 << 20;
  for (const std::uint32_t lba : {512u, 4096u}) {
    v.lba_bytes = lba;
    v.namespace_id = lba == 512 ? 1 : 0;
    std::vector<std::uint32_t> lengths;
    plan_of(v).for_pieces(opcode::write_zeroes, range_of(0, 100'000), no_data_cursor(),
                          [&](const plan::piece& p) { lengths.push_back(p.blocks); });
    const std::uint32_t most = 65536 * lba / 4096;
    CHECK(lengths.size() == (100'000 + most - 1) / most);
    CHECK(lengths.front() == most);
  }
}

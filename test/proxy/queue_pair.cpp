/// The proxy queue pair and its rings by one thread: bounds, bytes, half-written entries, room.
#include "proxy_fixture.hpp"
#include "scripted_port.hpp"
#include "wire/random_fields.hpp"

#include <doctest/doctest.h>

#include <cstring>
#include <set>

namespace gnstor::test {
namespace {

using fixture = proxy_fixture<scripted_port>;

wire::nvme::submission_entry random_capsule(random_fields& fields) {
  std::uint64_t words[8];
  for (std::uint64_t& w : words) w = fields.draw<std::uint64_t>();
  wire::nvme::submission_entry e;
  std::memcpy(&e, words, sizeof e);
  return e;
}
template <class T>
bool same(const T& a, const T& b) {
  return std::memcmp(&a, &b, sizeof a) == 0;
}

/// A capsule request that the port answers, with command id `id`.
wire::nvme::submission_entry connect_capsule(std::uint16_t id) {
  wire::nvme::submission_entry e{};
  e.opcode = wire::nvme::fabrics_opcode;
  e.command_id = id;
  return e;
}

void send(fixture& q, std::uint16_t id) {
  const result<std::uint64_t> index = q.ref().try_reserve(1);
  REQUIRE(index);
  q.ref().write_send(index.value, connect_capsule(id));
}

}  // namespace

TEST_CASE("exactly depth entries can be reserved, and one more for each that is retired") {
  for (const std::uint32_t depth : {2u, 4u, 8u, 128u}) {
    CAPTURE(depth);
    fixture q(depth, port_script{});
    for (std::uint32_t k = 0; k < depth; ++k) {
      const auto got = q.ref().try_reserve(1);
      REQUIRE(got);
      REQUIRE(got.value == k);
    }
    CHECK(q.ref().try_reserve(1).status.code == status_code::would_block);
    q.ref().retire(0);
    CHECK(q.ref().try_reserve(2).status.code == status_code::would_block);
    CHECK(q.ref().try_reserve(1).value == depth);
    CHECK(q.ref().try_reserve(1).status.code == status_code::would_block);
    q.ref().retire(depth);
    q.ref().retire(1);
    CHECK(q.ref().try_reserve(depth).value == depth + 1);
    CHECK(q.ref().try_reserve(1).status.code == status_code::would_block);
  }
}

TEST_CASE("a reservation of nothing or of more than the queue holds is an invalid argument") {
  fixture q(4, port_script{});
  for (const std::uint32_t n : {0u, 5u, ~0u}) {
    CHECK(q.ref().try_reserve(n).status.code == status_code::invalid_argument);
  }
  CHECK(q.ref().try_reserve(4).value == 0);
}

TEST_CASE("a depth that is no power of two, or out of bounds, is refused") {
  for (const std::uint32_t depth : {0u, 1u, 3u, 6u, 127u, 2 * proxy_max_depth, ~0u}) {
    CAPTURE(depth);
    CHECK_FALSE(proxy_valid_depth(depth));
    CHECK_THROWS_AS(proxy_format_queue(nullptr, depth), verify_error);
    CHECK_THROWS_AS(gnstor::host::proxy_rings(nullptr, depth), gnstor::host::input_error);
  }
  for (const std::uint32_t depth : {2u, 4u, 128u, proxy_max_depth}) CHECK(proxy_valid_depth(depth));
}

TEST_CASE("a capsule comes out of its descriptor as it went in, whatever its fields") {
  random_fields fields("capsule descriptor");
  for (int round = 0; round < 1000; ++round) {
    proxy_request r;
    r.kind = proxy_request_kind::capsule;
    r.index = fields.draw<std::uint64_t>(48);
    r.capsule = random_capsule(fields);
    const std::uint32_t tag = proxy_tag(r.index, 3);
    const proxy_descriptor d = pack_proxy_request(r, tag);
    REQUIRE(is_whole(d, tag));
    const proxy_request seen = unpack_proxy_request(d);
    REQUIRE(seen.kind == r.kind);
    REQUIRE(seen.index == r.index);
    REQUIRE(same(seen.capsule, r.capsule));
  }
}

TEST_CASE("a one-sided transfer and a NOP come out of their descriptors as they went in") {
  random_fields fields("one-sided descriptor");
  for (int round = 0; round < 1000; ++round) {
    proxy_request r;
    r.kind = round % 8 == 0 ? proxy_request_kind::nop : proxy_request_kind::one_sided;
    r.index = fields.draw<std::uint64_t>(48);
    if (r.kind == proxy_request_kind::one_sided) {
      r.transfer.local_address = fields.draw<std::uint64_t>();
      r.transfer.remote_address = fields.draw<std::uint64_t>();
      r.transfer.lkey = fields.draw<std::uint32_t>();
      r.transfer.rkey = fields.draw<std::uint32_t>();
      r.transfer.bytes = fields.draw<std::uint32_t>();
      r.transfer.write = fields.draw<std::uint8_t>(1) != 0;
    }
    const proxy_request seen = unpack_proxy_request(pack_proxy_request(r, 0x80));
    REQUIRE(seen.kind == r.kind);
    REQUIRE(seen.index == r.index);
    REQUIRE(seen.transfer.local_address == r.transfer.local_address);
    REQUIRE(seen.transfer.remote_address == r.transfer.remote_address);
    REQUIRE(seen.transfer.lkey == r.transfer.lkey);
    REQUIRE(seen.transfer.rkey == r.transfer.rkey);
    REQUIRE(seen.transfer.bytes == r.transfer.bytes);
    REQUIRE(seen.transfer.write == r.transfer.write);
  }
}

TEST_CASE("a completion comes out of its ring entry as it went in, whatever its fields") {
  random_fields fields("completion entry");
  for (int round = 0; round < 1000; ++round) {
    completion c;
    c.kind = static_cast<completion_kind>(1 + round % 4);
    if (c.kind == completion_kind::response) {
      const std::uint64_t words[2] = {fields.draw<std::uint64_t>(), fields.draw<std::uint64_t>()};
      std::memcpy(&c.response, words, sizeof words);
    } else {
      c.index = fields.draw<std::uint64_t>(56);
      c.outcome = status::unpack(fields.draw<std::uint64_t>());
    }
    const proxy_completion p = pack_proxy_completion(c, 0xff);
    REQUIRE(is_whole(p, 0xff));
    const completion seen = unpack_proxy_completion(p);
    REQUIRE(seen.kind == c.kind);
    REQUIRE(seen.index == c.index);
    REQUIRE(seen.outcome == c.outcome);
    REQUIRE(same(seen.response, c.response));
  }
}

TEST_CASE("no tag is the tag of the lap before, and zeroed memory has none") {
  for (const std::uint32_t log_entries : {1u, 2u, 7u, 15u}) {
    for (std::uint64_t lap = 0; lap < 300; ++lap) {
      const std::uint64_t index = lap << log_entries;
      REQUIRE(proxy_tag(index, log_entries) != 0);
      REQUIRE(proxy_tag(index, log_entries) < 256);
      REQUIRE(proxy_tag(index, log_entries) == proxy_tag(index + 1, log_entries));
      REQUIRE(proxy_tag(index, log_entries) !=
              proxy_tag(index + (std::uint64_t{1} << log_entries), log_entries));
    }
  }
}

TEST_CASE("a descriptor is taken only when the last of its words is there, in whatever order") {
  random_fields fields("half-written descriptors");
  for (int round = 0; round < 200; ++round) {
    fixture q(2, port_script{});
    for (std::uint16_t lap = 0; lap < 3; ++lap) {  // the third request is in a used slot
      send(q, lap);
      const proxy_descriptor whole = q.descriptor(lap);
      // As it was before: of the lap before, or never written.
      proxy_descriptor old{};
      if (lap >= 2) {
        proxy_request before;
        before.kind = proxy_request_kind::capsule;
        before.index = lap - 2u;
        before.capsule = connect_capsule(static_cast<std::uint16_t>(lap - 2));
        old = pack_proxy_request(before, proxy_tag(before.index, 1));
      }
      q.descriptor(lap) = old;
      std::uint32_t missing = 0xffff;
      for (int word = 0; word < 16; ++word) {
        q.engine.tick();
        REQUIRE(q.engine.forwarded() == lap);
        std::uint32_t which = fields.draw<std::uint32_t>(4);
        for (; (missing >> which & 1) == 0;) which = (which + 1) % 16;
        missing &= ~(1u << which);
        q.descriptor(lap).word[which] = whole.word[which];
      }
      q.engine.tick();
      REQUIRE(q.engine.forwarded() == lap + 1u);
      q.engine.tick();
      const completion c = q.poll();
      REQUIRE(c.kind == completion_kind::response);
      REQUIRE(c.response.command_id == lap);
      q.ref().retire(lap);
    }
  }
}

TEST_CASE("requests written out of order go out only when none before them is missing") {
  fixture q(8, port_script{});
  REQUIRE(q.ref().try_reserve(4));
  q.ref().write_nop(1);
  q.ref().write_nop(3);
  q.engine.tick();
  CHECK(q.engine.forwarded() == 0);
  q.ref().write_nop(0);
  q.engine.tick();
  CHECK(q.engine.forwarded() == 2);
  q.ref().write_nop(2);
  q.engine.tick();
  CHECK(q.engine.forwarded() == 4);
}

TEST_CASE("a queue that nobody polls takes twice depth completions and keeps each; more wait") {
  fixture q(4, port_script{});
  for (std::uint16_t k = 0; k < 24; ++k) {  // answered, and never polled: a peer may do that
    send(q, k);
    q.ref().retire(k);
    q.engine.tick();
  }
  for (int round = 0; round < 10; ++round) q.engine.tick();
  for (std::uint16_t k = 0; k < 24; ++k) {
    const completion c = q.poll();
    REQUIRE(c.kind == completion_kind::response);
    CHECK(c.response.command_id == k);
    q.engine.tick();
  }
  CHECK(q.poll().kind == completion_kind::none);
}

TEST_CASE("taken completions are announced when half of the ring is used") {
  fixture q(8, port_script{});
  for (std::uint16_t k = 0; k < 100; ++k) {
    send(q, k);
    q.ref().retire(k);
    q.engine.tick();
    q.engine.tick();
    REQUIRE(q.poll().response.command_id == k);
    CHECK(q.released() == (k + 1u) / 8 * 8);
  }
}

TEST_CASE("the capsule of a request can be read until its slot is used again") {
  fixture q(4, port_script{});
  for (std::uint16_t k = 0; k < 9; ++k) {
    send(q, k);
    CHECK(q.ref().sent_id(static_cast<std::uint64_t>(k)).value == k);
    if (k >= 3) CHECK(q.ref().sent_id(k - 3u).value == k - 3);
    q.ref().retire(k);
  }
}

TEST_CASE("the lanes' own words can lie in other memory than the rings") {
  constexpr proxy_queue_layout l = proxy_queue_layout::of(4);
  aligned_memory rings(l.shared_bytes());
  aligned_memory local(l.local_bytes());
  const proxy_queue_pair<> q(rings.data(), 4, local.data());
  gnstor::host::proxy_engine<scripted_port> engine(rings.data(), 4, port_script{});
  for (std::uint16_t k = 0; k < 20; ++k) {
    REQUIRE(q.try_reserve(1));
    q.write_send(k, connect_capsule(k));
    engine.tick();
    engine.tick();
    CHECK(q.poll(simt::group::self()).response.command_id == k);
    q.retire(k);
  }
  CHECK(reinterpret_cast<proxy_queue_state*>(local.data())->reserved == 20);
}

}  // namespace gnstor::test

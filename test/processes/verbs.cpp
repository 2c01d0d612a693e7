/// What the model of rdma-core must do, and must not let pass: run with it in rdma-core's place.

#include "peers.hpp"

#include <atomic>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <thread>

namespace {

using namespace gnstor::test;

constexpr std::size_t kib = 1024;
constexpr std::size_t mib = 1024 * kib;

/// A request of `near` that is refused with `status`, and both ends then lost.
void expect_refusal(ends& e, ibv_wc_status status) {
  CHECK(next(e.near).status == status);
  registered more(e.domain, 64, {});
  CHECK(e.near.post_send(more.whole()));
  CHECK(next(e.near).status == IBV_WC_WR_FLUSH_ERR);
}

TEST_CASE("memory is reached by its key alone, within its bounds, as it was opened") {
  ends e;
  registered mine(e.domain, 4096, {});
  registered theirs(e.domain, 4096, {.remote_read = true, .remote_write = true});
  const registered fixed(e.domain, 4096, {.remote_read = true});
  const registered elsewhere(e.other_domain, 4096, {.remote_read = true, .remote_write = true});
  std::fill(mine.bytes.begin(), mine.bytes.end(), std::uint8_t{7});
  verbs::work w = at(mine.whole(), theirs);
  registered waiting(e.domain, 64, {});
  CHECK(e.far.post_receive(waiting.whole()));
  bool read = false;
  SUBCASE("another key") { w.rkey ^= 0x100; }
  SUBCASE("one byte beyond the end") { w.remote_address += 1; }
  SUBCASE("one byte before the beginning") { w.remote_address -= 1; }
  SUBCASE("an address that wraps around") { w.remote_address = ~std::uint64_t{0} - 100; }
  SUBCASE("a write to memory that is there to be read") { w = at(mine.whole(), fixed); }
  SUBCASE("memory of another protection domain") { w = at(mine.whole(), elsewhere); }
  SUBCASE("memory that was given back") { theirs.region = {}; }
  SUBCASE("a read with another key") {
    w.rkey ^= 0x100;
    read = true;
  }
  SUBCASE("a read of memory that was not opened") {
    w = at(mine.whole(), waiting);
    w.bytes = 64;
    read = true;
  }
  CHECK((read ? e.near.post_read(w) : e.near.post_write(w)));
  expect_refusal(e, IBV_WC_REM_ACCESS_ERR);
  CHECK(next(e.far).status == IBV_WC_WR_FLUSH_ERR);  // the receive: its queue pair has failed too
  for (const registered* r : {&std::as_const(theirs), &fixed, &elsewhere})
    CHECK(std::accumulate(r->bytes.begin(), r->bytes.end(), 0) == 0);
}

TEST_CASE("this side's memory is reached by its key, too") {
  ends e;
  const registered theirs(e.domain, 4096, {.remote_read = true, .remote_write = true});
  registered mine(e.domain, 4096, {});
  verbs::work w = at(mine.whole(), theirs);
  bool read = false;
  SUBCASE("another key") { w.lkey ^= 0x100; }
  SUBCASE("beyond the end") { w.address += 1; }
  SUBCASE("to read into") {
    w.address += 1;
    read = true;
  }
  CHECK((read ? e.near.post_read(w) : e.near.post_write(w)));
  expect_refusal(e, IBV_WC_LOC_PROT_ERR);
}

TEST_CASE("a message longer than its receive is an error on both sides") {
  ends e;
  registered mine(e.domain, 128, {});
  registered theirs(e.domain, 64, {});
  CHECK(e.far.post_receive(theirs.whole()));
  CHECK(e.near.post_send(mine.whole()));
  expect_refusal(e, IBV_WC_REM_INV_REQ_ERR);
  CHECK(next(e.far).status == IBV_WC_LOC_LEN_ERR);
}

TEST_CASE("a message waits for its receive, and holds nothing up but what follows it") {
  ends e;
  registered mine(e.domain, 64, {});
  registered theirs(e.domain, 4096, {.remote_read = true, .remote_write = true});
  registered inbox(e.domain, 64, {});
  mine.bytes[0] = 9;
  CHECK(e.near.post_send(mine.whole()));
  CHECK(e.near.post_write(at(mine.whole(), theirs)));
  // The other direction goes on: its answers come behind that message.
  registered more(e.domain, mib, {.remote_read = true});
  registered back(e.domain, mib, {});
  CHECK(e.far.post_read(at(back.whole(), more)));
  CHECK(next(e.far).opcode == IBV_WC_RDMA_READ);
  ibv_wc none{};
  CHECK(e.near.poll(std::span(&none, 1)) == 0);
  CHECK(theirs.bytes[0] == 0);
  CHECK(e.far.post_receive(inbox.whole()));
  CHECK(next(e.far).byte_len == 64);
  CHECK(next(e.near).opcode == IBV_WC_SEND);
  CHECK(next(e.near).opcode == IBV_WC_RDMA_WRITE);
  CHECK(inbox.bytes[0] == 9);
  CHECK(theirs.bytes[0] == 9);
}

TEST_CASE("what was written before a message is there when the message is") {
  ends e({.send_depth = 4, .receive_depth = 4});
  registered mine(e.domain, 300 * kib, {});
  registered theirs(e.domain, 300 * kib, {.remote_write = true});
  registered inbox(e.domain, 64, {});
  for (unsigned round = 1; round <= 50; ++round) {
    CHECK(e.far.post_receive(inbox.whole()));
    std::fill(mine.bytes.begin(), mine.bytes.end(), static_cast<std::uint8_t>(round));
    verbs::work write = at(mine.whole(), theirs);
    write.signalled = false;
    REQUIRE(e.near.post_write(write));
    REQUIRE(e.near.post_send(mine.part(0, 64)));
    CHECK(next(e.far).status == IBV_WC_SUCCESS);
    CHECK(theirs.bytes.front() == round);
    CHECK(theirs.bytes.back() == round);
    CHECK(next(e.near).opcode == IBV_WC_SEND);
  }
}

TEST_CASE("a send queue is full until completions are taken") {
  ends e({.send_depth = 2, .receive_depth = 2});
  registered mine(e.domain, 64, {});
  const registered theirs(e.domain, 64, {.remote_write = true});
  const verbs::work w = at(mine.whole(), theirs);
  CHECK(e.near.post_write(w));
  CHECK(e.near.post_write(w));
  std::this_thread::sleep_for(std::chrono::milliseconds(50));  // both are done by now
  CHECK_FALSE(e.near.post_write(w));
  CHECK(next(e.near).status == IBV_WC_SUCCESS);
  CHECK(e.near.post_write(w));
}

/// One end's part of much traffic: writes and reads back.
void exchange(verbs::connection& c, registered& mine, registered& read, const registered& theirs) {
  constexpr std::size_t piece = 2 * mib;
  for (std::size_t k = 0; k < mine.bytes.size(); k += piece)
    CHECK(c.post_write(at(mine.part(k, piece), theirs, k)));
  for (std::size_t k = 0; k < mine.bytes.size(); k += piece)
    CHECK(c.post_read(at(read.part(k, piece), theirs, k)));
  for (std::size_t k = 0; k < 2 * mine.bytes.size() / piece; ++k)
    CHECK(next(c).status == IBV_WC_SUCCESS);
  CHECK(read.bytes == mine.bytes);
}

TEST_CASE("long transfers both ways at once arrive whole, however few reads may be in flight") {
  verbs::connection_options few;
  SUBCASE("many") {}
  SUBCASE("one") { few.responder_resources = 1; }
  ends e({}, few);
  const verbs::region_access open{.remote_read = true, .remote_write = true};
  registered a(e.domain, 16 * mib, {});
  registered a_read(e.domain, 16 * mib, {});
  registered at_a(e.domain, 16 * mib, open);
  registered b(e.domain, 16 * mib, {});
  registered b_read(e.domain, 16 * mib, {});
  registered at_b(e.domain, 16 * mib, open);
  std::iota(a.bytes.begin(), a.bytes.end(), std::uint8_t{1});
  std::iota(b.bytes.begin(), b.bytes.end(), std::uint8_t{77});
  std::thread other([&] { exchange(e.far, b, b_read, at_a); });
  exchange(e.near, a, a_read, at_b);
  other.join();
}

TEST_CASE("memory that is given back is not written any more") {
  ends e;
  registered mine(e.domain, 4 * mib, {});
  registered theirs(e.domain, 4 * mib, {.remote_write = true});
  std::fill(mine.bytes.begin(), mine.bytes.end(), std::uint8_t{7});
  for (int k = 0; k < 8; ++k) CHECK(e.near.post_write(at(mine.whole(), theirs)));
  theirs.region = {};
  std::fill(theirs.bytes.begin(), theirs.bytes.end(), std::uint8_t{0});
  ibv_wc last{};
  for (int k = 0; k < 8; ++k) last = next(e.near);
  CHECK(last.status != IBV_WC_SUCCESS);
  CHECK(std::accumulate(theirs.bytes.begin(), theirs.bytes.end(), std::uint64_t{0}) == 0);
}

TEST_CASE("the other process" * doctest::skip(std::getenv("GNSTOR_PEER_PORT") == nullptr)) {
  const verbs::net_address parent{
      here, static_cast<std::uint16_t>(std::atoi(std::getenv("GNSTOR_PEER_PORT")))};
  const verbs::protection_domain domain(verbs::device::towards(parent, patience));
  const registered memory(domain, mib, {.remote_read = true, .remote_write = true});
  const shown_memory shown{reinterpret_cast<std::uint64_t>(memory.bytes.data()),
                           memory.region.rkey(), mib};
  unsigned char said[sizeof shown];
  std::memcpy(said, &shown, sizeof shown);
  verbs::connection c = verbs::connection::connect(domain, parent, said, {}, patience);
  CHECK(lost(c));  // at the latest when it is no longer needed
}

/// This process and another one, which shows memory.
struct processes {
  explicit processes(const std::string& cut = {})
      : listening({here, 0}), other(listening.port(), cut) {
    std::optional<verbs::incoming> peer = listening.next(patience);
    REQUIRE(peer);
    std::memcpy(&shown, peer->private_data().data(), sizeof shown);
    domain.emplace(peer->device());
    mine.emplace(*domain, shown.bytes, verbs::region_access{});
    c = std::move(*peer).prepare(*domain, {});
    CHECK(c.post_receive(mine->part(0, 64)));
    c.accept({}, patience);
  }
  verbs::work aimed() const {
    verbs::work w = mine->whole();
    w.remote_address = shown.address;
    w.rkey = shown.key;
    return w;
  }

  verbs::listener listening;
  other_process other;
  shown_memory shown;
  std::optional<verbs::protection_domain> domain;
  std::optional<registered> mine;
  verbs::connection c;
};

TEST_CASE("a process that is killed is a lost connection: what was posted comes back") {
  processes p;
  CHECK(p.c.post_write(p.aimed()));
  CHECK(next(p.c).status == IBV_WC_SUCCESS);
  bool disconnects = true;
  SUBCASE("and flushed, when this side disconnects") {}
  SUBCASE("or in vain, when it does not") { disconnects = false; }
  p.other.kill();
  CHECK(p.c.post_write(p.aimed()));
  if (disconnects) CHECK(lost(p.c));
  CHECK(next(p.c).status == (disconnects ? IBV_WC_WR_FLUSH_ERR : IBV_WC_RETRY_EXC_ERR));
  CHECK(next(p.c).status == IBV_WC_WR_FLUSH_ERR);  // the receive
}

TEST_CASE("from a process that is cut off comes nothing, not even its end, until it is not") {
  const std::string cut = "/tmp/gnstor-cut." + std::to_string(getpid());
  {
    processes p(cut);
    std::ofstream(cut).put('x');
    CHECK(p.c.post_write(p.aimed()));
    p.c.wait(std::chrono::milliseconds(300));
    ibv_wc none{};
    CHECK(p.c.poll(std::span(&none, 1)) == 0);
    CHECK(p.c.alive());
    std::filesystem::remove(cut);
    CHECK(next(p.c).status == IBV_WC_SUCCESS);
  }
  std::filesystem::remove(cut);
}

}  // namespace

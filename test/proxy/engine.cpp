/// The engine and a port that fails: what the lanes are answered, and that nothing waits for ever.
#include "proxy_fixture.hpp"

#include <doctest/doctest.h>

#include <deque>
#include <functional>
#include <stdexcept>
#include <vector>

namespace gnstor::test {
namespace {

/// A port of which the test is in control.
struct manual_port {
  bool post(const proxy_request& r) {
    if (on_post) on_post();
    if (room == 0) return false;
    --room;
    posted.push_back(r);
    return true;
  }
  void flush() { ++flushes; }
  std::uint32_t poll(completion* out, std::uint32_t most) {
    if (on_poll) on_poll();
    std::uint32_t count = 0;
    for (; count < most && !reports.empty(); ++count) {
      out[count] = reports.front();
      reports.pop_front();
    }
    return count;
  }
  void report(completion_kind kind, std::uint64_t index, status_code code = status_code::ok,
              std::uint8_t syndrome = 0) {
    completion c;
    c.kind = kind;
    c.index = index;
    if (code != status_code::ok) c.outcome = status::make(code, reporter::nic);
    c.outcome.syndrome = syndrome;
    reports.push_back(c);
  }

  std::uint32_t room = 1000;
  std::uint32_t flushes = 0;
  std::vector<proxy_request> posted;
  std::deque<completion> reports;
  std::function<void()> on_post;
  std::function<void()> on_poll;
};
static_assert(gnstor::host::proxy_port<manual_port>);

struct fixture : proxy_fixture<manual_port> {
  using proxy_fixture::proxy_fixture;
  /// Ticks until nothing happens any more.
  void settle() {
    int ticks = 0;
    for (; engine.tick(); ++ticks) REQUIRE(ticks < 1000);
  }
  void write_nops(std::uint32_t n) {
    const result<std::uint64_t> first = ref().try_reserve(n);
    REQUIRE(first);
    for (std::uint32_t k = 0; k < n; ++k) ref().write_nop(first.value + k);
  }
  void expect_flushed(std::uint64_t index) {
    const completion c = poll();
    CHECK(c.kind == completion_kind::failed);
    CHECK(c.index == index);
    CHECK(c.outcome.code == status_code::flushed);
    CHECK(c.outcome.syndrome == 0x05);
  }
  void expect_broken() {
    const completion c = poll();
    CHECK(c.kind == completion_kind::broken);
    CHECK(c.outcome.code == status_code::transport_error);
    CHECK(c.outcome.by == reporter::nic);
    CHECK(c.outcome.syndrome == 0x02);
  }
};

}  // namespace

TEST_CASE("requests that find no room are offered again, and each is posted once and in order") {
  fixture q(8);
  manual_port& port = q.engine.port();
  q.write_nops(8);
  port.room = 3;
  q.settle();
  CHECK(port.posted.size() == 3);
  CHECK(port.flushes == 1);
  port.room = 1;
  q.settle();
  port.room = 10;
  q.settle();
  REQUIRE(port.posted.size() == 8);
  for (std::uint64_t k = 0; k < 8; ++k) CHECK(port.posted[k].index == k);
  CHECK(port.flushes == 3);
}

TEST_CASE("a tick takes a bounded number of requests and sends them off together") {
  fixture q(256);
  q.write_nops(200);
  CHECK(q.engine.tick());
  CHECK(q.engine.port().posted.size() == 64);
  CHECK(q.engine.port().flushes == 1);
  q.settle();
  CHECK(q.engine.port().posted.size() == 200);
}

TEST_CASE("what a port says of a failed request is passed on, and later requests are flushed") {
  fixture q(4);
  q.write_nops(2);
  q.settle();
  q.engine.port().report(completion_kind::failed, 0, status_code::transport_error, 0x13);
  q.engine.port().report(completion_kind::failed, 1, status_code::flushed, 0x05);
  q.settle();
  CHECK(q.engine.dead());
  q.write_nops(2);
  q.settle();
  const completion c = q.poll();
  CHECK(c.kind == completion_kind::failed);
  CHECK(c.index == 0);
  CHECK(c.outcome.syndrome == 0x13);
  for (std::uint64_t index = 1; index < 4; ++index) q.expect_flushed(index);
  CHECK(q.poll().kind == completion_kind::none);
  CHECK(q.engine.port().posted.size() == 2);
}

TEST_CASE("a port that throws when polled ends its queue, and what it owed is flushed") {
  fixture q(8);
  q.write_nops(2);
  wire::nvme::submission_entry e{};
  REQUIRE(q.ref().try_reserve(1));
  q.ref().write_send(2, e);
  q.write_nops(1);
  q.settle();
  q.engine.port().report(completion_kind::sent, 0);
  q.settle();
  CHECK(q.poll().kind == completion_kind::sent);
  q.engine.port().on_poll = [] { throw std::runtime_error("the cable is cut"); };
  q.settle();
  CHECK(q.engine.fault() == "the cable is cut");
  q.expect_broken();
  q.expect_flushed(1);
  q.expect_flushed(3);
  q.write_nops(1);
  q.settle();
  q.expect_flushed(4);
  CHECK(q.poll().kind == completion_kind::none);
}

TEST_CASE(
    "a port that throws when a request is posted ends its queue, and the request is flushed") {
  fixture q(4);
  q.engine.port().on_post = [] { throw 42; };
  q.write_nops(3);
  q.settle();
  CHECK(q.engine.fault() == "an exception of an unknown type");
  q.expect_broken();
  for (std::uint64_t index = 0; index < 3; ++index) q.expect_flushed(index);
  CHECK(q.poll().kind == completion_kind::none);
}

TEST_CASE("a dead queue flushes without end while its lanes take what it tells") {
  fixture q(2);
  q.engine.port().on_post = [] { throw std::runtime_error("dead"); };
  q.write_nops(2);
  q.settle();
  q.expect_broken();
  for (std::uint64_t index = 0; index < 50; ++index) {
    q.settle();
    q.expect_flushed(index);
    q.ref().retire(index);
    q.write_nops(1);
  }
}

TEST_CASE("a request ring that somebody overwrites ends the queue instead of posting rubbish") {
  for (const bool other_kind : {false, true}) {
    CAPTURE(other_kind);
    fixture q(4);
    q.write_nops(2);
    q.settle();
    proxy_request r;
    r.kind = other_kind ? static_cast<proxy_request_kind>(77) : proxy_request_kind::nop;
    r.index = other_kind ? 2 : 3;
    q.descriptor(2) = pack_proxy_request(r, proxy_tag(2, 2));
    q.settle();
    CHECK(q.engine.fault().find("request ring") != std::string::npos);
    CHECK(q.engine.port().posted.size() == 2);
    q.expect_broken();
    q.expect_flushed(0);
    q.expect_flushed(1);
    CHECK(q.poll().kind == completion_kind::none);
  }
}

TEST_CASE("a port that tells more than it was asked for ends the queue") {
  struct liar {
    bool post(const proxy_request&) { return true; }
    void flush() {}
    std::uint32_t poll(completion*, std::uint32_t most) { return most + 1; }
  };
  proxy_fixture<liar> p(2);
  p.engine.tick();
  p.engine.tick();
  CHECK(p.poll().kind == completion_kind::broken);
}

}  // namespace gnstor::test

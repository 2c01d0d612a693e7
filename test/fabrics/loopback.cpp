/// Two ends of RDMA connections on this machine. GNSTOR_TEST_RDMA names an address of an RDMA
/// device; without it, what is said of missing RDMA is tested instead.

#include "eventually.hpp"
#include <gnstor/wire/mlx5/syndrome.hpp>
#include <verbs/connect_error.hpp>
#include <verbs/listener.hpp>
#include <verbs/verbs_port.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <future>
#include <numeric>

namespace {

using namespace gnstor;
using namespace gnstor::host::verbs;
using std::chrono::milliseconds;
using test::eventually;

constexpr milliseconds patience{5000};

std::string rdma_address() {
  const char* address = std::getenv("GNSTOR_TEST_RDMA");
  return address != nullptr ? address : "";
}
bool no_rdma() { return rdma_address().empty(); }
bool device_here() { return std::filesystem::exists("/dev/infiniband"); }

/// Both ends of a connection, each with 4 KiB of registered memory.
struct pair {
  explicit pair(const connection_options& options = {.send_depth = 16, .receive_depth = 16})
      : listening({rdma_address(), 0}),
        domain(device::towards({rdma_address(), listening.port()}, patience)) {
    const std::array<unsigned char, 3> asked{1, 2, 3};
    auto passive = std::async(std::launch::async, [&] {
      std::optional<incoming> peer = listening.next(patience);
      REQUIRE(peer);
      CHECK(peer->private_data().size() >= 3);
      CHECK(peer->private_data()[2] == 3);
      connection c = std::move(*peer).prepare(domain, options);
      work receive = whole(there, there_memory);
      receive.id = 77;
      CHECK(c.post_receive(receive));
      const std::array<unsigned char, 2> said{8, 9};
      c.accept(said, patience);
      return c;
    });
    here_end =
        connection::connect(domain, {rdma_address(), listening.port()}, asked, options, patience);
    there_end = passive.get();
  }

  static work whole(const memory_region& region, const std::vector<unsigned char>& memory) {
    work w;
    w.address = reinterpret_cast<std::uint64_t>(memory.data());
    w.bytes = static_cast<std::uint32_t>(memory.size());
    w.lkey = region.lkey();
    return w;
  }

  listener listening;
  protection_domain domain;
  std::vector<unsigned char> here_memory = std::vector<unsigned char>(4096);
  std::vector<unsigned char> there_memory = std::vector<unsigned char>(4096);
  memory_region here{domain, here_memory.data(), 4096, {}};
  memory_region there{domain, there_memory.data(), 4096, {true, true}};
  connection here_end;
  connection there_end;
};

/// The next work completion of `c`.
ibv_wc next(connection& c) {
  ibv_wc found{};
  c.arm();
  const auto end = std::chrono::steady_clock::now() + patience;
  for (bool none = true; none && std::chrono::steady_clock::now() < end;) {
    none = c.poll(std::span(&found, 1)) == 0;
    if (none) {
      c.wait(milliseconds(100));
      c.arm();
    }
  }
  return found;
}

TEST_CASE("a machine without RDMA says so, and what to do" *
          doctest::skip(!no_rdma() || device_here())) {
  try {
    (void)device::towards({"127.0.0.1", 4420}, patience);
    FAIL("there is an RDMA device");
  } catch (const connect_error& e) {
    CHECK(e.kind() == connect_failure::no_rdma);
    CHECK(std::string(e.what()).find("rdma link add") != std::string::npos);
  }
}

TEST_CASE("an address that cannot be is refused before RDMA is asked") {
  CHECK_THROWS_AS((void)net_address({"no such host", 1}).resolve(), connect_error);
  CHECK(net_address({"::1", 4420}).text() == "[::1]:4420");
  const sockaddr_storage four = net_address({"10.1.2.3", 99}).resolve();
  CHECK(net_address::from(reinterpret_cast<const sockaddr&>(four)).text() == "10.1.2.3:99");
  const sockaddr_storage six = net_address({"fe80::1", 99}).resolve();
  CHECK(net_address::from(reinterpret_cast<const sockaddr&>(six)).text() == "[fe80::1]:99");
}

TEST_CASE("both ends learn each other's private data, and messages arrive" *
          doctest::skip(no_rdma())) {
  pair p;
  REQUIRE(p.here_end.peer_data().size() >= 2);
  CHECK(p.here_end.peer_data()[1] == 9);
  std::iota(p.here_memory.begin(), p.here_memory.end(), static_cast<unsigned char>(5));
  work w = pair::whole(p.here, p.here_memory);
  w.bytes = 64;
  w.id = 5;
  w.inlined = p.here_end.inline_bytes() >= 64;
  CHECK(p.here_end.post_send(w));
  const ibv_wc arrived = next(p.there_end);
  CHECK(arrived.wr_id == 77);
  CHECK(arrived.byte_len == 64);
  CHECK(std::memcmp(p.here_memory.data(), p.there_memory.data(), 64) == 0);
  CHECK(next(p.here_end).wr_id == 5);
  CHECK(p.here_end.alive());
}

TEST_CASE("one-sided transfers move data both ways" * doctest::skip(no_rdma())) {
  pair p;
  std::iota(p.here_memory.begin(), p.here_memory.end(), static_cast<unsigned char>(1));
  work w = pair::whole(p.here, p.here_memory);
  w.remote_address = reinterpret_cast<std::uint64_t>(p.there_memory.data());
  w.rkey = p.there.rkey();
  CHECK(p.here_end.post_write(w));
  CHECK(next(p.here_end).status == IBV_WC_SUCCESS);
  CHECK(p.there_memory == p.here_memory);
  std::fill(p.here_memory.begin(), p.here_memory.end(), static_cast<unsigned char>(0));
  CHECK(p.here_end.post_read(w));
  CHECK(next(p.here_end).status == IBV_WC_SUCCESS);
  CHECK(p.there_memory == p.here_memory);
}

TEST_CASE("an end that disconnects, or is destroyed, is noticed by the other" *
          doctest::skip(no_rdma())) {
  pair p;
  SUBCASE("disconnected") { p.here_end.disconnect(); }
  SUBCASE("destroyed") { p.here_end = connection(); }
  CHECK(eventually([&] { return !p.there_end.alive(); }));
  const ibv_wc flushed = next(p.there_end);
  CHECK(flushed.wr_id == 77);
  CHECK(flushed.status == IBV_WC_WR_FLUSH_ERR);
}

TEST_CASE("a port reports the transfer that broke the connection, then that it is broken" *
          doctest::skip(no_rdma())) {
  pair p;
  verbs_port port(p.domain, std::move(p.here_end), 8);
  proxy_request write;
  write.kind = proxy_request_kind::one_sided;
  write.index = 40;
  write.transfer = {reinterpret_cast<std::uint64_t>(p.here_memory.data()),
                    reinterpret_cast<std::uint64_t>(p.there_memory.data()),
                    p.here.lkey(),
                    p.there.rkey(),
                    4096,
                    true};
  proxy_request nop;
  nop.kind = proxy_request_kind::nop;
  nop.index = 41;
  std::vector<completion> seen;
  const auto collect = [&](std::size_t wanted) {
    return eventually([&] {
      completion c;
      if (port.poll(&c, 1) != 0) seen.push_back(c);
      return seen.size() >= wanted;
    });
  };
  CHECK(port.post(write));
  CHECK(port.post(nop));
  REQUIRE(collect(2));
  CHECK(seen[0].kind == completion_kind::sent);
  CHECK(seen[0].index == 40);
  CHECK(seen[1].kind == completion_kind::sent);
  CHECK(seen[1].index == 41);
  CHECK_FALSE(port.ended());

  write.index = 42;
  write.transfer.rkey ^= 0x5a5a00;
  CHECK(port.post(write));
  nop.index = 43;
  CHECK(port.post(nop));
  REQUIRE(collect(5));
  CHECK(seen[2].kind == completion_kind::failed);
  CHECK(seen[2].index == 42);
  CHECK(seen[2].outcome.syndrome ==
        static_cast<std::uint8_t>(wire::mlx5::syndrome::remote_access_error));
  CHECK(seen[3].kind == completion_kind::failed);
  CHECK(seen[3].index == 43);
  CHECK(seen[4].kind == completion_kind::broken);
  CHECK(port.ended());
}

TEST_CASE("a peer that is rejected, or dropped, is informed" * doctest::skip(no_rdma())) {
  const listener listening({rdma_address(), 0});
  const net_address address{rdma_address(), listening.port()};
  const protection_domain domain(device::towards(address, patience));
  bool drop = false;
  SUBCASE("rejected with a reason") {}
  SUBCASE("dropped") { drop = true; }
  auto passive = std::async(std::launch::async, [&] {
    std::optional<incoming> peer = listening.next(patience);
    REQUIRE(peer);
    const std::array<unsigned char, 4> said{0, 0, 6, 0};
    if (!drop) std::move(*peer).reject(said);
  });
  try {
    const connection c = connection::connect(domain, address, {}, {}, patience);
    FAIL("accepted");
  } catch (const connect_error& e) {
    CHECK(e.kind() == connect_failure::rejected);
    CHECK(e.reason() == (drop ? 0 : 6));
  }
  passive.get();
}

TEST_CASE("a port that another program listens on is refused" * doctest::skip(no_rdma())) {
  const listener first({rdma_address(), 0});
  CHECK_THROWS_WITH_AS(listener({rdma_address(), first.port()}),
                       doctest::Contains("another program listens there"), connect_error);
}

}  // namespace

/// The list of a discovery service, against a scripted one.

#include "scripted_target.hpp"
#include "under_tsan.hpp"
#include <fabrics/discovery.hpp>
#include <gnstor/host/error.hpp>

#include <doctest/doctest.h>

namespace {

using namespace gnstor;
using test::scripted_target;

wire::fabrics::discovery_entry entry(const std::string& nqn, std::uint8_t transport,
                                     std::uint8_t kind) {
  wire::fabrics::discovery_entry e{};
  e.trtype = transport;
  e.subtype = kind;
  nqn.copy(e.subnqn, 255);
  std::memset(e.traddr, ' ', sizeof e.traddr);
  std::memcpy(e.traddr, "10.0.0.7", 8);
  std::memset(e.trsvcid, ' ', sizeof e.trsvcid);
  std::memcpy(e.trsvcid, "4420", 4);
  return e;
}

void be_discovery(scripted_target& target) {
  target.script.subsystem = wire::fabrics::discovery_nqn;
  target.script.identity.cntrltype = 2;
}

TEST_CASE("every subsystem is listed, in pieces, with blanks and zeroes trimmed") {
  scripted_target target;
  be_discovery(target);
  for (int k = 0; k < 9; ++k) {
    target.script.log.push_back(
        entry("nqn.2026-11.test:" + std::to_string(k),
              k % 2 == 0 ? wire::fabrics::transport_rdma : wire::fabrics::transport_tcp,
              wire::fabrics::subsystem_nvm));
  }
  target.script.log.push_back(entry(wire::fabrics::discovery_nqn, wire::fabrics::transport_rdma,
                                    wire::fabrics::subsystem_discovery));
  const auto found = host::fabrics::discover(target);
  REQUIRE(found.size() == 10);
  CHECK(found[8].nqn == "nqn.2026-11.test:8");
  CHECK(found[8].transport == "rdma");
  CHECK(found[8].address == "10.0.0.7");
  CHECK(found[8].port == "4420");
  CHECK_FALSE(found[8].discovery);
  CHECK(found[1].transport == "tcp");
  CHECK(found[9].discovery);
}

TEST_CASE("an empty list is empty") {
  scripted_target target;
  be_discovery(target);
  CHECK(host::fabrics::discover(target).empty());
}

TEST_CASE("a list that changes while it is read is read again") {
  scripted_target target;
  be_discovery(target);
  target.script.log.push_back(
      entry("nqn.2026-11.test:1", wire::fabrics::transport_rdma, wire::fabrics::subsystem_nvm));
  SUBCASE("until it rests") {
    target.script.log_changes = 4;
    CHECK(host::fabrics::discover(target).size() == 1);
    CHECK(target.script.header_reads == 6);
  }
  SUBCASE("not for ever") {
    target.script.log_changes = 1'000'000;
    CHECK_THROWS_WITH_AS(host::fabrics::discover(target), doctest::Contains("changed each time"),
                         host::io_error);
  }
}

TEST_CASE("a target does not choose how much memory its list takes" *
          doctest::skip(test::under_tsan)) {
  scripted_target target;
  be_discovery(target);
  const auto one =
      entry("nqn.2026-11.test:1", wire::fabrics::transport_rdma, wire::fabrics::subsystem_nvm);
  SUBCASE("4096 entries are read") {
    target.script.log.assign(4096, one);
    CHECK(host::fabrics::discover(target).size() == 4096);
  }
  SUBCASE("more are refused before they are read") {
    target.script.log.assign(4097, one);
    CHECK_THROWS_WITH_AS(host::fabrics::discover(target), doctest::Contains("lists 4097"),
                         host::input_error);
    CHECK(target.script.header_reads == 1);
  }
}

}  // namespace

/// What a controller and its namespaces say, and what gnstor makes of it.

#include <fabrics/controller_limits.hpp>
#include <fabrics/discovered.hpp>
#include <fabrics/namespace_info.hpp>
#include <gnstor/host/error.hpp>

#include <doctest/doctest.h>

#include <cstring>

namespace {

using namespace gnstor;
using host::fabrics::controller_limits;
using host::fabrics::namespace_info;

constexpr std::uint64_t cap_of(std::uint32_t entries, std::uint64_t page_shift = 12) {
  return (entries - 1) | (page_shift - 12) << 48;
}

wire::nvme::identify_controller sound() {
  wire::nvme::identify_controller c{};
  c.sgls = 1 | wire::nvme::sgls_keyed;
  c.ioccsz = 4;
  c.iorcsz = 1;
  return c;
}

controller_limits limits(const wire::nvme::identify_controller& c, std::uint64_t cap,
                         std::uint32_t depth = 128) {
  std::vector<std::string> notes;
  return controller_limits::from(c, cap, depth, notes);
}

TEST_CASE("the largest transfer is MDTS in units of the smallest page, and fits a keyed SGL") {
  auto c = sound();
  CHECK(limits(c, cap_of(128)).max_transfer_bytes == 0xfff000);
  c.mdts = 5;
  CHECK(limits(c, cap_of(128)).max_transfer_bytes == 128 * 1024);
  CHECK(limits(c, cap_of(128, 16)).max_transfer_bytes == 2 * 1024 * 1024);
  c.mdts = 12;
  CHECK(limits(c, cap_of(128)).max_transfer_bytes == 0xfff000);
  c.mdts = 255;
  CHECK(limits(c, cap_of(128)).max_transfer_bytes == 0xfff000);
}

TEST_CASE("a queue is no deeper than the controller and MAXCMD allow") {
  auto c = sound();
  CHECK(limits(c, cap_of(1024)).depth == 128);
  CHECK(limits(c, cap_of(127)).depth == 64);
  CHECK(limits(c, cap_of(65536), 4096).depth == 4096);
  c.maxcmd = 33;
  CHECK(limits(c, cap_of(1024)).depth == 32);
  c.maxcmd = 1;
  CHECK_THROWS_AS((void)limits(c, cap_of(1024)), host::input_error);
}

TEST_CASE("a controller without keyed SGLs or with short capsules is refused") {
  auto c = sound();
  SUBCASE("no SGLs") { c.sgls = 0; }
  SUBCASE("no keyed ones") { c.sgls = 1; }
  SUBCASE("command capsules") { c.ioccsz = 3; }
  SUBCASE("response capsules") { c.iorcsz = 0; }
  CHECK_THROWS_AS((void)limits(c, cap_of(128)), host::input_error);
}

TEST_CASE("a discovery controller needs none of that") {
  wire::nvme::identify_controller c{};
  c.cntrltype = 2;
  CHECK(limits(c, cap_of(32)).discovery);
}

TEST_CASE("names are read without the blanks behind them") {
  auto c = sound();
  std::memset(c.sn, ' ', sizeof c.sn);
  std::memcpy(c.sn, "A B", 3);
  std::memset(c.mn, 'm', sizeof c.mn);
  CHECK(limits(c, cap_of(128)).serial == "A B");
  CHECK(limits(c, cap_of(128)).model == std::string(40, 'm'));
  CHECK(limits(c, cap_of(128)).firmware.empty());
}

TEST_CASE("a namespace's format in use is looked up by both parts of FLBAS") {
  wire::nvme::identify_namespace n{};
  n.nsze = 100;
  n.lbaf[0] = {0, 9, 0};
  n.lbaf[1] = {0, 12, 0};
  n.lbaf[17] = {8, 12, 0};
  CHECK(namespace_info::from(1, n).block_bytes == 512);
  n.flbas = 1;
  n.nlbaf = 1;
  CHECK(namespace_info::from(1, n).block_bytes == 4096);
  CHECK(namespace_info::from(1, n).problem.empty());
  n.flbas = 1 | 1 << 5;
  CHECK(namespace_info::from(1, n).problem.empty());  // up to 16 formats bits 6:5 mean nothing
  n.nlbaf = 20;
  CHECK_FALSE(namespace_info::from(1, n).problem.empty());
}

TEST_CASE("metadata, protection, odd block sizes and absence are problems; read only is not") {
  wire::nvme::identify_namespace n{};
  n.nsze = 8;
  n.lbaf[0] = {0, 12, 0};
  n.nsattr = 1;
  CHECK(namespace_info::from(3, n).problem.empty());
  CHECK(namespace_info::from(3, n).read_only);
  n.dps = 1;
  CHECK(namespace_info::from(3, n).problem.find("protection information") != std::string::npos);
  n.dps = 0;
  n.lbaf[0].metadata_bytes = 64;
  CHECK(namespace_info::from(3, n).problem.find("64 bytes of metadata") != std::string::npos);
  n.lbaf[0] = {0, 10, 0};
  CHECK(namespace_info::from(3, n).problem.find("2^10") != std::string::npos);
  n.lbaf[0] = {0, 200, 0};
  CHECK_FALSE(namespace_info::from(3, n).problem.empty());
  n.nsze = 0;
  CHECK(namespace_info::from(3, n).problem.find("namespace 3 is not there") != std::string::npos);
}

TEST_CASE("a namespace of more bytes than there can be is a problem, not a small one") {
  wire::nvme::identify_namespace n{};
  n.lbaf[0] = {0, 12, 0};
  n.nsze = (std::uint64_t{1} << 52) + 1;  // its bytes are 4096 and 2^64
  CHECK(namespace_info::from(3, n).problem.find("its target is broken") != std::string::npos);
  n.nsze = (std::uint64_t{1} << 52) - 1;
  CHECK(namespace_info::from(3, n).problem.empty());
}

TEST_CASE("what a target says of itself moves no terminal's cursor and ends no line") {
  auto c = sound();
  std::memcpy(c.sn, "a\x1b[2J\r\nb\x7f", 9);
  CHECK(limits(c, cap_of(128)).serial == "a?[2J??b?");
  wire::fabrics::discovery_entry entry{};
  std::memcpy(entry.subnqn, "nqn.2026-11.io:\xc3\xa4\nx", 19);  // names may be UTF-8
  std::memcpy(entry.traddr, "10.0.0.1\t", 9);
  const auto d = host::fabrics::discovered::from(entry);
  CHECK(d.nqn == "nqn.2026-11.io:\xc3\xa4?x");
  CHECK(d.address == "10.0.0.1?");
}

}  // namespace

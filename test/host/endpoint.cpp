/// What an endpoint string may say, and what a wrong one is answered.
#include <gnstor/host/endpoint.hpp>
#include <gnstor/host/error.hpp>

#include <doctest/doctest.h>

#include <string>

namespace host = gnstor::host;

namespace {

/// The message that parsing `text` ends with; empty if it is accepted.
std::string refusal(std::string_view text) {
  try {
    (void)host::endpoint::parse(text);
  } catch (const host::input_error& e) {
    return e.what();
  }
  return {};
}

bool says(const std::string& message, std::initializer_list<const char*> words) {
  for (const char* word : words) {
    if (message.find(word) == std::string::npos) return false;
  }
  return !message.empty();
}

}  // namespace

TEST_CASE("an endpoint without options has four SSDs, two replicas and 1 GiB each") {
  const host::endpoint e = host::endpoint::parse("emu:");
  CHECK(e.ssds == 4);
  CHECK(e.replicas == 2);
  CHECK(e.capacity_bytes == 1u << 30);
  CHECK(e.flash.empty());
  CHECK(e.runner == host::runner_kind::automatic);
}

TEST_CASE("every option is understood") {
  const host::endpoint e = host::endpoint::parse(
      "emu:?ssds=6&replicas=3&capacity=32M&flash=/a/"
      "b&grow=yes&sync=no&runner=sim&media=hbm&device=1&shards=2&"
      "threads=3&lanes=32&check_reads=no&timing=table2&transport=proxy&responses=cqe&resident=no");
  CHECK(e.ssds == 6);
  CHECK(e.replicas == 3);
  CHECK(e.capacity_bytes == 32u << 20);
  CHECK(e.flash == "/a/b");
  CHECK(e.grow);
  CHECK(e.sync == false);
  CHECK(host::endpoint::parse("emu:?sync=yes").sync == true);
  CHECK_FALSE(host::endpoint::parse("emu:").sync.has_value());
  CHECK(e.runner == host::runner_kind::simulated);
  CHECK(e.media == host::media_kind::hbm);
  CHECK(e.device == 1);
  CHECK(e.shards == 2);
  CHECK(e.threads == 3);
  CHECK(e.lanes == 32);
  CHECK(e.check_reads == false);
  CHECK(e.timing == host::timing_kind::table2);
  CHECK(host::endpoint::parse("emu:").timing == host::timing_kind::off);
  CHECK(host::endpoint::parse("emu:?check_reads=yes").check_reads == true);
  CHECK_FALSE(host::endpoint::parse("emu:").check_reads.has_value());
  CHECK(e.proxied);
  CHECK(e.scatter_responses);
  CHECK_FALSE(host::endpoint::parse("emu:?responses=ring").scatter_responses);
  CHECK_FALSE(e.resident);
  CHECK(host::endpoint::parse("emu:?capacity=8K").capacity_bytes == 8192);
  CHECK(host::endpoint::parse("emu:?capacity=2T").capacity_bytes == std::uint64_t{2} << 40);
  CHECK(host::endpoint::parse("emu:?capacity=12345").capacity_bytes == 12345);
}

TEST_CASE("an unknown scheme is answered with those that exist") {
  for (const std::string text :
       {"", "emu", "rdma:host", "tcp://host", "EMU:", "emulated:?ssds=4", ":"}) {
    CAPTURE(text);
    CHECK(says(refusal(text), {"unknown scheme", "emu:", "rdma://", text.c_str()}));
  }
}

TEST_CASE("an unknown option is answered with those that exist") {
  for (const std::string text :
       {"emu:?sssd=4", "emu:?ssds=4&mode=x", "emu:?ssds", "emu:?=4", "emu:?&"}) {
    CAPTURE(text);
    CHECK(says(refusal(text),
               {"these exist", "ssds", "replicas", "capacity", "flash", "runner", "media", "device",
                "shards", "threads", "lanes", "transport", "responses", "resident"}));
  }
  CHECK(says(refusal("emu:ssds=4"), {"expected '?'"}));
}

TEST_CASE("a number that is none, or out of range, is answered with the range") {
  for (const std::string value :
       {"", "x", "4x", "-1", "0", "65", "4.5", " 4", "99999999999999999999"}) {
    CAPTURE(value);
    CHECK(says(refusal("emu:?ssds=" + value), {"ssds=", "1 to 64"}));
  }
  for (const std::string value : {"", "M", "0", "-5M", "1X", "9000000T", "1.5G"}) {
    CAPTURE(value);
    CHECK(says(refusal("emu:?capacity=" + value), {"capacity="}));
  }
  CHECK(says(refusal("emu:?replicas=9"), {"replicas=9", "1 to 8"}));
  CHECK(says(refusal("emu:?lanes=33"), {"1 to 32"}));
}

TEST_CASE("a word that is none of the choices is answered with the choices") {
  CHECK(says(refusal("emu:?runner=fast"), {"runner=fast", "auto|cpu|gpu|sim"}));
  CHECK(says(refusal("emu:?media=tape"), {"media=tape", "host|hbm"}));
  CHECK(says(refusal("emu:?responses=both"), {"responses=both", "ring|cqe"}));
}

TEST_CASE("more replicas than SSDs are refused") {
  CHECK(says(refusal("emu:?ssds=2&replicas=3"), {"replicas=3", "ssds=2"}));
  CHECK(says(refusal("emu:?ssds=1"), {"replicas=2", "ssds=1"}));
  CHECK(refusal("emu:?ssds=1&replicas=1").empty());
}

TEST_CASE("an rdma endpoint names a host, a port, a subsystem and options") {
  const auto e = host::endpoint::parse(
      "rdma://10.0.0.1:4421/nqn.2014-08.org.nvmexpress:disk?nsid=3&queues=8&host_nqn=nqn.a:b&"
      "host_id=6c616200-0000-4000-8000-000000000001&keep_alive_ms=0&loss_timeout_ms=1&scratch=yes&"
      "transport=proxy&responses=cqe");
  REQUIRE(e.rdma);
  CHECK(e.rdma->host == "10.0.0.1");
  CHECK(e.rdma->port == 4421);
  CHECK(e.rdma->subsystem == "nqn.2014-08.org.nvmexpress:disk");
  CHECK(e.rdma->nsid == 3);
  CHECK(e.rdma->queues == 8);
  CHECK(e.rdma->host_nqn == "nqn.a:b");
  CHECK(e.rdma->host_id == "6c616200-0000-4000-8000-000000000001");
  CHECK(e.rdma->keep_alive_ms == 0);
  CHECK(e.rdma->loss_timeout_ms == 1);
  CHECK(e.rdma->scratch);
  CHECK(e.rdma->transport == host::transport_kind::proxy);
  CHECK(e.rdma->scatter_responses);
  CHECK_FALSE(host::endpoint::parse("rdma://a/n").rdma->scatter_responses);
  CHECK_FALSE(host::endpoint::parse("emu:").rdma);
}

TEST_CASE("the port and the subsystem of an rdma endpoint may be left out") {
  const auto named = host::endpoint::parse("rdma://storage-7");
  REQUIRE(named.rdma);
  CHECK(named.rdma->host == "storage-7");
  CHECK(named.rdma->port == 4420);
  CHECK(named.rdma->subsystem.empty());
  const auto six = host::endpoint::parse("rdma://[fe80::1]:9/nqn.x");
  CHECK(six.rdma->host == "fe80::1");
  CHECK(six.rdma->port == 9);
  CHECK(six.rdma->subsystem == "nqn.x");
  CHECK(host::endpoint::parse("rdma://[::1]/nqn.x").rdma->host == "::1");
}

TEST_CASE("an rdma endpoint names who drives the queues of kernels") {
  using host::transport_kind;
  const auto named = [](const std::string& options) {
    return host::endpoint::parse("rdma://a/n" + options).rdma->transport;
  };
  CHECK(named("") == transport_kind::automatic);
  CHECK(named("?transport=auto") == transport_kind::automatic);
  CHECK(named("?transport=nic") == transport_kind::nic);
  CHECK(named("?transport=proxy") == transport_kind::proxy);
  CHECK(says(refusal("rdma://a/n?transport=cpu"), {"transport=cpu", "auto|nic|proxy"}));
  CHECK(says(refusal("rdma://a/n?transports=nic"), {"transports", "loss_timeout_ms, transport"}));
}

TEST_CASE("a malformed rdma endpoint is answered with what is expected") {
  for (const char* bad :
       {"rdma://", "rdma:///nqn.x", "rdma://[::1/nqn.x", "rdma://[::1]4420/nqn.x"})
    CHECK(says(refusal(bad), {bad}));
  CHECK(says(refusal("rdma://a:0/n"), {"port", "1 to 65535"}));
  CHECK(says(refusal("rdma://a:70000/n"), {"port", "65535"}));
  CHECK(says(refusal("rdma://a/n?nsid=0"), {"nsid=0"}));
  CHECK(says(refusal("rdma://a/n?ssds=4"), {"ssds", "unknown", "nsid, queues"}));
  CHECK(says(refusal("rdma://a/n?nsid"), {"nsid", "name=value"}));
}

/// Who a memory server lets have its regions.
#include "host/temp_folder.hpp"
#include <gnstor/host/error.hpp>
#include <gnstor/host/memory_endpoint.hpp>
#include <serve/rdma/memory_access.hpp>

#include <doctest/doctest.h>

#include <cstring>
#include <fstream>
#include <string>

using namespace gnstor;
using wire::memory::region_refusal;

namespace {

constexpr const char* digits = "00112233445566778899aabbccddeeff";

/// A request for a region, with a secret or without.
wire::memory::region_request asking(const host::shared_secret* secret = nullptr) {
  wire::memory::region_request r{};
  if (secret != nullptr) std::memcpy(r.secret, secret->bytes().data(), sizeof r.secret);
  return r;
}

std::string refusal(const std::string& path) {
  try {
    (void)host::shared_secret::in_file(path);
  } catch (const host::input_error& e) {
    return e.what();
  }
  return {};
}

}  // namespace

TEST_CASE("a memory server without rules serves everybody") {
  const serve::memory_access all;
  CHECK_FALSE(all.refusal("10.0.0.1", asking()));
  CHECK_FALSE(all.refusal("fe80::1", asking()));
}

TEST_CASE("a memory server serves the addresses that it was given, however they are written") {
  const serve::memory_access some({"10.0.0.7", "fe80::0:7"}, {});
  CHECK_FALSE(some.refusal("10.0.0.7", asking()));
  CHECK_FALSE(some.refusal("::ffff:10.0.0.7", asking()));
  CHECK_FALSE(some.refusal("fe80::7", asking()));
  CHECK_FALSE(some.refusal("fe80::7%eth0", asking()));
  for (const char* other : {"10.0.0.70", "10.0.0.8", "fe80::8", "::7", "", "host"}) {
    CAPTURE(other);
    CHECK(some.refusal(other, asking()) == region_refusal::not_admitted);
  }
  for (const char* bad : {"host", "10.0.0", "10.0.0.0/8", ""}) {
    CAPTURE(bad);
    CHECK_THROWS_AS(serve::memory_access({bad}, {}), host::input_error);
  }
}

TEST_CASE("a memory server with a secret wants to hear it, after the address") {
  const test::temp_folder folder;
  const std::string path = folder.path() + "/secret";
  std::ofstream(path) << digits << "\n";
  const host::shared_secret secret = host::shared_secret::in_file(path);
  CHECK(secret.bytes()[1] == 0x11);
  CHECK(secret.bytes()[15] == 0xff);
  const serve::memory_access closed({"10.0.0.7"}, secret);
  CHECK_FALSE(closed.refusal("10.0.0.7", asking(&secret)));
  CHECK(closed.refusal("10.0.0.7", asking()) == region_refusal::wrong_secret);
  CHECK(closed.refusal("10.0.0.8", asking(&secret)) == region_refusal::not_admitted);
  for (const std::size_t at : {0u, 7u, 15u}) {
    wire::memory::region_request r = asking(&secret);
    r.secret[at] ^= 1;
    CHECK(closed.refusal("10.0.0.7", r) == region_refusal::wrong_secret);
  }
}

TEST_CASE("a secret's file says what is wrong with it") {
  const test::temp_folder folder;
  const std::string path = folder.path() + "/secret";
  CHECK(refusal(path).find("openssl rand -hex 16") != std::string::npos);
  for (const std::string& text :
       {std::string(digits) + "0", std::string(digits, 31), std::string(),
        std::string(31, '0') + "g", std::string(32, '0'), std::string(digits) + " " + digits}) {
    CAPTURE(text);
    std::ofstream(path) << text;
    CHECK(refusal(path).find("32 hexadecimal digits") != std::string::npos);
  }
}

TEST_CASE("an endpoint of a memory server names its secret's file") {
  const auto e = host::memory_endpoint::parse("memory://h:77/edges?secret=/run/s");
  CHECK(e.name == "edges");
  CHECK(e.port == 77);
  CHECK(e.secret == "/run/s");
  CHECK_THROWS_AS(host::memory_endpoint::parse("memory://h/x?secret="), host::input_error);
  CHECK_THROWS_AS(host::memory_endpoint::parse("memory://h/x?bytes=1"), host::input_error);
  CHECK_THROWS_AS(host::memory_endpoint::parse("memory://h/?secret=a"), host::input_error);
}

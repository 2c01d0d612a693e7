/// What `gnstor-target --array` and `--volume` ask for is what is served, or an error says why not.
#include "host/temp_folder.hpp"
#include <gnstor/host/error.hpp>
#include <gnstor/wire/afa/admin_command.hpp>
#include <serve/provide_volumes.hpp>

#include <doctest/doctest.h>

#include <vector>

using namespace gnstor;
using namespace gnstor::test;

namespace {

constexpr std::uint64_t timeout_ns = 10'000'000'000;
constexpr std::uint64_t mebibyte = 1 << 20;

serve::emulated_gateway array_in(const temp_folder& folder) {
  return {host::endpoint::parse("emu:?ssds=2&capacity=16M&flash=" + folder.path()), timeout_ns};
}

std::vector<std::uint64_t> sizes(serve::emulated_gateway& array) {
  std::vector<std::uint64_t> all;
  for (const auto& r : array.own().volumes(array.about()))
    all.push_back(r.capacity_blocks * block_bytes);
  return all;
}

/// What `provide_volumes` says of `wanted`; empty if it is content.
std::string fault(serve::emulated_gateway& array, std::vector<std::uint64_t> wanted) {
  try {
    serve::provide_volumes(array, wanted);
    return {};
  } catch (const host::input_error& e) {
    return e.what();
  }
}

bool has(const std::string& text, const char* part) { return text.find(part) != text.npos; }

}  // namespace

TEST_CASE("an array behind rdma:// is not served, and no other one in its place") {
  const auto elsewhere = host::endpoint::parse("rdma://192.0.2.1/nqn.2026-11.io.gnstor:array");
  try {
    const serve::emulated_gateway array(elsewhere, timeout_ns);
    FAIL("served an array that is not the one that was named");
  } catch (const host::input_error& e) {
    CHECK(has(e.what(), "rdma://"));
    CHECK(has(e.what(), "emu:"));
  }
}

TEST_CASE("volumes that are missing are made, also on a later run") {
  const temp_folder folder;
  {
    auto array = array_in(folder);
    CHECK(fault(array, {mebibyte}).empty());
    CHECK(sizes(array) == std::vector<std::uint64_t>{mebibyte});
  }
  auto array = array_in(folder);
  CHECK(fault(array, {}).empty());
  CHECK(fault(array, {mebibyte, 2 * mebibyte + 1}).empty());
  CHECK(sizes(array) == std::vector<std::uint64_t>{mebibyte, 2 * mebibyte + block_bytes});
  CHECK(fault(array, {mebibyte, 2 * mebibyte + 1}).empty());
  CHECK(sizes(array).size() == 2);
}

TEST_CASE("a volume of another size than --volume says is an error with both sizes") {
  const temp_folder folder;
  auto array = array_in(folder);
  REQUIRE(fault(array, {mebibyte}).empty());
  for (const std::uint64_t other : {8 * mebibyte, mebibyte / 2}) {
    CAPTURE(other);
    const std::string said = fault(array, {other, 2 * mebibyte});
    CHECK(has(said, "volume 1"));
    CHECK(has(said, other == 8 * mebibyte ? "--volume 8M" : "--volume 512K"));
    CHECK(has(said, "say --volume 1M"));
  }
  CHECK(sizes(array) == std::vector<std::uint64_t>{mebibyte});  // nothing was made beside it
}

TEST_CASE("the K-th --volume is volume K, whichever others are missing") {
  const temp_folder folder;
  auto array = array_in(folder);
  REQUIRE(fault(array, {mebibyte, 2 * mebibyte}).empty());
  wire::afa::admin_command c;
  c.opcode = wire::afa::admin_opcode::volume_delete;
  c.epoch = array.about().epoch;
  c.volume = volume_id(1);
  for (c.nsid = 1; c.nsid <= array.ssds(); ++c.nsid) REQUIRE(array.own().admin(c.pack(), {}).ok());
  CHECK(fault(array, {3 * mebibyte, 2 * mebibyte}).empty());
  CHECK(sizes(array) == std::vector<std::uint64_t>{3 * mebibyte, 2 * mebibyte});
}

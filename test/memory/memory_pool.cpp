#include "pool_fixture.hpp"
#include <gnstor/core/assert.hpp>
#include <gnstor/memory/memory_pool.hpp>

#include <doctest/doctest.h>

using namespace gnstor;
using namespace gnstor::test;

namespace {

constexpr std::uint64_t start = 0x7f0000000000;

}  // namespace

TEST_CASE("a pool's buffers have the size asked for, its keys, and addresses inside it") {
  pool_fixture<memory_pool<>::allocator_type> bitmap(1 << 20);
  const memory_pool<> pool(start, {.lkey = 7, .rkey = 9}, bitmap.ref());
  const result<io_buffer> first = pool.allocate(6000);
  const result<io_buffer> second = pool.allocate(100);
  REQUIRE(first);
  REQUIRE(second);
  CHECK(first.value == io_buffer{start, 6000, 7, 9});
  CHECK(second.value == io_buffer{start + 8192, 100, 7, 9});
  CHECK(pool.whole() == io_buffer{start, 1 << 20, 7, 9});
  CHECK(pool.release(first.value).ok());
  CHECK(pool.release(second.value).ok());
  CHECK(pool.allocator().is_whole());
}

TEST_CASE("a pool passes the allocator's refusals on") {
  pool_fixture<memory_pool<>::allocator_type> bitmap(1 << 20);
  const memory_pool<> pool(start, {.lkey = 7, .rkey = 9}, bitmap.ref());
  CHECK(pool.allocate(0).status.code == status_code::invalid_argument);
  const result<io_buffer> all = pool.allocate(1 << 20);
  REQUIRE(all);
  CHECK(pool.allocate(1).status.code == status_code::would_block);
  const io_buffer foreign{start - 4096, 4096, 7, 9};
#if defined(NDEBUG)
  CHECK(pool.release(foreign).code == status_code::invalid_argument);
#else
  CHECK_THROWS_AS((void)pool.release(foreign), verify_error);
#endif
}

TEST_CASE("a slice of a buffer keeps its keys and stays inside it") {
  const io_buffer buffer{start, 8192, 7, 9};
  CHECK(buffer.slice(4096, 4096) == io_buffer{start + 4096, 4096, 7, 9});
  CHECK(buffer.slice(8192, 0).bytes == 0);
#if !defined(NDEBUG)
  CHECK_THROWS_AS((void)buffer.slice(4096, 4097), verify_error);
  CHECK_THROWS_AS((void)buffer.slice(8193, 0), verify_error);
#endif
}

/// Pages that the host has brought into frames ahead of a kernel. A CPU does it at once, whatever
/// the stream.
#include "array_access.hpp"

using namespace gnstor;
using namespace gnstor::literals;
using namespace gnstor::test;

namespace {

template <class Rig>
void prefetch_all(Rig& r) {
  r.array.fill(4);
  r.array.prefetch_async(0, access_count, nullptr);
  CHECK_NOTHROW(r.array.check());
  CHECK(r.array.counters().pages_in == 10);
  CHECK(wrong_in_kernel(r, {.before = 4, .step = 1}) == access_count - 1);
  CHECK(r.array.counters().pages_in == 10);
  CHECK(r.array.get(0) == 5);
}

}  // namespace

TEST_CASE("a kernel finds the pages that were prefetched") {
  volume_rig r;
  prefetch_all(r);
  memory_rig m;
  prefetch_all(m);
}

TEST_CASE("a prefetch brings the pages of its range, whole or in part, and no others") {
  memory_rig r;
  r.array.prefetch_async(2047, 1026, nullptr);  // the last element of page 1, the first of page 3
  CHECK(r.array.counters().pages_in == 3);
  r.array.prefetch_async(1024, 2049, nullptr);
  CHECK(r.array.counters().pages_in == 3);
  r.array.prefetch_async(5000, 0, nullptr);
  CHECK(r.array.counters().pages_in == 3);
  r.array.prefetch_async(access_count - 1, 1, nullptr);
  CHECK(r.array.counters().pages_in == 4);
}

TEST_CASE("a prefetch brings no more pages than there are frames") {
  memory_rig r({.frame_bytes = 32 * 512, .page_bytes = 512});
  r.array.prefetch_async(128, access_count - 128, nullptr);
  CHECK(r.array.counters().pages_in == 32);
  CHECK(r.array.counters().evictions == 0);
}

TEST_CASE("what the host writes after a prefetch is what kernels find") {
  memory_rig r;
  r.array.prefetch_async(0, access_count, nullptr);
  r.array.fill(9);
  CHECK(wrong_in_kernel(r, {.before = 9}) == access_count - 1);
  CHECK(r.array.get(1) == 9);
}

TEST_CASE("a page that cannot be prefetched is the array's error") {
  volume_rig r({.frame_bytes = 10 * 4096, .page_bytes = 4096, .timeout = 300_ms},
               "emu:?capacity=16M&runner=sim");
  for (std::uint32_t k = 0; k < 4; ++k) r.session.inject_fault(k, "dead");
  r.array.prefetch_async(4096, 1, nullptr);
  for (std::uint32_t k = 0; k < 4; ++k) r.session.inject_fault(k, "none");
  CHECK_THROWS_AS(r.array.check(), gnstor::host::io_error);
  CHECK(r.array.counters().first_error_at == 4);
  r.array.clear_errors();
  CHECK_NOTHROW(r.array.check());
}

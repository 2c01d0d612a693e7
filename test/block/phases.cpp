/// Where requests are, and how long: what the metrics say.
#include "rig.hpp"
#include <serve/block/phase_counts.hpp>

using namespace gnstor;
using namespace gnstor::test;
using namespace std::chrono_literals;
using serve::phase_counts;
using serve::request_phase;

namespace {

std::uint64_t count(const phase_counts::record& r) {
  std::uint64_t sum = 0;
  for (const std::uint64_t n : r.times) sum += n;
  return sum;
}

}  // namespace

TEST_CASE(
    "times are counted in classes of four, each with its upper end, and the rest in the last") {
  phase_counts counts;
  const auto took = [&](std::uint64_t ns) {
    counts.enter(request_phase::flash);
    counts.leave(request_phase::flash, ns);
  };
  for (const std::uint64_t ns : {0ull, 1'000ull, 1'001ull, 4'000ull, 4'001ull, 60'000'000'000ull})
    took(ns);
  const auto r = counts.of(request_phase::flash);
  CHECK(r.times[0] == 2);
  CHECK(r.times[1] == 2);
  CHECK(r.times[2] == 1);
  CHECK(r.times[phase_counts::classes - 1] == 1);
  CHECK(r.took_ns == 60'000'010'002ull);
  CHECK(r.present == 0);
  CHECK(count(counts.of(request_phase::queued)) == 0);
}

TEST_CASE("threads that count at once lose nothing") {
  phase_counts counts;
  std::vector<std::thread> threads;
  for (int t = 0; t < 24; ++t) {
    threads.emplace_back([&] {
      for (int k = 0; k < 10'000; ++k) {
        counts.enter(request_phase::queued);
        counts.leave(request_phase::queued, 2'000);
        counts.finish(k % 2 == 0);
      }
    });
  }
  for (std::thread& t : threads) t.join();
  const auto r = counts.of(request_phase::queued);
  CHECK(r.times[1] == 240'000);
  CHECK(r.took_ns == 480'000'000);
  CHECK(r.present == 0);
  CHECK(counts.finished(true) == 120'000);
  CHECK(counts.finished(false) == 120'000);
}

TEST_CASE("a request is counted in each phase that it was in, and waits where an SSD is silent") {
  plain_devices rig({.timeout = 400ms, .buffers = 4});
  const auto device = rig.array->open("disk");
  const phase_counts& counts = rig.array->phases();
  const auto data = stamped(0, 1, 4 * 131072);
  REQUIRE(device->write(0, data) == block_error::none);
  std::vector<std::byte> found(data.size());
  REQUIRE(device->read(0, found) == block_error::none);
  REQUIRE(device->flush() == block_error::none);
  CHECK(count(counts.of(request_phase::buffer)) == 8);
  CHECK(count(counts.of(request_phase::receiving)) == 4);
  CHECK(count(counts.of(request_phase::queued)) == 9);
  CHECK(count(counts.of(request_phase::flash)) == 9);
  CHECK(count(counts.of(request_phase::sending)) == 4);
  CHECK(count(counts.of(request_phase::waiting)) == 0);
  CHECK(counts.finished(true) == 9);
  CHECK(counts.of(request_phase::flash).took_ns > 0);

  for (std::uint32_t ssd = 0; ssd < 4; ++ssd) rig.other.inject_fault(ssd, "silent");
  std::thread stuck([&] { CHECK(device->write(0, stamped(0, 2)) == block_error::failed); });
  const auto present = [&] { return counts.of(request_phase::flash).present; };
  for (int k = 0; k < 300 && present() == 0; ++k) std::this_thread::sleep_for(1ms);
  CHECK(present() == 1);
  stuck.join();
  for (std::uint32_t ssd = 0; ssd < 4; ++ssd) rig.other.inject_fault(ssd, "none");
  CHECK(present() == 0);
  CHECK(counts.finished(false) == 1);
  CHECK(counts.of(request_phase::flash).took_ns > 300'000'000);
}

/// A target that streams from flash to the wire against the limits of its parts: gmblock's figures.
#include <doctest/doctest.h>
#include <timing/stream_model.hpp>

#include <algorithm>

using namespace gnstor;
using fw::stream_path;
using fw::stream_profile;
using fw::stream_result;

namespace {

constexpr std::uint32_t mib = 1 << 20;

double rate(const stream_profile& p, std::uint32_t requests = 24) {
  const stream_result r = fw::stream(p, requests);
  CHECK(r.requests == requests);
  CHECK(r.wrong_bytes == 0);
  return r.mib_per_second(p.request_bytes);
}

}  // namespace

TEST_CASE("each path reaches what its parts allow at the seed's rates") {
  for (const std::uint32_t n : {1u, 2u, 4u}) {
    CAPTURE(n);
    stream_profile p = fw::gmblock_profile(stream_path::staged);
    p.access = 0;
    p.handling = 0;
    p.outstanding = n;
    p.request_bytes = mib / n;
    // Both crossings take turns on one bus, however many requests there are.
    CHECK(rate(p) == doctest::Approx(1 / (1 / 347.0 + 1 / 331.0)).epsilon(0.01));
    p.path = stream_path::store_and_forward;
    // One request reads, then sends; several take turns, as far as reading allows.
    const double one = 1 / (1 / 388.0 + 1 / 462.0);
    CHECK(rate(p) == doctest::Approx(n == 1 ? one : 388).epsilon(n == 1 ? 0.005 : 0.04));
    p.path = stream_path::synchronised;
    CHECK(rate(p) > 0.98 * 388);
    CHECK(rate(p) <= 388);
  }
}

TEST_CASE("one synchronised request of 1 MiB comes within 5 % of the pipeline's bound") {
  for (const bool modern : {false, true}) {
    for (const std::uint32_t chunk : {4096u, 16384u, 65536u}) {
      CAPTURE(modern);
      CAPTURE(chunk);
      stream_profile p = modern ? fw::table2_stream_profile(stream_path::synchronised)
                                : fw::gmblock_profile(stream_path::synchronised);
      p.chunk_bytes = chunk;
      const stream_result r = fw::stream(p, 5);
      for (const std::uint64_t took : r.took) {
        const double of_bound =
            static_cast<double>(fw::stream_bound(p)) / static_cast<double>(took);
        CHECK(of_bound >= 0.95);
        // What no way of doing it could beat: everything read, or everything sent.
        CHECK(static_cast<double>(took - p.access) * 1e-12 >=
              mib / std::min(p.flash_to_nic, p.wire));
      }
      CHECK(r.wrong_bytes == 0);
    }
  }
}

TEST_CASE(
    "at the seed's rates one request of 1 MiB gains more than the seed's 1.44 and 1.81 times") {
  const double synchronised = rate(fw::gmblock_profile(stream_path::synchronised));
  CHECK(synchronised > 1.44 * rate(fw::gmblock_profile(stream_path::store_and_forward)));
  CHECK(synchronised > 1.81 * rate(fw::gmblock_profile(stream_path::staged)));
}

TEST_CASE("a first stripe from one slow unit holds a synchronised send down, as in the seed") {
  // Eight disks that share 388 MiB/s, all at once, 64 KiB stripes.
  stream_profile p = fw::gmblock_profile(stream_path::synchronised);
  p.units = 8;
  p.unit_rate = 388.0 * mib / 8;
  p.in_order = false;
  const double disks = rate(p);
  CHECK(disks > 1.2 * rate(fw::gmblock_profile(stream_path::store_and_forward)));
  CHECK(disks < 0.8 * 388);  // the seed measured 305
}

TEST_CASE("phases add up, and only the send overlaps") {
  for (const stream_path path :
       {stream_path::staged, stream_path::store_and_forward, stream_path::synchronised}) {
    CAPTURE(static_cast<int>(path));
    const stream_profile p = fw::gmblock_profile(path);
    const stream_result r = fw::stream(p, 4);
    const std::uint64_t sum = r.init + r.read + r.send_init + r.send + r.fin;
    CHECK(static_cast<double>(sum) ==
          doctest::Approx(static_cast<double>(r.elapsed) / 4).epsilon(0.001));
    const double wire = 1e12 / 462;  // of 1 MiB
    if (path == stream_path::synchronised) {
      CHECK(static_cast<double>(r.send) < 0.1 * wire);
    } else {
      CHECK(static_cast<double>(r.send) > 0.99 * wire);
    }
  }
}

TEST_CASE("units that deliver in any order never let a byte out before it is there") {
  for (const std::uint32_t units : {1u, 3u, 8u, 16u}) {
    for (const std::uint32_t chunk : {1024u, 4096u, 16384u, 65536u}) {
      for (const bool in_order : {false, true}) {
        CAPTURE(units);
        CAPTURE(chunk);
        CAPTURE(in_order);
        stream_profile p = fw::gmblock_profile(stream_path::synchronised);
        p.units = units;
        p.unit_rate = 388.0 * mib / units;
        p.stripe_bytes = 8192;
        p.chunk_bytes = chunk;
        p.in_order = in_order;
        p.slow_unit = units - 1;
        p.slow_rate = 20.0 * mib;
        p.request_bytes = 256 * 1024 + 512;
        p.outstanding = 2;
        (void)rate(p, 6);
      }
    }
  }
}

TEST_CASE("a unit that stalls holds up the requests that need it, and no other") {
  stream_profile p = fw::gmblock_profile(stream_path::synchronised);
  p.request_bytes = mib / 2;  // eight stripes: every second request needs unit 0
  p.outstanding = 2;
  const stream_result even = fw::stream(p, 12);
  p.slow_unit = 0;
  p.slow_rate = 4.0 * mib;
  const stream_result stalled = fw::stream(p, 12);
  CHECK(stalled.wrong_bytes == 0);
  for (std::uint32_t k = 0; k < 12; ++k) {
    CAPTURE(k);
    if (k % 2 == 0) {
      CHECK(stalled.took[k] > 10'000'000'000);  // 64 KiB at 4 MiB/s: 16 ms
    } else {
      CHECK(stalled.took[k] <= even.took[k] + even.took[k] / 10);
    }
  }
}

TEST_CASE("requests that do not fit the NIC's memory wait") {
  stream_profile p = fw::gmblock_profile(stream_path::store_and_forward);
  p.outstanding = 4;
  const double four = rate(p);
  p.outstanding = 1;
  CHECK(four == doctest::Approx(rate(p)).epsilon(0.001));  // 1 MiB holds one
}

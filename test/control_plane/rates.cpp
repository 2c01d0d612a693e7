/// What gnstorctl --watch says from the second round on.
#include <doctest/doctest.h>
#include <gnstorctl/rates.hpp>

#include <chrono>
#include <string>

namespace {

namespace v1 = gnstor::v1;
using gnstor::tools::rates;
using std::chrono::seconds;

const rates::clock::time_point start{seconds(1000)};

v1::TrafficList traffic(const char* name, std::uint64_t writes, std::uint64_t bytes,
                        std::uint64_t slow) {
  v1::TrafficList all;
  v1::Traffic& t = *all.add_volumes();
  t.set_volume(3);
  t.set_name(name);
  t.set_writes(writes);
  t.set_written_bytes(bytes);
  t.set_latency_ns(writes * 7000);
  t.add_latencies(0);
  t.add_latencies(writes - slow);
  t.add_latencies(slow);
  return all;
}

v1::Array filling(std::uint64_t done) {
  v1::Array a;
  v1::Repair& r = *a.add_repairs();
  r.set_kind("fill");
  r.set_ssd(2);
  r.set_done_bytes(done);
  r.set_total_bytes(100 << 20);
  return a;
}

bool has(const std::string& text, const std::string& words) {
  return text.find(words) != text.npos;
}

}  // namespace

TEST_CASE("the first round says what there was, the next what came since, per second") {
  rates r;
  const std::string first = r.traffic_text(traffic("data", 1'000'000, 4096, 0), start);
  CHECK(has(first, "1000000"));
  CHECK_FALSE(has(first, "/s"));
  const std::string next =
      r.traffic_text(traffic("data", 1'000'300, 4096 + (8 << 20), 0), start + seconds(2));
  CHECK(has(next, "150/s"));
  CHECK(has(next, "4 MiB/s"));
  CHECK(has(next, "7 us"));
  // Renamed it is the same one; whoever counts begins anew with fewer.
  CHECK(has(r.traffic_text(traffic("other", 1'000'301, 4096 + (8 << 20), 0), start + seconds(3)),
            "1/s"));
  CHECK(has(r.traffic_text(traffic("other", 50, 0, 0), start + seconds(4)), "50/s"));
}

TEST_CASE("a repair says how fast it is, and how long it takes at that pace") {
  rates r;
  CHECK_FALSE(has(r.array_text(filling(10 << 20), start), "left"));
  const std::string next = r.array_text(filling(20 << 20), start + seconds(10));
  CHECK(has(next, "20.0 % of 100 MiB"));
  CHECK(has(next, "1 MiB/s, 1:20 left"));
  CHECK(has(r.array_text(filling(20 << 20), start + seconds(11)), "0 B/s"));
  CHECK_FALSE(has(r.array_text(filling(1 << 20), start + seconds(12)), "left"));  // another one
}

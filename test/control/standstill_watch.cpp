/// What counts as time in which a process did not run.
#include <control/standstill_watch.hpp>
#include <doctest/doctest.h>

using namespace gnstor;
using namespace std::chrono_literals;
using host::standstill_watch;

TEST_CASE("what is longer than between two looks was missed, and is said once") {
  const standstill_watch::clock::time_point start{1000s};
  standstill_watch w(500ms, start);
  CHECK(w.missed(start + 599ms) == 0ms);
  CHECK(w.missed(start + 1100ms) == 0ms);
  CHECK(w.missed(start + 1100ms + 600ms) == 600ms);
  CHECK(w.missed(start + 1100ms + 600ms) == 0ms);
  CHECK(w.missed(start) == 0ms);  // a thread that read the clock before another one did
  CHECK(w.missed(start + 1100ms + 650ms) == 0ms);
  CHECK(w.missed(start + 10'000ms) == 8250ms);
}

TEST_CASE("who works for long, or waits, has missed nothing") {
  standstill_watch w(10s, standstill_watch::clock::now());
  w.start();
  std::this_thread::sleep_for(300ms);
  CHECK(w.missed(standstill_watch::clock::now()) == 0ms);
  w.stop();
}

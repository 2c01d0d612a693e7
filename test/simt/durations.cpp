/// How long is said in types: by literals, and by what the host's clock library has.
#include "run.hpp"
#include <gnstor/core/duration.hpp>
#include <gnstor/simt/clock.hpp>

#include <doctest/doctest.h>

#include <chrono>
#include <type_traits>

using namespace gnstor;
using namespace gnstor::literals;
using namespace gnstor::test;

namespace {

static_assert(7_ns == duration::of_ns(7) && 7_us == 7'000_ns && 7_ms == 7'000_us);
static_assert(7_s == 7'000_ms && 0_s == duration() && 999_us < 1_ms);
static_assert(!std::is_convertible_v<int, duration> && !std::is_constructible_v<duration, int>);

using picoseconds = std::chrono::duration<long, std::pico>;
using thirds = std::chrono::duration<int, std::ratio<1, 3>>;
using exact_seconds = std::chrono::duration<double>;

}  // namespace

TEST_CASE("a duration of the standard library is a duration, rounded down to nanoseconds") {
  using namespace std::chrono_literals;
  CHECK(duration(3min) == 180_s);
  CHECK(duration(250ms) == 250_ms);
  CHECK(duration(std::chrono::nanoseconds(9)) == 9_ns);
  CHECK(duration(picoseconds(5'999)) == 5_ns);
  CHECK(duration(thirds(2)) == 666'666'666_ns);
  CHECK(duration(exact_seconds(0.25)) == 250_ms);
}

TEST_CASE("a duration is never negative, and saturates") {
  const duration most = duration::of_ns(~std::uint64_t{0});
  CHECK(duration(std::chrono::seconds(-1)) == 0_s);
  CHECK(duration(exact_seconds(-1e30)) == 0_s);
  CHECK(duration(std::chrono::hours::max()) == most);
  CHECK(20'000'000'000'000_s == most);
  CHECK(duration(exact_seconds(1e30)) == most);
  CHECK(simt::within(most).at_ns() == deadline::never().at_ns());
}

TEST_CASE("a deadline within a duration ends that much later, on the machine's clock") {
  run(seeded(3), 1, 1, [](auto&) {
    const std::uint64_t before = simt::now_ns();
    const deadline d = simt::within(5_ms);
    CHECK(d.at_ns() >= before + 5'000'000);
    CHECK(d.at_ns() <= simt::now_ns() + 5'000'000);
    CHECK(simt::within(std::uint64_t{5'000'000}).at_ns() >= d.at_ns());
  });
}

/// What outcomes of commands mean for what they are a part of.

#include "qp/seed_sweep.hpp"
#include <gnstor/io/outcome.hpp>
#include <gnstor/simt/lane.hpp>

#include <doctest/doctest.h>

#include <vector>

using namespace gnstor;
using gnstor::detail::another_replica_may_help;
using gnstor::detail::combined;
using gnstor::detail::share_of;

namespace {

constexpr status damaged = status::nvme(2, 0x81, 3);
constexpr status refused = status::nvme(0, 0x02, 1);
constexpr status in_use = status::in_use(5);
constexpr status late = status::make(status_code::timed_out, reporter::channel);
constexpr status given_up = status::make(status_code::timed_out, reporter::volume);
constexpr status killed = status::make(status_code::flushed, reporter::nic);

}  // namespace

TEST_CASE("of two failures the first one is said, and of two buffers in use one of them") {
  CHECK(combined(damaged, refused) == damaged);
  CHECK(combined(refused, damaged) == refused);
  CHECK(combined(status{}, status{}).ok());
  CHECK(combined(in_use, status{}) == in_use);
  CHECK(combined(status{}, in_use) == in_use);
  CHECK(combined(in_use, status::in_use(6)) == in_use);
}

TEST_CASE("no failure hides that a buffer may be in use, whichever comes first") {
  for (const status& silent : {late, killed}) {
    CHECK(combined(damaged, silent) == silent);
    CHECK(combined(silent, damaged) == silent);
    CHECK(combined(silent, in_use) == silent);
    CHECK(combined(in_use, silent) == silent);
  }
  // A buffer in use is no failure by itself: what failed beside it counts as one given up.
  CHECK(combined(damaged, in_use) == given_up);
  CHECK(combined(in_use, damaged) == given_up);
}

TEST_CASE("a lane's failure is its warp's, and so is a buffer in use of another lane") {
  struct lanes {
    status of[5];
    status outcome;
  };
  const lanes cases[] = {
      {{}, status{}},
      {{status{}, in_use, status{}}, in_use},
      {{status{}, status{}, damaged, refused}, damaged},
      {{status{}, in_use, damaged}, given_up},
      {{status{}, damaged, in_use}, given_up},
      {{in_use, damaged, status{}, late}, late},
      {{damaged, in_use, status{}, killed}, killed},
      {{late, damaged}, late},
  };
  for (const lanes& now : cases) {
    CAPTURE(&now - cases);
    std::vector<status> outcomes(32);
    simt::host::executor machine(simt::host::options{});
    machine.spawn(1, 32, [&](auto& lane) {
      const std::uint32_t k = lane.thread();
      outcomes[k] = combined(lane.warp(), k < 5 ? now.of[k] : status{});
    });
    machine.run();
    for (std::size_t k = 0; k < outcomes.size(); ++k) {
      CAPTURE(k);
      CHECK(outcomes[k] == now.outcome);
    }
  }
}

TEST_CASE(
    "another replica is asked after an SSD's own trouble, and never after a refusal, but of a "
    "volume that is elsewhere") {
  using wire::nvme::generic_status;
  const auto generic = [](generic_status code) {
    return status::nvme(0, static_cast<std::uint8_t>(code), 2);
  };
  CHECK(another_replica_may_help(late));
  CHECK(another_replica_may_help(damaged));
  CHECK(another_replica_may_help(status::nvme(3, 0x01, 2)));  // the path to it
  CHECK(another_replica_may_help(generic(generic_status::internal_error)));
  CHECK(another_replica_may_help(generic(generic_status::namespace_not_ready)));
  CHECK_FALSE(another_replica_may_help(generic(generic_status::lba_out_of_range)));
  CHECK_FALSE(another_replica_may_help(status::nvme(1, 0x80, 2)));
  CHECK_FALSE(another_replica_may_help(status::nvme(7, 0x02, 2)));
  CHECK_FALSE(another_replica_may_help(status::nvme(7, 0x08, 2)));
  CHECK(another_replica_may_help(status::nvme(7, 0x01, 2)));  // unknown volume
  CHECK(another_replica_may_help(status::nvme(7, 0x05, 2)));  // wrong SSD
  CHECK_FALSE(another_replica_may_help(killed));
  CHECK_FALSE(another_replica_may_help(status{}));
}

TEST_CASE("attempts share the time that is left, and the last one has all of it") {
  const deadline ends = deadline::after(0, 100);
  CHECK(share_of(ends, 40, 4).at_ns() == 55);
  CHECK(share_of(ends, 40, 3).at_ns() == 60);
  CHECK(share_of(ends, 40, 2).at_ns() == 70);
  CHECK(share_of(ends, 40, 1).at_ns() == 100);
  CHECK(share_of(ends, 40, 0).at_ns() == 100);
  CHECK(share_of(ends, 120, 4).at_ns() == 100);  // over
  CHECK(share_of(deadline::never(), 40, 4).at_ns() == deadline::never().at_ns());
}

/// When an operation is carried out again.
#include <control/in_epochs.hpp>
#include <doctest/doctest.h>

#include <utility>

namespace {

using namespace gnstor;
using host::in_epochs;

const status flushed = status::make(status_code::flushed, reporter::nic);

/// An operation that fails until it is carried out in `good`.
struct attempts {
  std::pair<int, int> good;
  std::pair<int, int> now{1, 0};
  int tries = 0;
  int looks = 0;

  template <class Learn>
  status run(duration patience, const Learn& learn) {
    return in_epochs(
        patience, [&] { return now; },
        [&] {
          ++tries;
          return now == good ? status{} : flushed;
        },
        [&] {
          ++looks;
          learn();
        });
  }
};

}  // namespace

TEST_CASE("an operation is carried out once in each place, and in no place twice") {
  attempts a{{3, 1}};
  const status s = a.run(std::chrono::seconds(60), [&] {
    if (a.looks == 2) a.now = {2, 0};  // another epoch
    if (a.looks == 4) a.now = {2, 1};  // the connection was made again
    if (a.looks == 6) a.now = {3, 1};
  });
  CHECK(s.ok());
  CHECK(a.looks == 6);
  CHECK(a.tries == 4);
}

TEST_CASE("where nothing separates it from what was sent before it is not carried out again") {
  attempts a{{2, 0}};
  const status s = a.run(std::chrono::milliseconds(60), [] {});
  CHECK(s.code == status_code::flushed);
  CHECK(a.looks >= 1);
  CHECK(a.tries == 1);
}

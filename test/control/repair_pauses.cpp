/// A repair that fails is not begun again at once.
#include "rig.hpp"

#include <control/repair_worker.hpp>

#include <condition_variable>
#include <mutex>

using namespace gnstor;
using namespace gnstor::test;
using namespace std::chrono_literals;
using host::ssd_standing;

namespace {

/// Carries out scrubs of an array that nobody else manages, in the epoch that it has learnt.
class lone_worker {
 public:
  explicit lone_worker(managed_array& array)
      : link_(array.shared.link("gnstor-manager", true)),
        io_(*link_, 5'000'000'000),
        core_({.ssds = 4, .client = link_->client().value}),
        worker_(io_,
                {.guard = guard_,
                 .core = core_,
                 .wake = [] {},
                 .failed = [this](std::uint32_t, status) { ++blamed_; },
                 .ended =
                     [this](const daemon::repair& r) {
                       ok_ = r.ok();
                       over_ = true;
                       changed_.notify_all();
                     }},
                0) {
    learn();
    worker_.start();
  }
  ~lone_worker() { worker_.stop(); }

  /// Takes the SSDs' word for what there is, and orders nothing.
  void learn() {
    std::vector<std::optional<daemon::ssd_report>> reports;
    for (std::uint32_t k = 0; k < 4; ++k) {
      const wire::afa::array_description said = io_.describe(k);
      reports.push_back(daemon::ssd_report{{said.epoch, said.absent, said.filling, said.others()},
                                           io_.list(k, said.epoch)});
    }
    const std::lock_guard lock(guard_);
    core_.recover(reports, 0);
    for (auto out = core_.take_orders(); !out.ssds.empty(); out = core_.take_orders()) {
      for (const daemon::ssd_order& o : out.ssds) core_.answered(o.id, 0);
    }
    REQUIRE(core_.knows_epoch());
  }
  /// How long a scrub took from when it was ordered.
  std::chrono::nanoseconds scrub(bool expected, bool urgent = false) {
    const auto begin = std::chrono::steady_clock::now();
    std::unique_lock lock(guard_);
    over_ = false;
    worker_.add({.id = ++ordered_, .kind = daemon::repair_kind::scrub, .vid = 1, .urgent = urgent});
    REQUIRE(changed_.wait_for(lock, 20s, [this] { return over_; }));
    CHECK(ok_ == expected);
    return std::chrono::steady_clock::now() - begin;
  }
  /// Orders one and takes that back; then waits until nothing is under way.
  std::chrono::nanoseconds cancel() {
    const auto begin = std::chrono::steady_clock::now();
    std::unique_lock lock(guard_);
    worker_.add({.id = ++ordered_, .kind = daemon::repair_kind::scrub, .vid = 1});
    changed_.wait_for(lock, 20ms);
    worker_.cancel(ordered_);
    while (!worker_.state().empty()) changed_.wait_for(lock, 1ms);
    return std::chrono::steady_clock::now() - begin;
  }
  std::uint32_t blamed() const { return blamed_; }

 private:
  std::unique_ptr<host::emulated_client> link_;
  host::array_client io_;
  std::mutex guard_;
  std::condition_variable changed_;
  daemon::manager core_;
  bool over_ = false;
  bool ok_ = false;
  std::uint32_t blamed_ = 0;
  std::uint64_t ordered_ = 1'000'000;
  host::repair_worker worker_;
};

}  // namespace

TEST_CASE("repairs that fail one after another wait longer and longer, and urgent ones do not") {
  managed_array array;
  REQUIRE(array.create("data").record.vid == 1);
  array.stop();
  lone_worker worker(array);
  (void)worker.scrub(true);
  {  // the array goes on without it: SSDs refuse what comes from the epoch before
    array.start();
    array.manager->detach(2);
    REQUIRE(array.comes_to(2, ssd_standing::absent));
    array.manager->replace(2);
    REQUIRE(array.comes_to(2, ssd_standing::in_sync));
    array.stop();
  }
  (void)worker.scrub(false);  // the first one begins at once
  for (const auto least : {40ms, 80ms, 160ms}) {
    CAPTURE(least.count());
    CHECK(worker.scrub(false) >= least);
  }
  // Somebody waits for these. Another one would wait for 5 seconds by then.
  for (int k = 0; k < 5; ++k) CHECK(worker.scrub(false, true) < 5s);
  CHECK(worker.cancel() < 5s);  // what is not wanted any more does not wait
  CHECK(worker.blamed() == 0);
  worker.learn();
  CHECK(worker.scrub(true, true) < 5s);
  CHECK(worker.scrub(true) < 5s);  // that is over with one that ended well
}

/// The thread that renews write leases, over a manager of a few lines.
#include <control/lease_keeper.hpp>
#include <doctest/doctest.h>

#include <atomic>
#include <functional>

using namespace gnstor;
using namespace std::chrono_literals;
using host::control_error;
using host::control_reason;
using host::volume_state;

namespace {

/// Renews every lease for `lasts`, or refuses for a reason; counts what it is asked.
struct scripted_manager final : host::array_control {
  volume_state renew(volume_id vid) override {
    ++renewals;
    if (refuses) throw control_error(*refuses, "a scripted refusal", "none");
    return lease(vid);
  }
  volume_state lease(volume_id vid) const {
    volume_state v;
    v.record.vid = vid.value;
    v.lease_left = lasts;
    return v;
  }
  void writes_as(client_id) override {}
  std::vector<volume_state> volumes() override { return {}; }
  volume_state find(volume_id) override { return {}; }
  volume_state find(const std::string&) override { return {}; }
  volume_state create(const host::new_volume&) override { return {}; }
  volume_state open(volume_id, bool) override { return {}; }
  void close(volume_id, bool) override {}
  void remove(volume_id) override {}
  void grow(volume_id, std::uint64_t) override {}
  void rename(volume_id, const wire::afa::volume_name&) override {}
  void share(volume_id, const std::string&, bool) override {}
  host::array_health health() override { return {}; }
  void report(std::optional<std::uint32_t>, const std::string&) override {}

  std::chrono::milliseconds lasts = 60ms;
  std::optional<control_reason> refuses;
  std::atomic<int> renewals = 0;
};

bool comes(const std::function<bool()>& true_now) {
  const auto until = std::chrono::steady_clock::now() + 20s;
  while (std::chrono::steady_clock::now() < until) {
    if (true_now()) return true;
    std::this_thread::sleep_for(1ms);
  }
  return false;
}

constexpr volume_id first{3}, second{5};

}  // namespace

TEST_CASE("a lease is renewed until it is dropped, each volume's when its time comes") {
  scripted_manager manager;
  host::lease_keeper keeper(manager);
  keeper.keep(manager.lease(first));
  CHECK(keeper.keeps(first));
  CHECK_FALSE(keeper.keeps(second));
  CHECK(comes([&] { return manager.renewals >= 3; }));
  keeper.drop(first);
  const int then = manager.renewals;
  std::this_thread::sleep_for(80ms);
  CHECK(manager.renewals == then);
  CHECK(keeper.kept().empty());
}

TEST_CASE("a lease that is dropped while its time is waited for does not disturb the others") {
  scripted_manager manager;
  manager.lasts = 300ms;
  host::lease_keeper keeper(manager);
  for (int round = 0; round < 5; ++round) {
    keeper.keep(manager.lease(first));
    std::this_thread::sleep_for(5ms);  // the thread waits for this one's time
    keeper.keep(manager.lease(second));
    keeper.drop(first);
    std::this_thread::sleep_for(5ms);
    keeper.drop(second);
  }
  keeper.keep(manager.lease(second));
  CHECK(comes([&] { return manager.renewals >= 1; }));
  CHECK(keeper.kept() == std::vector<volume_id>{second});
}

TEST_CASE("a lease that is lost is not asked for again") {
  scripted_manager manager;
  SUBCASE("it went to another host") { manager.refuses = control_reason::lost_lease; }
  SUBCASE("its volume is gone") { manager.refuses = control_reason::unknown_volume; }
  host::lease_keeper keeper(manager);
  keeper.keep(manager.lease(first));
  CHECK(comes([&] { return !keeper.keeps(first); }));
  CHECK(manager.renewals == 1);
}

TEST_CASE("a manager that does not answer is asked again, and the lease is still kept") {
  scripted_manager manager;
  manager.refuses = control_reason::failed;
  host::lease_keeper keeper(manager);
  keeper.keep(manager.lease(first));
  CHECK(comes([&] { return manager.renewals >= 2; }));
  CHECK(keeper.keeps(first));
}

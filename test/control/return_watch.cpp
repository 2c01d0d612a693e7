/// Which SSDs come back by themselves.
#include "rig.hpp"

#include <control/return_watch.hpp>

using namespace gnstor;
using namespace gnstor::test;
using gnstor::host::return_watch;
using host::ssd_standing;
using std::chrono::milliseconds;
using std::chrono::minutes;

namespace {

bool said(const managed_array& array, const std::string& words) {
  const auto events = array.manager->events(1);
  return std::any_of(events.begin(), events.end(), [&](const host::array_event& e) {
    return e.words.find(words) != std::string::npos;
  });
}

/// An array that takes SSDs back soon.
struct forgiving_array : managed_array {
  explicit forgiving_array(milliseconds after = milliseconds(200)) {
    stop();
    settings.back_after = after;
    start();
  }
};

}  // namespace

TEST_CASE("an SSD is due when it has answered for a while without a break") {
  return_watch watch;
  return_watch::time now{minutes(1)};
  watch.failed(1, now);
  watch.seen(1, true, now);
  CHECK_FALSE(watch.is_due(1, now + milliseconds(99), milliseconds(100)));
  CHECK(watch.is_due(1, now + milliseconds(100), milliseconds(100)));
  watch.seen(1, false, now + milliseconds(100));
  watch.seen(1, true, now + milliseconds(110));
  CHECK_FALSE(watch.is_due(1, now + milliseconds(200), milliseconds(100)));
  CHECK(watch.is_due(1, now + milliseconds(210), milliseconds(100)));
  CHECK_FALSE(watch.is_due(2, now + minutes(5), milliseconds(100)));
  watch.taken_out(1);
  CHECK_FALSE(watch.is_due(1, now + minutes(5), milliseconds(100)));
  watch.taken_in(1);
  CHECK_FALSE(watch.is_due(1, now + minutes(5), milliseconds(100)));  // it has not failed since
}

TEST_CASE("three failures within an hour are too many, and that is reported once each time") {
  return_watch watch;
  return_watch::time now{minutes(1)};
  for (int k = 0; k < 3; ++k) {
    CHECK_FALSE(watch.keeps_failing(1, now + minutes(10)));
    watch.failed(1, now += minutes(10));
  }
  CHECK(watch.keeps_failing(1, now));
  CHECK(watch.is_unreported(1, now));
  CHECK_FALSE(watch.is_unreported(1, now));
  CHECK_FALSE(watch.keeps_failing(1, now + minutes(40)));  // the first is an hour ago
  watch.failed(1, now + minutes(35));
  CHECK(watch.keeps_failing(1, now + minutes(40)));
  CHECK(watch.is_unreported(1, now + minutes(40)));
  watch.taken_in(1);
  CHECK_FALSE(watch.keeps_failing(1, now + minutes(40)));
}

TEST_CASE("an SSD that fell silent for a moment comes back by itself, with what it had") {
  forgiving_array array;
  managed_client writer(array.shared, "writer");
  const auto r = array.create("data", 1024).record;
  auto bytes = random_bytes(1024 * block_bytes, 7);
  (void)array.manager->open(r.vid, writer.id(), true);
  REQUIRE(writer.write(r, bytes).ok());
  array.manager->close(r.vid, writer.id(), true);
  (void)array.manager->open(r.vid, writer.id(), true);
  writer.link->inject_fault(2, "dead");
  REQUIRE(array.comes_to(2, ssd_standing::absent));
  writer.link->inject_fault(2, "none");
  REQUIRE(array.comes_to(2, ssd_standing::in_sync));
  CHECK(said(array, "SSD 2 answers again, and is taken back"));
  CHECK(said(array, "SSD 2 has 1 volumes but for what was changed since it left"));
  CHECK(writer.holds(r, bytes));
}

TEST_CASE("an SSD that keeps failing stays out, until somebody takes it in") {
  forgiving_array array;
  managed_client writer(array.shared, "writer");
  (void)array.create("data", 64);
  for (int k = 0; k < 3; ++k) {
    writer.link->inject_fault(2, "dead");
    REQUIRE(array.comes_to(2, ssd_standing::absent));
    writer.link->inject_fault(2, "none");
    if (k < 2) REQUIRE(array.comes_to(2, ssd_standing::in_sync));
  }
  REQUIRE(array.comes([&](const host::array_state&) {
    return said(array, "SSD 2 has failed 3 times within an hour: it stays out");
  }));
  CHECK(array.manager->state().ssds[2].standing == ssd_standing::absent);
  array.manager->replace(2);
  REQUIRE(array.comes_to(2, ssd_standing::in_sync));
  writer.link->inject_fault(2, "dead");
  REQUIRE(array.comes_to(2, ssd_standing::absent));
  writer.link->inject_fault(2, "none");
  REQUIRE(array.comes_to(2, ssd_standing::in_sync));
}

TEST_CASE("an SSD that answers and does not serve is not taken back again and again") {
  forgiving_array array;
  managed_client writer(array.shared, "writer");
  (void)array.create("data", 64);
  writer.link->inject_fault(2, "dead");
  REQUIRE(array.comes([&](const host::array_state&) {
    return said(array, "SSD 2 has failed 3 times within an hour: it stays out");
  }));
  CHECK(said(array, "SSD 2 cannot take its place again"));
  const std::uint64_t before = array.manager->events_seen();
  std::this_thread::sleep_for(milliseconds(500));
  CHECK(array.manager->events_seen() == before);
  CHECK(array.manager->state().ssds[2].standing == ssd_standing::absent);
}

TEST_CASE("an SSD that somebody has taken out is not taken back by itself") {
  forgiving_array array;
  (void)array.create("data", 64);
  array.manager->detach(2);
  std::this_thread::sleep_for(milliseconds(500));
  CHECK(array.manager->state().ssds[2].standing == ssd_standing::absent);
  array.manager->detach(1, true, minutes(10));
  std::this_thread::sleep_for(milliseconds(500));
  CHECK(array.manager->state().ssds[1].standing == ssd_standing::absent);
  array.stop();
  array.start();  // nor by the next manager, which knows nothing of it
  std::this_thread::sleep_for(milliseconds(300));
  CHECK(array.manager->state().ssds[2].standing == ssd_standing::absent);
}

TEST_CASE("of two SSDs that failed one after the other the later one comes back first") {
  forgiving_array array(std::chrono::seconds(2));
  managed_client writer(array.shared, "writer");
  const auto r = array.create("data", 1024).record;
  const auto bytes = random_bytes(1024 * block_bytes, 7);
  (void)array.manager->open(r.vid, writer.id(), true);
  REQUIRE(writer.write(r, bytes).ok());
  writer.link->inject_fault(1, "dead");
  REQUIRE(array.comes_to(1, ssd_standing::absent));
  writer.link->inject_fault(2, "dead");
  writer.link->inject_fault(1, "none");
  REQUIRE(array.comes_to(2, ssd_standing::absent));
  writer.link->inject_fault(2, "none");
  REQUIRE(array.comes_to(2, ssd_standing::in_sync));
  REQUIRE(array.comes_to(1, ssd_standing::in_sync));
  CHECK(writer.holds(r, bytes));
  std::vector<std::string> order;
  for (const host::array_event& e : array.manager->events(1))
    if (e.words.find("is taken back") != std::string::npos) order.push_back(e.words.substr(0, 5));
  CHECK(order == std::vector<std::string>{"SSD 2", "SSD 1"});
  CHECK(said(array, "SSD 1 answers again, and waits until SSD 2 is in sync"));
}

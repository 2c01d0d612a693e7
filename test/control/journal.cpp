/// What a manager leaves to the next one: in a file that a power cut, a full disk or somebody else
/// may have been at.
// label: thorough
#include "rig.hpp"

#include <control/manager_journal.hpp>
#include <control/scrub_schedule.hpp>
#include <host/temp_folder.hpp>
#include <sys/resource.h>

#include <csignal>
#include <fstream>
#include <sstream>

using namespace gnstor;
using namespace gnstor::test;
using namespace std::chrono_literals;
using daemon::ssd_aim;
using host::manager_journal;

namespace {

struct journal_file {
  std::shared_ptr<manager_journal> open(const std::string& array = "array A") const {
    return std::make_shared<manager_journal>(path, array);
  }
  std::string text() const {
    std::ostringstream all;
    all << std::ifstream(path).rdbuf();
    return all.str();
  }
  void write(const std::string& text) const { std::ofstream(path) << text; }
  std::string refusal(const std::string& array = "array A") const {
    try {
      (void)open(array);
    } catch (const host::error& e) {
      return e.what();
    }
    return {};
  }

  temp_folder folder{std::filesystem::temp_directory_path()};
  std::string path = folder.path() + "/manager.journal";
};

/// No file gets longer meanwhile, as on a disk that is full.
class full_disk {
 public:
  explicit full_disk(std::uint64_t bytes) : before_(std::signal(SIGXFSZ, SIG_IGN)) {
    REQUIRE(::getrlimit(RLIMIT_FSIZE, &limit_) == 0);
    const rlimit less{bytes, limit_.rlim_max};
    REQUIRE(::setrlimit(RLIMIT_FSIZE, &less) == 0);
  }
  full_disk(const full_disk&) = delete;
  full_disk& operator=(const full_disk&) = delete;
  ~full_disk() {
    (void)::setrlimit(RLIMIT_FSIZE, &limit_);
    (void)std::signal(SIGXFSZ, before_);
  }

 private:
  rlimit limit_{};
  void (*before_)(int);
};

std::string words(const manager_journal& j) {
  std::string all;
  for (const host::array_event& e : j.events(0)) all += std::to_string(e.number) + e.words + ';';
  return all;
}

bool says(const host::array_manager& m, const std::string& what) {
  for (const host::array_event& e : m.events(0))
    if (e.words.find(what) != std::string::npos) return true;
  return false;
}

}  // namespace

TEST_CASE("a journal has what was written to it, and goes on counting") {
  const journal_file file;
  const auto began = manager_journal::clock::time_point(1234567ms);
  {
    const auto j = file.open();
    CHECK(j->events_seen() == 0);
    CHECK_FALSE(j->last_pass());
    j->event("one");
    j->event("two\nlines");
    j->plan(3, ssd_aim::drain);
    j->plan(2, ssd_aim::join);
    j->plan(2, ssd_aim::none);
    j->term_begins(7);
    j->pass_begins(began);
    j->scrubbed(5);
    CHECK(file.refusal().find("another manager uses the journal") != std::string::npos);
  }
  const std::string before = file.text();
  const auto j = file.open();
  CHECK(file.text() == before);
  CHECK(words(*j) == "1one;2two lines;");
  CHECK(j->plans() == std::map<std::uint32_t, ssd_aim>{{3, ssd_aim::drain}});
  CHECK(j->last_term() == 7);
  REQUIRE(j->last_pass());
  CHECK(j->last_pass()->began == began);
  CHECK(j->last_pass()->scrubbed == std::set<std::uint16_t>{5});
  CHECK_FALSE(j->last_pass()->is_over);
  j->event("three");
  j->pass_is_over();
  CHECK(words(*j) == "1one;2two lines;3three;");
  CHECK(j->events(3).size() == 1);
  CHECK(j->last_pass()->is_over);
}

TEST_CASE("a journal that is cut anywhere has all whole lines, and can be written") {
  const journal_file file;
  for (int k = 0; k < 3; ++k) {
    const auto j = file.open();
    j->event("event of " + std::to_string(k));
    j->plan(static_cast<std::uint32_t>(k), ssd_aim::drain);
  }
  const std::string whole = file.text();
  const auto lines = [](const std::string& t) { return std::count(t.begin(), t.end(), '\n'); };
  for (std::size_t cut = 0; cut <= whole.size(); ++cut) {
    file.write(whole.substr(0, cut));
    {
      const auto j = file.open();
      const auto kept = j->events_seen() + j->plans().size();
      CHECK(kept == static_cast<std::size_t>(std::max(0L, lines(whole.substr(0, cut)) - 1)));
      j->event("after");
    }
    const auto j = file.open();
    CHECK(j->events(0).back().words == "after");
  }
}

TEST_CASE("a journal of another array, or a file that is none, is refused and left alone") {
  const journal_file file;
  file.open()->event("one");
  const std::string before = file.text();
  CHECK(file.refusal("array B").find("is of another array, array A") != std::string::npos);
  CHECK(file.text() == before);
  for (const char* const foreign : {"lease = 60\n", "no line", "gnstor-journal 2 array A\n"}) {
    file.write(foreign);
    CHECK(file.refusal().find("is no journal of a manager") != std::string::npos);
    CHECK(file.text() == foreign);
  }
  CHECK(journal_file{}.refusal().empty());
  const manager_journal memory;
  CHECK(memory.events_seen() == 0);
  journal_file nowhere;
  nowhere.path = nowhere.folder.path() + "/none/journal";
  CHECK(nowhere.refusal().find("No such file") != std::string::npos);
}

TEST_CASE("lines that are damaged are left out, and a full disk keeps nobody from going on") {
  const journal_file file;
  file.write(
      "gnstor-journal 1 array A\nevent 1 5 one\nevent x 5 two\nplan 3\nplan 4 drain\nterm\n"
      "event 1 6 again\nnothing\nevent 2 5 two\n");
  const auto j = file.open();
  CHECK(words(*j) == "1one;2two;");
  CHECK(j->plans() == std::map<std::uint32_t, ssd_aim>{{4, ssd_aim::drain}});
  {
    const full_disk full(file.text().size() + 7);
    j->event("this is not whole");
    j->event("nor is this there");
  }
  j->event("this is");
  CHECK(j->events_seen() == 5);
  CHECK(file.text().ends_with(" this is\n"));
  journal_file copy;
  copy.write(file.text());
  CHECK(copy.open()->events(0).back().words == "this is");
}

TEST_CASE("a journal does not grow for ever") {
  const journal_file file;
  const auto j = file.open();
  j->plan(1, ssd_aim::join);
  for (int k = 0; k < 25'000; ++k) j->event("an event of some length, number " + std::to_string(k));
  CHECK(std::filesystem::file_size(file.path) < 2'000'000);
  CHECK(j->events(0).size() == 1000);
  CHECK(j->events_seen() == 25'000);
  CHECK(file.refusal().find("another manager uses") != std::string::npos);  // the new file, too
}

TEST_CASE("where a clock has been set back nothing that a journal has ends later for that") {
  const auto now = [] { return manager_journal::clock::now(); };
  const journal_file file;
  file.open()->away(2, {.epoch = 3, .until = now() + 24h + 10min, .volumes = {{1, 5}}});
  const auto ms =
      std::chrono::duration_cast<std::chrono::milliseconds>((now() + 24h).time_since_epoch());
  file.write(file.text() + "event 1 " + std::to_string(ms.count()) + " of another clock\n");
  file.write(file.text() + "pass " + std::to_string(ms.count()) + "\n");
  for (int again = 0; again < 2; ++again) {
    const auto j = file.open();
    REQUIRE(j->absences().contains(2));
    CHECK(j->absences().at(2).until - now() <= 10min);
    CHECK(j->absences().at(2).until - now() > 9min);
    CHECK(j->now() < now() + 1h);
    REQUIRE(j->last_pass());
    CHECK(j->last_pass()->began <= now());
    CHECK(j->events(1).at(0).when <= now());
  }
}

TEST_CASE("who takes an array over goes on with its plans, unless somebody was there meanwhile") {
  for (const bool others : {false, true}) {
    CAPTURE(others);
    const journal_file file;
    managed_array array;
    array.stop();
    array.settings.journal = file.open();
    array.start();
    (void)array.create("more", 64);
    (void)array.create("data", 64);
    array.manager->detach(1);  // for which a drain waits
    REQUIRE(array.comes_to(1, host::ssd_standing::absent));
    array.manager->drain(3);
    CHECK(array.manager->state().ssds[3].volumes == 2);
    array.stop();
    array.settings.journal.reset();
    if (others) {
      array.start();
      CHECK(array.manager->state().ssds[3].aim == host::ssd_aim::none);
      array.stop();
    }
    array.settings.journal = file.open();
    array.start();
    CHECK(says(*array.manager, "SSD 3 is being drained: 2 volumes"));  // the former one's
    CHECK((array.manager->state().ssds[3].aim == host::ssd_aim::drain) == !others);
    CHECK(says(*array.manager, "another manager has been in charge since") == others);
    array.manager->replace(1);
    REQUIRE(array.comes_to(1, host::ssd_standing::in_sync));
    if (others) {
      CHECK(array.manager->state().ssds[3].volumes == 2);
      continue;
    }
    CHECK(array.comes([](const host::array_state& a) { return a.ssds[3].volumes == 0; }));
    array.stop();
    array.start();  // an SSD that is empty is to remain so
    CHECK(array.create("new", 16).record.ssd_count == 3);
    CHECK_FALSE(says(*array.manager, "SSD 3 is not"));
  }
}

TEST_CASE("a pass of scrubs goes on where the manager before was") {
  const journal_file file;
  managed_array array;
  std::vector<std::uint16_t> vids;
  for (const char* const name : {"a", "b", "c"}) vids.push_back(array.create(name, 16).record.vid);
  array.stop();
  const auto now = manager_journal::clock::now();
  {
    const auto j = file.open();
    j->pass_begins(now - 1h);
    j->scrubbed(vids[1]);
  }
  array.settings.journal = file.open();
  array.settings.scrub_every = 24h;
  array.start();
  CHECK(array.comes([](const host::array_state& a) { return a.scrubs.volumes == 2; }));
  CHECK(array.comes([&](const auto&) { return array.settings.journal->last_pass()->is_over; }));
  CHECK(array.manager->state().scrubs.volumes == 2);
  array.stop();
  array.start();  // the next pass is due in 23 hours
  std::this_thread::sleep_for(50ms);
  CHECK(array.manager->state().scrubs.volumes == 0);
  array.stop();
  array.settings.journal->pass_begins(now - 25h);
  array.settings.journal->pass_is_over();
  array.start();  // it was due while nobody was in charge
  CHECK(array.comes([](const host::array_state& a) { return a.scrubs.volumes == 3; }));
  CHECK(array.settings.journal->last_pass()->began >= now);
}

/// Who notices that a host which may write is gone.
#include <control/host_watch.hpp>
#include <doctest/doctest.h>

using namespace gnstor;
using gnstor::host::host_watch;
using std::chrono::milliseconds;

namespace {

/// A manager's looks at a target.
struct looks {
  /// @param life of client 7; 0: it is not there
  std::vector<client_id> after(milliseconds pause, std::uint32_t life,
                               std::vector<client_id> writers = {client_id(7)}) {
    now += pause;
    host::array_front_end::connected there{serving, {{client_id(3), "nqn.a", {}, 1, 1}}};
    if (life != 0) there.hosts.push_back({client_id(7), "nqn.b", {}, 1, life});
    return watch.note(there, writers, now - took, now);
  }
  host_watch watch;
  host_watch::time now{milliseconds(1000)};
  milliseconds took{0};  ///< from the question to the answer
  milliseconds serving = host_watch::settling;
};

const std::vector<client_id> nobody;
const std::vector<client_id> writer{client_id(7)};

}  // namespace

TEST_CASE("a writer that was there and is missed is gone") {
  looks l;
  CHECK(l.after(milliseconds(0), 9) == nobody);
  CHECK(l.after(milliseconds(250), 9) == nobody);
  CHECK(l.after(milliseconds(250), 0) == writer);
}

TEST_CASE("one that was there before it could write is gone, too") {
  looks l;
  CHECK(l.after(milliseconds(0), 9, {}) == nobody);
  CHECK(l.after(milliseconds(250), 0) == writer);
}

TEST_CASE("one that was never seen is missed for long enough first") {
  looks l;
  CHECK(l.after(milliseconds(0), 0) == nobody);
  CHECK(l.after(milliseconds(499), 0) == nobody);
  CHECK(l.after(milliseconds(1), 0) == writer);
}

TEST_CASE("one that comes meanwhile is not") {
  looks l;
  CHECK(l.after(milliseconds(0), 0) == nobody);
  CHECK(l.after(milliseconds(400), 9) == nobody);
  CHECK(l.after(milliseconds(400), 9) == nobody);
  CHECK(l.after(milliseconds(400), 0) == writer);
}

TEST_CASE("hosts of a target that was started again have time to come back") {
  looks l;
  CHECK(l.after(milliseconds(0), 9) == nobody);
  l.serving = host_watch::settling - milliseconds(1);
  CHECK(l.after(host_watch::settling, 0) == nobody);
  CHECK(l.after(milliseconds(1000), 0) == nobody);  // that it was there was before
  l.serving = host_watch::settling;
  CHECK(l.after(milliseconds(1000), 0) == writer);
}

TEST_CASE("another life of a host is not the one that may write") {
  looks l;
  CHECK(l.after(milliseconds(0), 9) == nobody);
  CHECK(l.after(milliseconds(250), 10) == writer);
  CHECK(l.after(milliseconds(250), 10) == nobody);
  // Who could not write before has nothing to lose.
  CHECK(l.after(milliseconds(250), 10, {}) == nobody);
  CHECK(l.after(milliseconds(250), 11) == nobody);
}

TEST_CASE("one that a target had since it began is missed at once, however young the target is") {
  looks l;
  l.serving = milliseconds(100);
  CHECK(l.after(milliseconds(0), 9) == nobody);
  l.serving = milliseconds(350);
  CHECK(l.after(milliseconds(250), 0) == writer);
  // Not if it may have begun between the looks: each host has to come back then.
  l.serving = milliseconds(250);
  CHECK(l.after(milliseconds(250), 9) == nobody);
  l.serving = milliseconds(250);
  CHECK(l.after(milliseconds(250), 0) == nobody);
  l.serving = milliseconds(500);
  CHECK(l.after(milliseconds(250), 0) == nobody);
}

TEST_CASE("how old a target is counts from when it was asked, not from when it had answered") {
  looks l;
  l.serving = milliseconds(400);
  l.took = milliseconds(300);
  CHECK(l.after(milliseconds(0), 9) == nobody);
  l.serving = milliseconds(500);  // it began after it was asked, and may have before it answered
  CHECK(l.after(milliseconds(250), 0) == nobody);
}

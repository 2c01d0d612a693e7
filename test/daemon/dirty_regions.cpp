/// When a manager says that a volume is clean: while its replicas are equal and nobody may write
/// it.

#include "rig.hpp"

using namespace gnstor;
using namespace gnstor::test;

namespace {

bool cleans(const daemon::ssd_order& o) {
  return o.opcode == admin_opcode::volume_chmod &&
         (o.chmod.sets & wire::afa::volume_chmod::sets_clean) != 0;
}
bool lets_write(const daemon::ssd_order& o, std::uint16_t who) {
  if (o.opcode != admin_opcode::volume_chmod) return false;
  for (std::uint32_t k = 0; k < o.chmod.client_count; ++k) {
    const wire::afa::volume_client& c = o.chmod.clients[k];
    if (c.client == who && (c.rights & wire::afa::right_write) != 0) return true;
  }
  return false;
}

/// Counts what SSDs are sent, in order.
struct watched_array : obedient_array {
  watched_array() : obedient_array(4) {
    before_order = [this](const daemon::ssd_order& o) {
      if (lets_write(o, 10) || lets_write(o, 11)) ++granted;
      if (!cleans(o)) return;
      ++cleaned;
      CHECK(granted == 0);  // it could undo the mark of who writes already
    };
    create(1);
  }
  void forget() { cleaned = granted = 0; }

  unsigned cleaned = 0;
  unsigned granted = 0;
};

}  // namespace

TEST_CASE("every SSD knows that a volume is clean before anybody may write it") {
  watched_array a;
  REQUIRE(a.open(1, 10) == verdict::done);
  CHECK(a.cleaned == 4);
  a.forget();
  a.boss.client_gone(10);
  a.boss.open(50, 1, 11, true);
  a.obey();
  CHECK(a.cleaned == 0);  // not before its replicas are equal
  CHECK(a.repaired().kind == repair_kind::converge);
  CHECK(a.replies.back().said == verdict::done);
  CHECK(a.cleaned == 4);
  a.forget();
  REQUIRE(a.open(1, 12, false) == verdict::done);
  CHECK(a.cleaned == 0);  // who only reads changes nothing
}

TEST_CASE("where an SSD fails on the way, none is called clean once somebody may write") {
  for (unsigned nth = 1; nth <= 12; ++nth) {
    CAPTURE(nth);
    watched_array a;
    const auto watch = a.before_order;
    unsigned sent = 0;
    a.before_order = [&](const daemon::ssd_order& o) {
      if (++sent == nth) a.states[3].dead = true;
      watch(o);
    };
    CHECK(a.open(1, 10) == verdict::done);
    CHECK(a.granted != 0);
  }
}

TEST_CASE("who gives a volume up behind its open and asks again comes behind that") {
  obedient_array a(4);
  a.create(1);
  REQUIRE(a.open(1, 10) == verdict::done);
  a.boss.client_gone(10);
  a.boss.open(50, 1, 11, true);
  a.obey();                       // its replicas are compared
  a.boss.close(51, 1, 11, true);  // it has given up waiting
  a.boss.open(52, 1, 11, true);
  a.obey();
  CHECK(a.repaired().kind == repair_kind::converge);
  CHECK(a.replies.back().request == 52);
  CHECK(a.replies.back().said == verdict::done);
  for (std::uint32_t k = 0; k < 4; ++k) CHECK(a.rights(k, 1, 11) == 3);
}

TEST_CASE("a volume is clean when its writer says so, if it was equal before") {
  watched_array a;
  REQUIRE(a.open(1, 10) == verdict::done);
  a.forget();
  SUBCASE("all was acknowledged") {
    a.boss.close(60, 1, 10, true);
    CHECK(a.last().said == verdict::done);
    CHECK(a.cleaned == 4);
  }
  SUBCASE("not all was acknowledged") {
    a.boss.close(60, 1, 10, false);
    CHECK(a.last().said == verdict::done);
    CHECK(a.cleaned == 0);
  }
  SUBCASE("somebody else closes it") {
    a.boss.close(60, 1, 11, true);
    CHECK(a.last().said == verdict::done);
    CHECK(a.cleaned == 0);
  }
  SUBCASE("another manager does not know whether it was equal") {
    a.take_over(100);
    a.obey();
    a.forget();
    a.boss.close(60, 1, 10, true);
    CHECK(a.last().said == verdict::done);
    CHECK(a.cleaned == 0);
  }
}

/// What the manager does beside an open that waits for its volume's replicas.

#include "rig.hpp"

using namespace gnstor;
using namespace gnstor::test;

namespace {

/// Volume 1 is opened by client 11, and its replicas are being compared; volume 2 is at rest.
struct waiting_array : obedient_array {
  explicit waiting_array(std::uint32_t ssds = 3) : obedient_array(ssds) {
    create(1);
    create(2);
    REQUIRE(open(1, 10) == verdict::done);
    boss.close(++request, 1, 10, false);
    obey();
    waits = ++request;
    boss.open(waits, 1, 11, true);
    obey();
    REQUIRE(repairs.size() == 1);
    REQUIRE(repairs[0].kind == repair_kind::converge);
    REQUIRE(!said(waits));
  }
  std::optional<verdict> said(std::uint64_t number) const {
    for (const daemon::reply& r : replies) {
      if (r.request == number) return r.said;
    }
    return {};
  }
  /// Ends the comparison of volume 1, whatever else is to be repaired.
  void compared(bool ok = true) {
    const auto at = std::find_if(repairs.begin(), repairs.end(), [](const auto& r) {
      return r.kind == repair_kind::converge && r.vid == 1;
    });
    REQUIRE(at != repairs.end());
    const std::uint64_t id = at->id;
    repairs.erase(at);
    boss.finished(id, ok);
    obey();
  }
  /// Client 11 writes volume 1, and every SSD in the epoch knows it.
  void check_granted() {
    CHECK(said(waits) == verdict::done);
    for (std::uint32_t k = 0; k < states.size(); ++k) {
      if ((boss.published().absent >> k & 1) == 0) CHECK(rights(k, 1, 11) == 3);
    }
  }
  std::uint64_t waits = 0;
};

}  // namespace

TEST_CASE("while one volume's replicas are compared, other volumes are made, opened and removed") {
  waiting_array a;
  CHECK(a.open(2, 12) == verdict::done);
  a.create(3);
  CHECK(a.open(3, 13) == verdict::done);
  a.boss.close(++a.request, 2, 12, true);
  CHECK(a.last().said == verdict::done);
  a.boss.remove(++a.request, 2);
  CHECK(a.last().said == verdict::done);
  CHECK(!a.said(a.waits));
  a.compared();
  a.check_granted();
}

TEST_CASE("a client that is lost is fenced at once, though another one's open waits") {
  waiting_array a;
  REQUIRE(a.open(2, 12) == verdict::done);
  a.boss.client_gone(12);
  a.obey();
  for (std::uint32_t k = 0; k < 3; ++k) CHECK(a.rights(k, 2, 12) == 0);
  a.compared();
  a.check_granted();
}

TEST_CASE("what concerns the volume waits with it, and is done in its turn") {
  waiting_array a;
  const std::uint64_t second = ++a.request;
  a.boss.open(second, 1, 12, true);
  const std::uint64_t close = ++a.request;
  a.boss.close(close, 1, 11, true);
  const std::uint64_t third = ++a.request;
  a.boss.open(third, 1, 12, true);
  a.obey();
  CHECK(!a.said(second));
  CHECK(!a.said(close));
  a.compared();
  CHECK(a.said(a.waits) == verdict::done);
  CHECK(a.said(second) == verdict::busy);
  CHECK(a.said(close) == verdict::done);
  CHECK(a.said(third) == verdict::done);
  for (std::uint32_t k = 0; k < 3; ++k) {
    CHECK(a.rights(k, 1, 12) == 3);
    CHECK((a.rights(k, 1, 11) & 2) == 0);
  }
}

TEST_CASE("names are given out in the order in which they are asked for") {
  waiting_array a;
  auto r = described(7);
  std::memcpy(r.name.bytes, "one", 3);
  const std::uint64_t gone = ++a.request;
  a.boss.remove(gone, 1);  // it waits for the open
  const std::uint64_t made = ++a.request;
  a.boss.create(made, r);
  a.obey();
  CHECK(!a.said(gone));
  CHECK(!a.said(made));
  a.compared();
  CHECK(a.said(gone) == verdict::done);
  CHECK(a.said(made) == verdict::done);
}

TEST_CASE("two volumes' replicas are compared at once") {
  waiting_array a;
  REQUIRE(a.open(2, 12) == verdict::done);
  a.boss.close(++a.request, 2, 12, false);
  const std::uint64_t other = ++a.request;
  a.boss.open(other, 2, 13, true);
  a.obey();
  REQUIRE(a.repairs.size() == 2);
  a.compared();
  a.check_granted();
  CHECK(!a.said(other));
  (void)a.repaired();
  CHECK(a.said(other) == verdict::done);
}

TEST_CASE("who asks again waits for the same comparison") {
  waiting_array a;
  const std::uint64_t again = ++a.request;
  a.boss.open(again, 1, 11, true);
  a.obey();
  CHECK(a.repairs.size() == 1);
  a.compared();
  a.check_granted();
  CHECK(a.said(again) == verdict::done);
  CHECK(a.repairs.empty());
}

TEST_CASE("an open whose client is gone is dropped, and its volume is anybody's") {
  waiting_array a;
  a.boss.client_gone(11);
  a.obey();
  CHECK(a.said(a.waits) == verdict::busy);
  CHECK(a.repairs.empty());
  for (std::uint32_t k = 0; k < 3; ++k) CHECK(a.rights(k, 1, 11) == 0);
  a.boss.open(++a.request, 1, 12, true);
  a.obey();
  (void)a.repaired();
  CHECK(a.last().said == verdict::done);
}

TEST_CASE(
    "an SSD that fails leaves the array at once, and the comparison begins again without it") {
  waiting_array a;
  const std::uint64_t before = a.repairs[0].id;
  a.states[2].dead = true;
  a.fail(2);
  CHECK(a.boss.published().absent == 4);
  REQUIRE(a.repairs.size() == 1);
  CHECK(a.repairs[0].id != before);
  a.compared();
  a.check_granted();
}

TEST_CASE("an SSD comes back and is filled beside it, and the comparison begins again each time") {
  waiting_array a;
  a.fail(2);
  a.replace(2);
  CHECK(a.boss.published().filling == 4);
  REQUIRE(a.repairs.size() == 2);  // the fill, and the comparison in this epoch
  const auto fill = std::find_if(a.repairs.begin(), a.repairs.end(),
                                 [](const auto& r) { return r.kind == repair_kind::fill; });
  REQUIRE(fill != a.repairs.end());
  const std::uint64_t id = fill->id;
  a.repairs.erase(fill);
  const std::uint64_t before = a.repairs[0].id;
  a.boss.finished(id, true);
  a.obey();
  CHECK(a.boss.published().filling == 0);
  REQUIRE(a.repairs.size() == 1);
  CHECK(a.repairs[0].id != before);
  a.compared();
  a.check_granted();
}

TEST_CASE("what has begun is not interrupted by an open whose comparison has ended") {
  waiting_array a;
  a.fail(2);
  a.states[2] = {};
  // Nobody hears of a volume that the returning SSD is given.
  std::optional<daemon::ssd_order> held;
  a.swallow = [&](const daemon::ssd_order& o) {
    const bool holds = !held && o.opcode == admin_opcode::volume_add && o.ssd == 2;
    if (holds) held = o;
    return holds;
  };
  a.boss.ssd_replaced(2);
  a.obey();
  REQUIRE(held);
  a.compared();
  CHECK(!a.said(a.waits));
  a.swallow = nullptr;
  a.obey(*held);
  a.obey();
  a.check_granted();
  CHECK(a.rights(2, 1, 11) == 3);
}

TEST_CASE("a comparison that fails is ordered again, and nothing else waits for it") {
  waiting_array a;
  for (int k = 0; k < 3; ++k) {
    a.compared(false);
    REQUIRE(a.repairs.size() == 1);
    CHECK(a.open(2, 12, false) == verdict::done);
  }
  a.compared();
  a.check_granted();
}

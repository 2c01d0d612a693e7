/// The manager's core: leases, failures, new SSDs, and taking over from what the SSDs know.

#include "rig.hpp"

using namespace gnstor;
using namespace gnstor::test;

TEST_CASE("the write right passes on when its holder is fenced and the replicas are equal") {
  obedient_array a(3);
  a.create(1);
  CHECK(a.open(1, 10) == verdict::done);
  CHECK(a.replies.back().lease_until == 1000);
  for (std::uint32_t k = 0; k < 3; ++k) CHECK(a.rights(k, 1, 10) == 3);
  CHECK(a.open(1, 11) == verdict::busy);
  CHECK(a.open(1, 11, false) == verdict::done);
  CHECK(a.rights(2, 1, 11) == 1);
  a.boss.tick(500);
  a.boss.renew(77, 1, 10);
  CHECK(a.last().lease_until == 1500);
  a.boss.renew(78, 1, 11);
  CHECK(a.last().said == verdict::lost_lease);
  a.boss.tick(1500);
  a.boss.open(79, 1, 11, true);
  a.obey();
  CHECK(a.replies.back().request == 78);  // it waits
  for (std::uint32_t k = 0; k < 3; ++k) {
    CHECK(a.rights(k, 1, 10) == 1);
    CHECK(a.rights(k, 1, 11) == 1);
    CHECK(a.rights(k, 1, 1) == 7);  // the repairer writes
  }
  a.boss.renew(80, 1, 10);
  CHECK(a.last().said == verdict::lost_lease);
  CHECK(a.repaired(false).kind == repair_kind::converge);
  CHECK(a.rights(0, 1, 11) == 1);  // it is tried again
  CHECK(a.repaired().vid == 1);
  CHECK(a.replies.back().request == 79);
  CHECK(a.replies.back().said == verdict::done);
  for (std::uint32_t k = 0; k < 3; ++k) {
    CHECK(a.rights(k, 1, 11) == 3);
    CHECK(a.rights(k, 1, 1) == 5);
  }
}

TEST_CASE("who has closed leaves equal replicas, or says that they may not be") {
  obedient_array a(2);
  a.create(1);
  REQUIRE(a.open(1, 10) == verdict::done);
  a.boss.close(90, 1, 10, true);
  CHECK(a.last().said == verdict::done);
  CHECK(a.rights(0, 1, 10) == 1);
  CHECK(a.open(1, 11) == verdict::done);
  CHECK(a.repairs.empty());
  a.boss.close(91, 1, 10, true);
  CHECK(a.last().said == verdict::lost_lease);
  a.boss.close(92, 1, 11, false);
  CHECK(a.last().said == verdict::done);
  a.boss.open(93, 1, 10, true);
  a.obey();
  CHECK(a.repaired().kind == repair_kind::converge);
  CHECK(a.rights(1, 1, 10) == 3);
}

TEST_CASE("a client whose connection is gone keeps nobody waiting for its lease") {
  obedient_array a(2);
  a.create(1);
  REQUIRE(a.open(1, 10) == verdict::done);
  CHECK(a.open(1, 11) == verdict::busy);
  a.boss.client_gone(10);
  a.boss.open(94, 1, 11, true);
  a.obey();
  CHECK(a.repaired().kind == repair_kind::converge);
  CHECK(a.rights(0, 1, 11) == 3);
}

TEST_CASE("requests that make no sense are answered with the reason") {
  obedient_array a(2);
  a.create(1);
  a.boss.create(95, described(1));
  CHECK(a.last().said == verdict::volume_exists);
  CHECK(a.open(2, 10) == verdict::unknown_volume);
  a.boss.remove(96, 2);
  CHECK(a.last().said == verdict::unknown_volume);
  a.boss.close(97, 2, 10, true);
  CHECK(a.last().said == verdict::unknown_volume);
  wire::afa::volume_record crowded = described(3);
  crowded.client_count = wire::afa::max_volume_clients;
  a.boss.create(98, crowded);
  CHECK(a.last().said == verdict::refused);
}

TEST_CASE("a failed SSD leaves with the epoch, and a new one serves once it is filled") {
  obedient_array a(3);
  a.create(1);
  a.create(2, 1);
  a.log.clear();
  a.boss.ssd_failed(1);
  a.boss.ssd_failed(1);
  a.obey();
  CHECK(a.log == std::vector<std::string>{"detach 1", "update 0", "update 2"});
  CHECK(a.boss.published().epoch == 2);
  CHECK(a.boss.published().absent == 2);
  CHECK(a.open(1, 10) == verdict::done);
  CHECK(a.open(2, 10) == verdict::lost_volume);  // one replica: some of it was there alone
  a.log.clear();
  a.told[1] = {};
  a.boss.ssd_replaced(1);
  a.obey();
  CHECK(a.log == std::vector<std::string>{"update 1", "add 1", "attach 1", "update 0", "update 1",
                                          "update 2"});
  CHECK(a.told[1].volumes.contains(1));
  CHECK_FALSE(a.told[1].volumes.contains(2));  // its lost blocks would read as zeroes
  CHECK(a.rights(1, 1, 10) == 3);
  CHECK(a.boss.published().filling == 2);
  const daemon::repair_order fill = a.repaired(false);
  CHECK(fill.kind == repair_kind::fill);
  CHECK(fill.ssd == 1);
  CHECK(a.boss.published().filling == 2);
  CHECK(a.repaired().kind == repair_kind::fill);
  CHECK(a.boss.published().epoch == 4);
  CHECK(a.boss.published().filling == 0);
  CHECK(a.told[1].serving.epoch == 4);
}

TEST_CASE("an epoch is published when every SSD in it knows it") {
  obedient_array a(3);
  a.boss.ssd_failed(0);
  const daemon::orders out = a.boss.take_orders();
  REQUIRE(out.ssds.size() == 2);
  a.boss.answered(out.ssds[0].id, 0);
  (void)a.boss.take_orders();
  CHECK(a.boss.published().epoch == 1);
  a.boss.answered(out.ssds[1].id, 0);
  a.boss.answered(out.ssds[1].id, 0);  // twice
  (void)a.boss.take_orders();
  CHECK(a.boss.published().epoch == 2);
}

TEST_CASE("SSDs that fail together, or in the middle of something, keep nothing waiting") {
  obedient_array a(4);
  a.create(1);
  a.told[2].dead = a.told[3].dead = true;
  CHECK(a.open(1, 10) == verdict::lost_volume);
  CHECK(a.boss.published().absent == 12);
  CHECK(a.boss.idle());
  obedient_array b(4);
  b.create(1, 3);
  b.told[2].dead = b.told[3].dead = true;
  CHECK(b.open(1, 10) == verdict::done);
  CHECK(b.boss.published().absent == 12);
  CHECK(b.rights(0, 1, 10) == 3);
  b.told[2] = {};
  b.boss.ssd_replaced(2);
  b.told[2].dead = true;  // so soon
  b.obey();
  CHECK(b.boss.idle());
  CHECK(b.boss.published().absent == 12);
  b.told[2].dead = false;
  b.boss.ssd_replaced(2);
  b.obey();
  CHECK(b.boss.published().absent == 8);
}

TEST_CASE("a volume that is removed while repairs run leaves nothing to carry into the next") {
  obedient_array a(3);
  a.create(1);
  a.create(2);
  a.boss.ssd_failed(0);
  a.obey();
  a.told[0] = {};
  a.boss.ssd_replaced(0);
  a.obey();
  REQUIRE(a.repairs.size() == 1);
  const std::uint64_t before = a.repairs[0].id;
  const std::uint32_t epoch = a.boss.published().epoch;
  a.boss.remove(99, 1);
  CHECK(a.last().said == verdict::done);
  CHECK(a.boss.published().epoch == epoch + 1);
  REQUIRE(a.repairs.size() == 1);
  CHECK(a.repairs[0].id != before);
  CHECK(a.boss.volumes().size() == 1);
  CHECK_FALSE(a.told[2].volumes.contains(1));
}

TEST_CASE("another manager takes over from what the SSDs know") {
  obedient_array a(3);
  a.create(1);
  a.create(2);
  REQUIRE(a.open(1, 10) == verdict::done);
  REQUIRE(a.open(1, 11, false) == verdict::done);
  a.boss.ssd_failed(2);
  a.obey();
  a.told[1].volumes.erase(2);           // a removal that was never confirmed
  a.told[0].volumes[3] = described(3);  // a creation likewise
  a.told[1].serving = {};               // it has not heard of the last epoch
  std::vector<std::optional<daemon::ssd_report>> reports(3);
  for (std::uint32_t k = 0; k < 2; ++k) {
    reports[k].emplace();
    reports[k]->serving = a.told[k].serving;
    for (const auto& [vid, r] : a.told[k].volumes) reports[k]->volumes.push_back(r);
  }
  a.boss = manager(a.options);
  a.boss.recover(reports, 5000);
  CHECK_FALSE(a.boss.knows_epoch());
  a.obey();
  CHECK(a.boss.knows_epoch());
  CHECK(a.boss.published().epoch == 2);
  CHECK(a.boss.published().absent == 4);
  CHECK(a.told[1].serving.epoch == 2);
  CHECK(a.boss.volumes().size() == 1);
  for (std::uint32_t k = 0; k < 2; ++k) {
    CHECK(a.told[k].volumes.size() == 1);
    CHECK(a.rights(k, 1, 10) == 1);
    CHECK(a.rights(k, 1, 11) == 1);
  }
  a.boss.open(100, 1, 10, true);
  a.obey();
  CHECK(a.repaired().kind == repair_kind::converge);
  CHECK(a.rights(1, 1, 10) == 3);
}

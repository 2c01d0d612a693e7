/// As many volumes as an array may have: what a take-over, opens and a failure cost the manager.
#include "rig.hpp"

#include <qp/seeds.hpp>

#include <chrono>

using namespace gnstor;
using namespace gnstor::test;

namespace {

double seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Has the manager do all that it has to, however much that is.
void carry_out(obedient_array& a) {
  for (daemon::orders out = a.boss.take_orders(); !out.ssds.empty(); out = a.boss.take_orders()) {
    for (const daemon::ssd_order& o : out.ssds) a.obey(o);
    for (const daemon::reply& r : out.replies) a.replies.push_back(r);
    a.log.clear();
  }
}

}  // namespace

TEST_CASE("10,000 volumes on 64 SSDs are taken over, opened and fenced in seconds") {
  const auto ssds = static_cast<std::uint32_t>(rounds_of(64, 16));
  const auto volumes = static_cast<std::uint16_t>(rounds_of(10'000, 4'000));
  obedient_array a(ssds);
  const auto each = [&](auto ask) {
    for (std::uint16_t vid = 1; vid <= volumes; ++vid) ask(vid);
  };
  const double began = seconds();
  each([&](std::uint16_t vid) { a.boss.create(++a.request, described(vid)); });
  carry_out(a);
  const double created = seconds();
  each(
      [&](std::uint16_t vid) { a.boss.open(++a.request, vid, std::uint16_t(20'000 + vid), true); });
  carry_out(a);
  const double opened = seconds();
  CHECK(a.boss.leases().size() == volumes);
  // A right that was on its way is on one SSD alone: each volume has to be brought to one state.
  each([&](std::uint16_t vid) {
    a.states[0].volumes[vid].clients[1].rights = wire::afa::right_read;
  });
  const double before = seconds();
  a.take_over(1'000'000);
  carry_out(a);
  const double taken_over = seconds();
  CHECK(a.boss.knows_epoch());
  CHECK(a.boss.volumes().size() == volumes);
  CHECK(a.boss.leases().empty());
  std::uint32_t may_write = 0;
  each([&](std::uint16_t vid) {
    for (std::uint32_t k = 0; k < ssds; ++k)
      may_write += (a.rights(k, vid, std::uint16_t(20'000 + vid)) & wire::afa::right_write) != 0;
  });
  CHECK(may_write == 0);
  const double failed = seconds();
  a.boss.ssd_failed(1);
  carry_out(a);
  const double gone = seconds();
  CHECK(a.boss.published().absent == 2);
  MESSAGE(volumes, " volumes, ", ssds, " SSDs: created in ", created - began, " s, opened in ",
          opened - created, " s, taken over in ", taken_over - before, " s, a failure ",
          gone - failed, " s");
  CHECK(taken_over - before < 10);
  CHECK(opened - created < 10);
}

/// Which host may send which VOLUME command, by the record that the SSD holds.
#include <deengine/admin_rules.hpp>

#include <doctest/doctest.h>

#include <vector>

using namespace gnstor;
using namespace gnstor::fw;
using wire::afa::right_fill;
using wire::afa::right_read;
using wire::afa::right_write;
using wire::afa::status;
using wire::afa::volume_client;

namespace {

constexpr admin_caller owner{client_id(1), 100, false};
constexpr admin_caller guest{client_id(2), 200, false};
constexpr admin_caller stranger{client_id(3), 300, false};
constexpr admin_caller nobody{client_id(4), 0, false};
constexpr admin_caller manager{client_id(9), 900, true};

constexpr std::uint16_t refused(status s) { return wire::afa::make_status(s); }

wire::afa::volume_record some_volume() {
  wire::afa::volume_record r{};
  r.vid = 5;
  r.owner = owner.host;
  r.client_count = 2;
  r.clients[0] = {1, right_read | right_write};
  r.clients[1] = {2, right_read};
  return r;
}
wire::afa::volume_chmod change(const std::vector<volume_client>& to) {
  wire::afa::volume_chmod c{};
  for (const volume_client& one : to) c.clients[c.client_count++] = one;
  return c;
}

}  // namespace

TEST_CASE("the owner and the manager delete a volume, nobody else does") {
  CHECK(may_delete(some_volume(), owner) == 0);
  CHECK(may_delete(some_volume(), manager) == 0);
  for (const admin_caller& who : {guest, stranger, nobody})
    CHECK(may_delete(some_volume(), who) == refused(status::not_owner));
  CHECK(may_delete({}, owner) == refused(status::unknown_volume));
  wire::afa::volume_record old = some_volume();
  old.owner = 0;  // of an array that knew no owners
  CHECK(may_delete(old, nobody) == refused(status::not_owner));
  CHECK(may_delete(old, manager) == 0);
}

TEST_CASE("the owner gives and takes rights, others take and give back their own alone") {
  const auto r = some_volume();
  CHECK(may_change(r, change({{7, right_read}, {2, 0}}), owner) == 0);
  CHECK(may_change(r, change({{2, right_read | right_write}}), guest) == 0);
  for (const bool named : {false, true}) {  // but it does not have the volume deleted, or named
    auto more = change({{2, right_read | right_write}});
    (named ? more.sets : reinterpret_cast<std::uint32_t&>(more.spread)) =
        named ? wire::afa::volume_chmod::sets_name
              : static_cast<std::uint32_t>(wire::afa::volume_spread::deleting);
    CHECK(may_change(r, more, guest) == refused(status::not_owner));
    CHECK(may_change(r, more, owner) == 0);
  }
  CHECK(may_change(r, change({{2, 0}}), guest) == 0);
  CHECK(may_change(r, change({{1, right_read}}), guest) == refused(status::not_owner));
  CHECK(may_change(r, change({{2, right_read}, {1, 0}}), guest) == refused(status::not_owner));
  CHECK(may_change(r, change({}), guest) == refused(status::not_owner));
  CHECK(may_change(r, change({{3, right_read}}), stranger) == refused(status::not_owner));
  CHECK(may_change({}, change({{3, right_read}}), stranger) == refused(status::unknown_volume));
}

TEST_CASE("the right to fill, places and owners are the manager's") {
  wire::afa::volume_record r = some_volume();
  r.clients[r.client_count++] = {9, right_read | right_fill};
  CHECK(may_change(r, change({{1, right_read | right_fill}}), owner) ==
        refused(status::not_permitted));
  CHECK(may_change(r, change({{9, 0}}), owner) == refused(status::not_permitted));
  wire::afa::volume_chmod moved = change({});
  moved.ssd_count = 5;
  CHECK(may_change(r, moved, owner) == refused(status::not_permitted));
  wire::afa::volume_chmod given = change({});
  given.owner = guest.host;
  CHECK(may_change(r, given, owner) == refused(status::not_permitted));
  CHECK(may_change(r, given, guest) == refused(status::not_permitted));
  wire::afa::volume_chmod equal = change({});
  equal.sets = wire::afa::volume_chmod::sets_clean;
  CHECK(may_change(r, equal, owner) == refused(status::not_permitted));
  wire::afa::volume_chmod held = change({});
  held.sets = wire::afa::volume_chmod::sets_hold;
  CHECK(may_change(r, held, owner) == refused(status::not_permitted));
  for (const auto& c : {moved, given, equal, held, change({{9, 0}})})
    CHECK(may_change(r, c, manager) == 0);
}

TEST_CASE("a host adds volumes of its own alone") {
  wire::afa::volume_record r = some_volume();
  CHECK(may_add(r, owner) == 0);
  CHECK(may_add(r, manager) == 0);
  CHECK(may_add(r, guest) == refused(status::not_permitted));
  r.owner = 0;
  CHECK(may_add(r, guest) == 0);
  CHECK(may_add(r, nobody) == refused(status::not_permitted));
  r.spread = wire::afa::volume_spread::joining;
  CHECK(may_add(r, guest) == refused(status::not_permitted));
  r.spread = wire::afa::volume_spread::creating;
  CHECK(may_add(r, guest) == 0);
  r.held_until = 1;
  CHECK(may_add(r, guest) == refused(status::not_permitted));
  CHECK(may_add(r, manager) == 0);
  r.held_until = 0;
  r.clients[0].rights = right_fill;
  CHECK(may_add(r, guest) == refused(status::not_permitted));
}

TEST_CASE("where there is a manager, no host changes volumes, not even its own") {
  const auto managed = [](admin_caller who) {
    who.managed = true;
    return who;
  };
  const auto r = some_volume();
  for (const admin_caller& who : {owner, guest, stranger, nobody}) {
    CHECK(may_add(r, managed(who)) == refused(status::managed));
    CHECK(may_delete(r, managed(who)) == refused(status::managed));
    CHECK(may_change(r, change({{2, 0}}), managed(who)) == refused(status::managed));
  }
  CHECK(may_add(r, managed(manager)) == 0);
  CHECK(may_delete(r, managed(manager)) == 0);
  CHECK(may_change(r, change({{2, 0}}), managed(manager)) == 0);
}

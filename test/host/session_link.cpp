/// A session over a connection that answers what a test wants: what it asks of whom, and what
/// becomes of its buffers.

#include "scripted_link.hpp"
#include "session_impl.hpp"

#include <doctest/doctest.h>

#include <cstring>
#include <functional>
#include <map>
#include <set>
#include <vector>

using namespace gnstor;
using namespace gnstor::test;

namespace {

/// A session's inside over a link that the test keeps an eye on.
struct rig {
  explicit rig(const std::string& endpoint, std::unique_ptr<scripted_link> made)
      : link(made.get()), inside(host::endpoint::parse(endpoint), {}, std::move(made)) {}
  scripted_link* link;
  host::session_access::impl inside;
};
std::unique_ptr<rig> over_array(const wire::afa::array_description& said) {
  auto link = std::make_unique<scripted_link>();
  link->said = said;
  return std::make_unique<rig>("emu:?ssds=4", std::move(link));
}
std::unique_ptr<rig> over_namespaces(const std::string& more) {
  auto link = std::make_unique<scripted_link>();
  for (const std::uint64_t blocks : {10u, 100u, 50u}) {
    volume_info v;
    v.namespace_id = static_cast<std::uint32_t>(link->plain.size() + 1);
    v.vid = volume_id(static_cast<std::uint16_t>(v.namespace_id));
    v.capacity_blocks = blocks;
    link->plain.push_back(v);
  }
  return std::make_unique<rig>("rdma://10.0.0.1/nqn.x" + more, std::move(link));
}

}  // namespace

TEST_CASE("a volume is described by its record and by what the array said of itself") {
  auto said = array_of(4);
  said.absent = 0b1010;
  said.filling = 0b0100;
  const auto r = over_array(said);
  wire::afa::volume_record v{};
  v.vid = 3;
  v.hash_factor = 0x1234567890;
  v.capacity_blocks = 500;
  v.stripe_blocks = 8;
  v.replicas = 2;
  v.ssd_count = 3;
  const volume_info d = r->inside.describe(v);
  CHECK(d.vid == volume_id(3));
  CHECK(d.client == client_id(77));
  CHECK(d.epoch == 9);
  CHECK(d.hash_factor == 0x1234567890);
  CHECK(d.capacity_blocks == 500);
  CHECK(d.stripe_blocks == 8);
  CHECK(d.replicas == 2);
  CHECK(d.ssd_count == 3);
  CHECK(d.max_transfer_blocks == 32);
  CHECK(d.absent == 0b0010);  // SSD 3 is none of its own
  CHECK(d.filling == 0b0100);
  v.ssd_count = 0;
  CHECK(r->inside.describe(v).ssd_count == 4);
}

TEST_CASE("a namespace is taken once, the first that is large enough, and only where they may be") {
  CHECK_THROWS_AS((void)over_namespaces("")->inside.take_namespace(4096), host::input_error);
  const auto r = over_namespaces("?scratch=yes");
  CHECK(r->inside.take_namespace(11 * block_bytes).namespace_id == 2);
  CHECK(r->inside.take_namespace(11 * block_bytes).namespace_id == 3);
  CHECK_THROWS_AS((void)r->inside.take_namespace(11 * block_bytes), host::input_error);
  CHECK(r->inside.take_namespace(10 * block_bytes).namespace_id == 1);
  r->inside.give_namespace(volume_id(3));
  CHECK_THROWS_AS(r->inside.give_namespace(volume_id(3)), host::input_error);
  CHECK(r->inside.take_namespace(50 * block_bytes).namespace_id == 3);
  CHECK_THROWS_AS((void)r->inside.take_namespace(51 * block_bytes), host::input_error);
}

TEST_CASE("a buffer that a late answer may write is never used again, nor freed") {
  const auto r = over_array(array_of(4));
  auto ask = [&](std::uint32_t ssd) {
    r->inside.admin(wire::afa::admin_opcode::volume_list, ssd, volume_id(1), 4096, "listing");
  };
  const auto* first = r->inside.page();
  ask(0);
  CHECK(r->inside.page() == first);  // nobody uses it any more
  const std::uint32_t key = r->link->last_key;
  r->link->answer = [](const auto&) { return status::nvme(0, 6, 0); };
  CHECK_THROWS_AS(ask(0), host::io_error);
  CHECK(r->inside.page() == first);  // a refusal is over, too
  r->link->answer = [](const auto&) {
    return status::make(status_code::timed_out, reporter::channel);
  };
  CHECK_THROWS_AS(ask(0), host::io_error);
  CHECK(r->inside.page() != first);
  CHECK(r->link->last_key == key + 1);
  REQUIRE(r->inside.retired.size() == 1);
  CHECK(r->inside.retired[0].data() == first);
}

TEST_CASE("a command says of whom it was, in which epoch, and who refused it") {
  const auto r = over_array(array_of(4));
  r->link->answer = [](const auto&) { return status::nvme(7, 1, 0); };
  try {
    r->inside.admin(wire::afa::admin_opcode::volume_delete, 2, volume_id(5), 0, "deleting");
    FAIL("it was refused");
  } catch (const host::io_error& e) {
    CHECK(e.outcome().ssd == 2);
    CHECK(std::string(e.what()).find("deleting volume 5") != std::string::npos);
  }
  const wire::afa::admin_command& c = r->link->sent.back();
  CHECK(c.nsid == 3);
  CHECK(c.epoch == 9);
  CHECK(c.volume == volume_id(5));
}

TEST_CASE(
    "rights are taken at the arbiter first, and given back there last, when all others know") {
  auto said = array_of(5);
  said.absent = 0b00101;
  const auto r = over_array(said);
  CHECK(r->inside.arbiter() == 1);
  wire::afa::volume_record v{};
  v.vid = 3;
  v.ssd_count = 4;
  using turn = host::session_access::impl::turn;
  const auto asked = [&](turn order) {
    r->link->sent.clear();
    (void)r->inside.set_rights(v, client_id(7), 1, order);
    std::vector<std::uint32_t> ssds;
    for (const auto& c : r->link->sent) ssds.push_back(c.nsid - 1);
    return ssds;
  };
  CHECK(asked(turn::arbiter_first) == std::vector<std::uint32_t>{1, 3});
  CHECK(asked(turn::arbiter_last) == std::vector<std::uint32_t>{3, 1});
  r->link->answer = [](const auto&) { return status::nvme(7, 2, 0); };
  CHECK(asked(turn::arbiter_first) == std::vector<std::uint32_t>{1});
  CHECK(asked(turn::arbiter_last) == std::vector<std::uint32_t>{3});  // it is asked for again
  r->link->answer = nullptr;
  r->link->sent.clear();
  r->inside.remove(v);
  // All know that it goes before any forgets it; and the arbiter last: its VID is free when all is
  // gone.
  REQUIRE(r->link->sent.size() == 4);
  for (const std::size_t k : {0u, 2u}) {
    CHECK(r->link->sent[k].nsid == 4);
    CHECK(r->link->sent[k + 1].nsid == 2);
    CHECK(r->link->sent[k].opcode == (k == 0 ? wire::afa::admin_opcode::volume_chmod
                                             : wire::afa::admin_opcode::volume_delete));
  }
}

TEST_CASE("at its end a session gives its rights back, and waits for no SSD longer than a second") {
  const auto r = over_array(array_of(4));
  const wire::afa::volume_client own{77, wire::afa::right_read | wire::afa::right_write};
  r->link->listed = list_of({record_of(1, own), record_of(2, own)});
  r->inside.written.insert(2);
  (void)r->inside.list();
  CHECK_FALSE(r->link->in_a_second);
  std::uint32_t changed = 0;
  r->link->answer = [&](const wire::afa::admin_command& c) {
    CHECK(r->link->in_a_second);
    if (c.opcode == wire::afa::admin_opcode::volume_chmod) {
      ++changed;
      CHECK(c.volume == volume_id(2));  // the other one is another session's
    }
    return status{};
  };
  r->inside.give_back_rights();
  CHECK(changed == 4);
  r->inside.written.clear();
}

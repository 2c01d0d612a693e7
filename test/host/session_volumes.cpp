/// How a session makes, opens, closes and lists volumes, over a connection that answers what a test
/// wants: also what SSDs seldom answer.

#include "scripted_link.hpp"
#include "session_impl.hpp"
#include <gnstor/wire/afa/volume_chmod.hpp>
#include <gnstor/wire/nvme/arbitration.hpp>

#include <doctest/doctest.h>

#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

using namespace gnstor;
using namespace gnstor::test;
using wire::afa::admin_opcode;
using wire::afa::right_read;
using wire::afa::right_write;

namespace {

constexpr std::uint16_t own = 77;    ///< the session's client
constexpr std::uint16_t other = 78;  ///< another host's
constexpr std::uint16_t both = right_read | right_write;

status refusal(wire::afa::status code) {
  return status::nvme(7, static_cast<std::uint8_t>(code), 0);
}

/// A session over a link that the test keeps an eye on.
struct scripted_session {
  explicit scripted_session(const wire::afa::array_description& said = array_of(4),
                            host::session_options options = {})
      : scripted_session(with(said), "emu:?ssds=4", std::move(options)) {}
  scripted_session(std::unique_ptr<scripted_link> made, const std::string& endpoint,
                   host::session_options options = {})
      : link(made.get()),
        session(host::session_access::over(host::endpoint::parse(endpoint), options,
                                           std::move(made))) {}
  ~scripted_session() {
    if (!ends_asking) link->answer = nullptr;
  }

  static std::unique_ptr<scripted_link> with(const wire::afa::array_description& said) {
    auto link = std::make_unique<scripted_link>();
    link->said = said;
    return link;
  }
  /// Refuses changes of rights: those that give the right to write, and those that do not.
  void refuse(status writing, status reading) const {
    link->answer = [this, writing, reading](const wire::afa::admin_command& c) {
      if (c.opcode != admin_opcode::volume_chmod) return status{};
      return rights_in(c) == both ? writing : reading;
    };
  }
  static std::uint16_t rights_in(const wire::afa::admin_command& c) {
    return payload_of<wire::afa::volume_chmod>(c).clients[0].rights;
  }
  /// SSDs that commands of this kind went to since `sent` was cleared.
  std::vector<std::uint32_t> asked(admin_opcode to) const {
    std::vector<std::uint32_t> ssds;
    for (const auto& c : link->sent) {
      if (c.opcode == to) ssds.push_back(c.nsid - 1);
    }
    return ssds;
  }

  scripted_link* link;
  bool ends_asking = false;  ///< the link answers the same when the session ends
  host::session session;
};

using ssds = std::vector<std::uint32_t>;

}  // namespace

TEST_CASE("a session believes no description and no list that cannot be") {
  for (const std::uint32_t ssds : {1u, 4u}) {
    auto said = array_of(ssds);
    said.max_transfer_blocks = 0;
    CHECK_THROWS_WITH_AS(scripted_session{said}, doctest::Contains("malformed"), host::error);
  }
  scripted_session s;
  s.link->listed = list_of({record_of(1, {own, both}), record_of(1, {own, both})});
  CHECK_THROWS_WITH_AS((void)s.session.volumes(), doctest::Contains("malformed"), host::error);
  s.link->listed = {};
}

TEST_CASE("volumes that an SSD is joining, or that are being created, are on no list") {
  scripted_session s;
  auto joining = record_of(1, {own, both});
  joining.spread = wire::afa::volume_spread::joining;
  auto creating = record_of(2, {own, both});
  creating.spread = wire::afa::volume_spread::creating;
  auto dropping = record_of(3, {own, both});
  dropping.spread = wire::afa::volume_spread::dropping;
  s.link->listed = list_of({joining, creating, dropping});
  REQUIRE(s.session.volumes().size() == 1);
  CHECK(s.session.volumes()[0].vid == 3);
  CHECK_THROWS_AS((void)s.session.open_volume(volume_id(1)), host::input_error);
  CHECK_THROWS_AS((void)s.session.open_volume(volume_id(2)), host::input_error);
  CHECK_THROWS_AS(s.session.delete_volume(volume_id(1)), host::input_error);
  CHECK(s.session.open_volume(volume_id(3)).writable);
}

TEST_CASE("who finds the right to write taken meanwhile reads, if it may read") {
  using code = wire::afa::status;
  scripted_session s;
  s.link->listed = list_of({record_of(3, {own, right_read})});
  s.refuse(refusal(code::writer_exists), status{});
  CHECK_FALSE(s.session.open_volume(volume_id(3)).writable);

  // On no list of readers, it asks to be: whether it may is the owner's to say.
  s.link->listed = list_of({record_of(3, {other, right_read})});
  CHECK_FALSE(s.session.open_volume(volume_id(3)).writable);
  s.refuse(refusal(code::writer_exists), refusal(code::not_owner));
  CHECK_THROWS_WITH_AS((void)s.session.open_volume(volume_id(3)),
                       doctest::Contains("session::admit"), host::io_error);
}

TEST_CASE("a volume that another host writes is read by who asks, once it has the right to") {
  scripted_session s;
  s.link->listed = list_of({record_of(3, {other, both})});
  const auto opened = [&] {
    s.link->sent.clear();
    const volume_info v = s.session.open_volume(volume_id(3));
    CHECK_FALSE(v.writable);
    CHECK(v.writer == client_id(other));
    return s.asked(admin_opcode::volume_chmod);
  };
  CHECK(opened() == ssds{1, 2, 3, 0});
  wire::afa::volume_record& r = s.link->listed.records[0];
  r.client_count = 2;
  r.clients[1] = {own, right_read};
  CHECK(opened().empty());
}

TEST_CASE("a right to write that one SSD refuses is taken back from all, from the arbiter last") {
  scripted_session s;
  s.link->listed = list_of({record_of(3, {own, right_read})});
  std::vector<std::uint16_t> asked_for;
  s.link->answer = [&](const wire::afa::admin_command& c) {
    if (c.opcode != admin_opcode::volume_chmod) return status{};
    asked_for.push_back(scripted_session::rights_in(c));
    return asked_for.back() == both && c.nsid == 3 ? status::nvme(0, 6, 0) : status{};
  };
  s.link->sent.clear();
  CHECK_THROWS_AS((void)s.session.open_volume(volume_id(3)), host::io_error);
  CHECK(s.asked(admin_opcode::volume_chmod) == ssds{0, 1, 2, 1, 2, 3, 0});
  using rights = std::vector<std::uint16_t>;
  CHECK(asked_for == rights{both, both, both, right_read, right_read, right_read, right_read});
}

TEST_CASE("an SSD behind one that does not answer hears what the others hear") {
  scripted_session s;
  s.link->listed = list_of({record_of(3, {own, both})});
  std::uint32_t heard = 0;
  s.link->answer = [&](const wire::afa::admin_command& c) {
    if (c.opcode != admin_opcode::volume_chmod) return status{};
    const auto change = payload_of<wire::afa::volume_chmod>(c);
    if (change.vid == 3 && change.client_count == 1 && change.clients[0].client == own) ++heard;
    return c.nsid == 2 ? status::make(status_code::timed_out, reporter::channel) : status{};
  };
  CHECK_THROWS_AS(s.session.close_volume(volume_id(3)), host::io_error);
  CHECK(heard == 3);  // all but the arbiter
}

TEST_CASE("a volume that the session may not write is closed without a command") {
  scripted_session s;
  s.link->listed = list_of({record_of(3, {other, both})});
  s.link->sent.clear();
  s.session.close_volume(volume_id(3));  // it would make itself a reader
  CHECK(s.asked(admin_opcode::volume_chmod).empty());
  s.link->listed = list_of({record_of(3, {own, both})});
  s.session.close_volume(volume_id(3));
  CHECK(s.asked(admin_opcode::volume_chmod) == ssds{1, 2, 3, 0});
}

TEST_CASE("a new volume's record says what was asked for, and in which epoch it was made") {
  scripted_session s;
  s.link->listed = list_of({});
  std::vector<wire::afa::volume_record> added;
  s.link->answer = [&](const wire::afa::admin_command& c) {
    if (c.opcode == admin_opcode::volume_add)
      added.push_back(payload_of<wire::afa::volume_record>(c));
    return status{};
  };
  const volume_info v =
      s.session.create_volume({.bytes = 7 * block_bytes + 1, .replicas = 3, .stripe_blocks = 4});
  CHECK(v.capacity_blocks == 8);
  CHECK(s.asked(admin_opcode::volume_add) == ssds{0, 1, 2, 3, 1, 2, 3, 0});
  REQUIRE(added.size() == 8);
  for (std::size_t k = 0; k < added.size(); ++k) {
    const wire::afa::volume_record& r = added[k];
    CHECK(r.version == wire::afa::payload_version);
    CHECK(r.vid == 1);
    CHECK(r.replicas == 3);
    CHECK(r.capacity_blocks == 8);
    CHECK(r.stripe_blocks == 4);
    CHECK(r.epoch == 9);
    CHECK(r.ssd_count == 4);
    CHECK(r.hash_factor == v.hash_factor);
    REQUIRE(r.client_count == 1);
    CHECK(r.clients[0].client == own);
    CHECK(r.clients[0].rights == both);
    using wire::afa::volume_spread;
    CHECK(r.spread == (k < 4 ? volume_spread::creating : volume_spread::whole));
  }
}

TEST_CASE("what a creation takes back is its own volume alone, on SSDs that are there") {
  auto said = array_of(4);
  said.absent = 0b0010;
  scripted_session s(said);
  s.link->listed = list_of({});
  std::uint64_t made = 0;
  std::vector<std::uint64_t> deleted;
  s.link->answer = [&](const wire::afa::admin_command& c) {
    if (c.opcode == admin_opcode::volume_add)
      made = payload_of<wire::afa::volume_record>(c).hash_factor;
    if (c.opcode == admin_opcode::volume_delete) deleted.push_back(c.hash_factor);
    return c.opcode == admin_opcode::volume_add && c.nsid == 4 ? status::nvme(0, 6, 0) : status{};
  };
  CHECK_THROWS_AS((void)s.session.create_volume({.bytes = block_bytes, .replicas = 1}),
                  host::io_error);
  CHECK(made != 0);
  CHECK(deleted == std::vector<std::uint64_t>(3, made));
  CHECK(s.asked(admin_opcode::volume_add) == ssds{0, 2, 3});
  CHECK(s.asked(admin_opcode::volume_delete) ==
        ssds{3, 2, 0});  // the arbiter last: its VID is free
}

TEST_CASE("a deletion means the volume that was found, not another one made under its id") {
  auto said = array_of(4);
  said.absent = 0b0010;
  scripted_session s(said);
  s.link->listed = list_of({record_of(3, {own, both})});
  s.link->answer = [&](const wire::afa::admin_command& c) {
    if (c.opcode == admin_opcode::volume_delete) CHECK(c.hash_factor == 5);
    return status{};
  };
  s.session.delete_volume(volume_id(3));
  CHECK(s.asked(admin_opcode::volume_delete) == ssds{2, 3, 0});
}

TEST_CASE("a volume made under the id of a deleted one is another, in a simulated run too") {
  scripted_session s(scripted_session::with(array_of(4)), "emu:?ssds=4&runner=sim");
  s.link->listed = list_of({});
  const volume_info first = s.session.create_volume({.bytes = block_bytes, .replicas = 1});
  const volume_info again = s.session.create_volume({.bytes = block_bytes, .replicas = 1});
  CHECK(first.vid == again.vid);
  CHECK(first.hash_factor != again.hash_factor);
}

TEST_CASE("at its end a session leaves alone what it closed, deleted, or what was taken from it") {
  std::uint32_t changes = 0;
  {
    scripted_session s;
    const wire::afa::volume_client writes{own, both};
    s.link->listed = list_of({record_of(1, writes), record_of(2, writes), record_of(3, writes)});
    for (const std::uint16_t vid : {1, 2, 3})
      REQUIRE(s.session.open_volume(volume_id(vid)).writable);
    s.session.close_volume(volume_id(1));
    s.session.delete_volume(volume_id(2));
    // Another session of the host has opened the first again and made another second one.
    s.link->listed.records[2].clients[0] = {other, both};
    s.link->answer = [&](const wire::afa::admin_command& c) {
      if (c.opcode == admin_opcode::volume_chmod) ++changes;
      return status{};
    };
    s.ends_asking = true;
  }
  CHECK(changes == 0);
}

TEST_CASE("at its end a session that an SSD does not answer asks nothing of it for other volumes") {
  std::vector<volume_id> asked;
  {
    scripted_session s;
    const wire::afa::volume_client writes{own, both};
    s.link->listed = list_of({record_of(1, writes), record_of(2, writes)});
    for (const std::uint16_t vid : {1, 2}) REQUIRE(s.session.open_volume(volume_id(vid)).writable);
    s.link->answer = [&](const wire::afa::admin_command& c) {
      if (c.opcode != admin_opcode::volume_chmod) return status{};
      asked.push_back(c.volume);
      return c.nsid == 2 ? status::make(status_code::timed_out, reporter::channel) : status{};
    };
    s.ends_asking = true;
  }
  CHECK(asked == std::vector<volume_id>(3, volume_id(1)));
}

TEST_CASE("an array of which every SSD is absent is said, and none of them is asked") {
  auto said = array_of(4);
  said.absent = 0b1111;
  scripted_session s(said);
  s.link->sent.clear();
  CHECK_THROWS_WITH_AS((void)s.session.volumes(), doctest::Contains("every SSD of the array"),
                       host::error);
  CHECK(s.link->sent.empty());
}

TEST_CASE("the most replicas and the longest stripe that a volume may have are allowed") {
  scripted_session s(array_of(max_replicas));
  s.link->listed = list_of({});
  const volume_info v = s.session.create_volume({.bytes = block_bytes,
                                                 .replicas = max_replicas,
                                                 .stripe_blocks = wire::afa::max_stripe_blocks});
  CHECK(v.replicas == max_replicas);
  CHECK(v.stripe_blocks == wire::afa::max_stripe_blocks);
}

TEST_CASE("a volume has no more blocks than addresses, however large the flash is") {
  auto said = array_of(4);
  said.capacity_blocks = std::uint64_t{1} << 40;
  scripted_session s(said);
  s.link->listed = list_of({});
  const std::uint64_t most = wire::afa::max_volume_blocks * block_bytes;
  CHECK_THROWS_WITH_AS((void)s.session.create_volume({.bytes = most + 1, .replicas = 1}),
                       doctest::Contains("the largest has 4294967296"), host::input_error);
  CHECK(s.session.create_volume({.bytes = most, .replicas = 1}).capacity_blocks ==
        wire::afa::max_volume_blocks);
}

TEST_CASE("an arbitration that an SSD refuses is an error that names it, within the timeout") {
  scripted_session s(array_of(4), {.timeout = std::chrono::milliseconds(500)});
  s.link->answer = [](const wire::afa::admin_command& c) {
    return c.nsid == 3 ? status::nvme(0, 2, 0) : status{};
  };
  try {
    s.session.set_arbitration({});
    FAIL("it was refused");
  } catch (const host::io_error& e) {
    CHECK(e.outcome().ssd == 2);
    CHECK(std::string(e.what()).find("setting the arbitration") != std::string::npos);
  }
  CHECK(s.link->in_a_second);
}

TEST_CASE("the namespaces of a subsystem are a session's volumes, each under its own number") {
  auto made = std::make_unique<scripted_link>();
  for (const std::uint16_t vid : {2, 5}) {
    volume_info v;
    v.namespace_id = vid;
    v.vid = volume_id(vid);
    v.capacity_blocks = 10u * vid;
    v.stripe_blocks = 16;
    made->plain.push_back(v);
  }
  scripted_session s(std::move(made), "rdma://10.0.0.1/nqn.x?scratch=yes");
  CHECK(s.session.open_volume(volume_id(5)).capacity_blocks == 50);
  CHECK(s.session.open_volume(volume_id(2)).capacity_blocks == 20);
  CHECK_THROWS_WITH_AS((void)s.session.open_volume(volume_id(3)),
                       doctest::Contains("no namespace 3"), host::input_error);
  const auto all = s.session.volumes();
  REQUIRE(all.size() == 2);
  CHECK(all[1].vid == 5);
  CHECK(all[1].capacity_blocks == 50);
  CHECK(all[1].replicas == 1);
  const volume_info v = s.session.create_volume({.bytes = 30 * block_bytes});
  CHECK(v.vid == volume_id(5));
  s.session.close_volume(v.vid);  // nobody keeps rights on it
  s.session.delete_volume(v.vid);
  CHECK_THROWS_AS(s.session.delete_volume(v.vid), host::input_error);
  CHECK_THROWS_WITH_AS(s.session.admit(v.vid, "guest"), doctest::Contains("has no owner"),
                       host::input_error);
  CHECK(s.link->sent.empty());
}

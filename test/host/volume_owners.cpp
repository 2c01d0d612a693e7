/// Whose a volume is, and what others may do with it.
#include "random_bytes.hpp"
#include "shared_sessions.hpp"
#include "temp_folder.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

using namespace gnstor;
using namespace gnstor::test;
namespace host = gnstor::host;

namespace {

constexpr std::uint64_t bytes = 4 * block_bytes;

/// What an operation says that is refused; empty if it is not.
template <class Operation>
std::string refusal(const Operation& operation) {
  try {
    operation();
    return {};
  } catch (const host::io_error& e) {
    return e.what();
  }
}
bool says(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("a volume is deleted by the host that created it alone") {
  const shared_sessions shared;
  host::session owner = shared.open("owner");
  host::session guest = shared.open("guest");
  const volume_info v = owner.create_volume({.bytes = bytes});
  CHECK(says(refusal([&] { guest.delete_volume(v.vid); }), "belongs to another host"));
  owner.admit(v.vid, "guest");
  CHECK(says(refusal([&] { guest.delete_volume(v.vid); }), "belongs to another host"));
  REQUIRE(owner.volumes().size() == 1);
  host::session twin = shared.open("owner");  // the same host
  twin.delete_volume(v.vid);
  CHECK(owner.volumes().empty());
}

TEST_CASE("a host opens a volume of another once it is admitted, and only the owner admits") {
  const shared_sessions shared;
  host::session owner = shared.open("owner");
  host::session guest = shared.open("guest");
  const volume_info v = owner.create_volume({.bytes = bytes});
  CHECK(v.writable);
  CHECK(says(refusal([&] { (void)guest.open_volume(v.vid); }), "session::admit"));
  CHECK(says(refusal([&] { guest.admit(v.vid, "guest"); }), "belongs to another host"));
  CHECK(says(refusal([&] { guest.expel(v.vid, "owner"); }), "belongs to another host"));
  owner.admit(v.vid, host::client_identity::named("guest").nqn);
  owner.admit(v.vid, "guest");  // again: nothing changes
  const volume_info opened = guest.open_volume(v.vid);
  CHECK_FALSE(opened.writable);
  CHECK(opened.writer == owner.client());
  std::vector<unsigned char> memory(bytes);
  guest.read(opened, 0, memory.data(), bytes);
  CHECK(says(refusal([&] { guest.write(opened, 0, memory.data(), bytes); }), "lacks the right"));
  owner.expel(v.vid, "guest");
  CHECK(says(refusal([&] { guest.read(opened, 0, memory.data(), bytes); }), "lacks the right"));
}

TEST_CASE("the right to write passes on when it is given back, and is taken from nobody") {
  const shared_sessions shared;
  host::session owner = shared.open("owner");
  host::session guest = shared.open("guest");
  const volume_info v = owner.create_volume({.bytes = bytes});
  owner.admit(v.vid, "guest");
  owner.close_volume(v.vid);
  const volume_info mine = guest.open_volume(v.vid);
  CHECK(mine.writable);
  CHECK(mine.writer == guest.client());
  const auto data = random_bytes(bytes, 1);
  guest.write(mine, 0, data.data(), bytes);
  const volume_info again = owner.open_volume(v.vid);
  CHECK_FALSE(again.writable);
  CHECK(again.writer == guest.client());
  CHECK(says(refusal([&] { owner.write(again, 0, data.data(), bytes); }), "lacks the right"));
  owner.expel(v.vid, "guest");  // the owner may
  CHECK(owner.open_volume(v.vid).writable);
}

TEST_CASE("who is admitted again keeps the right to write that it has taken meanwhile") {
  const shared_sessions shared;
  host::session owner = shared.open("owner");
  host::session guest = shared.open("guest");
  const volume_info v = owner.create_volume({.bytes = bytes});
  const auto data = random_bytes(bytes, 1);
  owner.admit(v.vid, "owner");
  owner.write(v, 0, data.data(), bytes);
  owner.admit(v.vid, "guest");
  owner.close_volume(v.vid);
  const volume_info taken = guest.open_volume(v.vid);
  REQUIRE(taken.writable);
  owner.admit(v.vid, "guest");
  guest.write(taken, 0, data.data(), bytes);
  CHECK_FALSE(owner.open_volume(v.vid).writable);
}

TEST_CASE("what stops half-way on its way to the SSDs is repeated, and nobody builds on it") {
  for (const std::uint32_t mute : {1u, 3u}) {
    CAPTURE(mute);
    const shared_sessions shared;
    late_link* owners = nullptr;
    late_link* guests = nullptr;
    host::session owner = shared.open("owner", &owners);
    host::session guest = shared.open("guest", &guests);
    const volume_info v = owner.create_volume({.bytes = bytes, .replicas = 4});
    owners->mute(mute);
    CHECK_FALSE(refusal([&] { owner.admit(v.vid, "guest"); }).empty());
    CHECK(says(refusal([&] { (void)guest.open_volume(v.vid); }), "session::admit"));
    owners->mute(99);
    owner.admit(v.vid, "guest");
    owners->mute(mute);
    CHECK_FALSE(refusal([&] { owner.close_volume(v.vid); }).empty());
    CHECK_FALSE(guest.open_volume(v.vid).writable);  // the owner has not come to the end
    owners->mute(99);
    owner.close_volume(v.vid);
    guests->mute(mute);
    CHECK_FALSE(refusal([&] { (void)guest.open_volume(v.vid); }).empty());
    guests->mute(99);
    const volume_info opened = guest.open_volume(v.vid);
    REQUIRE(opened.writable);
    const auto data = random_bytes(bytes, 1);
    guest.write(opened, 0, data.data(), bytes);  // on every SSD
  }
}

TEST_CASE("a host's last session gives its right to write back, and no session before it") {
  const shared_sessions shared;
  host::session guest = shared.open("guest");
  volume_id vid{};
  {
    host::session second = shared.open("owner");
    {
      host::session first = shared.open("owner");
      vid = first.create_volume({.bytes = bytes}).vid;
      first.admit(vid, "guest");
      CHECK(second.open_volume(vid).writable);
    }
    CHECK_FALSE(guest.open_volume(vid).writable);
  }
  CHECK(guest.open_volume(vid).writable);
}

TEST_CASE("a session that fails to take the right to write leaves it to its host's other session") {
  for (const std::uint32_t mute : {1u, 3u}) {
    CAPTURE(mute);
    const shared_sessions shared;
    late_link* seconds = nullptr;
    host::session first = shared.open("owner");
    host::session second = shared.open("owner", &seconds);
    const volume_info v = first.create_volume({.bytes = bytes, .replicas = 4});
    seconds->mute(mute);
    CHECK_FALSE(refusal([&] { (void)second.open_volume(v.vid); }).empty());
    const auto data = random_bytes(bytes, 1);
    CHECK(refusal([&] { first.write(v, 0, data.data(), bytes); }).empty());  // on every SSD
  }
}

TEST_CASE("a host adds volumes of its own alone, whatever its command says") {
  const shared_sessions shared;
  raw_admin forger(shared.link("forger"));
  wire::afa::volume_record r{};
  r.version = wire::afa::payload_version;
  r.vid = 9;
  r.replicas = 1;
  r.capacity_blocks = 1;
  r.stripe_blocks = 16;
  r.owner = host::client_identity::key_of(host::client_identity::named("owner").nqn);
  CHECK_FALSE(forger.add(0, r).ok());
  CHECK(forger.list(0).count == 0);
  r.owner = 0;
  REQUIRE(forger.add(0, r).ok());
  const auto own = host::client_identity::key_of(host::client_identity::named("forger").nqn);
  CHECK(forger.list(0).records[0].owner == own);
}

TEST_CASE("the members of the array are named by its manager alone") {
  const shared_sessions shared;
  raw_admin guest(shared.link("guest"));
  const wire::afa::array_membership m{wire::afa::payload_version, 2, 2, 0};
  for (std::uint32_t k = 0; k < 4; ++k) {
    CHECK(guest.update(k, m) ==
          status::nvme(7, static_cast<std::uint8_t>(wire::afa::status::not_permitted), 0));
  }
  CHECK(guest.list(0, 1).version != 0);  // the epoch is the first
}

TEST_CASE("a host that returns to flash files owns what it made, and another one does not") {
  const temp_folder folder;
  const std::string where = "emu:?capacity=16M&flash=" + std::string(folder.path());
  {
    host::session owner(where, {.host_name = "owner"});
    (void)owner.create_volume({.bytes = bytes});
  }
  {
    host::session stranger(where, {.host_name = "stranger"});
    CHECK(says(refusal([&] { (void)stranger.open_volume(volume_id(1)); }), "session::admit"));
    CHECK(says(refusal([&] { stranger.delete_volume(volume_id(1)); }), "belongs to another host"));
  }
  host::session owner(where, {.host_name = "owner"});
  owner.delete_volume(volume_id(1));
}

TEST_CASE("hosts come and go, many more than may be connected at once") {
  const shared_sessions shared("emu:?capacity=16M&runner=cpu", 3);
  host::session stays = shared.open("stays");
  const volume_info v = stays.create_volume({.bytes = bytes});
  const auto data = random_bytes(bytes, 1);
  for (int k = 0; k < 40; ++k) {
    host::session guest = shared.open("guest" + std::to_string(k));
    const volume_info own = guest.create_volume({.bytes = bytes});
    guest.write(own, 0, data.data(), bytes);
    std::vector<unsigned char> read(bytes);
    guest.read(own, 0, read.data(), bytes);
    REQUIRE(read == data);
    guest.delete_volume(own.vid);
  }
  stays.write(v, 0, data.data(), bytes);
}

TEST_CASE("two hosts whose names give the same client id get different ones, and share no right") {
  const shared_sessions shared;
  const client_id wanted = host::client_identity::named("host").client();
  std::string twin;
  for (int k = 0; k < 2'000'000 && twin.empty(); ++k) {
    const std::string name = "t" + std::to_string(k);
    if (host::client_identity::named(name).client() == wanted) twin = name;
  }
  REQUIRE_FALSE(twin.empty());
  host::session first = shared.open("host");
  host::session second = shared.open(twin);
  CHECK(first.client() == wanted);
  CHECK_FALSE(second.client() == wanted);
  const volume_info v = first.create_volume({.bytes = bytes});
  std::vector<unsigned char> memory(bytes);
  CHECK(says(refusal([&] { second.read(v, 0, memory.data(), bytes); }), "client id"));
  CHECK(says(refusal([&] { second.delete_volume(v.vid); }), "belongs to another host"));
}

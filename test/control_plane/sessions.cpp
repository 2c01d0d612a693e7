/// Sessions that ask a manager by gRPC, as those of gnstor:// endpoints do.
#include <gnstor/host/volume_text.hpp>
#include <serve/control/control_server.hpp>

#include <control/rig.hpp>
#include <fmt/format.h>
#include <managed/daemon_control.hpp>

#include <open_control.hpp>

using namespace gnstor;
using namespace gnstor::test;

namespace {

/// A managed array, and a daemon that answers for its manager.
struct served_array : managed_array {
  explicit served_array(const std::string& data = "", const std::string& name = "")
      : server(std::make_unique<serve::control_server>("127.0.0.1:0", *manager,
                                                       serve::array_label{data, name})) {}
  std::string port() const { return server->address().substr(server->address().rfind(':') + 1); }
  std::unique_ptr<host::daemon_control> control(const std::string& name) const {
    const std::string nqn = host::client_identity::named(name).nqn;
    return std::make_unique<host::daemon_control>(
        std::make_unique<host::daemon_connection>(server->address(), std::chrono::seconds(10),
                                                  host::daemon_connection::tls_files{}, nqn),
        nqn);
  }
  host::session session(const std::string& name) const {
    return host::session_access::over(shared.where, shared_sessions::options(name),
                                      shared.link(name), control(name));
  }
  std::unique_ptr<serve::control_server> server;
};

std::vector<unsigned char> read(host::session& s, const volume_info& v, std::size_t bytes) {
  std::vector<unsigned char> found(bytes);
  s.read(v, 0, found.data(), found.size());
  return found;
}

}  // namespace

TEST_CASE("sessions create, share, hand over and delete volumes by a daemon") {
  served_array array;
  const auto bytes = random_bytes(64 * block_bytes, 1);
  host::session alice = array.session("alice");
  host::session bob = array.session("bob");
  const volume_info v =
      alice.create_volume({.bytes = bytes.size(), .name = "edges", .labels = "kind=graph"});
  CHECK(v.writable);
  alice.write(v, 0, bytes.data(), bytes.size());
  CHECK(refused([&] { (void)alice.create_volume({.bytes = 4096, .name = "edges"}); }) ==
        control_reason::name_exists);
  CHECK(refused([&] { (void)bob.open_volume("none"); }) == control_reason::unknown_volume);
  std::string words;
  (void)bob.create_volume({.bytes = 20 << 20, .name = "b"});
  CHECK(refused([&] { (void)alice.create_volume({.bytes = 20 << 20, .name = "c"}); }, &words) ==
        control_reason::no_room);
  CHECK(words.find("are left") != std::string::npos);

  CHECK(bob.volumes().size() == 1);
  for (const auto& tries : std::vector<std::function<void()>>{
           [&] { (void)bob.open_volume("edges"); }, [&] { bob.delete_volume("edges"); },
           [&] { bob.rename_volume(v.vid, "mine"); }, [&] { bob.admit(v.vid, "bob"); }}) {
    CHECK(refused(tries) == control_reason::not_allowed);
  }
  alice.admit(v.vid, "bob");
  const volume_info seen = bob.open_volume("edges");
  CHECK_FALSE(seen.writable);
  CHECK(seen.writer == alice.client());
  CHECK(read(bob, seen, bytes.size()) == bytes);
  alice.close_volume(v.vid);
  const volume_info taken = bob.open_volume("edges");
  REQUIRE(taken.writable);
  const auto newer = random_bytes(64 * block_bytes, 2);
  bob.write(taken, 0, newer.data(), newer.size());
  CHECK(refused([&] { alice.delete_volume("edges"); }) == control_reason::busy);
  bob.close_volume(v.vid);
  alice.expel(v.vid, "bob");
  CHECK_THROWS_AS(bob.read(taken, 0, words.data(), 0 + 4096), host::io_error);

  CHECK(alice.open_volume("edges").writable);  // its own lease is no hindrance
  bob.delete_volume("b");
  REQUIRE(alice.volumes().size() == 1);
  CHECK(host::to_string(alice.volumes()[0].labels) == "kind=graph");
  alice.rename_volume(v.vid, "köln");
  alice.delete_volume("köln");
  CHECK(alice.volumes().empty());
}

TEST_CASE("a session asks a daemon how the array is") {
  served_array array;
  host::session alice = array.session("alice");
  (void)alice.create_volume({.bytes = 1 << 20, .name = "a"});
  REQUIRE(array.comes_to(2, host::ssd_standing::in_sync));
  CHECK(alice.health().is_whole());
  array.manager->detach(2);
  REQUIRE(array.comes_to(2, host::ssd_standing::absent));
  const host::array_health now = alice.health();
  CHECK(now.settled);
  CHECK(now.volumes == 1);
  CHECK(now.degraded == 1);
  CHECK(now.torn == 0);
  array.manager->detach(1, true);
  REQUIRE(array.comes_to(1, host::ssd_standing::absent));
  CHECK(alice.health().torn == 1);
  array.server.reset();
  CHECK(refused([&] { (void)alice.health(); }) == control_reason::unavailable);
}

TEST_CASE("a host reports an SSD by a daemon, and no other host does so in its name") {
  served_array array;
  const auto control = array.control("alice");
  control->report(2, "it is silent");
  control->report({}, "some are");
  CHECK(array.manager->state().ssds[2].reports == 1);
  CHECK(array.comes([&](const host::array_state&) {
    const auto events = array.manager->events(0);
    return std::any_of(events.begin(), events.end(), [&](const host::array_event& e) {
      return e.words.find("SSD 2 serves here, but not " +
                          host::client_identity::named("alice").nqn + ": it is silent") !=
             e.words.npos;
    });
  }));
  CHECK(refused([&] { control->report(4, ""); }) == control_reason::unknown_ssd);
  const std::string nqn = host::client_identity::named("bob").nqn;
  host::daemon_control liar(
      std::make_unique<host::daemon_connection>(array.server->address(), std::chrono::seconds(10),
                                                host::daemon_connection::tls_files{}, nqn),
      host::client_identity::named("alice").nqn);
  CHECK(refused([&] { liar.report(2, ""); }) == control_reason::not_allowed);
  CHECK(array.manager->state().ssds[2].reports == 1);
}

TEST_CASE("what a daemon says of a volume is what its manager knows") {
  served_array array;
  const host::volume_state made = array.create("a", 300, 3);
  (void)array.manager->admit(made.record.vid, client_id(11));
  (void)array.manager->open(made.record.vid, client_id(12), true);
  (void)array.manager->admit(made.record.vid, host::client_identity::named("x").client());
  const host::volume_state said = array.control("x")->find(std::string("a"));
  const host::volume_state known = array.manager->find("a");
  wire::afa::volume_record expected = known.record;
  expected.epoch = said.record.epoch;  // the array's, there
  CHECK(std::memcmp(&expected, &said.record, sizeof expected) == 0);
  CHECK(said.writer == known.writer);
  CHECK(said.lease_left.has_value());
  CHECK_FALSE(said.torn);
  v1::Volume odd;
  CHECK_THROWS_AS((void)host::to_state(odd), host::control_error);
  odd.set_id(70'000);
  odd.set_bytes(4096);
  odd.set_replicas(1);
  odd.set_stripe_bytes(4096);
  odd.set_ssds(1);
  CHECK_THROWS_AS((void)host::to_state(odd), host::control_error);
  odd.set_id(7);
  CHECK(host::to_state(odd).record.vid == 7);
}

TEST_CASE("a session keeps its leases while the daemon is away, and goes on") {
  served_array array;
  array.server.reset();
  array.stop();
  array.settings.lease = std::chrono::milliseconds(1500);
  array.start();
  array.server =
      std::make_unique<serve::control_server>("127.0.0.1:0", *array.manager, serve::array_label{});
  const std::string port = array.port();
  host::session alice = array.session("alice");
  const volume_info v = alice.create_volume({.bytes = 1 << 16, .name = "a"});
  const auto bytes = random_bytes(1 << 16, 3);
  array.server.reset();  // no I/O passes it
  alice.write(v, 0, bytes.data(), bytes.size());
  std::this_thread::sleep_for(std::chrono::milliseconds(700));
  array.server = std::make_unique<serve::control_server>("127.0.0.1:" + port, *array.manager,
                                                         serve::array_label{});
  std::this_thread::sleep_for(std::chrono::milliseconds(2000));
  CHECK(refused([&] { (void)array.manager->open(v.vid.value, client_id(99), true); }) ==
        control_reason::busy);
  alice.write(v, 0, bytes.data(), bytes.size());
  CHECK(read(alice, v, bytes.size()) == bytes);
}

TEST_CASE("a gnstor:// endpoint asks the daemon where the data is, and says what is wrong") {
  const auto complaint = [](const std::string& where) {
    try {
      const host::session s(where, {.channels = 0});
      return std::string("opened");
    } catch (const host::error& e) {
      return std::string(e.what());
    }
  };
  const auto has = [](const std::string& text, const char* part) {
    INFO(text);
    CHECK(text.find(part) != std::string::npos);
  };
  {
    const served_array unserved;
    has(complaint("gnstor://127.0.0.1:" + unserved.port()), "gnstor-target --manage");
  }
  {
    const served_array odd("emu:?ssds=4");
    has(complaint("gnstor://127.0.0.1:" + odd.port()), "cannot reach");
  }
  {
    const served_array far("rdma://0.0.0.0:4420/nqn.2026-11.io.gnstor:array");
    const std::string said = complaint("gnstor://127.0.0.1:" + far.port());
    CHECK(said != "opened");
    INFO(said);
    CHECK(said.find("0.0.0.0") == std::string::npos);  // where the daemon is, not everywhere
  }
  has(complaint("gnstor://127.0.0.1:1"), "no daemon answers");
  {
    const served_array named("", "scratch");
    const std::string at = "gnstor://127.0.0.1:" + named.port();
    has(complaint(at + "/other"), "manages 'scratch', not 'other'");
    for (const char* good : {"", "/", "/scratch"})  // as far as it gets
      has(complaint(at + good), "gnstor-target --manage");
  }
  {
    const served_array nameless;
    has(complaint("gnstor://127.0.0.1:" + nameless.port() + "/scratch"), "without a name");
  }
  has(complaint("gnstor://127.0.0.1:1/a/b"), "no name of an array");
  has(complaint("gnstor://127.0.0.1:99999"), "a port from 1 to 65535");
  has(complaint("gnstor://127.0.0.1:1?tls_ca=/none"), "TLS needs all of");
  has(complaint("gnstor://127.0.0.1:1?tls_ca=/none&tls_cert=/none&tls_key=/none"), "in PEM");
  has(complaint("gnstor://127.0.0.1:1?tls=yes"), "unknown");
}

TEST_CASE("the data of a managed array is where the daemon says, by the user's own options") {
  const host::endpoint e =
      host::endpoint::parse("gnstor://[fe80::1]:99?queues=3&tls_ca=/ca&keep_alive_ms=500");
  REQUIRE(e.control);
  REQUIRE(e.rdma);
  CHECK(e.control->server() == "[fe80::1]:99");
  CHECK(e.control->authority == "/ca");
  CHECK(e.rdma->queues == 3);
  const host::rdma_endpoint data =
      host::data_of("rdma://10.0.0.7:4421/nqn.2026-11.io.gnstor:array", *e.control, *e.rdma);
  CHECK(data.host == "10.0.0.7");
  CHECK(data.port == 4421);
  CHECK(data.subsystem == "nqn.2026-11.io.gnstor:array");
  CHECK(data.queues == 3);
  CHECK(data.keep_alive_ms == 500);
  CHECK(host::endpoint::parse("gnstor://mgmt").rdma->keep_alive_ms == 1000);
  CHECK(host::data_of("rdma://[::]:4420/x", *e.control, *e.rdma).host == "fe80::1");
  CHECK(host::endpoint::parse("gnstor://mgmt").control->server() == "mgmt:4422");
  const auto standby = *host::endpoint::parse("gnstor://a:1,[::1]:2/lab.4_x-y?queues=2").control;
  CHECK(standby.server() == "a:1,[::1]:2");
  CHECK(standby.array == "lab.4_x-y");
}

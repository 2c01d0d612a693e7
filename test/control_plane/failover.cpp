/// Clients of several daemons that stand by for each other.
// label: thorough
#include <gnstor/host/control_error.hpp>
#include <serve/control/control_server.hpp>

#include <control/rig.hpp>
#include <managed/daemon_connection.hpp>

#include <atomic>
#include <chrono>
#include <thread>

using namespace gnstor;
using namespace gnstor::test;

namespace {

using stub = v1::Control::Stub;

/// Two daemons of one array, of which one answers for its manager.
struct two_daemons : managed_array {
  two_daemons()
      : one("127.0.0.1:0", holders[0], {.endpoint = "one"}),
        other("127.0.0.1:0", holders[1], {.endpoint = "other"}) {}
  std::string servers() const { return one.address() + "," + other.address(); }
  /// Lets daemon `k` lead; the other one stands by.
  void lead(int k) {
    holders[1 - k].clear(k == 0 ? one.address() : other.address());
    holders[k].set(std::shared_ptr<host::array_manager>(std::shared_ptr<void>{}, manager.get()),
                   nullptr);
  }
  host::daemon_connection connect(const std::string& to, int timeout_ms = 10'000) const {
    return {to, std::chrono::milliseconds(timeout_ms), {}};
  }

  serve::manager_holder holders[2];
  serve::control_server one;
  serve::control_server other;
};

std::string endpoint_of(const host::daemon_connection& c) {
  return c.repeatable(&stub::ShowArray, v1::ShowArrayRequest{}).endpoint();
}

v1::CreateVolumeRequest volume(const char* name) {
  v1::CreateVolumeRequest r;
  r.set_name(name);
  r.set_bytes(4096);
  return r;
}

}  // namespace

TEST_CASE("a client of several daemons finds the one that leads, and the next one") {
  two_daemons array;
  array.lead(1);
  const auto client = array.connect(array.servers());
  CHECK(endpoint_of(client) == "other");
  (void)client.call(&stub::CreateVolume, volume("a"));
  array.lead(0);
  // What is not to be done twice, too: the one that stands by has done nothing.
  (void)client.call(&stub::CreateVolume, volume("b"));
  CHECK(endpoint_of(client) == "one");
  int seen = 0;
  array.lead(1);
  client.volumes([&](const v1::Volume&) { ++seen; });
  CHECK(seen == 2);
  array.lead(0);
  std::uint64_t events = 0;
  client.events(0, false, [&](const v1::Event&) { ++events; });
  CHECK(events != 0);
}

TEST_CASE("while none leads, a client waits for the one that is to") {
  two_daemons array;
  const auto client = array.connect(array.servers());
  std::thread election([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    array.lead(1);
  });
  CHECK(endpoint_of(client) == "other");
  election.join();
  array.holders[1].clear({});
  const auto hasty = array.connect(array.servers(), 300);
  CHECK(refused([&] { (void)endpoint_of(hasty); }) == control_reason::not_leading);
}

TEST_CASE(
    "a daemon that stands by says who leads, and one that may not lead any more does not answer") {
  two_daemons array;
  array.lead(1);
  const auto client = array.connect(array.one.address(), 500);
  std::string words;
  CHECK(refused([&] { (void)endpoint_of(client); }, &words) == control_reason::not_leading);
  CHECK(words.find(array.other.address()) != std::string::npos);
  std::atomic<bool> leads{true};
  array.holders[0].set(
      std::shared_ptr<host::array_manager>(std::shared_ptr<void>{}, array.manager.get()),
      [&] { return leads.load(); });
  CHECK(endpoint_of(client) == "one");
  leads = false;
  CHECK(refused([&] { (void)endpoint_of(client); }) == control_reason::not_leading);
}

TEST_CASE("a daemon that is not there is passed over") {
  two_daemons array;
  array.lead(1);
  const auto client = array.connect("127.0.0.1:9," + array.other.address());
  CHECK(endpoint_of(client) == "other");
  (void)client.call(&stub::CreateVolume, volume("a"));
  CHECK_THROWS_AS((void)array.connect("127.0.0.1:9,,"), host::input_error);
}

TEST_CASE(
    "what a manager was at when its time ended is asked of the next one if it may be done twice") {
  two_daemons array;
  array.lead(0);
  // Another manager takes the array over under this one.
  managed_array* const same = &array;
  auto former = std::move(same->manager);
  std::unique_ptr<host::array_manager> next;
  {
    auto link = array.shared.link("gnstor-manager", true);
    auto front_end = std::make_unique<host::emulated_front_end>(*link);
    next = std::make_unique<host::array_manager>(std::move(link), std::move(front_end),
                                                 array.settings);
  }
  array.holders[0].set(std::shared_ptr<host::array_manager>(std::shared_ptr<void>{}, former.get()),
                       nullptr);
  std::thread election([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
    array.holders[0].clear(array.other.address());
    array.holders[1].set(std::shared_ptr<host::array_manager>(std::shared_ptr<void>{}, next.get()),
                         nullptr);
  });
  const auto client = array.connect(array.servers());
  v1::CreateVolumeRequest r = volume("a");
  std::optional<control_reason> why;
  try {
    (void)client.call(&stub::CreateVolume, r);
  } catch (const host::control_error& e) {
    why = e.why();
  }
  // Either the former one noticed before it began, or it does not know.
  CHECK((!why || *why == control_reason::interrupted));
  election.join();
  CHECK(endpoint_of(client) == "other");
  former.reset();
}

/// A manager whose array a target elsewhere serves: whom it takes for gone, and when its time ends.
// label: thorough
#include "rig.hpp"

#include <atomic>
#include <mutex>

using namespace gnstor;
using namespace gnstor::test;

namespace {

/// A front end that says what the test wants of its hosts, and loses its connection when it does.
class scripted_front_end final : public host::array_front_end {
 public:
  struct script {
    std::mutex guard;
    connected there{std::chrono::seconds(60), {}};
    std::atomic<bool> lost{false};
    std::atomic<bool> refuses_to_detach{false};
    std::atomic<std::uint32_t> refused_detaches{0};
  };
  scripted_front_end(host::emulated_client& of, script& s) : of_(&of), script_(&s) {}

  void detach(std::uint32_t ssd, bool detached, std::uint64_t) override {
    check();
    if (script_->refuses_to_detach) {
      ++script_->refused_detaches;
      throw host::io_error("not now", status::nvme(0, 6, 1));
    }
    of_->detach(ssd, detached);
  }
  std::vector<wire::afa::traffic_record> traffic() override { return {}; }
  connected hosts() override {
    check();
    const std::lock_guard lock(script_->guard);
    return script_->there;
  }

 private:
  void check() const {
    if (script_->lost)
      throw host::io_error("gone", status::make(status_code::closed, reporter::channel));
  }
  host::emulated_client* of_;
  script* script_;
};

/// A manager in this process that believes its SSDs are elsewhere.
struct array_elsewhere : managed_array {
  /// @param look_every how long the manager goes without asking who is there
  explicit array_elsewhere(std::chrono::milliseconds look_every = std::chrono::milliseconds(20)) {
    stop();
    settings.remote = true;
    settings.look_every = look_every;
    start();
  }
  void start() {
    auto link = shared.link("gnstor-manager", true);
    auto front_end = std::make_unique<scripted_front_end>(*link, said);
    manager =
        std::make_unique<host::array_manager>(std::move(link), std::move(front_end), settings);
  }
  /// @param life 0: the host is not there
  void host_is(std::uint16_t client, std::uint32_t life) {
    const std::lock_guard lock(said.guard);
    std::erase_if(said.there.hosts,
                  [&](const host::connected_host& h) { return h.client.value == client; });
    if (life != 0) said.there.hosts.push_back({client_id(client), "nqn.h", "", 1, life});
  }
  bool may_write(std::uint16_t vid, std::uint16_t client) const {
    return manager->find(vid).writer == client_id(client);
  }
  template <class Condition>
  static bool becomes(const Condition& holds) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    for (; !holds(); std::this_thread::sleep_for(std::chrono::milliseconds(5)))
      if (std::chrono::steady_clock::now() > until) return false;
    return true;
  }
  bool ends() const {
    return becomes([&] {
      try {
        manager->check();
        return false;
      } catch (const host::error&) {
        return true;
      }
    });
  }

  scripted_front_end::script said;
};

}  // namespace

TEST_CASE("a host that a target does not know any more loses its right, and no other does") {
  array_elsewhere array;
  const std::uint16_t a = array.create("a").record.vid;
  const std::uint16_t b = array.create("b").record.vid;
  array.host_is(7, 1);
  array.host_is(8, 1);
  (void)array.manager->open(a, client_id(7), true);
  (void)array.manager->open(b, client_id(8), true);
  array.host_is(7, 0);
  CHECK(array_elsewhere::becomes([&] { return !array.may_write(a, 7); }));
  CHECK(array.may_write(b, 8));
  CHECK(array.manager->hosts().size() == 1);
}

TEST_CASE("a host's next life opens what the one before held, and keeps it") {
  array_elsewhere array;
  const std::uint16_t a = array.create("a").record.vid;
  array.host_is(7, 1);
  (void)array.manager->open(a, client_id(7), true);
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  array.host_is(7, 2);
  (void)array.manager->open(a, client_id(7), true);
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  CHECK(array.may_write(a, 7));
}

TEST_CASE("a host whose next life comes between two looks keeps what that opens") {
  // The next look comes well after the second open: only the open itself can see the new life.
  array_elsewhere array(std::chrono::milliseconds(400));
  const std::uint16_t a = array.create("a").record.vid;
  array.host_is(7, 1);
  (void)array.manager->open(a, client_id(7), true);
  std::this_thread::sleep_for(std::chrono::milliseconds(450));  // a look has seen who writes
  array.host_is(7, 2);
  (void)array.manager->open(a, client_id(7), true);
  std::this_thread::sleep_for(std::chrono::milliseconds(900));
  CHECK(array.may_write(a, 7));
}

TEST_CASE("a manager that has lost its target ends, and takes no SSD for failed") {
  array_elsewhere array;
  (void)array.create("a");
  const std::uint32_t epoch = array.manager->state().epoch;
  array.said.lost = true;
  REQUIRE(array.ends());
  const host::array_state last = array.manager->state();
  CHECK(last.epoch == epoch);
  for (const host::ssd_state& s : last.ssds) CHECK(s.standing == host::ssd_standing::in_sync);
  CHECK(refused([&] { (void)array.create("b"); }) == control_reason::not_leading);
  // The next one finds what there was.
  array.stop();
  array.said.lost = false;
  array.start();
  CHECK(array.manager->find("a").record.epoch == epoch);
}

TEST_CASE("while an SSD is detached the front end is lost: the epoch does not move") {
  array_elsewhere array;
  (void)array.create("a");
  const std::uint32_t epoch = array.manager->state().epoch;
  array.said.lost = true;
  CHECK(refused([&] { array.manager->detach(1); }).has_value());
  CHECK(array.ends());
  CHECK(array.manager->state().epoch == epoch);
}

TEST_CASE("an epoch without an SSD waits until the front end has said that it is detached") {
  array_elsewhere array;
  (void)array.create("a");
  const std::uint32_t epoch = array.manager->state().epoch;
  array.said.refuses_to_detach = true;
  std::thread operator_of([&] { array.manager->detach(1); });
  CHECK(array_elsewhere::becomes([&] { return array.said.refused_detaches >= 3; }));
  managed_client looks(array.shared, "looks");
  for (std::uint32_t k = 0; k < 4; ++k) CHECK(looks.io.describe(k).epoch == epoch);
  array.said.refuses_to_detach = false;
  operator_of.join();
  CHECK(array.manager->state().epoch == epoch + 1);
}

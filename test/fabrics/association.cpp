/// What a controller's own thread does: signs of life, events, losses and reconnects.
// label: thorough

#include "eventually.hpp"
#include "scripted_target.hpp"
#include <fabrics/io_channel.hpp>
#include <gnstor/host/error.hpp>
#include <gnstor/simt/clock.hpp>
#include <gnstor/wire/nvme/asynchronous_event.hpp>

#include <doctest/doctest.h>

#include <cstring>

namespace {

using namespace gnstor;
using host::fabrics::controller;
using host::fabrics::controller_options;
using host::fabrics::io_channel;
using std::chrono::milliseconds;
using test::eventually;
using test::scripted_target;

controller_options options() {
  controller_options o = test::scripted_options();
  o.loss_timeout = milliseconds(30'000);
  return o;
}

/// What a controller says, from its own thread.
struct listener {
  void operator()(const std::string& text) {
    const std::lock_guard lock(mutex);
    heard += text + "\n";
  }
  bool has(const char* what) const {
    const std::lock_guard lock(mutex);
    return heard.find(what) != std::string::npos;
  }
  mutable std::mutex mutex;
  std::string heard;
};

wire::nvme::submission_entry read_block() {
  return wire::nvme::make_read_write(wire::nvme::nvm_opcode::read, 0, 9, 0, 1, {});
}

TEST_CASE("a keep alive is sent twice in its time, for as long as the controller lives") {
  scripted_target target;
  controller_options o = options();
  o.keep_alive = milliseconds(600);
  SUBCASE("answered") {}
  SUBCASE("refused, which is a sign of life") { target.script.refuse_keep_alive = true; }
  const auto start = std::chrono::steady_clock::now();
  const controller c(target, o);
  CHECK(eventually([&] {
    const std::lock_guard lock(target.script.mutex);
    return target.script.keep_alives >= 3;
  }));
  CHECK(std::chrono::steady_clock::now() - start >= milliseconds(900));
  CHECK(c.association() == 1);
}

TEST_CASE("a target that answers no keep alive is lost, and connected again") {
  scripted_target target;
  target.script.silent_keep_alive = true;
  listener heard;
  controller_options o = options();
  o.keep_alive = milliseconds(100);
  o.say = [&](const std::string& text) { heard(text); };
  const controller c(target, o);
  CHECK(eventually([&] { return heard.has("no sign of life"); }));
  CHECK(eventually([&] { return c.association() >= 2; }));
}

TEST_CASE("a session says who it is, and after a loss by which id it was known") {
  scripted_target target;
  controller_options o = options();
  o.keep_alive = milliseconds(200);
  o.claims.session.number = 77;
  controller c(target, o);
  c.stays(client_id(4711));
  {
    const std::lock_guard lock(target.script.mutex);
    target.script.silent_keep_alive = true;
  }
  CHECK(eventually([&] { return c.association() > 1; }));
  const std::lock_guard lock(target.script.mutex);
  const auto said = [&](std::size_t connect) {
    wire::afa::connect_claims claims{};
    std::memcpy(&claims, target.script.connect_data.at(connect).reserved768, sizeof claims);
    return claims;
  };
  CHECK(said(0).session.number == 77);
  CHECK(said(0).session.client == 0);
  CHECK_FALSE(said(0).manager.claims());
  CHECK(said(1).session.number == 77);
  CHECK(said(1).session.client == 4711);
}

TEST_CASE("an event about namespaces makes the controller look at them again") {
  scripted_target target;
  std::atomic<int> changes{0};
  controller_options o = options();
  o.namespaces_changed = [&] { ++changes; };
  const controller c(target, o);
  for (std::uint32_t nsid = 2; nsid < 4; ++nsid) {
    {
      const std::lock_guard lock(target.script.mutex);
      target.script.add_namespace(nsid, 8, 12);
    }
    target.send_event(wire::nvme::asynchronous_event{wire::nvme::event_type_notice,
                                                     wire::nvme::notice_namespace_changed, 4}
                          .dw0());
    CHECK(eventually([&] { return changes == static_cast<int>(nsid) - 1; }));
    CHECK(c.find_namespace(nsid).blocks == 8);
  }
  CHECK(c.association() == 1);
}

TEST_CASE("a lost association flushes what is in flight and is made again") {
  scripted_target target;
  listener heard;
  controller_options o = options();
  o.queues = 2;
  o.say = [&](const std::string& text) { heard(text); };
  controller c(target, o);
  io_channel one(c);
  io_channel two(c);
  target.script.mutex.lock();
  target.script.silent = true;
  target.script.mutex.unlock();
  const result<ticket> flying = one.ref().submit(read_block());
  REQUIRE(flying);

  SUBCASE("the target dies") { target.drop_all(); }
  SUBCASE("an I/O queue dies alone") { target.drop_io(); }
  SUBCASE("the admin queue dies alone") { target.drop_admin(); }

  const status outcome = one.ref().wait(flying.value, simt::within(20'000'000'000));
  CHECK(outcome.code == status_code::flushed);
  CHECK(eventually([&] { return one.ended() && two.ended(); }));
  CHECK(eventually([&] { return heard.has("was lost"); }));
  target.script.mutex.lock();
  target.script.silent = false;
  target.script.mutex.unlock();
  one.reopen(milliseconds(20'000));
  two.reopen(milliseconds(20'000));
  CHECK(c.association() >= 2);
  CHECK(heard.has("connected to subsystem"));
  CHECK(one.ref().execute(read_block(), simt::within(5'000'000'000)).nvme_code ==
        static_cast<std::uint8_t>(wire::nvme::generic_status::invalid_namespace));
  CHECK(two.ref().execute(read_block(), simt::within(5'000'000'000)).code ==
        status_code::nvme_error);
}

TEST_CASE("a dead queue that is reopened before the controller looks costs the association too") {
  scripted_target target;
  controller c(target, options());
  io_channel one(c);
  for (std::uint64_t association = 1; association < 4; ++association) {
    CHECK(c.association() == association);
    target.drop_io();
    one.reopen(milliseconds(20'000));
  }
  CHECK(one.ref().execute(read_block(), simt::within(5'000'000'000)).code ==
        status_code::nvme_error);
}

TEST_CASE("a queue that its owner closes costs the association nothing") {
  scripted_target target;
  controller_options o = options();
  o.keep_alive = milliseconds(600);
  controller c(target, o);
  for (int k = 0; k < 3; ++k) const io_channel one(c);
  CHECK(eventually([&] {
    const std::lock_guard lock(target.script.mutex);
    return target.script.keep_alives >= 2;
  }));
  CHECK(c.association() == 1);
}

TEST_CASE("after the loss timeout the controller gives up and says why") {
  scripted_target target;
  listener heard;
  controller_options o = options();
  o.loss_timeout = milliseconds(150);
  o.say = [&](const std::string& text) { heard(text); };
  controller c(target, o);
  target.script.mutex.lock();
  target.script.listening = false;
  target.script.mutex.unlock();
  target.drop_all();
  CHECK(eventually([&] { return heard.has("gave up"); }));
  CHECK(c.association() == 0);
  CHECK_THROWS_WITH_AS((void)c.wait_ready(milliseconds(0)), doctest::Contains("refused"),
                       host::io_error);
  CHECK_THROWS_WITH_AS((void)std::make_unique<io_channel>(c),
                       doctest::Contains("open the endpoint again"), host::io_error);
}

TEST_CASE("a controller without a loss timeout is not connected again") {
  scripted_target target;
  controller_options o = options();
  o.loss_timeout = milliseconds(0);
  const controller c(target, o);
  target.drop_all();
  CHECK(eventually([&] { return c.association() == 0; }));
  CHECK_THROWS_AS((void)c.wait_ready(milliseconds(50)), host::io_error);
  const std::lock_guard lock(target.script.mutex);
  CHECK(target.script.connects.size() == 1);
}

TEST_CASE("what failed may be sent again when the target has ended the association that was lost") {
  scripted_target target;
  target.script.identity.association = 7;
  controller c(target, options());
  io_channel one(c);
  CHECK(c.fresh_starts() == 0);
  const auto lose_again = [&](std::uint64_t number, std::uint16_t end_status) {
    const std::uint64_t before = c.association();
    {
      const std::lock_guard lock(target.script.mutex);
      target.script.identity.association = number;
      target.script.end_status = end_status;
      target.script.ended.clear();
    }
    target.drop_all();
    REQUIRE(eventually([&] { return c.association() > before; }));
    const std::lock_guard lock(target.script.mutex);
    std::vector<std::uint64_t> numbers;
    for (const auto& e : target.script.ended) {
      CHECK(e.controller == 1);
      numbers.push_back(e.association);
    }
    return numbers;
  };
  const std::uint16_t busy =
      wire::nvme::make_status(wire::nvme::generic_status::command_interrupted);
  CHECK(lose_again(8, 0) == std::vector<std::uint64_t>{7});
  CHECK(c.fresh_starts() == 1);
  CHECK(one.fresh_starts() == 0);  // its connection is the former one's
  one.reopen(milliseconds(10'000));
  CHECK(one.fresh_starts() == 1);

  CHECK(lose_again(9, busy) == std::vector<std::uint64_t>{8});
  CHECK(c.fresh_starts() == 1);
  one.reopen(milliseconds(10'000));
  CHECK(one.fresh_starts() == 1);
  // All that were lost are to be over.
  CHECK(lose_again(0, 0) == std::vector<std::uint64_t>{9, 8});
  CHECK(c.fresh_starts() == 2);
  // One without a number cannot be named: whatever comes later, it may have something under way.
  CHECK(lose_again(11, 0).empty());
  CHECK(lose_again(12, 0) == std::vector<std::uint64_t>{11});
  CHECK(c.fresh_starts() == 2);
}

}  // namespace

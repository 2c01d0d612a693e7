/// Queues that are made again while lanes use them: after losses, refusals, and a target that does
/// not say what became of the former association.
#include "eventually.hpp"
#include "scripted_target.hpp"
#include <fabrics/io_channel.hpp>
#include <gnstor/host/error.hpp>
#include <gnstor/io/outcome.hpp>
#include <gnstor/simt/clock.hpp>
#include <gnstor/wire/nvme/read_write.hpp>

#include <doctest/doctest.h>

#include <thread>
#include <vector>

namespace {

using namespace gnstor;
using host::restart_step;
using host::fabrics::controller;
using host::fabrics::controller_options;
using host::fabrics::io_channel;
using test::eventually;
using test::scripted_target;

controller_options restart_options() {
  controller_options o = test::scripted_options();
  o.depth = 16;
  return o;
}

/// Lanes that send commands again and again, and the queue that they do it by.
struct busy_queue {
  busy_queue() : channel(queue.channel()) {
    for (int k = 0; k < 3; ++k) lanes.emplace_back([this] { send(); });
  }
  ~busy_queue() {
    stop = true;
    for (std::thread& lane : lanes) lane.join();
  }
  static scripted_target& numbered(scripted_target& target) {
    target.script.identity.association = 7;
    return target;
  }
  void send() {
    const auto there_is_none =
        wire::nvme::make_read_write(wire::nvme::nvm_opcode::read, 0, 9, 0, 1, {});
    while (!stop) {
      const status s = channel.execute(there_is_none, simt::within(20'000'000'000));
      const bool answer = s.code == status_code::nvme_error;
      ++(answer ? answered : detail::lost_with_channel(s) ? lost : wrong);
    }
  }
  /// Waits until each lane may have had an answer. False if it has not.
  bool goes_on() {
    const std::uint64_t before = answered;
    return eventually([&] { return answered > before + 100; });
  }
  /// Ends all connections; the next association has that number. @param said how the target ends
  /// the former one
  void lose(std::uint64_t number, std::uint16_t said = 0) {
    const std::uint64_t before = c.association();
    {
      const std::lock_guard lock(target.script.mutex);
      target.script.identity.association = number;
      target.script.end_status = said;
    }
    target.drop_all();
    REQUIRE(eventually([&] { return c.association() > before; }));
  }
  /// Nothing, or why it could not be made again.
  std::string restarted() {
    try {
      queue.restart(
          [this](restart_step step, const connect_options& said) {
            std::uint64_t outcome = 0;
            host::restart_request e;
            e.channel = &channel;
            e.step = step;
            e.options = said;
            e.timeout_ns = 10'000'000'000;
            e.outcome = &outcome;
            simt::lane<> lane;
            host::restart_channel{}(lane, e);
            const status s = status::unpack(outcome);
            if (!s.ok()) throw host::io_error(host::to_text(step), s);
          },
          simt::within(10'000'000'000));
    } catch (const host::error& e) {
      return e.what();
    }
    return {};
  }

  scripted_target target;
  controller c{numbered(target), restart_options()};
  io_channel queue{c};
  remote_channel channel;
  std::atomic<bool> stop{false};
  std::atomic<std::uint64_t> answered{0};
  std::atomic<std::uint64_t> lost{0};
  std::atomic<std::uint64_t> wrong{0};
  std::vector<std::thread> lanes;
};

TEST_CASE("lanes go on in a queue that was lost, by the next connection") {
  busy_queue b;
  REQUIRE(b.goes_on());
  CHECK_FALSE(b.queue.may_restart());
  for (const std::uint64_t number : {8, 9, 10}) {
    CAPTURE(number);
    b.lose(number);
    REQUIRE(b.queue.ended());
    REQUIRE(b.queue.may_restart());
    CHECK(b.restarted() == "");
    CHECK_FALSE(b.queue.ended());
    CHECK(b.channel.phase() == channel_phase::ready);
    CHECK(b.queue.fresh_starts() == number - 7);
    CHECK(b.goes_on());
  }
  CHECK(b.wrong == 0);
}

TEST_CASE("where something of a lost queue may be under way its lanes do not go on in it") {
  busy_queue b;
  REQUIRE(b.goes_on());
  const std::uint16_t busy =
      wire::nvme::make_status(wire::nvme::generic_status::command_interrupted);
  b.lose(8, busy);
  CHECK(b.queue.ended());
  CHECK_FALSE(b.queue.may_restart());
  CHECK(b.queue.may_reopen());
  SUBCASE("until that is over, and the target says so") {
    const std::lock_guard lock(b.target.script.mutex);
    b.target.script.end_status = 0;
  }
  SUBCASE("until there is another one, and both are over") { b.lose(9); }
  REQUIRE(eventually([&] { return b.queue.may_restart(); }));
  CHECK(b.restarted() == "");
  CHECK(b.goes_on());
  CHECK(b.wrong == 0);
}

TEST_CASE("a queue that could not be made again is tried once more") {
  busy_queue b;
  REQUIRE(b.goes_on());
  b.lose(8);
  const auto refuses = [&](bool listening, const std::string& only) {
    const std::lock_guard lock(b.target.script.mutex);
    b.target.script.listening = listening;
    b.target.script.only_host = only;
  };
  refuses(false, "");
  CHECK(b.restarted().find("refused") != std::string::npos);
  CHECK(b.queue.ended());
  CHECK(b.queue.may_restart());
  refuses(true, "nqn.2026-11.test:another");
  CHECK(b.restarted() == "connecting it again");
  refuses(true, "");
  CHECK(b.queue.ended());
  CHECK(b.queue.may_restart());
  const std::uint64_t association = b.c.association();
  CHECK(b.restarted() == "");
  CHECK(b.goes_on());
  CHECK(b.c.association() == association);  // it was none the worse
  CHECK(b.wrong == 0);
}

}  // namespace

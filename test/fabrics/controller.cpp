/// A controller against a scripted target: connecting, what is granted, refusals, namespaces, I/O.

#include "scripted_target.hpp"
#include <fabrics/io_channel.hpp>
#include <gnstor/host/error.hpp>
#include <gnstor/simt/clock.hpp>
#include <gnstor/wire/nvme/read_write.hpp>

#include <doctest/doctest.h>

#include <numeric>

namespace {

using namespace gnstor;
using host::fabrics::controller;
using host::fabrics::controller_options;
using host::fabrics::io_channel;
using std::chrono::milliseconds;
using test::scripted_target;

constexpr char subsystem[] = "nqn.2026-11.test:subsystem";
constexpr char host_nqn[] = "nqn.2026-11.test:host";

controller_options options() {
  controller_options o;
  o.subsystem = subsystem;
  o.host_nqn = host_nqn;
  o.timeout = milliseconds(5000);
  o.loss_timeout = milliseconds(0);
  return o;
}

/// What connecting says when it fails.
template <class Error>
std::string failure(scripted_target& target, const controller_options& o) {
  try {
    const controller c(target, o);
  } catch (const Error& e) {
    return e.what();
  }
  return "connected";
}

std::string joined(const std::vector<std::string>& lines) {
  return std::accumulate(lines.begin(), lines.end(), std::string());
}

TEST_CASE("a controller is connected, enabled, identified and shut down") {
  scripted_target target;
  target.script.connect_value = 7;
  target.script.polls_to_ready = 3;
  target.script.add_namespace(5, 64, 12);
  {
    controller_options o = options();
    o.queues = 3;
    o.keep_alive = milliseconds(30'000);
    const controller c(target, o);
    CHECK(c.limits().controller_id == 7);
    CHECK(c.limits().serial == "SERIAL");
    CHECK(c.limits().queues == 3);
    CHECK(c.limits().depth == 128);
    CHECK(c.limits().max_transfer_bytes == 128 * 1024);
    CHECK(c.notes().empty());
    REQUIRE(c.namespaces().size() == 2);
    CHECK(c.find_namespace(1).block_bytes == 512);
    CHECK(c.find_namespace(5).bytes() == 64 * 4096);
    CHECK(c.association() == 1);
  }
  const std::lock_guard lock(target.script.mutex);
  CHECK(target.script.shutdowns == 1);
  CHECK(target.script.configuration == 0x00464001);
  CHECK(target.script.keep_alive_ms == 30'000);
  CHECK(target.script.events_enabled == std::vector<std::uint32_t>{1u << 8});
  REQUIRE(target.requests.size() == 1);
  CHECK(target.requests[0].queue_id == 0);
  CHECK(target.requests[0].entries == 32);
  const wire::fabrics::connect_data& who = target.script.connect_data.at(0);
  CHECK(std::string(who.subnqn) == subsystem);
  CHECK(std::string(who.hostnqn) == host_nqn);
  CHECK(who.cntlid == 0xffff);
}

TEST_CASE("more queues or depth than the controller has: what it grants is used, and said") {
  scripted_target target;
  target.script.granted_queues = 2;
  target.script.cap = 0x0001'0000'0200'0063;  // 100 entries, pages of 8 KiB
  controller_options o = options();
  o.queues = 9;
  o.depth = 256;
  std::string said;
  o.say = [&](const std::string& text) { said += text; };
  const controller c(target, o);
  CHECK(c.limits().queues == 2);
  CHECK(c.limits().depth == 64);
  CHECK(c.limits().max_transfer_bytes == 256 * 1024);
  CHECK(joined(c.notes()).find("9 I/O queues wanted; the controller grants 2") !=
        std::string::npos);
  CHECK(said.find("allows 100 requests per queue: 64 used") != std::string::npos);
}

TEST_CASE("a refused Connect names the cause and the remedy") {
  scripted_target target;
  controller_options o = options();
  SUBCASE("wrong subsystem") {
    o.subsystem = "nqn.2026-11.test:other";
    CHECK(failure<host::io_error>(target, o).find(
              "there is no subsystem 'nqn.2026-11.test:other'") != std::string::npos);
  }
  SUBCASE("host not admitted") {
    target.script.only_host = "nqn.2026-11.test:friend";
    const std::string text = failure<host::io_error>(target, o);
    CHECK(text.find("does not admit host NQN 'nqn.2026-11.test:host'") != std::string::npos);
    CHECK(text.find("allowed_hosts") != std::string::npos);
  }
  SUBCASE("authentication asked for") {
    target.script.connect_value = 1u << 17 | 1;
    CHECK(failure<host::io_error>(target, o).find("wants authentication") != std::string::npos);
  }
  SUBCASE("nobody listens") {
    target.script.listening = false;
    CHECK(failure<host::verbs::connect_error>(target, o).find("refused") != std::string::npos);
  }
}

TEST_CASE("a target that does not answer is given up after the timeout") {
  scripted_target target;
  target.script.silent = true;
  controller_options o = options();
  o.timeout = milliseconds(50);
  CHECK(failure<host::io_error>(target, o).find("did not answer in time") != std::string::npos);
}

TEST_CASE("a controller that is fatally ill or never ready is not used") {
  scripted_target target;
  controller_options o = options();
  SUBCASE("fatal") {
    target.script.fatal = true;
    CHECK(failure<host::io_error>(target, o).find("fatal error") != std::string::npos);
  }
  SUBCASE("not ready within its own time") {
    target.script.polls_to_ready = 1'000'000'000;
    target.script.cap = 0x7f;
    CHECK(failure<host::io_error>(target, o).find("not ready within its 500 ms") !=
          std::string::npos);
  }
}

TEST_CASE("options that cannot be are refused before anything is sent") {
  scripted_target target;
  controller_options o = options();
  SUBCASE("subsystem name") { o.subsystem = "subsystem"; }
  SUBCASE("host name") { o.host_nqn = "host"; }
  SUBCASE("host id") { o.host_id = "1234"; }
  SUBCASE("depth") { o.depth = 100; }
  SUBCASE("queues") { o.queues = 70'000; }
  SUBCASE("keep alive") { o.keep_alive = milliseconds(-1); }
  CHECK(failure<host::input_error>(target, o) != "connected");
  CHECK(target.requests.empty());
}

TEST_CASE("namespaces that gnstor cannot use are listed, and refused with a remedy") {
  scripted_target target;
  target.script.add_namespace(2, 64, 12, 8);
  target.script.add_namespace(3, 64, 13);
  const controller c(target, options());
  CHECK(c.namespaces().size() == 3);
  CHECK_THROWS_WITH_AS((void)c.find_namespace(2), doctest::Contains("format without metadata"),
                       host::input_error);
  CHECK_THROWS_WITH_AS((void)c.find_namespace(3), doctest::Contains("blocks of 2^13 bytes"),
                       host::input_error);
  CHECK_THROWS_WITH_AS((void)c.find_namespace(4),
                       doctest::Contains("has no namespace 4; it has 1, 2, 3"), host::input_error);
}

TEST_CASE("more namespaces than one list holds are all found") {
  scripted_target target;
  for (std::uint32_t nsid = 2; nsid <= 2050; ++nsid) target.script.add_namespace(nsid, 1, 9);
  const controller c(target, options());
  CHECK(c.namespaces().size() == 2050);
  CHECK(c.namespaces().back().nsid == 2050);
}

TEST_CASE("blocks written through one I/O queue are read back through another") {
  scripted_target target;
  controller_options o = options();
  o.queues = 2;
  controller c(target, o);
  io_channel one(c);
  io_channel two(c);
  CHECK(one.queue_id() == 1);
  CHECK(two.queue_id() == 2);
  std::vector<unsigned char> out(4096), in(4096);
  std::iota(out.begin(), out.end(), static_cast<unsigned char>(1));
  const auto registered_out = c.register_memory(out.data(), out.size());
  const auto registered_in = c.register_memory(in.data(), in.size());
  const auto go = [&](io_channel& queue, wire::nvme::nvm_opcode op, const io_buffer& b) {
    const auto sgl = wire::nvme::make_keyed_sgl(b.address, 4096, b.rkey);
    return queue.ref().execute(wire::nvme::make_read_write(op, 0, 1, 16, 8, sgl),
                               simt::within(5'000'000'000));
  };
  CHECK(go(one, wire::nvme::nvm_opcode::write, registered_out->buffer).ok());
  CHECK(go(two, wire::nvme::nvm_opcode::read, registered_in->buffer).ok());
  CHECK(in == out);
  const std::lock_guard lock(target.script.mutex);
  CHECK(target.script.connects == std::vector<std::uint16_t>{0, 1, 2});
  CHECK(target.script.connect_data.at(2).cntlid == 1);
}

TEST_CASE("queue ids run out with a message, and come back when a channel ends") {
  scripted_target target;
  controller_options o = options();
  o.queues = 1;
  controller c(target, o);
  {
    const io_channel one(c);
    CHECK_THROWS_WITH_AS((void)std::make_unique<io_channel>(c),
                         doctest::Contains("all 1 I/O queues"), host::input_error);
  }
  const io_channel again(c);
  CHECK(again.queue_id() == 1);
}

}  // namespace

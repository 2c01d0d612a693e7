/// ASSOCIATION END: a host that has connected again has its former association ended.
#include "rig.hpp"
#include <gnstor/wire/afa/association_end.hpp>
#include <gnstor/wire/nvme/identify.hpp>
#include <serve/target_workers.hpp>

#include <atomic>
#include <chrono>
#include <thread>

using namespace gnstor;
using namespace gnstor::test;

namespace {

constexpr serve::target_limits hasty{.end_ms = 20};
constexpr std::uint16_t interrupted = wire::nvme::make_status(generic_status::command_interrupted);

std::uint16_t end(host_queue& by, std::uint16_t controller, std::uint64_t association) {
  return by.send(wire::afa::association_end{controller, association}.pack()).status;
}

/// The number for life of an association.
std::uint64_t number_of(host_queue& admin) {
  return admin.identify(wire::nvme::cns_controller)
      .number(offsetof(wire::nvme::identify_controller, association), 8);
}

/// An association that its host has lost, and the one that it has made since.
struct two_lives {
  explicit two_lives(const serve::target_limits& limits = hasty, const char* nqn = array_nqn)
      : rig(limits, 41),
        lost(rig.admin(nqn)),
        lost_id(rig.id),
        io(rig.io(nqn)),
        next(rig.admin(nqn)) {}

  target_rig rig;
  std::unique_ptr<host_queue> lost;
  std::uint16_t lost_id;
  std::unique_ptr<host_queue> io;
  std::unique_ptr<host_queue> next;
};

}  // namespace

TEST_CASE("nothing of an association that was ended is executed, nor under way once that is said") {
  two_lives t;
  CHECK(number_of(*t.lost) == 41);
  CHECK(number_of(*t.next) == 42);
  REQUIRE(t.io->send(host_queue::io(wire::nvme::nvm_opcode::read, 0, 1)).status == 0);
  const std::size_t calls = t.rig.array.calls.size();
  // Its connections are there: something could be.
  CHECK(end(*t.next, t.lost_id, 41) == interrupted);
  CHECK(t.lost->queue().ended());
  CHECK_FALSE(t.next->queue().ended());
  CHECK(t.io->send(host_queue::io(wire::nvme::nvm_opcode::write, 0, 1)).status != 0);
  CHECK(t.rig.array.calls.size() == calls);
  SUBCASE("as long as the target knows it") {}
  SUBCASE("and after that") { t.rig.target.tick(1000); }
  t.lost.reset();
  CHECK(end(*t.next, t.lost_id, 41) == interrupted);
  t.io.reset();
  CHECK(end(*t.next, t.lost_id, 41) == 0);
  t.rig.target.tick(1000);
  CHECK(end(*t.next, t.lost_id, 41) == 0);
}

TEST_CASE("ending an association waits for what is being executed") {
  two_lives t({.end_ms = 60'000});
  std::thread slow([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    t.io.reset();
    t.lost.reset();
  });
  CHECK(end(*t.next, t.lost_id, 41) == 0);
  slow.join();
}

TEST_CASE("who waits for the end of an association keeps no thread from what it waits for") {
  two_lives t;
  const submission_entry e = wire::afa::association_end{t.lost_id, 41}.pack();
  std::vector<std::byte> message(sizeof e);
  std::memcpy(message.data(), &e, sizeof e);
  const serve::plan ends = t.next->queue().admit(message, 1000);
  REQUIRE(ends.next == serve::next_step::execute);
  serve::target_workers workers(1);
  std::atomic<bool> executed{false};
  std::atomic<std::uint32_t> waited{0};
  for (std::uint32_t k = 0; k < 2 * serve::target_workers::last_waiters; ++k) {
    workers.of(ends).submit([&] {
      for (std::uint32_t n = 0; n < 1'000 && !executed; ++n)
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      waited += executed ? 1 : 0;
    });
  }
  workers.of({}).submit([&] { executed = true; });
  for (std::uint32_t n = 0; n < 10'000 && waited == 0; ++n)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  CHECK(waited != 0);
}

TEST_CASE("what an SSD has not answered in time may still come: the association is not over") {
  two_lives t;
  t.io.reset();
  t.lost.reset();
  SUBCASE("as long as the target knows it") {}
  SUBCASE("and after that") { t.rig.target.tick(1000); }
  t.rig.array.left = true;
  CHECK(end(*t.next, t.lost_id, 41) == interrupted);
  t.rig.array.left = false;
  CHECK(end(*t.next, t.lost_id, 41) == 0);
}

TEST_CASE("a host ends its own associations alone, by their number, and not the one it asks by") {
  two_lives t;
  const auto stranger = t.rig.admin(array_nqn, bob);
  CHECK(end(*stranger, t.lost_id, 41) == 0);  // of bob nothing is under way there
  CHECK(end(*t.next, t.lost_id, 40) == 0);    // nor of a restarted target's
  CHECK(end(*t.next, t.lost_id, 0) == dnr(generic_status::invalid_field));
  CHECK(end(*t.next, t.rig.id, 42) == dnr(generic_status::invalid_field));
  CHECK_FALSE(t.lost->queue().ended());
  CHECK(t.rig.target.associations() == 3);
}

TEST_CASE("a plain volume's controller knows no such command, and has no number") {
  two_lives t(hasty, volume_nqn);
  CHECK(number_of(*t.next) == 0);
  CHECK(end(*t.next, t.lost_id, 41) == dnr(generic_status::invalid_opcode));
  CHECK_FALSE(t.lost->queue().ended());
}

TEST_CASE("a target that draws no number gives its associations none") {
  target_rig rig;
  const auto admin = rig.admin(array_nqn);
  CHECK(number_of(*admin) == 0);
}

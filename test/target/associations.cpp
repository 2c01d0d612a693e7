/// How associations end, and what they leave behind.
#include "rig.hpp"

using namespace gnstor;
using namespace gnstor::test;

TEST_CASE("an association without keep-alive in time ends, alone, and gives its volume back") {
  target_rig rig;
  auto quiet = std::make_unique<host_queue>(rig.target, 0);
  REQUIRE(quiet->connect(volume_nqn, alice, 0xffff, 5000).status == 0);
  auto lively = std::make_unique<host_queue>(rig.target, 0);
  REQUIRE(lively->connect(volume_nqn, bob, 0xffff, 5000).status == 0);
  REQUIRE(lively->enable().status == 0);
  const auto careless = rig.admin(volume_nqn);  // no timeout
  CHECK(rig.volume->attached == 3);
  rig.target.tick(6000);
  CHECK_FALSE(quiet->queue().ended());
  lively->now_ms = 6001;
  REQUIRE(lively->send(host_queue::command(wire::nvme::admin_opcode::keep_alive, 0, 0)).status ==
          0);
  rig.target.tick(6001);
  CHECK(quiet->queue().ended());
  CHECK_FALSE(lively->queue().ended());
  CHECK_FALSE(careless->queue().ended());
  quiet.reset();
  CHECK(rig.volume->attached == 2);
  CHECK(rig.target.associations() == 2);
}

TEST_CASE("traffic on an I/O queue keeps its association alive") {
  target_rig rig;
  host_queue admin(rig.target, 0);
  const reply r = admin.connect(volume_nqn, alice, 0xffff, 1000);
  REQUIRE(admin.enable().status == 0);
  rig.id = static_cast<std::uint16_t>(r.dw0);
  const auto io = rig.io(volume_nqn);
  io->now_ms = 5000;
  REQUIRE(io->send(wire::nvme::make_flush(1, 1)).status == 0);
  rig.target.tick(5500);
  CHECK_FALSE(admin.queue().ended());
  rig.target.tick(6001);
  CHECK(admin.queue().ended());
  CHECK(io->queue().ended());
}

TEST_CASE(
    "the end of the admin queue ends the association; that of an I/O queue only if it broke") {
  target_rig rig;
  auto admin = rig.admin(volume_nqn);
  const auto first = rig.io(volume_nqn, alice, 1);
  const auto second = rig.io(volume_nqn, alice, 2);
  first->queue().close(false);
  CHECK_FALSE(second->queue().ended());
  CHECK(rig.io(volume_nqn, alice, 1)->queue().connected());
  second->queue().close(true);
  CHECK(admin->queue().ended());
  CHECK(std::string(admin->queue().why_ended()) == "one of its queues broke");

  admin = rig.admin(volume_nqn);
  const auto third = rig.io(volume_nqn, alice, 1);
  admin.reset();
  CHECK(third->queue().ended());
  CHECK(third->send(wire::nvme::make_flush(1, 1)).status ==
        dnr(generic_status::command_sequence_error));
}

TEST_CASE("a subsystem that goes takes its associations along and no others") {
  target_rig rig;
  const auto on_volume = rig.admin(volume_nqn);
  const auto on_array = rig.admin(array_nqn);
  rig.target.withdraw(volume_nqn);
  CHECK(on_volume->queue().ended());
  CHECK_FALSE(on_array->queue().ended());
  host_queue late(rig.target, 0);
  CHECK(late.connect(volume_nqn, alice).dw0 == (256u | 1u << 16));
  rig.target.end_all("the target stops");
  CHECK(on_array->queue().ended());
}

TEST_CASE("the last host of a volume gives it back, whatever the order in which queues go") {
  target_rig rig;
  auto admin = rig.admin(volume_nqn);
  auto io = rig.io(volume_nqn);
  CHECK(rig.volume->attached == 1);
  admin.reset();
  rig.target.tick(0);
  CHECK(rig.volume->attached == 1);  // a command of the I/O queue may still be under way
  io.reset();
  CHECK(rig.volume->attached == 0);
}

TEST_CASE("a command that waits when its association ends is never executed") {
  target_rig rig;
  const auto admin = rig.admin(volume_nqn);
  const auto io = rig.io(volume_nqn);
  const submission_entry e = host_queue::io(wire::nvme::nvm_opcode::write, 7, 1);
  const serve::plan waiting = io->queue().admit(std::as_bytes(std::span(&e, 1)), 1000);
  REQUIRE(waiting.next == serve::next_step::execute);
  std::vector<std::byte> data(block_bytes, std::byte{9});
  admin->queue().end(false);
  CHECK(io->queue().execute(waiting, data, 1000).status ==
        wire::nvme::make_status(generic_status::aborted_by_queue_deletion));
  std::vector<std::byte> there(block_bytes);
  REQUIRE(rig.volume->read(7, there) == 0);
  CHECK(there == std::vector<std::byte>(block_bytes));
}

TEST_CASE("a command that waits when only its own I/O queue goes is never executed") {
  target_rig rig;
  const auto admin = rig.admin(volume_nqn);
  const auto io = rig.io(volume_nqn);
  const auto flush = wire::nvme::make_flush(1, 1);
  const serve::plan waiting = io->queue().admit(std::as_bytes(std::span(&flush, 1)), 1000);
  REQUIRE(waiting.next == serve::next_step::execute);
  io->queue().end(false);
  CHECK(io->queue().execute(waiting, {}, 1000).status != 0);
  CHECK(rig.volume->flushes == 0);
  CHECK_FALSE(admin->queue().ended());
}

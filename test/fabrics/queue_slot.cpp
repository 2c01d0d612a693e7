/// The slot of an I/O queue at its controller: queue ids, losses and refusals.
#include "eventually.hpp"
#include "scripted_target.hpp"
#include <fabrics/io_channel.hpp>
#include <gnstor/host/error.hpp>

#include <doctest/doctest.h>

namespace {

using namespace gnstor;
using host::fabrics::controller;
using host::fabrics::io_channel;
using host::fabrics::queue_slot;
using test::eventually;
using test::scripted_target;

constexpr std::chrono::milliseconds patience{20'000};

TEST_CASE("a slot that nobody joined gives its queue id back") {
  scripted_target target;
  controller c(target, test::scripted_options());
  {
    queue_slot slot(c);
    CHECK(slot.queue_id() == 1);
    CHECK(slot.ended());
    slot.end();
    CHECK_THROWS_AS(queue_slot{c}, host::input_error);
  }
  CHECK(queue_slot(c).queue_id() == 1);
  CHECK(c.association() == 1);
}

TEST_CASE("a lost queue whose Connect is refused is left, and can be made later") {
  scripted_target target;
  controller c(target, test::scripted_options());
  io_channel one(c);
  target.drop_all();
  CHECK(eventually([&] { return c.association() == 2; }));
  {
    const std::lock_guard lock(target.script.mutex);
    target.script.only_host = "nqn.2026-11.test:another";
  }
  CHECK_THROWS_AS(one.reopen(patience), host::io_error);
  CHECK(one.ended());
  {
    const std::lock_guard lock(target.script.mutex);
    target.script.only_host.clear();
  }
  one.reopen(patience);
  CHECK_FALSE(one.ended());
  CHECK(one.ref().phase() == channel_phase::ready);
}

TEST_CASE("a link's channel is the proxy's own, by another name") {
  scripted_target target;
  controller c(target, test::scripted_options());
  const io_channel one(c);
  const remote_channel same = one.channel();
  CHECK(same.phase() == channel_phase::ready);
  CHECK(&same.counters() == &one.ref().counters());
  CHECK(same.queue().depth() == one.depth());
}

}  // namespace

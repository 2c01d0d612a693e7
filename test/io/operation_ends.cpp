/// Asynchronous operations end when their time is up, whatever the peer does.

#include "channel/channel_image.hpp"
#include <gnstor/io/async_io.hpp>
#include <gnstor/simt_host/lone_lane.hpp>

#include <doctest/doctest.h>

#include <vector>

using namespace gnstor;
using namespace gnstor::test;

TEST_CASE("operations that fill the channel end in time though no replica answers any of them") {
  constexpr std::uint32_t depth = 8;
  simt::host::lone_lane lane;
  lane.set_now_ns(1'000'000);
  memory_image image(64 * 1024);
  fw::queue_attributes at;
  const auto channel = make_channel<nic_channel>(image, depth, 1, 0x101, at);
  channel.queue().post_receives();
  channel.counters().phase = static_cast<std::uint32_t>(channel_phase::ready);
  const auto io = async_io(channel);
  std::vector<ticket> operations;
  for (std::uint32_t k = 0; k < depth; ++k) {
    detail::io_step step;
    step.candidates = 2;  // no slot is left to ask the second
    step.ssds = 0x0100;
    step.buffer = {0x10000, block_bytes, 1, 1};
    const auto op = io.open({}, 0, deadline::after(simt::now_ns(), 10'000));
    REQUIRE(op.status.ok());
    REQUIRE(io.try_add(op.value, step).ok());
    io.end(op.value);
    operations.push_back(op.value);
  }
  const auto poll_for = [&](std::uint64_t ns) {
    for (std::uint64_t k = 0; k < ns; k += 100) {
      lane.set_now_ns(simt::now_ns() + 100);
      (void)io.poll();
    }
  };
  poll_for(9'000);
  for (const ticket t : operations) CHECK(io.take(t).code == status_code::would_block);
  poll_for(100'000);
  for (const ticket t : operations) CHECK(io.take(t).code == status_code::timed_out);
  CHECK(io.in_use() == 0);
}

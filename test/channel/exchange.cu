/// Whole channels against a scripted peer on a GPU: the clients are one kernel, the peer another.
#include "exchange.hpp"
#include "exchange_fixture.hpp"
#include "owned_exchange.hpp"
#include "qp/device_block.cuh"
#include "qp/seeds.hpp"
#include <gnstor/channel/doorbell/batch.hpp>
#include <gnstor/channel/doorbell/every.hpp>
#include <gnstor/channel/doorbell/manual.hpp>
#include <gnstor/simt/cuda_executor.cuh>

using namespace gnstor;
using namespace gnstor::test;

namespace {

/// One exchange; `prepare` may spoil something. Says what went wrong, or nothing.
template <class Channel = mlx5_channel, class Prepare>
std::string exchanged(exchange_shape s, std::uint32_t seed, Prepare prepare) {
  const device_block memory(s.bytes());
  basic_exchange_fixture<Channel> f(s, seed, memory.data());
  prepare(f);
  f.client.stop = f.peer.stop;
  memory.upload(f.image);
  simt::cuda::reserve_local_memory(4096);  // of the scripted peer
  simt::cuda::executor machine;
  machine.spawn(s.blocks, s.lanes, f.client);
  machine.spawn(1, s.channels, f.peer);
  machine.run();
  memory.download(f.image);
  return f.judge();
}

/// One exchange of warps that own a channel each.
std::string owned(const exchange_shape& s, std::uint32_t seed) {
  const device_block memory(s.bytes());
  exchange_fixture f(s, seed, memory.data());
  f.client.stop = f.peer.stop;
  memory.upload(f.image);
  owned_exchange<> client;
  static_cast<exchange<>&>(client) = f.client;
  simt::cuda::reserve_local_memory(4096);  // of the scripted peer
  simt::cuda::executor machine;
  machine.spawn(s.blocks, s.lanes, client);
  machine.spawn(1, s.channels, f.peer);
  machine.run();
  memory.download(f.image);
  return f.judge();
}

template <doorbell_policy Doorbell>
std::string exchanged_under(exchange_shape s, std::uint32_t seed) {
  using under = channel<mlx5_queue_pair<>, Doorbell>;
  return exchanged<under>(s, seed, [](basic_exchange_fixture<under>&) {});
}

const auto seeds = static_cast<std::uint32_t>(seeds_of(20));
constexpr exchange_shape usual{.blocks = 4, .lanes = 64, .rounds = 20, .channels = 3, .depth = 32};

}  // namespace

TEST_CASE("every request gets its own answer, whatever lanes run beside it") {
  for (std::uint32_t seed = 1; seed <= seeds; ++seed) {
    CAPTURE(seed);
    CHECK(exchanged(usual, seed, [](exchange_fixture&) {}) == "");
  }
}

TEST_CASE("every request gets its own answer under every doorbell policy") {
  for (std::uint32_t seed = 1; seed <= seeds; ++seed) {
    CAPTURE(seed);
    CHECK(exchanged_under<doorbell::every>(usual, seed) == "");
    CHECK(exchanged_under<doorbell::batch<8>>(usual, seed) == "");
    CHECK(exchanged_under<doorbell::manual>(usual, seed) == "");
  }
}

TEST_CASE("every request gets its own answer from its completion") {
  for (std::uint32_t seed = 1; seed <= seeds; ++seed) {
    CAPTURE(seed);
    exchange_shape s = usual;
    s.scatter = true;
    CHECK(exchanged(s, seed, [](exchange_fixture&) {}) == "");
  }
}

TEST_CASE("every request gets its own answer with its capsule inside the entry") {
  for (std::uint32_t seed = 1; seed <= seeds; ++seed) {
    CAPTURE(seed);
    CHECK(exchanged<nic_channel>(usual, seed, [](basic_exchange_fixture<nic_channel>&) {}) == "");
  }
}

TEST_CASE("a warp's own channel gives every request its own answer") {
  for (std::uint32_t seed = 1; seed <= seeds; ++seed) {
    CAPTURE(seed);
    for (const std::uint32_t depth : {32u, 128u}) {
      CHECK(owned({.blocks = 3, .lanes = 32, .rounds = 40, .channels = 3, .depth = depth}, seed) ==
            "");
    }
  }
}

TEST_CASE("more lanes than request slots get through a full channel") {
  for (std::uint32_t seed = 1; seed <= seeds; ++seed) {
    CAPTURE(seed);
    CHECK(exchanged({.blocks = 2, .lanes = 96, .rounds = 8, .channels = 1, .depth = 4}, seed,
                    [](exchange_fixture&) {}) == "");
  }
}

TEST_CASE("silence times out for the lane that asked and for no other") {
  for (std::uint32_t seed = 1; seed <= seeds; ++seed) {
    CAPTURE(seed);
    CHECK(exchanged(usual, seed, [&](exchange_fixture& f) { f.client.silent = 7 * seed; }) == "");
  }
}

TEST_CASE("the request that kills a queue pair learns why, and the others are flushed") {
  for (std::uint32_t seed = 1; seed <= seeds; ++seed) {
    CAPTURE(seed);
    const auto breaking = [&](exchange_fixture& f) {
      f.break_at(7 * seed, ask::break_send, wire::mlx5::syndrome::remote_access_error);
    };
    CHECK(exchanged(usual, seed, breaking) == "");
  }
}

/// Proxy queue pairs between a kernel and proxy threads of this CPU: rings and data in pinned
/// memory, the lanes' own words in the GPU's.
#include "copy_lanes.hpp"
#include "exchange_image.hpp"
#include "proxy/proxy_thread.hpp"
#include "qp/device_block.cuh"
#include "qp/seeds.hpp"
#include <gnstor/simt/cuda_executor.cuh>

using namespace gnstor;
using namespace gnstor::test;

namespace {

/// Zeroed memory that the GPU and this CPU reach under one address.
class pinned_block {
 public:
  explicit pinned_block(std::size_t bytes) {
    REQUIRE(cudaHostAlloc(&data_, bytes, cudaHostAllocMapped | cudaHostAllocPortable) ==
            cudaSuccess);
    std::memset(data_, 0, bytes);
  }
  pinned_block(const pinned_block&) = delete;
  pinned_block& operator=(const pinned_block&) = delete;
  ~pinned_block() { static_cast<void>(cudaFreeHost(data_)); }
  void* data() const { return data_; }

 private:
  void* data_ = nullptr;
};

/// One exchange on `threads` proxy threads; `prepare` may spoil something. Says what went wrong, or
/// nothing.
template <class Prepare>
std::string exchanged_by(const proxy_exchange_shape& s, std::uint32_t seed, std::uint32_t threads,
                         Prepare prepare) {
  const pinned_block shared(s.shared_bytes());
  const device_block local(s.local_bytes());
  proxy_exchange f(s, seed, shared.data(), local.data());
  f.client.patience_ns = 200'000;
  prepare(f);
  local.upload(f.image);
  std::vector<std::unique_ptr<gnstor::host::proxy_thread>> proxies;
  for (std::uint32_t k = 0; k < threads; ++k)
    proxies.push_back(std::make_unique<gnstor::host::proxy_thread>());
  for (std::uint32_t k = 0; k < s.channels; ++k) proxies[k % threads]->add(*f.tasks[k]);
  simt::cuda::reserve_local_memory(4096);
  simt::cuda::executor machine;
  machine.spawn(s.blocks, s.lanes, f.client);
  machine.run();
  for (std::uint32_t k = 0; k < s.channels; ++k) proxies[k % threads]->remove(*f.tasks[k]);
  local.download(f.image);
  return f.judge();
}
std::string exchanged_by(const proxy_exchange_shape& s, std::uint32_t seed, std::uint32_t threads) {
  return exchanged_by(s, seed, threads, [](proxy_exchange&) {});
}

const auto proxy_seeds = static_cast<std::uint32_t>(seeds_of(10));
constexpr proxy_exchange_shape usual_exchange{
    .blocks = 4, .lanes = 64, .rounds = 20, .channels = 3, .depth = 32};

}  // namespace

TEST_CASE("a kernel's requests get their own answers through one proxy thread, and through two") {
  for (std::uint32_t seed = 1; seed <= proxy_seeds; ++seed) {
    CAPTURE(seed);
    CHECK(exchanged_by(usual_exchange, seed, 1) == "");
    CHECK(exchanged_by(usual_exchange, seed, 2) == "");
  }
}

TEST_CASE("more lanes than request slots get through a full channel") {
  for (std::uint32_t seed = 1; seed <= proxy_seeds; ++seed) {
    CAPTURE(seed);
    CHECK(exchanged_by({.blocks = 2, .lanes = 96, .rounds = 8, .channels = 1, .depth = 4}, seed,
                       1) == "");
  }
}

TEST_CASE("a port that is slow and out of room delays answers and loses none") {
  proxy_exchange_shape s = usual_exchange;
  s.script = {.in_order = false, .refuses_of_8 = 3, .idles_of_8 = 3};
  for (std::uint32_t seed = 1; seed <= proxy_seeds; ++seed) {
    CAPTURE(seed);
    CHECK(exchanged_by(s, seed, 1) == "");
  }
}

TEST_CASE("the request that kills a queue pair learns why, and the others are flushed") {
  for (std::uint32_t seed = 1; seed <= proxy_seeds; ++seed) {
    CAPTURE(seed);
    const auto breaking = [&](proxy_exchange& f) {
      f.break_at(7 * seed, ask::break_send, wire::mlx5::syndrome::remote_access_error);
    };
    CHECK(exchanged_by(usual_exchange, seed, 1, breaking) == "");
  }
}

TEST_CASE("a port that throws ends every request in flight") {
  proxy_exchange_shape s = usual_exchange;
  s.script.throws = true;
  for (std::uint32_t seed = 1; seed <= proxy_seeds; ++seed) {
    CAPTURE(seed);
    const auto breaking = [&](proxy_exchange& f) {
      f.break_at(7 * seed, ask::break_receive, wire::mlx5::syndrome::local_queue_pair_error);
    };
    CHECK(exchanged_by(s, seed, 1, breaking) == "");
  }
}

TEST_CASE("a proxy thread moves data both ways for a warp") {
  constexpr std::uint32_t depth = 64;
  constexpr proxy_queue_layout layout = proxy_queue_layout::of(depth);
  constexpr std::size_t data_bytes = 32 * copy_lanes::words * sizeof(std::uint64_t);
  const pinned_block shared(layout.shared_bytes());
  const pinned_block data(2 * data_bytes);
  const device_block local(layout.local_bytes() + sizeof(std::uint32_t));
  auto* rings = static_cast<unsigned char*>(shared.data());
  auto* words = static_cast<unsigned char*>(local.data());
  auto* here = static_cast<std::uint64_t*>(data.data());
  auto* faults = reinterpret_cast<std::uint32_t*>(words + layout.local_bytes());
  gnstor::host::proxy_engine<scripted_port> engine(rings, depth, port_script{});
  gnstor::host::proxy_thread proxy;
  proxy.add(engine);
  simt::cuda::executor machine;
  machine.spawn(1, 32,
                copy_lanes{proxy_queue_pair<>(rings, depth, words), here,
                           here + 32 * copy_lanes::words, faults, 500});
  machine.run();
  proxy.remove(engine);
  std::uint32_t seen = ~0u;
  REQUIRE(cudaMemcpy(&seen, faults, sizeof seen, cudaMemcpyDeviceToHost) == cudaSuccess);
  CHECK(seen == 0);
  CHECK(engine.fault() == "");
}

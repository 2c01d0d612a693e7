#include "concurrent_shards.hpp"
#include <deengine/recover.hpp>
#include <gnstor/simt/cuda_executor.cuh>

using namespace gnstor;
using namespace gnstor::test;

TEST_CASE(
    "shards that share free blocks keep their pages apart, and readers keep theirs, on the GPU") {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    MESSAGE("skipped: no GPU");
    return;
  }
  using ssd_ref = fw::engine_ref<thread_scope_device>;
  const std::uint64_t bytes = fw::layout::of(crowd_shape).bytes;
  void* meta = nullptr;
  void* data = nullptr;
  board* out = nullptr;
  std::uint64_t* stamps = nullptr;
  REQUIRE(cudaMallocManaged(&meta, bytes) == cudaSuccess);
  REQUIRE(cudaMallocManaged(&data, std::size_t{crowd_shape.pages} * block_bytes) == cudaSuccess);
  REQUIRE(cudaMallocManaged(&out, sizeof *out) == cudaSuccess);
  REQUIRE(cudaMallocManaged(&stamps, crowd_shards * sizeof *stamps) == cudaSuccess);
  using quiescence_type = fw::reader_quiescence<thread_scope_device>;
  const std::size_t quiescence_bytes =
      quiescence_type::words_for(crowd_readers) * sizeof(std::uint64_t);
  std::uint64_t* words = nullptr;
  REQUIRE(cudaMallocManaged(&words, quiescence_bytes) == cudaSuccess);
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    CAPTURE(seed);
    const bool full = seed % 2 == 0;  // nobody deletes: garbage is collected all the time
    REQUIRE(fw::format(meta, bytes, crowd_shape, {}) == fw::mount_status::ok);
    for (std::size_t k = 0; k < quiescence_bytes / sizeof *words; ++k) words[k] = 0;
    const quiescence_type quiescence(words, crowd_readers);
    const ssd_ref ssd(meta, crowd_shape, data, quiescence);
    REQUIRE(ssd.volume_add(1, crowd_volume(steady_volume, 0)) == 0);
    *out = board{};
    for (std::uint32_t s = 0; s < crowd_shards; ++s) stamps[s] = 0;

    simt::cuda::executor machine;
    machine.spawn(crowd_shards, 32, shard_owner<thread_scope_device>{seed, 2000}, ssd, out, stamps);
    machine.spawn(1, crowd_shards, slow_copier<thread_scope_device>{}, ssd, out, stamps);
    machine.spawn(1, crowd_readers, peeking_reader<thread_scope_device>{seed}, ssd, quiescence,
                  out);
    if (full) {
      REQUIRE(ssd.volume_add(1, crowd_volume(fickle_volume, 0)) == 0);
    } else {
      machine.spawn(1, 1, restless_admin<thread_scope_device>{500, 6}, ssd, out);
    }
    machine.run();

    std::uint64_t moved = 0;
    for (std::uint32_t s = 0; s < crowd_shards; ++s) moved += ssd.parts().shard(s).moved;
    CHECK((moved > 0 || !full));
    CHECK(out->wrong_bytes == 0);
    CHECK(out->moved_bytes == 0);
    CHECK(out->bad_status == 0);
    CHECK(out->written > 0);
    CHECK(out->read > 0);
    CHECK(out->peeked > 0);
    check_aftermath(ssd);
  }
  REQUIRE(cudaFree(meta) == cudaSuccess);
  REQUIRE(cudaFree(data) == cudaSuccess);
  REQUIRE(cudaFree(out) == cudaSuccess);
  REQUIRE(cudaFree(stamps) == cudaSuccess);
  REQUIRE(cudaFree(words) == cudaSuccess);
}

TEST_CASE("who looks a volume up while it changes sees the old state or the new, on the GPU") {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    MESSAGE("skipped: no GPU");
    return;
  }
  const std::uint64_t bytes = fw::layout::of(crowd_shape).bytes;
  void* meta = nullptr;
  board* out = nullptr;
  REQUIRE(cudaMallocManaged(&meta, bytes) == cudaSuccess);
  REQUIRE(cudaMallocManaged(&out, sizeof *out) == cudaSuccess);
  REQUIRE(fw::format(meta, bytes, crowd_shape, {}) == fw::mount_status::ok);
  const fw::engine_ref<thread_scope_device> ssd(meta, crowd_shape, nullptr);
  *out = board{};
  simt::cuda::executor machine;
  // Readers first: a grid launched later may start when the admin is done.
  machine.spawn(4, 32, volume_reader<thread_scope_device>{}, ssd, out);
  machine.spawn(1, 1, restless_admin<thread_scope_device>{5000, 4, true}, ssd, out);
  machine.run();
  CHECK(out->mixed_volume == 0);
  CHECK(out->bad_status == 0);
  CHECK(out->read > 0);
  REQUIRE(cudaFree(meta) == cudaSuccess);
  REQUIRE(cudaFree(out) == cudaSuccess);
}

/// Many lanes on the queues of a local controller whose workers are warps of the same GPU.
#include "stamped_blocks.hpp"
#include <gnstor/host/error.hpp>
#include <gnstor/host/executor.hpp>
#include <gnstor/host/session.hpp>

#include <doctest/doctest.h>

#include <string>
#include <vector>

using namespace gnstor;
using namespace gnstor::test;

namespace {

using stamped_kernel = stamped_blocks<remote_channel>;

/// What every block runs, on a channel of its own. It lies in memory: by nvcc 13.0 a kernel that is
/// given it as an argument, and copies it, has lanes that hold each other up until their deadlines.
struct blocks_job {
  stamped_kernel shape;
  const remote_channel* channels = nullptr;
};
struct blocks_on_own_channel {
  struct shared {};
  const blocks_job* job = nullptr;

  template <class Lane>
  GNSTOR_HD void operator()(Lane& lane) const {
    stamped_kernel mine = job->shape;
    mine.channel = job->channels[lane.block()];
    mine(lane);
  }
};

/// Where each queue pair stands, for a failure's message.
std::string queue_text(const host::session& s, std::uint32_t count) {
  std::vector<unsigned char> raw(count * sizeof(remote_channel));
  host::copy_out(s.client_place(), 0, raw.data(), &s.channels()[0], raw.size());
  std::string all;
  for (std::uint32_t k = 0; k < count; ++k) {
    const auto& c = reinterpret_cast<const remote_channel*>(raw.data())[k];
    nvme_pcie_queue_state q;
    host::copy_out(s.client_place(), 0, &q, c.queue().local()->rings().memory(), sizeof q);
    for (const std::uint64_t n : {q.reserved, q.published, q.retired, q.consumed, q.announced,
                                  q.given, std::uint64_t{q.send_lock}})
      all += std::to_string(n) + " ";
    all += "; ";
  }
  return all;
}

void exchange_blocks(const std::string& where, std::uint32_t blocks, std::uint32_t threads,
                     std::uint32_t depth, bool apart = true) {
  CAPTURE(where);
  CAPTURE(threads);
  const std::uint32_t lanes = blocks * threads;
  host::session s(where, {.channels = blocks, .depth = depth});
  const host::memory_block data = s.allocate(std::uint64_t{lanes} * stamped_kernel::lane_bytes);
  const host::memory_block record(s.client_place(), sizeof(stamped_record));
  const remote_channel* channels = &s.channels()[0];
  const io_buffer buffer = s.register_memory(data.data(), data.bytes());
  // A channel to copy: each block replaces it.
  remote_channel any(nvme_pcie_queue_pair<>(nullptr, depth, 4096, {}, nullptr), nullptr);
  stamped_kernel k{any, buffer};
  k.block_bytes = where.find("lba=512") != std::string::npos ? 512 : 4096;
  k.rounds = 50;
  k.apart = apart;
  k.record = static_cast<stamped_record*>(record.data());
  const host::memory_block job(s.client_place(), sizeof(blocks_job));
  const blocks_job all{k, channels};
  job.write(0, &all, sizeof all);
  host::executor machine;
  machine.spawn(blocks, threads, blocks_on_own_channel{static_cast<const blocks_job*>(job.data())});
  s.attach(machine);
  machine.run();
  stamped_record seen;
  record.read(0, &seen, sizeof seen);
  CAPTURE(host::to_string(status::unpack(seen.why)));
  CAPTURE(queue_text(s, blocks));
  CHECK(seen.failed == 0);
  CHECK(seen.wrong == 0);
  CHECK(seen.touched == 0);
  CHECK(seen.rounds == lanes * k.rounds);
  s.unregister_memory(buffer);
}

}  // namespace

TEST_CASE("blocks come back as they were written, from host memory and from HBM") {
  for (const char* media : {"host", "hbm"}) {
    for (const char* lba : {"512", "4096"}) {
      const std::string where = std::string("emu-nvme:?bytes=64M&media=") + media + "&lba=" + lba;
      exchange_blocks(where, 1, 1, 2);
      exchange_blocks(where, 2, 32, 16);
      exchange_blocks(where, 4, 128, 128);
      exchange_blocks(where + "&workers=1", 2, 96, 64);
    }
  }
}

TEST_CASE("blocks come back as they were written where CPU threads serve a GPU's queues") {
  exchange_blocks("emu-nvme:?bytes=16M&runner=cpu", 2, 32, 32);
}

TEST_CASE("lanes of one warp that ask for the same sizes get their blocks, too") {
  exchange_blocks("emu-nvme:?bytes=64M&media=hbm&lba=512", 2, 32, 32, false);
}

namespace {

/// What lanes found that read and write a volume.
struct volume_record {
  std::uint32_t failed = 0;
  std::uint32_t wrong = 0;
  std::uint32_t done = 0;
};

/// Lanes write and read blocks of their own, each a number of them that it draws for itself.
struct stamped_volume {
  static constexpr std::uint32_t lane_blocks = 4;
  volume_info info;
  const remote_channel* channels = nullptr;
  io_buffer pages;
  std::uint32_t rounds = 50;
  volume_record* record = nullptr;

  template <class Lane>
  GNSTOR_HD void operator()(Lane& lane) const {
    const std::uint32_t me = lane.global_thread();
    const remote_volume volume(info, channel_set<remote_channel>(channels + lane.block(), 1),
                               rendezvous_placement(info.ssd_count));
    std::uint32_t draw = (me + 1) * 2654435761u;
    for (std::uint32_t round = 0; round < rounds; ++round) {
      draw = draw * 1664525u + 1013904223u;
      const std::uint32_t blocks = 1 + (draw >> 8) % lane_blocks;
      const io_buffer mine = pages.slice(std::uint64_t{me} * lane_blocks * block_bytes,
                                         std::uint64_t{blocks} * block_bytes);
      auto* words = reinterpret_cast<std::uint32_t*>(mine.address);
      const std::uint32_t count = blocks * block_bytes / 4;
      for (std::uint32_t k = 0; k < count; ++k) words[k] = (me * 0x10001u + round) ^ k;
      const deadline d = simt::within(5'000'000'000);
      bool ok = volume.write(vba(me * lane_blocks), blocks, mine, d).ok();
      for (std::uint32_t k = 0; k < count; ++k) words[k] = 0xdeadbeef;
      ok = ok && volume.read(vba(me * lane_blocks), blocks, mine, d).ok();
      std::uint32_t wrong = 0;
      for (std::uint32_t k = 0; ok && k < count; ++k)
        wrong += words[k] != ((me * 0x10001u + round) ^ k);
      if (wrong != 0) device_word<std::uint32_t>(record->wrong).fetch_add(1, relaxed);
      if (!ok) {
        device_word<std::uint32_t>(record->failed).fetch_add(1, relaxed);
        return;
      }
      device_word<std::uint32_t>(record->done).fetch_add(1, relaxed);
    }
  }
};

/// The job lies in memory, as `blocks_job`.
struct run_stamped_volume {
  const stamped_volume* job = nullptr;
  template <class Lane>
  GNSTOR_HD void operator()(Lane& lane) const {
    const stamped_volume mine = *job;
    mine(lane);
  }
};

void exchange_volume(const std::string& where, std::uint32_t blocks, std::uint32_t threads,
                     std::uint32_t depth) {
  CAPTURE(where);
  CAPTURE(threads);
  CAPTURE(depth);
  const std::uint32_t lanes = blocks * threads;
  host::session s(where, {.channels = blocks, .depth = depth});
  const std::uint64_t bytes = std::uint64_t{lanes} * stamped_volume::lane_blocks * block_bytes;
  const volume_info v = s.create_volume({.bytes = bytes});
  const host::memory_block data = s.allocate(bytes);
  const host::memory_block record(s.client_place(), sizeof(volume_record));
  const host::memory_block job(s.client_place(), sizeof(stamped_volume));
  const io_buffer buffer = s.register_memory(data.data(), data.bytes());
  const stamped_volume k{v, &s.channels()[0], buffer, 50,
                         static_cast<volume_record*>(record.data())};
  job.write(0, &k, sizeof k);
  host::executor machine;
  machine.spawn(blocks, threads,
                run_stamped_volume{static_cast<const stamped_volume*>(job.data())});
  s.attach(machine);
  machine.run();
  volume_record seen;
  record.read(0, &seen, sizeof seen);
  CHECK(seen.failed == 0);
  CHECK(seen.wrong == 0);
  CHECK(seen.done == lanes * k.rounds);
  s.unregister_memory(buffer);
}

}  // namespace

TEST_CASE("lanes of a warp go apart on a volume of an array") {
  for (int k = 0; k < 3; ++k) {
    exchange_volume("emu:?capacity=256M", 2, 32, 16);
    exchange_volume("emu:?capacity=256M", 4, 128, 128);
    exchange_volume("emu:?capacity=256M", 2, 96, 64);
  }
}
TEST_CASE("lanes of a warp go apart on a local controller's namespace") {
  for (int k = 0; k < 3; ++k) {
    exchange_volume("emu-nvme:?bytes=64M&media=hbm", 2, 32, 16);
    exchange_volume("emu-nvme:?bytes=64M&media=hbm", 4, 128, 128);
    exchange_volume("emu-nvme:?bytes=64M&media=hbm", 2, 96, 64);
  }
}
TEST_CASE("lanes of a warp go apart on a volume that is striped over several controllers") {
  exchange_volume("emu-nvme:?bytes=16M&controllers=2&stripe=4K", 1, 1, 2);
  exchange_volume("emu-nvme:?bytes=64M&media=hbm&controllers=3&stripe=8K", 2, 32, 16);
  exchange_volume("emu-nvme:?bytes=64M&media=hbm&controllers=4&stripe=4K", 4, 128, 128);
}

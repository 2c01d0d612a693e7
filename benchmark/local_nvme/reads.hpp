#pragma once
/// Reads of an emulated local NVMe controller: one at a time and many, by lanes that share a queue,
/// by blocks that own one, and by a lane that drives the same controller's queue by hand, in turn.
///
/// Each unit of the namespace holds its number; the first and last word of what a read brought are
/// compared while time counts.

#include "../support/statistics.hpp"
#include "bare_lane.hpp"
#include <gnstor/channel/nvme_block_queue.hpp>
#include <gnstor/core/hash.hpp>
#include <gnstor/host/executor.hpp>
#include <gnstor/host/session.hpp>
#include <gnstor/simt/lane.hpp>

#include <benchmark/benchmark.h>

#include <stdexcept>
#include <string>
#include <vector>

namespace gnstor::benchmarks {

/// What lanes of a run found.
struct local_outcome {
  std::uint32_t failed = 0;
  std::uint32_t wrong = 0;
  std::uint64_t not_begin_ns = 0;  ///< of the first lane, its complement: a maximum, too
  std::uint64_t end_ns = 0;        ///< of the last
};

/// What a run reads; in memory, where its kernel finds it.
struct local_reads {
  const remote_channel* channels = nullptr;  ///< one per block of threads
  io_buffer pages;                           ///< one for each lane
  std::uint32_t bytes = 4096;
  std::uint32_t lba_bytes = 512;
  std::uint32_t units = 0;  ///< of `bytes`, in the namespace
  std::uint32_t count = 0;  ///< for each lane
  local_outcome* outcome = nullptr;

  GNSTOR_HD wire::nvme::submission_entry command(std::uint32_t me, std::uint32_t k) const {
    const std::uint32_t lbas = bytes / lba_bytes;
    const auto data = wire::nvme::make_keyed_sgl(page(me).address, bytes, pages.rkey);
    return wire::nvme::make_read_write(wire::nvme::nvm_opcode::read, 0, 1,
                                       std::uint64_t{unit(me, k)} * lbas, lbas, data);
  }
  GNSTOR_HD io_buffer page(std::uint32_t me) const {
    return pages.slice(std::uint64_t{me} * bytes, bytes);
  }
  GNSTOR_HD std::uint32_t unit(std::uint32_t me, std::uint32_t k) const {
    return static_cast<std::uint32_t>(mix64(std::uint64_t{k} << 32 | me) % units);
  }
  GNSTOR_HD void check(std::uint32_t me, std::uint32_t k, bool ok) const {
    const auto* words = reinterpret_cast<const std::uint32_t*>(page(me).address);
    const std::uint32_t wanted = unit(me, k);
    if (!ok) device_word<std::uint32_t>(outcome->failed).fetch_add(1, relaxed);
    if (ok && (words[0] != wanted || words[bytes / 4 - 1] != wanted))
      device_word<std::uint32_t>(outcome->wrong).fetch_add(1, relaxed);
  }
  GNSTOR_HD void began() const {
    device_word<std::uint64_t>(outcome->not_begin_ns).fetch_max(~simt::now_ns(), relaxed);
  }
  GNSTOR_HD void ended() const {
    device_word<std::uint64_t>(outcome->end_ns).fetch_max(simt::now_ns(), relaxed);
  }
};

/// Every lane waits for its own reads on a channel that its block shares.
struct read_shared {
  const local_reads* job = nullptr;
  template <class Lane>
  GNSTOR_HD void operator()(Lane& lane) const {
    const local_reads what = *job;
    const std::uint32_t me = lane.global_thread();
    const remote_channel channel = what.channels[lane.block()];
    what.began();
    for (std::uint32_t k = 0; k < what.count; ++k)
      what.check(me, k, channel.execute(what.command(me, k), simt::within(10'000'000'000)).ok());
    what.ended();
  }
};

/// The block owns the queue; `active` of its threads read.
template <std::uint32_t Threads>
struct read_as_block {
  using shared = nvme_block_words<Threads>;
  const local_reads* job = nullptr;
  std::uint32_t active = Threads;
  template <class Lane>
  GNSTOR_HD void operator()(Lane& lane) const {
    const local_reads what = *job;
    const std::uint32_t me = lane.global_thread();
    const remote_channel channel = what.channels[lane.block()];
    nvme_block_queue<Threads> queue(lane, lane.shared(), *channel.queue().local());
    const bool wants = lane.thread() < active;
    what.began();
    for (std::uint32_t k = 0; k < what.count; ++k) {
      const bool ok =
          queue.execute(lane, what.command(me, k), wants, simt::within(10'000'000'000)).ok();
      if (wants) what.check(me, k, ok);
    }
    what.ended();
    if (!queue.release(lane)) what.check(me, 0, false);
  }
};

/// One lane, by hand.
struct read_bare {
  const local_reads* job = nullptr;
  template <class Lane>
  GNSTOR_HD void operator()(Lane&) const {
    const local_reads what = *job;
    const remote_channel channel = what.channels[0];
    bare_lane by_hand(channel.queue().local()->rings());
    what.began();
    for (std::uint32_t k = 0; k < what.count; ++k)
      what.check(0, k, by_hand.read(what.command(0, k)));
    what.ended();
    by_hand.give_back();
  }
};

/// A controller whose namespace is filled.
class local_rig {
 public:
  local_rig(const std::string& where, std::uint32_t queues, std::uint32_t depth,
            std::uint32_t bytes)
      : session_(where, {.channels = queues, .depth = depth}),
        volume_(session_.open_volume(volume_id(1))),
        pages_(session_.allocate(std::uint64_t{queues} * depth * bytes)),
        buffer_(session_.register_memory(pages_.data(), pages_.bytes())),
        outcome_(session_.client_place(), sizeof(local_outcome), session_.options().device),
        job_(session_.client_place(), sizeof(local_reads), session_.options().device) {
    what_.channels = &session_.channels()[0];
    what_.pages = buffer_;
    what_.bytes = bytes;
    what_.lba_bytes = volume_.lba_bytes;
    what_.units = static_cast<std::uint32_t>(volume_.capacity_blocks * block_bytes / bytes);
    what_.outcome = static_cast<local_outcome*>(outcome_.data());
    std::vector<std::uint32_t> some(4 << 20);
    const std::uint64_t total = volume_.capacity_blocks * block_bytes;
    for (std::uint64_t at = 0; at < total; at += 4 * some.size()) {
      for (std::size_t k = 0; k < some.size(); ++k)
        some[k] = static_cast<std::uint32_t>((at + 4 * k) / bytes);
      session_.write(volume_, at, some.data(),
                     std::min<std::uint64_t>(4 * some.size(), total - at));
    }
  }
  local_rig(const local_rig&) = delete;
  local_rig& operator=(const local_rig&) = delete;
  ~local_rig() { session_.unregister_memory(buffer_); }

  /// Nanoseconds of a run of `count` reads of each lane. Throws if a read failed or was wrong.
  template <class Kernel>
  double timed(std::uint32_t blocks, std::uint32_t threads, Kernel kernel, std::uint32_t count) {
    local_reads what = what_;
    what.count = count;
    job_.write(0, &what, sizeof what);
    kernel.job = static_cast<const local_reads*>(job_.data());
    const local_outcome none;
    outcome_.write(0, &none, sizeof none);
    host::executor machine;
    machine.spawn(blocks, threads, kernel);
    session_.attach(machine);
    machine.run();
    local_outcome seen;
    outcome_.read(0, &seen, sizeof seen);
    if (seen.failed != 0) throw std::runtime_error("a read failed");
    if (seen.wrong != 0) throw std::runtime_error("a read brought another block's data");
    return static_cast<double>(seen.end_ns - ~seen.not_begin_ns);
  }

 private:
  host::session session_;
  volume_info volume_;
  host::memory_block pages_;
  io_buffer buffer_;
  host::memory_block outcome_;
  host::memory_block job_;
  local_reads what_;
};

/// One read at a time: microseconds each, and how many times a lane's that works by hand.
inline void lone_reads(benchmark::State& state, const std::string& where, std::uint32_t bytes,
                       std::uint32_t count, int rounds) try {
  local_rig rig(where, 1, 128, bytes);
  compared by_channel;
  compared by_block;
  std::vector<double> bare;
  for (auto _ : state) {
    for (int k = 0; k <= rounds; ++k) {
      const double hand = rig.timed(1, 1, read_bare{}, count) / count;
      const double channel = rig.timed(1, 1, read_shared{}, count) / count;
      const double block = rig.timed(1, 32, read_as_block<32>{nullptr, 1}, count) / count;
      if (k == 0) continue;  // the first warms
      bare.push_back(hand);
      by_channel.add(channel, hand);
      by_block.add(block, hand);
    }
    state.SetIterationTime(median(by_channel.ours) / 1e9);
  }
  state.counters["bare_us"] = median(bare) / 1e3;
  state.counters["shared_us"] = median(by_channel.ours) / 1e3;
  state.counters["block_us"] = median(by_block.ours) / 1e3;
  state.counters["shared_times_bare"] = by_channel.ratio();
  state.counters["block_times_bare"] = by_block.ratio();
} catch (const std::exception& e) {
  state.SkipWithError(e.what());
}

/// As many reads at once as there are threads: millions per second, by shared channels and by
/// blocks that own their queues.
/// @param limit bytes a second that the medium's link has, measured in turn; null: none is compared
template <std::uint32_t Threads>
void many_reads(benchmark::State& state, const std::string& where, std::uint32_t queues,
                std::uint32_t bytes, std::uint32_t count, int rounds, double (*limit)()) try {
  local_rig rig(where, queues, Threads, bytes);
  compared rates;
  compared link;
  for (auto _ : state) {
    for (int k = 0; k <= rounds; ++k) {
      const double reads = double(queues) * Threads * count;
      const double shared = reads / rig.timed(queues, Threads, read_shared{}, count);
      const double block = reads / rig.timed(queues, Threads, read_as_block<Threads>{}, count);
      const double most = limit != nullptr ? limit() : 0;
      if (k == 0) continue;  // the first warms
      rates.add(shared, block);
      if (limit != nullptr) link.add(shared * 1e9 * bytes, most);
    }
    state.SetIterationTime(1e-9 / median(rates.ours));
  }
  state.counters["shared_M_per_s"] = median(rates.ours) * 1e3;
  state.counters["block_M_per_s"] = median(rates.others) * 1e3;
  state.counters["shared_GB_per_s"] = median(rates.ours) * bytes;
  if (limit != nullptr) {
    state.counters["link_ratio"] = link.ratio();
    state.counters["limit_GB_per_s"] = median(link.others) / 1e9;
  }
  state.counters["queues"] = queues;
  state.counters["threads"] = double(queues) * Threads;
} catch (const std::exception& e) {
  state.SkipWithError(e.what());
}

template <class... Args>
void add_local(const std::string& name, void (*run)(benchmark::State&, Args...),
               std::type_identity_t<Args>... args) {
  benchmark::RegisterBenchmark(name.c_str(), [=](benchmark::State& s) { run(s, args...); })
      ->UseManualTime()
      ->Iterations(1)
      ->Unit(benchmark::kMicrosecond);
}

}  // namespace gnstor::benchmarks

#include "emulation_rules.hpp"

#include <deengine/layout.hpp>
#include <gnstor/host/error.hpp>

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

namespace gnstor::host {
namespace {

constexpr std::uint32_t gpu_shards = 32;

const char* who_runs(runner_kind runner) {
  switch (runner) {
    case runner_kind::gpu: return "a GPU runs";
    case runner_kind::simulated: return "lanes of the host executor run";
    default: return "CPU threads run";
  }
}

/// An option that only one runner looks at, given to another.
void needs(runner_kind wanted, runner_kind runner, bool given, const std::string& option,
           const char* remedy) {
  if (!given || runner == wanted) return;
  throw input_error(fmt::format("{} means nothing here, where {} the array's firmware: {}", option,
                                who_runs(runner), remedy));
}

fw::geometry shape_of(std::uint64_t bytes, std::uint32_t shards, runner_kind runner) {
  fw::geometry g;
  const auto pages = static_cast<std::uint32_t>(bytes / block_bytes);
  g.pages_per_block = fw::geometry::default_block(pages);
  g.pages = pages / g.pages_per_block * g.pages_per_block;
  // One volume per 256 KiB of flash, as far as that is few or many.
  g.max_volumes = std::clamp<std::uint32_t>(g.pages / 64, 256, 16384);
  const std::uint32_t most = runner == runner_kind::gpu ? gpu_shards : fw::most_shards_cpu;
  g.shards = shards != 0 ? shards : fw::geometry::default_shards(g.pages, most);
  return g;
}

/// Where nothing lies in files, all tables of the SSDs are memory of this machine.
void check_memory(const endpoint& where, const fw::geometry& g) {
  if (!where.flash.empty()) return;
  const auto there = static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES)) *
                     static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  const std::uint64_t tables = fw::layout::of(g).bytes * where.ssds;
  if (tables < there / 4 * 3) return;
  throw input_error(fmt::format(
      "capacity={} with ssds={}: the SSDs' tables alone take {} MiB of memory, and this machine "
      "has {} MiB: use a smaller capacity=, or flash= for files",
      where.capacity_bytes, where.ssds, tables >> 20, there >> 20));
}

/// How reads are sent, and how long commands are.
void check_sends(const endpoint& where, runner_kind runner) {
  const bool sends = where.send != send_kind::direct;
  if (sends && where.timing == timing_kind::off)
    throw input_error(
        "send= needs the rates of flash, bus and wire: give timing=gmblock or timing=table2");
  if (sends && where.nic_rate != 0)
    throw input_error("send= has the rate of its own wire: leave nic_rate= away");
  if (!sends && where.source != source_kind::flash)
    throw input_error("source= is what a sending NIC reads: give send=, or leave it away");
  if (sends && where.send_buffer < where.max_transfer)
    throw input_error(fmt::format(
        "send_buffer={} holds no command of max_transfer={}: make it that large at least",
        where.send_buffer, where.max_transfer));
  if (where.max_transfer != endpoint{}.max_transfer && runner == runner_kind::gpu)
    throw input_error(
        "max_transfer= is for runner=cpu and runner=sim; commands for a GPU's node move 128 KiB");
}

}  // namespace

void check_emulation(const endpoint& where, runner_kind runner, machine client) {
  if (runner == runner_kind::simulated && client == machine::gpu) {
    throw input_error(
        "runner=sim runs inside the host executor; this program runs kernels on a GPU: use "
        "runner=gpu");
  }
  if (where.timing != timing_kind::off && runner == runner_kind::gpu) {
    throw input_error(
        "timing=table2 is kept by CPU threads or simulated lanes, and a GPU runs this array's "
        "firmware: use runner=cpu, or runner=sim where kernels run on this CPU");
  }
  check_sends(where, runner);
  if (where.proxied && runner == runner_kind::simulated) {
    throw input_error(
        "transport=proxy has a CPU thread of its own, and runner=sim only one thread: use "
        "runner=cpu");
  }
  if (where.managed && (runner == runner_kind::simulated || !where.resident))
    throw input_error(
        "manager=yes looks at the SSDs all the time, and the array node of runner=sim or "
        "resident=no runs beside kernels alone: leave one of them away");
  if (where.grow && where.flash.empty())
    throw input_error("grow=yes adds SSDs to an array on files: say which by flash=");
  const char* const by_gpu = "use runner=gpu, or leave it away";
  needs(runner_kind::gpu, runner, where.media == media_kind::hbm, "media=hbm", by_gpu);
  needs(runner_kind::gpu, runner, where.device != 0, fmt::format("device={}", where.device),
        by_gpu);
  needs(runner_kind::gpu, runner, !where.resident, "resident=no", by_gpu);
  needs(runner_kind::cpu, runner, where.threads != 1, fmt::format("threads={}", where.threads),
        "use runner=cpu, or leave it away");
  needs(runner_kind::simulated, runner, where.lanes != 1, fmt::format("lanes={}", where.lanes),
        "use runner=sim, or leave it away");
}

fw::geometry geometry_for(const endpoint& where, runner_kind runner) {
  const fw::geometry g = shape_of(where.capacity_bytes, where.shards, runner);
  if (g.fault() == nullptr) {
    check_memory(where, g);
    return g;
  }
  for (std::uint64_t mebibytes = 1; mebibytes <= 8 << 20; mebibytes *= 2) {
    if (shape_of(mebibytes << 20, where.shards, runner).fault() != nullptr) continue;
    if (mebibytes << 20 <= where.capacity_bytes) break;  // the capacity is not what is wrong
    throw input_error(fmt::format(
        "capacity={} is too little for an SSD{}: use capacity={}M or more{}", where.capacity_bytes,
        where.shards == 0 ? "" : fmt::format(" of {} shards", where.shards), mebibytes,
        where.shards <= 1 ? "" : ", or fewer shards="));
  }
  throw input_error(
      fmt::format("capacity={} with {} shards: {}", where.capacity_bytes, g.shards, g.fault()));
}

fw::stream_profile stream_profile_for(const endpoint& where) {
  const fw::stream_path path = where.send == send_kind::staged ? fw::stream_path::staged
                               : where.send == send_kind::stored
                                   ? fw::stream_path::store_and_forward
                                   : fw::stream_path::synchronised;
  fw::stream_profile p = where.timing == timing_kind::gmblock ? fw::gmblock_profile(path)
                                                              : fw::table2_stream_profile(path);
  p.chunk_bytes = static_cast<std::uint32_t>(where.send_chunk);
  p.buffer_bytes = static_cast<std::uint32_t>(where.send_buffer);
  if (where.source == source_kind::disks) return fw::of_eight_disks(p);
  return where.source == source_kind::none ? fw::without_disks(p) : p;
}

}  // namespace gnstor::host

/// Arrays on memory that gnstor-memory exports, from a guest: kernels of the host executor read and
/// write them by RDMA over soft-RoCE.

#include <gnstor/host/memory_array.hpp>

#include <command_line/command_line.hpp>
#include <fmt/format.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace host = gnstor::host;

namespace {

/// Every element gets its index added, one per lane in turn.
struct add_index {
  template <class Lane, class View>
  void operator()(Lane& lane, View view) const {
    for (std::uint64_t i = lane.global_thread(); i < view.size(); i += lane.grid_threads())
      view[i] += static_cast<std::uint32_t>(i);
  }
};

/// Reads elements all over the array until a read fails, `most` per lane; counts lanes that ended.
struct read_until_dead {
  template <class Lane, class View>
  void operator()(Lane& lane, View view, std::uint64_t most, std::uint64_t* ended,
                  std::uint64_t* failed) const {
    std::uint64_t at = lane.global_thread() * 7919;
    for (std::uint64_t k = 0; k < most; ++k) {
      at = (at * 2862933555777941757ull + 3037000493ull);
      if (view.load((at >> 16) % view.size())) continue;
      gnstor::device_word<std::uint64_t>(*failed).fetch_add(1, gnstor::relaxed);
      break;
    }
    gnstor::device_word<std::uint64_t>(*ended).fetch_add(1, gnstor::relaxed);
  }
};

constexpr std::uint32_t blocks = 2;
constexpr std::uint32_t lanes = 32;

struct options {
  std::string command;
  std::string endpoint;
  std::uint32_t page_bytes = 4096;
  std::uint32_t rounds = 3;
  std::uint64_t reads = 100'000'000;
};

/// Fills the memory by this CPU, changes it by kernels, and reads it back by this CPU.
int page(const options& o) {
  host::remote_memory memory(o.endpoint, {.channels = 2, .depth = 32});
  for (const std::string& note : memory.notes()) fmt::print("{}\n", note);
  const std::uint64_t count = memory.bytes() / 4;
  std::vector<std::uint32_t> numbers(count);
  for (std::uint32_t i = 0; i < count; ++i) numbers[i] = i;
  memory.write(0, numbers.data(), 4 * count);
  host::memory_array<std::uint32_t> array(
      memory, count, {.frame_bytes = 64ull * o.page_bytes, .page_bytes = o.page_bytes});
  for (std::uint32_t round = 0; round < o.rounds; ++round) {
    host::executor kernels;
    kernels.spawn(blocks, lanes, add_index{}, array.view());
    memory.attach(kernels);
    kernels.run();
  }
  array.close();
  memory.read(0, numbers.data(), 4 * count);
  std::uint64_t wrong = 0;
  for (std::uint32_t i = 0; i < count; ++i) wrong += numbers[i] != (o.rounds + 1) * i ? 1 : 0;
  fmt::print("{} elements on {} pages, {} fetched, {} written back: {} wrong\n", count,
             array.pages(), array.counters().pages_in, array.counters().pages_out, wrong);
  return wrong == 0 ? 0 : 1;
}

/// One lane kills its channel by a key that opens nothing.
struct use_bad_key {
  template <class Lane>
  void operator()(Lane&, gnstor::remote_memory_channel channel, gnstor::remote_region region,
                  std::uint64_t* outcome) const {
    gnstor::one_sided t;
    t.remote_address = region.address;
    t.rkey = region.rkey + 1;
    t.bytes = 4;
    *outcome = channel.execute(t, gnstor::simt::within(20'000'000'000)).pack();
  }
};

/// Kills the channels one after another, brings each back, and adds up what they read.
int revive(const options& o) {
  host::remote_memory memory(o.endpoint, {.channels = 2, .depth = 32});
  const std::uint64_t count = memory.bytes() / 4;
  std::vector<std::uint32_t> numbers(count);
  for (std::uint32_t i = 0; i < count; ++i) numbers[i] = i;
  memory.write(0, numbers.data(), 4 * count);
  for (std::uint32_t round = 0; round < 2 * o.rounds; ++round) {
    const std::uint32_t k = round % 2;
    std::uint64_t outcome = 0;
    host::executor lane;
    lane.spawn(1, 1, use_bad_key{}, memory.channels()[k], memory.region(), &outcome);
    lane.run();
    if (memory.phase(k) != gnstor::channel_phase::error) {
      fmt::print("channel {} lives: {}\n", k, host::to_string(gnstor::status::unpack(outcome)));
      return 1;
    }
    memory.reset_channel(k);
    host::memory_array<std::uint32_t> array(memory, count,
                                            {.frame_bytes = 64 * 4096, .page_bytes = 4096});
    host::executor kernels;
    kernels.spawn(blocks, lanes, add_index{}, array.view());
    memory.attach(kernels);
    kernels.run();
    array.close();
  }
  memory.read(0, numbers.data(), 4 * count);
  std::uint64_t wrong = 0;
  for (std::uint32_t i = 0; i < count; ++i) wrong += numbers[i] != (2 * o.rounds + 1) * i ? 1 : 0;
  fmt::print("{} channels came back: {} wrong\n", 2 * o.rounds, wrong);
  return wrong == 0 ? 0 : 1;
}

/// Reads until somebody ends the region under the kernels.
int endure(const options& o) {
  host::remote_memory memory(o.endpoint, {.channels = 2, .depth = 32});
  host::memory_array<std::uint32_t> array(
      memory, memory.bytes() / 4,
      {.frame_bytes = 64 * 4096, .page_bytes = 4096, .timeout = std::chrono::seconds(20)});
  fmt::print("reading\n");
  std::fflush(stdout);
  std::uint64_t ended = 0;
  std::uint64_t failed = 0;
  host::executor kernels;
  kernels.spawn(blocks, lanes, read_until_dead{}, array.view(), o.reads, &ended, &failed);
  memory.attach(kernels);
  kernels.run();
  fmt::print("{} lanes ended, {} of them by a failed read\n", ended, failed);
  array.close();  // throws
  return 0;
}

}  // namespace

int main(int argc, char** argv) try {
  options o;
  gnstor::tools::command_line line("Pages arrays from a gnstor-memory server");
  line.commands(o.command, {{"page", "write, change and read them back"},
                            {"endure", "read until the region is gone"},
                            {"revive", "kill channels and bring them back"}});
  line.option("--endpoint", o.endpoint, "memory://HOST/NAME").required();
  line.option("--page-bytes", o.page_bytes, "of the array").show_default();
  if (const auto code = line.parse(argc, argv)) return *code;
  if (o.command == "revive") return revive(o);
  return o.command == "page" ? page(o) : endure(o);
} catch (const std::exception& e) {
  fmt::print("interop_memory: {}\n", e.what());
  return 2;
}

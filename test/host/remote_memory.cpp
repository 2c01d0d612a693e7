/// Arrays on memory of a peer that kernels read and write by RDMA, behind an emulated NIC.
#include "mapped_kernels.hpp"
#include "qp/seed_sweep.hpp"
#include "under_tsan.hpp"
#include <gnstor/host/error.hpp>
#include <gnstor/host/memory_array.hpp>
#include <gnstor/host/session.hpp>

#include <doctest/doctest.h>

#include <chrono>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

using namespace gnstor;
using namespace gnstor::test;

namespace {

constexpr std::uint64_t count = 5000;  ///< elements: the last page ends within itself
constexpr const char* small = "emu-memory:?bytes=20000";
const gnstor::host::array_options few_frames{.frame_bytes = 32 * 512, .page_bytes = 512};

using numbers = gnstor::host::memory_array<std::uint32_t>;

template <class Kernel, class... Args>
void run(const gnstor::host::remote_memory& memory, simt::host::options chosen,
         const Kernel& kernel, const Args&... args) {
  chosen.step_budget = 200'000'000;
  gnstor::host::executor kernels(chosen);
  kernels.spawn(2, 64, kernel, args...);
  memory.attach(kernels);
  kernels.run();
}

template <class Action>
std::string refusal(const Action& action) {
  try {
    action();
  } catch (const gnstor::host::error& e) {
    return e.what();
  }
  return "nothing was refused";
}
bool says(const std::string& text, const std::string& part) {
  CAPTURE(text);
  return text.find(part) != std::string::npos;
}

/// Elements 0, 1, 2, ...
void fill(gnstor::host::remote_memory& memory, std::uint64_t n = count) {
  std::vector<std::uint32_t> v(n);
  std::iota(v.begin(), v.end(), 0u);
  memory.write(0, v.data(), 4 * n);
}
std::uint64_t wrong(gnstor::host::remote_memory& memory, std::uint32_t factor,
                    std::uint64_t n = count) {
  std::vector<std::uint32_t> v(n);
  memory.read(0, v.data(), 4 * n);
  std::uint64_t bad = 0;
  for (std::uint32_t i = 0; i < n; ++i) bad += v[i] != factor * i ? 1 : 0;
  return bad;
}

/// Adds its index to every element, by kernels; what is wrong, or nothing.
std::string added(simt::host::options chosen, const char* endpoint,
                  const gnstor::host::array_options& paging, std::uint64_t n = count) {
  gnstor::host::remote_memory memory(endpoint, {.channels = 2, .depth = 8});
  fill(memory, n);
  numbers a(memory, n, paging);
  run(memory, chosen, add_index{}, a.view());
  a.close();
  if (a.counters().io_errors != 0) return "a page could not be moved";
  if (a.frames() < a.pages() && a.counters().evictions == 0) return "no frame was taken";
  return wrong(memory, 2, n) == 0 ? "" : "an element is not what was stored";
}

/// Warps that each kill their channel by a transfer whose key opens nothing.
struct break_channels {
  struct shared {};
  channel_set<remote_memory_channel> channels;
  remote_region region;

  template <class Lane>
  void operator()(Lane& lane) const {
    if (lane.thread() % 32 != 0) return;
    one_sided t;
    t.remote_address = region.address;
    t.rkey = region.rkey + 1;
    t.bytes = 64;
    const status s = channels.mine().execute(t, simt::within(1'000'000'000));
    GNSTOR_VERIFY(!s.ok());
  }
};

/// Reads all elements; the first lane withdraws the region in between.
struct withdraw_half_way {
  struct shared {};
  gnstor::host::remote_memory* memory;
  std::uint64_t* poisoned;

  template <class Lane, class View>
  void operator()(Lane& lane, View view) const {
    for (std::uint64_t i = lane.global_thread(); i < view.size(); i += lane.grid_threads()) {
      if (i == 2048) memory->withdraw_region();
      const std::uint32_t x = view[i];
      if (x != i)
        device_word<std::uint64_t>(*poisoned).fetch_add(x == 0xdbdbdbdb ? 1 : 1ull << 32, relaxed);
    }
  }
};

}  // namespace

TEST_CASE("an array on remote memory is read and written by kernels, more pages than frames") {
  CHECK(added({}, small, few_frames) == "");
  CHECK(added({}, "emu-memory:?bytes=20000&workers=5&lanes=32", few_frames) == "");
  CHECK(added({}, "emu-memory:?bytes=1M", {.page_bytes = 4096}, 200'000) == "");
  CHECK(added({}, "emu-memory:?bytes=16M", {.page_bytes = 2u << 20}, 3'000'001) == "");
}

TEST_CASE("an array on remote memory, seeded") {
  sweep(simt::host::mode::seeded, 20,
        [](simt::host::options o) { return added(o, "emu-memory:?bytes=20000", few_frames); });
}

TEST_CASE("an array on remote memory, weak") {
  sweep(simt::host::mode::weak, 20,
        [](simt::host::options o) { return added(o, "emu-memory:?bytes=20000", few_frames); });
}

TEST_CASE("the last page ends where the region ends") {
  gnstor::host::remote_memory memory("emu-memory:?bytes=1000", {.channels = 1});
  fill(memory, 250);
  numbers a(memory, 250, {.page_bytes = 512});
  CHECK(a.pages() == 2);
  run(memory, {}, add_index{}, a.view());
  a.close();
  CHECK(wrong(memory, 2, 250) == 0);
  CHECK(says(refusal([&] { numbers b(memory, 251, {.page_bytes = 512}); }), "give at least 1004"));
  CHECK(says(refusal([&] { numbers b(memory, 250, {.page_bytes = 256}); }),
             "use 512 times a power of two"));
}

TEST_CASE("a region that is withdrawn is an error of the array, with the NIC's word for it") {
  gnstor::host::remote_memory memory(small);
  fill(memory);
  numbers a(memory, count, few_frames);
  memory.withdraw_region();
  std::uint64_t sum = 0;
  run(memory, {}, sum_up{}, a.view(), &sum);
  CHECK(a.counters().io_errors > 0);
  CHECK(says(refusal([&] { a.flush(); }), "has withdrawn the region"));
  CHECK(memory.phase(0) == channel_phase::error);
  a.clear_errors();
}

TEST_CASE("a region that is withdrawn under a kernel ends every lane, fast") {
  gnstor::host::remote_memory memory(small, {.channels = 1});
  fill(memory);
  numbers a(memory, count, few_frames);
  std::uint64_t poisoned = 0;
  run(memory, {}, withdraw_half_way{&memory, &poisoned}, a.view());
  CHECK(poisoned > 0);
  CHECK((poisoned >> 32) == 0);
  CHECK(says(refusal([&] { a.close(); }), "page"));
  CHECK(memory.phase(0) == channel_phase::error);
  a.clear_errors();
}

TEST_CASE("a channel that a bad transfer broke is reset, and its array goes on") {
  for (const std::uint32_t lives : {1u, 3u}) {
    gnstor::host::remote_memory memory(small, {.channels = 2, .depth = 8});
    fill(memory);
    numbers a(memory, count, few_frames);
    std::uint64_t sum = 0;
    for (std::uint32_t life = 0; life < lives; ++life) {
      break_channels kernel{memory.channels(), memory.region()};
      run(memory, {.run = simt::host::mode::seeded, .seed = life + 1}, kernel);
      CHECK(memory.phase(0) == channel_phase::error);
      CHECK(memory.phase(1) == channel_phase::error);
      run(memory, {}, sum_up{}, a.view(), &sum);
      CHECK(says(refusal([&] { a.flush(); }), "remote_memory::reset_channel"));
      memory.reset_channel(0);
      memory.reset_channel(1);
      CHECK(memory.phase(1) == channel_phase::ready);
      a.clear_errors();
      sum = 0;
      run(memory, {}, sum_up{}, a.view(), &sum);
      CHECK(sum == count * (count - 1) / 2);
    }
    memory.reset_channel(0);  // also one that works
    run(memory, {}, add_index{}, a.view());
    a.close();
    CHECK(wrong(memory, 2) == 0);
    CHECK(says(refusal([&] { memory.reset_channel(2); }), "has 2 of them"));
  }
}

TEST_CASE("frames of reads that were given up are not used again") {
  gnstor::host::remote_memory memory(small, {.channels = 1, .depth = 4});
  fill(memory);
  // Without a NIC each page takes as long; with one, each is to be there by then.
  const std::chrono::milliseconds patience{under_tsan ? 100 : 5};
  numbers a(memory, count, {.frame_bytes = 36 * 512, .page_bytes = 512, .timeout = patience});
  std::uint64_t sum = 0;
  gnstor::host::executor without_nic;
  without_nic.spawn(1, 1, sum_up{}, a.view(), &sum);
  without_nic.run();
  const page_cache_counters c = a.counters();
  CHECK(c.lost_frames >= 1);
  CHECK(c.lost_frames <= 4);  // the depth of the queue: what never went out leaves nothing behind
  CHECK(says(refusal([&] { a.flush(); }), "timed out"));
  a.clear_errors();
  sum = 0;
  run(memory, {}, sum_up{}, a.view(), &sum);
  a.close();
  CHECK(sum == count * (count - 1) / 2);
}

TEST_CASE("bytes beyond a region are refused to this CPU") {
  gnstor::host::remote_memory memory("emu-memory:?bytes=64");
  std::uint64_t word = 7;
  memory.write(56, &word, 8);
  word = 0;
  memory.read(56, &word, 8);
  CHECK(word == 7);
  CHECK(says(refusal([&] { memory.read(57, &word, 8); }), "which has 64"));
  CHECK(says(refusal([&] { (void)memory.phase(4); }), "has 4 of them"));
}

TEST_CASE("endpoints of remote memory say what is wrong with them") {
  using gnstor::host::memory_endpoint;
  using gnstor::host::remote_memory;
  const memory_endpoint e = memory_endpoint::parse("memory://[fe80::1]:77/edges");
  CHECK(e.host == "fe80::1");
  CHECK(e.port == 77);
  CHECK(e.name == "edges");
  CHECK(memory_endpoint::parse("memory://h/x").port == memory_endpoint::default_port);
  CHECK(says(refusal([] { remote_memory m("emu-memory:"); }), "emu-memory:?bytes=SIZE"));
  CHECK(says(refusal([] { remote_memory m("emu-memory:?bytes=1&ssds=2"); }),
             "these exist: bytes, gpu, workers, lanes"));
  CHECK(
      says(refusal([] { remote_memory m("emu-memory:?bytes=1K&gpu=0"); }), "gpu=0 means nothing"));
  CHECK(says(refusal([] { remote_memory m("emu:?ssds=2"); }), "expected memory://"));
  CHECK(says(refusal([] { remote_memory m("memory://h"); }), "memory://HOST[:PORT]/NAME"));
  CHECK(says(refusal([] { remote_memory m("emu-memory:?bytes=1", {.depth = 3}); }), "depth 3"));
  CHECK(
      says(refusal([] { remote_memory m("emu-memory:?bytes=1", {.channels = 0}); }), "0 channels"));
  CHECK(says(refusal([] { gnstor::host::session s("emu-memory:?bytes=64M"); }),
             "open it by host::remote_memory"));
}

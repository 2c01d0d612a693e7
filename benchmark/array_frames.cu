// Whose frame is taken, and who writes dirty pages back. Every ratio is the median of rounds in
// which both sides took turns; every sum is checked.
//
// `scans/POLICY/SHARE`: host memory read from end to end five times by warps that hold pages, with
// frames for one part in SHARE. `pages_in_ratio` is to the pages that an optimal policy fetches.
// `pool/turns`: two arrays are read three times each, one after the other, with frames for one of
// both: shared, and divided in halves. `divided_ratio` is how much faster sharing is. `pool/alone`:
// one array in a pool, to what it does with frames of its own.
// `hot/POLICY`: as many accesses to a few pages as to all others, by `view[i]`.
// `written/PLACE/WHO`: every page is overwritten twice, so that each frame has a dirty page to give
// back; on host memory, and on a volume whose flash is in host memory or in the GPU's.
// `cleaners_ratio` is to a pager without cleaners.
#include "array_paging/rig.cuh"
#include "support/registration.hpp"
#include "support/statistics.hpp"
#include <gnstor/host/array.hpp>

#include <benchmark/benchmark.h>

#include <array>
#include <memory>
#include <string>
#include <vector>

namespace {

using namespace gnstor;
using namespace gnstor::benchmarks;

constexpr std::uint64_t elements = std::uint64_t{1} << 27;  ///< 512 MiB
constexpr std::uint32_t page = 4096;
constexpr std::uint64_t pages = elements * 4 / page;
constexpr int rounds = 3;
constexpr std::uint32_t scans = 5;

host_data& data() {
  static host_data d(elements);
  return d;
}

constexpr std::array policies{eviction::fifo, eviction::clock, eviction::resist_scans};
std::string name_of(eviction how) {
  return how == eviction::fifo ? "fifo" : how == eviction::clock ? "clock" : "resist_scans";
}
std::unique_ptr<paged> array_with(eviction how, std::uint64_t frame_bytes) {
  return std::make_unique<paged>(
      data().memory(), elements,
      host::array_options{.frame_bytes = frame_bytes, .page_bytes = page, .eviction = how});
}

void scan(benchmark::State& state, eviction how, std::uint32_t share) {
  tally t;
  std::vector<double> seconds;
  std::uint64_t pages_in = 0;
  for (int k = 0; k < rounds; ++k) {
    const auto a = array_with(how, 4 * elements / share);
    std::uint64_t* const total = t.word();
    seconds.push_back(timed([&] {
      for (std::uint32_t n = 0; n < scans; ++n)
        sum_pages<<<blocks, threads>>>(a->view(), page_order{pages, false}, total);
    }));
    a->check();
    require_sum(t.value(), scans * data().sum(), "scan");
    pages_in = a->counters().pages_in;
  }
  report_rate(state, seconds, scans * 4 * elements);
  const std::uint64_t frames = pages / share;
  const std::uint64_t best = pages + (scans - 1) * (pages - frames);
  state.counters["pages_in"] = static_cast<double>(pages_in);
  state.counters["pages_in_ratio"] = static_cast<double>(pages_in) / static_cast<double>(best);
}

/// The seconds of three scans of one array after the other.
double scan_in_turn(paged& a, paged& b, tally& t) {
  std::uint64_t* const total = t.word();
  const double seconds = timed([&] {
    for (paged* const array : {&a, &b}) {
      for (int n = 0; n < 3; ++n)
        sum_pages<<<blocks, threads>>>(array->view(), page_order{pages, false}, total);
    }
  });
  a.check();
  b.check();
  require_sum(t.value(), 6 * data().sum(), "scans in turn");
  return seconds;
}
void in_turn(benchmark::State& state) {
  tally t;
  compared divided;
  std::vector<double> seconds;
  std::uint64_t pages_in = 0;
  for (int k = 0; k < rounds; ++k) {
    const host::frame_pool pool(data().memory().options(),
                                {.frame_bytes = 4 * elements, .page_bytes = page});
    {
      paged a(data().memory(), elements, {.pool = &pool});
      paged b(data().memory(), elements, {.pool = &pool});
      seconds.push_back(scan_in_turn(a, b, t));
      pages_in = a.counters().pages_in + b.counters().pages_in;
    }
    const auto a = array_with(eviction::fifo, 2 * elements);
    const auto b = array_with(eviction::fifo, 2 * elements);
    divided.add(1 / seconds.back(), 1 / scan_in_turn(*a, *b, t));
  }
  report_rate(state, seconds, 6 * 4 * elements);
  state.counters["pages_in_ratio"] = static_cast<double>(pages_in) / (2.0 * pages);
  state.counters["divided_ratio"] = divided.ratio();
}
void in_a_pool_alone(benchmark::State& state) {
  tally t;
  compared own;
  std::vector<double> seconds;
  const auto scan_once = [&](paged& a) {
    const double time = timed([&] {
      sum_pages<<<blocks, threads>>>(a.view(), page_order{pages, false}, t.word());
    });
    a.check();
    require_sum(t.value(), data().sum(), "a scan");
    return time;
  };
  for (int k = 0; k < rounds; ++k) {
    const host::frame_pool pool(data().memory().options(),
                                {.frame_bytes = elements, .page_bytes = page});
    paged pooled(data().memory(), elements, {.pool = &pool});
    seconds.push_back(scan_once(pooled));
    own.add(1 / seconds.back(), 1 / scan_once(*array_with(eviction::fifo, elements)));
  }
  report_rate(state, seconds, 4 * elements);
  state.counters["own_frames_ratio"] = own.ratio();
}

/// Adds up every element, and after each one of 64 pages that all threads use.
template <class View>
__global__ void sum_beside_hot(View view, std::uint64_t* total) {
  std::uint64_t sum = 0;
  for (std::uint64_t i = thread_number(); i < view.size(); i += thread_count()) {
    sum += view[i];
    sum += view[mix64(i) % (64 * (page / 4))];
  }
  add_up(total, sum);
}

void hot(benchmark::State& state, eviction how) {
  tally t;
  std::vector<double> seconds;
  std::uint64_t pages_in = 0, first = 0;
  for (int k = 0; k < rounds; ++k) {
    const auto a = array_with(how, 4 * elements / 16);
    seconds.push_back(timed([&] { sum_beside_hot<<<blocks, threads>>>(a->view(), t.word()); }));
    a->check();
    if (first == 0) first = t.value();
    require_sum(t.value(), first, "hot");
    pages_in = a->counters().pages_in;
  }
  report_rate(state, seconds, 8 * elements);
  state.counters["pages_in_ratio"] = static_cast<double>(pages_in) / static_cast<double>(pages);
}

/// Overwrites every page, a warp each.
template <class View>
__global__ void overwrite_pages(View view, std::uint32_t seed) {
  const simt::group warp = simt::group::whole_warp();
  const std::uint64_t each = view.elements_per_page();
  for (std::uint64_t p = thread_number() / 32; p < view.size() / each; p += thread_count() / 32) {
    const auto held = view.overwritten_page(warp, p * each);
    if (!held) continue;
    auto* const out = reinterpret_cast<uint4*>(&held[held.first()]);
    for (std::uint32_t w = threadIdx.x % 32; w < held.count() / 4; w += 32) {
      const auto i = static_cast<std::uint32_t>(p * each / 4 + w) ^ seed;
      out[w] = {i, i + 1, i + 2, i + 3};
    }
  }
}

/// The seconds that two passes take beside a pager; what they wrote is read back and checked.
template <class Array>
double overwrite_twice(host::session* s, Array& a, std::uint32_t cleaners) {
  double seconds = 0;
  for (const std::uint32_t seed : {1u, 2u}) {
    host::executor run;
    run.launch(blocks, threads, overwrite_pages<served_array<std::uint32_t>>, a.served_view(),
               seed);
    if (s != nullptr) s->attach(run);
    a.attach(run, {.warps = pager_warps(), .cleaners = cleaners});
    const auto begin = std::chrono::steady_clock::now();
    run.run();
    seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  }
  a.flush();
  std::vector<std::uint32_t> written(elements);
  a.read(0, elements, written.data());
  for (std::uint64_t k = 0; k < elements; ++k)
    require_sum(written[k], static_cast<std::uint32_t>((k / 4 ^ 2u) + k % 4), "what was written");
  return seconds;
}

template <class Make>
void written(benchmark::State& state, host::session* s, bool cleaned, const Make& make) {
  compared cleaners;
  std::vector<double> seconds;
  std::uint64_t pages_out = 0;
  for (int k = 0; k < rounds; ++k) {
    const auto a = make();
    seconds.push_back(overwrite_twice(s, *a, cleaned ? 16u : 0u));
    pages_out = a->counters().pages_out;
    if (cleaned) {
      const auto b = make();
      cleaners.add(1 / seconds.back(), 1 / overwrite_twice(s, *b, 0u));
    }
  }
  report_rate(state, seconds, 2 * 4 * elements);
  state.counters["pages_out_ratio"] = static_cast<double>(pages_out) / (2.0 * pages);
  if (cleaned) state.counters["cleaners_ratio"] = cleaners.ratio();
}

void written_to_memory(benchmark::State& state, bool cleaned) {
  host::mapped_memory memory("host:?bytes=" + std::to_string(4 * elements));
  written(state, nullptr, cleaned, [&] {
    return std::make_unique<paged>(
        memory, elements, host::array_options{.frame_bytes = elements, .page_bytes = page});
  });
}
void written_to_volume(benchmark::State& state, const std::string& media, bool cleaned) {
  host::session session(
      "emu:?runner=gpu&resident=no&shards=32&ssds=4&replicas=1&capacity=512M&media=" + media,
      {.channels = 32});
  const volume_info volume = session.create_volume({.bytes = 4 * elements});
  written(state, &session, cleaned, [&] {
    return std::make_unique<host::array<std::uint32_t>>(
        session, volume, elements,
        host::array_options{.frame_bytes = elements, .page_bytes = page});
  });
}

const bool registered = [] {
  for (const eviction how : policies) {
    for (const std::uint32_t share : {2u, 4u}) {
      add_benchmark("scans/" + name_of(how) + "/" + std::to_string(share),
                    [=](benchmark::State& s) { scan(s, how, share); });
    }
    add_benchmark("hot/" + name_of(how), [=](benchmark::State& s) { hot(s, how); });
  }
  add_benchmark("pool/turns", in_turn);
  add_benchmark("pool/alone", in_a_pool_alone);
  for (const bool cleaned : {false, true}) {
    const std::string who = cleaned ? "/cleaners" : "/fetchers";
    add_benchmark("written/host_memory" + who,
                  [=](benchmark::State& s) { written_to_memory(s, cleaned); });
    for (const std::string media : {"host", "hbm"}) {
      add_benchmark("written/volume_" + media + who,
                    [=](benchmark::State& s) { written_to_volume(s, media, cleaned); });
    }
  }
  return true;
}();

}  // namespace

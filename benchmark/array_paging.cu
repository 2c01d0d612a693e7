// Arrays on host memory, whose pages kernels copy themselves, beside the hardware and beside UVM.
// Every ratio is the median of rounds in which both sides took turns; every sum is checked.
//
// `cold/ORDER/PAGE/frames:P`: every page once, a warp each, through `view.page`; frames are P % of
// the data. `link_ratio` is to SMs that add up the same pages in host memory in the same order,
// `uvm_ratio` to managed memory, which lies on the host before, with the better of no advice and
// read-mostly; `uvm_plain_ratio` without advice.
// `copiers/ORDER/PAGE`: the same, 65,536 pages at most, beside a kernel for which threads of the
// CPU copy the pages, one that is missed at a time for each warp, to the GPU's memory.
// `cold_elements/PAGE`: the same by `view[i]`, in order. `lone_fault/PAGE`: one thread, one page
// after another. `/pager`: a pager fetches what kernels miss through `served_view`.
// `resident/ORDER/PAGE/HOW/blocks:B`: `view[i]` where every page is there, B blocks of 256 threads
// held by a multiprocessor: `probe_ratio` is to the least that its order needs, `raw_ratio` to a
// pointer. HOW `reference` counts a reference per access, `served` reads through `served_view`.
// `hashed/ORDER/PAGE`: the same through `served_view` of an array with hashed words; `dense_ratio`
// is to one with words in a row.
// `resident/pages/PAGE`: the same by `view.page`, 16 bytes a lane.
// `vector_add/HOW`: c = a + b with frames for a quarter of each, c written back; by `overwritten`
// pages c is not fetched before.
// `link_ratio` is to a kernel that reads a and b from host memory and writes c there,
// `fetched_ratio` to one that reads c, too, before it writes it.
#include "array_paging/cpu_copiers.cuh"
#include "array_paging/rig.cuh"
#include "support/registration.hpp"
#include <gnstor/host/hashed.hpp>

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

namespace {

using namespace gnstor;
using namespace gnstor::benchmarks;

constexpr std::uint64_t elements = std::uint64_t{1} << 30;  ///< 4 GiB
constexpr std::uint64_t few_elements = std::uint64_t{1} << 28;
constexpr int rounds = 3;

host_data& data() {
  static host_data d(elements);
  return d;
}

void cold(benchmark::State& state, bool random, std::uint32_t page, std::uint32_t percent,
          bool with_uvm, bool with_pager) {
  host_data& d = data();
  const page_order order{d.bytes() / page, random};
  tally t;
  compared link;
  std::unique_ptr<managed_peers> uvm;
  if (with_uvm) uvm = std::make_unique<managed_peers>(few_elements, page, random);
  page_cache_counters c;
  for (int k = 0; k < rounds; ++k) {
    const auto a = array_on(d, page, d.bytes() / 100 * percent);
    const double ours =
        with_pager ? timed_beside_pager(nullptr, *a, blocks, threads, sum_pages<paged::served_type>,
                                        a->served_view(), order, t.word())
                   : timed([&] { sum_pages<<<blocks, threads>>>(a->view(), order, t.word()); });
    require_sum(t.value(), d.sum(), "array");
    c = a->counters();
    const double bare =
        timed([&] { sum_pages<<<blocks, threads>>>(d.data(), page / 4, order, t.word()); });
    require_sum(t.value(), d.sum(), "link");
    link.add(1 / ours, 1 / bare);
    if (uvm) uvm->add(ours * few_elements / elements);
  }
  std::vector<double> seconds;
  for (const double r : link.ours) seconds.push_back(1 / r);
  report_rate(state, seconds, d.bytes());
  state.counters["M_faults_per_s"] = static_cast<double>(order.pages) / median(seconds) / 1e6;
  state.counters["link_ratio"] = link.ratio();
  if (uvm) uvm->report(state);
  state.counters["evictions"] = static_cast<double>(c.evictions);
}

/// Pages of all sizes that threads of this CPU copy for a kernel, beside the kernel's own.
void beside_copiers(benchmark::State& state, bool random, std::uint32_t page) {
  host_data& d = data();
  const page_order order{std::min<std::uint64_t>(d.bytes() / page, 1u << 16), random};
  std::uint64_t sum = 0;
  for (std::uint64_t i = 0; i < order.pages * (page / 4); ++i) sum += element_at(i);
  tally t;
  cpu_copiers copiers(d.data(), page, blocks * threads / 32);
  compared to_copiers;
  std::vector<double> seconds, copied;
  for (int k = 0; k < rounds; ++k) {
    const auto a = array_on(d, page, d.bytes() / 4);
    seconds.push_back(timed([&] { sum_pages<<<blocks, threads>>>(a->view(), order, t.word()); }));
    require_sum(t.value(), sum, "array");
    copied.push_back(
        timed([&] { sum_copied<<<blocks, threads>>>(copiers.ref(), order, t.word()); }));
    copiers.check();
    require_sum(t.value(), sum, "copied");
    to_copiers.add(1 / seconds.back(), 1 / copied.back());
  }
  report_rate(state, seconds, order.pages * page);
  state.counters["copiers_ratio"] = to_copiers.ratio();
  state.counters["copiers_GB_per_s"] =
      static_cast<double>(order.pages * page) / median(copied) / 1e9;
  state.counters["copiers"] = copiers.threads();
}

void cold_elements(benchmark::State& state, std::uint32_t page, bool with_pager) {
  host_data& d = data();
  tally t;
  compared link;
  std::vector<double> seconds;
  for (int k = 0; k < rounds; ++k) {
    const auto a = array_on(d, page, d.bytes() / 4);
    const auto in_warps = [&] {
      sum_elements<by_view<paged::view_type>, 4>
          <<<blocks, threads>>>({a->view()}, d.count(), t.word());
    };
    seconds.push_back(with_pager ? timed_beside_pager(nullptr, *a, blocks * 2, threads,
                                                      sum_elements<by_view<paged::served_type>, 6>,
                                                      {a->served_view()}, d.count(), t.word())
                                 : timed(in_warps));
    require_sum(t.value(), d.sum(), "array");
    const double bare = timed([&] {
      sum_pages<<<blocks, threads>>>(d.data(), page / 4, page_order{d.bytes() / page, false},
                                     t.word());
    });
    link.add(1 / seconds.back(), 1 / bare);
  }
  report_rate(state, seconds, d.bytes());
  state.counters["link_ratio"] = link.ratio();
}

/// Microseconds of a fault that nothing else goes on beside.
void lone_fault(benchmark::State& state, std::uint32_t page, bool with_pager) {
  constexpr std::uint64_t pages = 2000;
  host_data& d = data();
  tally t;
  std::vector<double> seconds;
  for (int k = 0; k < rounds; ++k) {
    const auto a = array_on(d, page, d.bytes() / 4);
    seconds.push_back(with_pager
                          ? timed_beside_pager(nullptr, *a, 1, 1, touch_in_turn<paged::served_type>,
                                               a->served_view(), pages, t.word())
                          : timed([&] { touch_in_turn<<<1, 1>>>(a->view(), pages, t.word()); }));
    std::uint64_t wanted = 0;
    for (std::uint64_t p = 0; p < pages; ++p) wanted += element_at(p * (page / 4));
    require_sum(t.value(), wanted, "array");
  }
  report_rate(state, seconds, pages * page);
  state.counters["us_per_fault"] = median(seconds) / pages * 1e6;
}

/// An array with frames for everything, all fetched.
struct resident_array {
  std::unique_ptr<paged> array;
  std::unique_ptr<host::memory_block> probe_words;
  std::uint32_t* copy = nullptr;  ///< the same elements at a pointer

  explicit resident_array(std::uint32_t page) {
    array = array_on(data(), page, data().bytes());
    tally t;
    sum_pages<<<blocks, threads>>>(array->view(), page_order{data().bytes() / page, true},
                                   t.word());
    cuda_check(cudaDeviceSynchronize(), "fetch");
    require_sum(t.value(), data().sum(), "fetch");
    cuda_check(cudaMalloc(&copy, data().bytes()), "copy");
    fill_elements<<<blocks, threads>>>(copy, data().count());
    cuda_check(cudaDeviceSynchronize(), "copy");
  }
  ~resident_array() { (void)cudaFree(copy); }
  by_probe probe(std::uint32_t page) const {
    const paged::view_type view = array->view();
    const auto& cache = view.cache();
    return {cache.words().find(page_index(0)), cache.data(frame_index(0)),
            static_cast<std::uint32_t>(__builtin_ctz(page / 4))};
  }
};

/// @tparam Blocks of `sum_elements`: 6 leave a thread 40 registers
template <int Blocks, class Read>
double read_all(const Read& read, bool random, std::uint64_t wanted) {
  constexpr std::uint32_t each = 1024;
  tally t;
  const double s = timed([&] {
    if (random) {
      sum_random<Read, Blocks><<<blocks * 2, threads>>>(read, elements, each, t.word());
    } else {
      sum_elements<Read, Blocks><<<blocks * 2, threads>>>(read, elements, t.word());
    }
  });
  require_sum(t.value(), wanted, "resident");
  return s;
}

enum class read_by { unpinned, reference, served };

/// What both of two arrays say of all elements, in turns.
void resident_hashed(benchmark::State& state, bool random, std::uint32_t page) {
  using hashed = host::array<std::uint32_t, host::hashed<host::mapped_pages>>;
  const resident_array dense(page);
  hashed array(data().memory(), elements, {.frame_bytes = data().bytes(), .page_bytes = page});
  tally t;
  sum_pages<<<blocks, threads>>>(array.view(), page_order{data().bytes() / page, true}, t.word());
  cuda_check(cudaDeviceSynchronize(), "fetch");
  require_sum(t.value(), data().sum(), "fetch");
  sum_random<by_formula, 1><<<blocks * 2, threads>>>(by_formula{}, elements, 1024, t.word());
  cuda_check(cudaDeviceSynchronize(), "formula");
  const std::uint64_t wanted = random ? t.value() : data().sum();
  compared to_dense;
  std::vector<double> seconds;
  for (int k = 0; k < rounds; ++k) {
    seconds.push_back(read_all<6>(by_view{array.served_view()}, random, wanted));
    to_dense.add(1 / seconds.back(),
                 1 / read_all<6>(by_view{dense.array->served_view()}, random, wanted));
  }
  const std::uint64_t accesses = random ? std::uint64_t{blocks} * 2 * threads * 1024 : elements;
  report_rate(state, seconds, 4 * accesses);
  state.counters["G_accesses_per_s"] = static_cast<double>(accesses) / median(seconds) / 1e9;
  state.counters["dense_ratio"] = to_dense.ratio();
}

template <int Blocks>
void resident(benchmark::State& state, bool random, std::uint32_t page, read_by how) {
  const resident_array a(page);
  tally t;
  sum_random<by_formula, 1><<<blocks * 2, threads>>>(by_formula{}, elements, 1024, t.word());
  cuda_check(cudaDeviceSynchronize(), "formula");
  const std::uint64_t wanted = random ? t.value() : data().sum();
  compared probe, raw;
  std::vector<double> seconds;
  for (int k = 0; k < rounds; ++k) {
    switch (how) {
      case read_by::unpinned:
        seconds.push_back(read_all<Blocks>(by_view{a.array->view()}, random, wanted));
        break;
      case read_by::reference:
        seconds.push_back(read_all<Blocks>(by_reference{a.array->view()}, random, wanted));
        break;
      case read_by::served:  // nothing is missed, so no pager is needed
        seconds.push_back(read_all<Blocks>(by_view{a.array->served_view()}, random, wanted));
    }
    probe.add(1 / seconds.back(), 1 / read_all<1>(a.probe(page), random, wanted));
    raw.add(1 / seconds.back(), 1 / read_all<1>(by_pointer{a.copy}, random, wanted));
  }
  const std::uint64_t accesses = random ? std::uint64_t{blocks} * 2 * threads * 1024 : elements;
  report_rate(state, seconds, 4 * accesses);
  state.counters["G_accesses_per_s"] = static_cast<double>(accesses) / median(seconds) / 1e9;
  state.counters["probe_ratio"] = probe.ratio();
  state.counters["raw_ratio"] = raw.ratio();
}

void resident_pages(benchmark::State& state, std::uint32_t page) {
  const resident_array a(page);
  const page_order order{data().bytes() / page, false};
  tally t;
  compared raw;
  std::vector<double> seconds;
  for (int k = 0; k < rounds; ++k) {
    seconds.push_back(
        timed([&] { sum_pages<<<blocks * 2, threads>>>(a.array->view(), order, t.word()); }));
    require_sum(t.value(), data().sum(), "resident");
    raw.add(
        1 / seconds.back(),
        1 / timed([&] { sum_pages<<<blocks * 2, threads>>>(a.copy, page / 4, order, t.word()); }));
  }
  report_rate(state, seconds, data().bytes());
  state.counters["raw_ratio"] = raw.ratio();
}

void check_sums(const std::uint32_t* c, std::uint64_t count) {
  tally t;
  count_wrong_sums<<<blocks, threads>>>(c, count, t.word());
  cuda_check(cudaDeviceSynchronize(), "check");
  require_sum(t.value(), 0, "wrong sums");
}

enum class add_by { element, page, overwritten_page };

void vector_add(benchmark::State& state, add_by how) {
  constexpr std::uint64_t count = few_elements;
  host_data a(count), b(count), c(count);
  const managed_data x(count, false), y(count, false), z(count, false);
  compared link, fetched, uvm;
  std::vector<double> seconds;
  const auto in_place = [&](auto kernel) {
    return timed_by_clock([&] {
      kernel<<<blocks, threads>>>(reinterpret_cast<const uint4*>(a.data()),
                                  reinterpret_cast<const uint4*>(b.data()),
                                  reinterpret_cast<uint4*>(c.data()), count / 4);
    });
  };
  for (int k = 0; k < rounds; ++k) {
    const auto pa = array_on(a, 4096, count), pb = array_on(b, 4096, count);
    const auto pc = array_on(c, 4096, count);
    seconds.push_back(timed_by_clock([&] {
      switch (how) {
        case add_by::element:
          add_elements<<<blocks, threads>>>(pa->view(), pb->view(), pc->view(), count);
          break;
        case add_by::page:
          add_pages<false><<<blocks, threads>>>(pa->view(), pb->view(), pc->view());
          break;
        case add_by::overwritten_page:
          add_pages<true><<<blocks, threads>>>(pa->view(), pb->view(), pc->view());
      }
      cuda_check(cudaDeviceSynchronize(), "vector_add");
      pc->flush();
    }));
    check_sums(c.data(), count);
    link.add(1 / seconds.back(), 1 / in_place(add_in_place<false>));
    fetched.add(1 / seconds.back(), 1 / in_place(add_in_place<true>));
    check_sums(c.data(), count);
    for (const managed_data* m : {&x, &y, &z}) m->make_cold();
    uvm.add(1 / seconds.back(), 1 / timed_by_clock([&] {
                                  add_elements<<<blocks, threads>>>(x.data(), y.data(), z.data(),
                                                                    count);
                                }));
    check_sums(z.data(), count);
  }
  report_rate(state, seconds, 12 * count);
  state.counters["link_ratio"] = link.ratio();
  state.counters["fetched_ratio"] = fetched.ratio();
  state.counters["uvm_ratio"] = uvm.ratio();
}

const bool registered = [] {
  // Before CUDA starts: small copies would wait in a queue behind the kernel that wants them.
  (void)setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 0);
  for (const bool random : {false, true}) {
    const std::string order = random ? "rand" : "seq";
    for (const std::uint32_t page : {4096u, 65536u}) {
      const std::string at = order + "/" + std::to_string(page);
      for (const bool pager : {false, true}) {
        const std::string who = pager ? "/pager" : "";
        add_benchmark("cold/" + at + "/frames:25" + who,
                      [=](benchmark::State& s) { cold(s, random, page, 25, !pager, pager); });
      }
      add_benchmark("cold/" + at + "/frames:100",
                    [=](benchmark::State& s) { cold(s, random, page, 100, false, false); });
      for (const auto& [how, name] : {std::pair{read_by::unpinned, "/unpinned"},
                                      {read_by::reference, "/reference"},
                                      {read_by::served, "/served"}}) {
        const std::string prefix = "resident/" + at + name + "/blocks:";
        add_benchmark(prefix + "1",
                      [=, h = how](benchmark::State& s) { resident<1>(s, random, page, h); });
        add_benchmark(prefix + "6",
                      [=, h = how](benchmark::State& s) { resident<6>(s, random, page, h); });
        add_benchmark(prefix + "8",
                      [=, h = how](benchmark::State& s) { resident<8>(s, random, page, h); });
      }
    }
  }
  for (const bool random : {false, true}) {
    const std::string order = random ? "rand" : "seq";
    for (std::uint32_t page = 4096; page <= 1u << 20; page *= 4)
      add_benchmark("copiers/" + order + "/" + std::to_string(page),
                    [=](benchmark::State& s) { beside_copiers(s, random, page); });
    add_benchmark("hashed/" + order + "/4096",
                  [=](benchmark::State& s) { resident_hashed(s, random, 4096); });
  }
  for (const std::uint32_t page : {4096u, 65536u}) {
    for (const bool pager : {false, true}) {
      const std::string at = std::to_string(page) + (pager ? "/pager" : "");
      add_benchmark("cold_elements/" + at,
                    [=](benchmark::State& s) { cold_elements(s, page, pager); });
      add_benchmark("lone_fault/" + at, [=](benchmark::State& s) { lone_fault(s, page, pager); });
    }
    add_benchmark("resident/pages/" + std::to_string(page),
                  [=](benchmark::State& s) { resident_pages(s, page); });
  }
  add_benchmark("vector_add/elements", [](benchmark::State& s) { vector_add(s, add_by::element); });
  add_benchmark("vector_add/pages", [](benchmark::State& s) { vector_add(s, add_by::page); });
  add_benchmark("vector_add/overwritten",
                [](benchmark::State& s) { vector_add(s, add_by::overwritten_page); });
  return true;
}();

}  // namespace

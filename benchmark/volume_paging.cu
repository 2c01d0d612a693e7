// Arrays on volumes of an emulated array whose node runs on the same GPU, flash in host memory or
// in the GPU's, or (MEDIA `second`, where there is one) on a second GPU, flash in host memory:
// faults served by the warps that have them, or by a pager. Every ratio is the median of rounds in
// which both sides took turns; every sum is checked.
//
// `cold/MEDIA/ORDER/PAGE/WHO`: every page once, a warp each, through `view.page`; frames are a
// quarter of the data. `link_ratio` is to SMs that add up the same pages in host memory in the same
// order; the node moves pages over the same link. `uvm_ratio` is to managed memory that lies on the
// host before, with the better of no advice and read-mostly, `uvm_plain_ratio` without advice. What
// a run takes whose kernel does nothing is not
// counted: the node starts and ends with each.
// `cold_elements/MEDIA/PAGE/WHO`: the same by `view[i]`, in order.
// `lone_fault/MEDIA/PAGE/WHO`: one thread, one page after another.
// `resident/ORDER/PAGE/HOW`: `view[i]` where every page is there: without a reference, with one
// for each access, or through `served_view`.
// `under_way/MEDIA/4096/pages:N`: N warps fetch pages at random, one each at a time, each over a
// channel of its own (of 128). `channels/MEDIA/4096/channels:N`: as many warps as run at a time,
// over N channels. `law_GB_per_s` is what Little's law says, pages under way by the time of a page
// that is fetched alone (`alone_us`), up to the rate of the link where flash lies behind it;
// `of_law` what was measured to that; `under_load_us` the time that a page must have taken.
#include "array_paging/rig.cuh"
#include "support/registration.hpp"
#include <gnstor/host/array.hpp>

#include <benchmark/benchmark.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

namespace {

using namespace gnstor;
using namespace gnstor::benchmarks;

constexpr std::uint64_t elements = std::uint64_t{1} << 28;  ///< 1 GiB
constexpr int rounds = 3;

using remote = host::array<std::uint32_t>;

host_data& data() {
  static host_data d(elements);
  return d;
}

/// A session on flash in `media`, and a volume that holds the elements.
struct filled_volume {
  host::session session;
  volume_info volume;

  filled_volume(const std::string& media, std::uint32_t channels)
      : session("emu:?runner=gpu&shards=32&ssds=4&replicas=1&capacity=512M&" + place(media),
                {.channels = channels}),
        volume(session.create_volume({.bytes = 4 * elements})) {
    constexpr std::uint64_t piece = std::uint64_t{64} << 20;
    for (std::uint64_t at = 0; at < 4 * elements; at += piece)
      session.write(volume, at, reinterpret_cast<const char*>(data().data()) + at, piece);
  }
  static std::string place(const std::string& media) {
    return media == "second" ? "media=host&device=1" : "resident=no&media=" + media;
  }
  std::unique_ptr<remote> array(std::uint32_t page, std::uint64_t frame_bytes) {
    return std::make_unique<remote>(
        session, volume, elements,
        host::array_options{.frame_bytes = frame_bytes, .page_bytes = page});
  }
};

filled_volume& on(const std::string& media, std::uint32_t channels = 32) {
  static std::unique_ptr<filled_volume> one;
  static std::string of;
  (void)data();  // before kernels of a node run for good on a second GPU
  const std::string wanted = media + " " + std::to_string(channels);
  if (one == nullptr || of != wanted) {
    one.reset();
    one = std::make_unique<filled_volume>(media, channels);
    of = wanted;
  }
  return *one;
}

/// The seconds of a kernel beside the node, whose pages its own warps fetch.
template <class... Parameters>
double timed_beside_node(host::session& s, dim3 grid, dim3 block, void (*kernel)(Parameters...),
                         std::type_identity_t<Parameters>... args) {
  host::executor run;
  run.launch(grid, block, kernel, args...);
  s.attach(run);
  const auto begin = std::chrono::steady_clock::now();
  run.run();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

/// The seconds of a kernel beside the node, on either view.
/// @param kernel `of<View>()` is it, `argument(view)` what it takes
template <class Kernel, class... Args>
double run_on(filled_volume& v, remote& a, bool pager, dim3 grid, const Kernel& kernel,
              const Args&... args) {
  if (pager) {
    return timed_beside_pager(&v.session, a, grid, threads,
                              kernel.template of<remote::served_type>(),
                              kernel.argument(a.served_view()), args...);
  }
  return timed_beside_node(v.session, grid, threads, kernel.template of<remote::view_type>(),
                           kernel.argument(a.view()), args...);
}

struct sum_by_pages {
  template <class View>
  static auto of() {
    return &sum_pages<View>;
  }
  template <class View>
  static View argument(const View& v) {
    return v;
  }
};
template <int Blocks>
struct sum_by_elements {
  template <class View>
  static auto of() {
    return &sum_elements<by_view<View>, Blocks>;
  }
  template <class View>
  static by_view<View> argument(const View& v) {
    return {v};
  }
};
struct touch {
  template <class View>
  static auto of() {
    return &touch_in_turn<View>;
  }
  template <class View>
  static View argument(const View& v) {
    return v;
  }
};

/// The seconds that a run takes whose kernel does nothing: the node and the pager start and end.
double idle(filled_volume& v, remote& a, bool pager) {
  tally t;
  return run_on(v, a, pager, 1, touch{}, std::uint64_t{0}, t.word());
}

void cold(benchmark::State& state, const std::string& media, bool random, std::uint32_t page,
          bool pager) {
  filled_volume& v = on(media);
  host_data& d = data();
  const page_order order{d.bytes() / page, random};
  tally t;
  compared link;
  std::unique_ptr<managed_peers> uvm;
  if (media == "host" && page == 4096)
    uvm = std::make_unique<managed_peers>(elements, page, random);
  std::vector<double> seconds;
  page_cache_counters c;
  for (int k = 0; k < rounds; ++k) {
    const auto a = v.array(page, d.bytes() / 4);
    const double unused = idle(v, *a, pager);
    seconds.push_back(run_on(v, *a, pager, blocks, sum_by_pages{}, order, t.word()) - unused);
    a->check();
    require_sum(t.value(), d.sum(), "array");
    c = a->counters();
    link.add(
        1 / seconds.back(),
        1 / timed([&] { sum_pages<<<blocks, threads>>>(d.data(), page / 4, order, t.word()); }));
    require_sum(t.value(), d.sum(), "link");
    if (uvm) uvm->add(seconds.back());
  }
  report_rate(state, seconds, d.bytes());
  if (uvm) uvm->report(state);
  state.counters["M_faults_per_s"] = static_cast<double>(order.pages) / median(seconds) / 1e6;
  state.counters["link_ratio"] = link.ratio();
  state.counters["pages_in"] = static_cast<double>(c.pages_in);
}

void cold_elements(benchmark::State& state, const std::string& media, std::uint32_t page,
                   bool pager) {
  filled_volume& v = on(media);
  host_data& d = data();
  tally t;
  compared link;
  std::vector<double> seconds;
  for (int k = 0; k < rounds; ++k) {
    const auto a = v.array(page, d.bytes() / 4);
    seconds.push_back(
        pager ? run_on(v, *a, true, blocks * 2, sum_by_elements<6>{}, d.count(), t.word())
              : run_on(v, *a, false, blocks, sum_by_elements<1>{}, d.count(), t.word()));
    a->check();
    require_sum(t.value(), d.sum(), "array");
    const page_order in_order{d.bytes() / page, false};
    link.add(
        1 / seconds.back(),
        1 / timed([&] { sum_pages<<<blocks, threads>>>(d.data(), page / 4, in_order, t.word()); }));
  }
  report_rate(state, seconds, d.bytes());
  state.counters["link_ratio"] = link.ratio();
}

void lone_fault(benchmark::State& state, const std::string& media, std::uint32_t page, bool pager) {
  filled_volume& v = on(media);
  const std::uint64_t many = std::min<std::uint64_t>(2200, data().bytes() / page / 4 * 3);
  const std::uint64_t few = many / 11;
  tally t;
  std::vector<double> seconds;
  for (int k = 0; k < rounds; ++k) {
    // The difference of two runs: a node that is not resident starts and ends with each.
    double taken[2];
    for (const std::uint64_t pages : {few, many}) {
      const auto a = v.array(page, data().bytes() / 4);
      host::executor run;
      if (pager) {
        run.launch(1, 1, touch_in_turn<remote::served_type>, a->served_view(), pages, t.word());
        a->attach(run, {.warps = pager_warps()});
      } else {
        run.launch(1, 1, touch_in_turn<remote::view_type>, a->view(), pages, t.word());
      }
      v.session.attach(run);
      const auto begin = std::chrono::steady_clock::now();
      run.run();
      taken[pages == many] =
          std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
      a->check();
      std::uint64_t wanted = 0;
      for (std::uint64_t p = 0; p < pages; ++p) wanted += element_at(p * (page / 4));
      require_sum(t.value(), wanted, "array");
    }
    seconds.push_back(taken[1] - taken[0]);
  }
  report_rate(state, seconds, (many - few) * page);
  state.counters["us_per_fault"] = median(seconds) / (many - few) * 1e6;
}

/// @tparam Blocks that a multiprocessor has to hold
template <int Blocks, class Read>
double read_resident(filled_volume& v, const Read& read, bool random, std::uint64_t wanted) {
  constexpr std::uint32_t each = 256;
  tally t;
  const double s = random
                       ? timed_beside_node(v.session, blocks * 2, threads, sum_random<Read, Blocks>,
                                           read, elements, each, t.word())
                       : timed_beside_node(v.session, blocks * 2, threads,
                                           sum_elements<Read, Blocks>, read, elements, t.word());
  require_sum(t.value(), wanted, "resident");
  return s;
}

void resident(benchmark::State& state, bool random, std::uint32_t page, const std::string& how) {
  filled_volume& v = on("host");
  const auto a = v.array(page, data().bytes());
  tally t;
  (void)timed_beside_pager(&v.session, *a, blocks, threads, sum_pages<remote::served_type>,
                           a->served_view(), page_order{data().bytes() / page, true}, t.word());
  require_sum(t.value(), data().sum(), "fetch");
  sum_random<by_formula, 1><<<blocks * 2, threads>>>(by_formula{}, elements, 256, t.word());
  cuda_check(cudaDeviceSynchronize(), "formula");
  const std::uint64_t wanted = random ? t.value() : data().sum();
  compared reference;
  std::vector<double> seconds;
  for (int k = 0; k < rounds; ++k) {
    seconds.push_back(
        how == "served"
            ? read_resident<6>(v, by_view<remote::served_type>{a->served_view()}, random, wanted)
            : read_resident<1>(v, by_view<remote::view_type>{a->view()}, random, wanted));
    reference.add(
        1 / seconds.back(),
        1 / read_resident<1>(v, by_reference<remote::view_type>{a->view()}, random, wanted));
  }
  const std::uint64_t accesses = random ? std::uint64_t{blocks} * 2 * threads * 256 : elements;
  report_rate(state, seconds, 4 * accesses);
  state.counters["G_accesses_per_s"] = static_cast<double>(accesses) / median(seconds) / 1e9;
  state.counters["reference_ratio"] = reference.ratio();
}

/// The sum of the first elements.
std::uint64_t first_sum(std::uint64_t count) {
  tally t;
  sum_elements<by_formula, 1><<<blocks, threads>>>(by_formula{}, count, t.word());
  cuda_check(cudaDeviceSynchronize(), "formula");
  return t.value();
}

/// The seconds in which some warps fetch pages at random, each one at a time.
double fetch_by(filled_volume& v, std::uint32_t warps, std::uint64_t pages, std::uint32_t page) {
  const auto a = v.array(page, data().bytes() / 4);
  tally t;
  const std::uint32_t block = warps % 8 == 0 && warps > 128 ? 256 : 32;
  const double unused = idle(v, *a, false);
  const double seconds =
      timed_beside_node(v.session, warps / (block / 32), block, sum_pages<remote::view_type>,
                        a->view(), page_order{pages, true}, t.word()) -
      unused;
  a->check();
  require_sum(t.value(), first_sum(pages * (page / 4)), "pages");
  return seconds;
}

/// Pages under way at a time beside Little's law: as many as there are, by the time that one takes
/// alone, and no more than the link carries.
/// @param warps that fetch, each a page at a time
void little(benchmark::State& state, const std::string& media, std::uint32_t channels,
            std::uint32_t warps, std::uint32_t page) {
  constexpr std::uint64_t each = 2048;
  filled_volume& v = on(media, channels);
  const std::uint64_t all = data().bytes() / page;
  const std::uint64_t pages = std::min(all, std::bit_ceil(each * warps));
  const std::uint32_t depth = v.session.options().depth;
  const double under_way = std::min<double>(warps, channels * depth);
  tally t;
  compared to_law;
  std::vector<double> seconds, latencies, laws, link;
  for (int k = 0; k < rounds; ++k) {
    latencies.push_back(fetch_by(v, 1, each, page) / each);
    link.push_back(
        static_cast<double>(data().bytes()) / timed([&] {
          sum_pages<<<blocks, threads>>>(data().data(), page / 4, page_order{all, true}, t.word());
        }));
    require_sum(t.value(), data().sum(), "link");
    seconds.push_back(fetch_by(v, warps, pages, page));
    laws.push_back(under_way * page / latencies.back());
    if (media == "host") laws.back() = std::min(laws.back(), link.back());
    to_law.add(static_cast<double>(pages * page) / seconds.back(), laws.back());
  }
  report_rate(state, seconds, pages * page);
  const double rate = static_cast<double>(pages * page) / median(seconds);
  state.counters["law_GB_per_s"] = median(laws) / 1e9;
  state.counters["of_law"] = to_law.ratio();
  state.counters["alone_us"] = median(latencies) * 1e6;
  state.counters["under_load_us"] = under_way * page / rate * 1e6;
  state.counters["link_GB_per_s"] = median(link) / 1e9;
}

/// Not asked of CUDA: what of a program's code is registered after CUDA's first call is loaded when
/// it is used first, and that waits for kernels of a second GPU that run.
bool has_second_gpu() {
  const char* visible = std::getenv("CUDA_VISIBLE_DEVICES");
  if (visible != nullptr && std::strchr(visible, ',') == nullptr) return false;
  std::error_code none;
  const std::filesystem::directory_iterator gpus("/proc/driver/nvidia/gpus", none);
  return !none && std::distance(begin(gpus), end(gpus)) > 1;
}

const bool registered = [] {
  for (const std::string media : {"host", "hbm", "second"}) {
    if (media == "second" && !has_second_gpu()) continue;
    for (const bool pager : {false, true}) {
      const std::string who = pager ? "/pager" : "/warp";
      for (const std::uint32_t page : {4096u, 65536u}) {
        const std::string size = "/" + std::to_string(page) + who;
        for (const bool random : {false, true}) {
          add_benchmark("cold/" + media + (random ? "/rand" : "/seq") + size,
                        [=](benchmark::State& s) { cold(s, media, random, page, pager); });
        }
        add_benchmark("cold_elements/" + media + size,
                      [=](benchmark::State& s) { cold_elements(s, media, page, pager); });
        add_benchmark("lone_fault/" + media + size,
                      [=](benchmark::State& s) { lone_fault(s, media, page, pager); });
      }
    }
  }
  for (const bool pager : {false, true}) {
    add_benchmark(std::string("lone_fault/hbm/1048576/") + (pager ? "pager" : "warp"),
                  [=](benchmark::State& s) { lone_fault(s, "hbm", 1 << 20, pager); });
  }
  for (const std::string media : {"host", "hbm"}) {
    for (std::uint32_t n = 1; n <= 128; n *= 2)
      add_benchmark("under_way/" + media + "/4096/pages:" + std::to_string(n),
                    [=](benchmark::State& s) { little(s, media, 128, n, 4096); });
    for (std::uint32_t n = 1; n <= 128; n *= 2)
      add_benchmark("channels/" + media + "/4096/channels:" + std::to_string(n),
                    [=](benchmark::State& s) { little(s, media, n, blocks * 8, 4096); });
  }
  for (const bool random : {false, true}) {
    for (const std::string how : {"unpinned", "served"}) {
      add_benchmark(std::string("resident/") + (random ? "rand" : "seq") + "/4096/" + how,
                    [=](benchmark::State& s) { resident(s, random, 4096, how); });
    }
  }
  return true;
}();

}  // namespace

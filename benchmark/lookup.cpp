// What deEngine does for a command, without data, on one core: permissions, placement, mapping and
// key check of 4 KiB reads in batches of 32, and the whole of an overwrite but the copy; and what
// it takes to mount the SSD again, from its OOB areas. One SSD of an array of four, two replicas,
// with 1, 16 and 256 GiB mapped; pages are drawn at random.
//
// Before anything is timed, every page that a batch finds is compared with what was committed.
#include <deengine/engine.hpp>
#include <deengine/recover.hpp>

#include <benchmark/benchmark.h>
#include <sys/mman.h>

#include <chrono>
#include <memory>
#include <stdexcept>
#include <vector>

namespace {

using namespace gnstor;

using ssd_ref = fw::engine_ref<thread_scope_device>;

constexpr std::uint32_t batch = 32;
constexpr std::uint32_t stripe_blocks = 16;
constexpr std::uint32_t draws = 1 << 20;  // a power of two

/// Zeroed memory in huge pages, as far as there are any.
class huge_memory {
 public:
  explicit huge_memory(std::size_t bytes) : bytes_(bytes) {
    void* at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) throw std::bad_alloc();
    madvise(at, bytes, MADV_HUGEPAGE);
    at_ = at;
  }
  ~huge_memory() { munmap(at_, bytes_); }
  huge_memory(const huge_memory&) = delete;
  huge_memory& operator=(const huge_memory&) = delete;
  void* data() const { return at_; }

 private:
  std::size_t bytes_;
  void* at_;
};

wire::afa::volume_record record_of(std::uint64_t capacity_blocks) {
  wire::afa::volume_record r{};
  r.version = wire::afa::payload_version;
  r.vid = 1;
  r.replicas = 2;
  r.hash_factor = 77;
  r.capacity_blocks = capacity_blocks;
  r.stripe_blocks = stripe_blocks;
  r.epoch = 1;
  r.client_count = 1;
  r.clients[0] = {1, wire::afa::right_read | wire::afa::right_write};
  return r;
}

fw::request request_of(std::uint32_t first, std::uint32_t blocks, bool write) {
  fw::request r;
  r.vid = volume_id(1);
  r.client = r.bound_client = client_id(1);
  r.first = vba(first);
  r.blocks = blocks;
  r.epoch = 1;
  r.write = write;
  return r;
}

void demand(bool holds, const char* what) {
  if (!holds) throw std::runtime_error(what);
}

/// An SSD with `mapped` pages of one volume, and a quarter as many free.
class mapped_ssd {
 public:
  explicit mapped_ssd(std::uint32_t gib)
      : mapped_(gib << 18),
        shape_{.pages = mapped_ / 4 * 5, .shards = 8},
        meta_(fw::layout::of(shape_).bytes),
        ssd_(meta_.data(), shape_, nullptr) {
    demand(fw::format(meta_.data(), fw::layout::of(shape_).bytes, shape_, {0, 4, 1}) ==
               fw::mount_status::ok,
           "the SSD could not be formatted");
    demand(ssd_.volume_add(1, record_of(4 * std::uint64_t{mapped_})) == 0, "no volume");
    fill();
    for (std::uint32_t k = 0; k < draws; ++k) {
      const std::uint64_t draw = mix64(k);
      drawn_.push_back(stripes_[draw % stripes_.size()] * stripe_blocks +
                       static_cast<std::uint32_t>(draw >> 60));
    }
  }

  const ssd_ref& ssd() const { return ssd_; }
  std::uint32_t drawn(std::uint64_t k) const { return drawn_[k % draws]; }
  std::uint32_t gib() const { return mapped_ >> 18; }
  double metadata_bytes_a_page() const {
    return static_cast<double>(fw::layout::of(shape_).bytes) / shape_.pages;
  }

  double pages() const { return shape_.pages; }
  bool mount() {
    return fw::recover(meta_.data(), fw::layout::of(shape_).bytes, shape_, {0, 4, 1}) ==
           fw::mount_status::ok;
  }

  bool checkpoint() { return fw::checkpoint(meta_.data(), shape_); }

  /// Finds the pages of the next 32 blocks drawn.
  void look_up(std::uint64_t from, fw::known_grant& known, std::uint32_t (&pages)[batch]) const {
    fw::admission a[batch];
    ssd_ref::foresight seen[batch];
    for (std::uint32_t k = 0; k < batch; ++k) {
      a[k] = ssd_.check(request_of(drawn(from + k), 1, false), known);
      ssd_.prefetch_mapping(a[k]);
    }
    for (std::uint32_t k = 0; k < batch; ++k) ssd_.prefetch_page(a[k], seen[k]);
    for (std::uint32_t k = 0; k < batch; ++k) pages[k] = ssd_.peek(a[k], seen[k]);
  }
  /// Gives the next 32 blocks drawn other pages.
  bool update(std::uint64_t from, fw::known_grant& known) const {
    fw::admission a[batch];
    std::uint32_t pages[batch];
    for (std::uint32_t k = 0; k < batch; ++k) {
      a[k] = ssd_.check(request_of(drawn(from + k), 1, true), known);
      ssd_.prefetch_mapping(a[k]);
    }
    for (const fw::admission& each : a) ssd_.prefetch_pages(each);
    bool few = false;
    bool done = true;
    for (std::uint32_t k = 0; k < batch; ++k) {
      bool again = false;
      done = a[k].ok() && ssd_.allocate(a[k], pages + k, few) == 0 &&
             ssd_.commit(a[k], {client_id(1), 1}, pages + k, again) == 0 && !again && done;
    }
    return done;
  }
  /// Every block drawn is where the OOB areas say it is.
  void verify() const {
    fw::known_grant known{};
    for (std::uint32_t from = 0; from < draws; from += batch) {
      std::uint32_t pages[batch];
      look_up(from, known, pages);
      for (std::uint32_t k = 0; k < batch; ++k) {
        demand(pages[k] < shape_.pages, "a mapped block was not found");
        const fw::oob_entry& e = ssd_.parts().oob()[pages[k]];
        demand(e.block.value == drawn(from + k) && e.vid.value == 1 &&
                   e.state == fw::page_state::valid,
               "another block's page was found");
      }
    }
    fw::request foreign = request_of(drawn(0), 1, false);
    foreign.client = foreign.bound_client = client_id(2);
    demand(!ssd_.check(foreign, known).ok(), "a client without rights was admitted");
  }

 private:
  /// Writes stripes that belong on this SSD until enough is mapped.
  void fill() {
    fw::known_grant known{};
    std::uint32_t pages[stripe_blocks];
    bool few = false;
    bool again = false;
    for (std::uint32_t s = 0; stripes_.size() * stripe_blocks < mapped_; ++s) {
      const fw::admission a = ssd_.check(request_of(s * stripe_blocks, stripe_blocks, true), known);
      if (!a.ok()) continue;
      demand(
          ssd_.allocate(a, pages, few) == 0 && ssd_.commit(a, {client_id(1), 1}, pages, again) == 0,
          "a block could not be mapped");
      stripes_.push_back(s);
    }
  }

  std::uint32_t mapped_;
  fw::geometry shape_;
  huge_memory meta_;
  ssd_ref ssd_;
  std::vector<std::uint32_t> stripes_;
  std::vector<std::uint32_t> drawn_;
};

/// The SSD of the benchmark before this one, if it is as large: to fill one takes long.
mapped_ssd& ssd_of(std::uint32_t gib) {
  static std::unique_ptr<mapped_ssd> last;
  if (!last || last->gib() != gib) {
    last.reset();
    last = std::make_unique<mapped_ssd>(gib);
    last->verify();
  }
  return *last;
}

/// Says what a command took since `start`.
void report(benchmark::State& state, const mapped_ssd& m,
            std::chrono::steady_clock::time_point start) {
  const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - start;
  state.counters["ns"] = took.count() / (static_cast<double>(state.iterations()) * batch);
  state.counters["metadata_bytes_a_page"] = m.metadata_bytes_a_page();
}

void lookup(benchmark::State& state) {
  const mapped_ssd& m = ssd_of(static_cast<std::uint32_t>(state.range(0)));
  fw::known_grant known{};
  std::uint64_t at = 0;
  const auto start = std::chrono::steady_clock::now();
  for (auto _ : state) {
    std::uint32_t pages[batch];
    m.look_up(at, known, pages);
    at += batch;
    benchmark::DoNotOptimize(pages);
  }
  report(state, m, start);
}

void update(benchmark::State& state) {
  const mapped_ssd& m = ssd_of(static_cast<std::uint32_t>(state.range(0)));
  fw::known_grant known{};
  std::uint64_t at = 0;
  bool done = true;
  const auto start = std::chrono::steady_clock::now();
  for (auto _ : state) {
    done = m.update(at, known) && done;
    at += batch;
  }
  report(state, m, start);
  if (!done) return state.SkipWithError("an update was refused");
  m.verify();
}

/// Mounts the SSD as it was left, and looks whether all of it is there.
void recover(benchmark::State& state) {
  mapped_ssd& m = ssd_of(static_cast<std::uint32_t>(state.range(0)));
  const auto start = std::chrono::steady_clock::now();
  for (auto _ : state) {
    if (!m.mount()) return state.SkipWithError("the SSD could not be mounted");
  }
  const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - start;
  m.verify();
  state.counters["ns_a_page"] =
      took.count() / (static_cast<double>(state.iterations()) * m.pages());
}

/// Mounts the SSD after it was stopped in order; how long the stop took, too.
void resume(benchmark::State& state) {
  using seconds = std::chrono::duration<double>;
  mapped_ssd& m = ssd_of(static_cast<std::uint32_t>(state.range(0)));
  seconds stopping{};
  for (auto _ : state) {
    const auto begun = std::chrono::steady_clock::now();
    if (!m.checkpoint()) return state.SkipWithError("the SSD could not be stopped");
    const auto stopped = std::chrono::steady_clock::now();
    if (!m.mount()) return state.SkipWithError("the SSD could not be mounted");
    state.SetIterationTime(seconds(std::chrono::steady_clock::now() - stopped).count());
    stopping += stopped - begun;
  }
  m.verify();
  state.counters["checkpoint_ms"] =
      stopping.count() * 1000 / static_cast<double>(state.iterations());
}

/// Updates use up what is free, so that they come late, and as many as there is room for.
const bool registered = [] {
  for (const std::uint32_t gib : {1u, 16u, 256u}) {
    const std::string where = "/GiB:" + std::to_string(gib);
    benchmark::RegisterBenchmark(("lookup" + where).c_str(), lookup)->Arg(gib);
    benchmark::RegisterBenchmark(("update" + where).c_str(), update)
        ->Arg(gib)
        ->Iterations(gib == 1 ? 1500 : 20'000);
    benchmark::RegisterBenchmark(("recover" + where).c_str(), recover)
        ->Arg(gib)
        ->Iterations(gib == 256 ? 1 : 3)
        ->Unit(benchmark::kMillisecond);
    benchmark::RegisterBenchmark(("resume" + where).c_str(), resume)
        ->Arg(gib)
        ->Iterations(3)
        ->UseManualTime()
        ->Unit(benchmark::kMillisecond);
  }
  return true;
}();

}  // namespace

#include "emulated_nvme.hpp"

#include "call_back.hpp"
#include "shared_words.hpp"
#include <base/cuda_support.hpp>
#include <base/log.hpp>
#include <base/shared_memory.hpp>
#include <base/start_thread.hpp>
#include <gnstor/host/error.hpp>
#include <gnstor/simt/clock.hpp>
#include <gnstor/simt_host/executor.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

namespace gnstor::host {
namespace {

/// Tables of the workers begin at lines of their own.
constexpr std::size_t whole_lines(std::size_t n) { return (n + 127) / 128 * 128; }

}  // namespace

emulated_nvme::emulated_nvme(const nvme_endpoint& where, const session_options& options,
                             std::uint32_t number)
    : where_(where),
      options_(options),
      number_(number),
      windows_("emu-nvme", [this](auto k, const auto& mapping) { publish(k, mapping); }) {
  choose();
  lay_out();
  make_namespaces();
  fw::nvme_controller::options o;
  o.serial = "EMULATED" + std::to_string(number == 0 ? 0 : number - 1);
  o.max_transfer = where_.max_transfer;
  o.doorbells = static_cast<std::uint32_t*>(host_doorbells_.data());
  o.near_doorbells = reinterpret_cast<std::uint32_t*>(static_cast<unsigned char*>(control_.data()));
  o.stride_bytes = stride_bytes;
  o.volatile_cache = !files_.empty();
  controller_.emplace(node_, static_cast<fw::nvme_back_end&>(*this), std::move(o));
  if (runner_ == runner_kind::cpu) start_threads();
}

emulated_nvme::~emulated_nvme() {
  system_word<std::uint32_t>(stop_).store(1, release);
  for (std::thread& t : threads_) t.join();
}

/// Says who runs the workers, and which memory that takes.
void emulated_nvme::choose() {
  using media = nvme_endpoint::media_kind;
  const bool gpu_kernels = options_.client == machine::gpu;
  runner_ = where_.runner;
  if (runner_ == runner_kind::automatic) {
    const bool on_gpu = gpu_kernels && where_.media != media::file;
    runner_ = on_gpu ? runner_kind::gpu : runner_kind::cpu;
  }
  const bool on_gpu = runner_ == runner_kind::gpu;
  if (on_gpu && !gpu_kernels) {
    throw input_error(
        "runner=gpu serves kernels on a GPU; this program runs them on the CPU: use runner=cpu");
  }
  if (runner_ == runner_kind::simulated && gpu_kernels) {
    throw input_error(
        "runner=sim serves kernels of the host executor; this program runs them on a GPU: use "
        "runner=gpu or runner=cpu");
  }
  if (where_.media == media::hbm && !on_gpu)
    throw input_error("media=hbm is GPU memory: it needs runner=gpu");
  if ((where_.media == media::file) != !where_.file.empty())
    throw input_error("media=file and file=FILE belong together: give both or none");
  if (where_.media == media::file && on_gpu)
    throw input_error("media=file is served by CPU threads: use runner=cpu, or media=host");
  if (gpu_kernels) prepare_gpus(options_.device, options_.device);
  host_place_ = gpu_kernels ? place::pinned : place::host;
  near_ = on_gpu ? place::device : place::host;
  kernel_place_ = on_gpu ? place::device : host_place_;
  node_.shape.queues = std::min(where_.queues, options_.channels + 1);
  node_.shape.namespaces = where_.namespaces;
  node_.shape.workers = where_.workers;
  if (node_.shape.workers == 0) node_.shape.workers = on_gpu ? 4 : 1;
}

/// Gives the workers their tables.
void emulated_nvme::lay_out() {
  std::size_t bytes = 0;
  const auto take = [&bytes](std::size_t count, std::size_t each) {
    const std::size_t at = bytes;
    bytes = whole_lines(at + count * each);
    return at;
  };
  const std::size_t doorbell_bytes = 2 * (1 + node_.shape.queues) * std::size_t{stride_bytes};
  take(1, doorbell_bytes);  // the first
  const std::size_t queues = take(node_.shape.queues, sizeof(fw::nvme_queue));
  const std::size_t namespaces = take(node_.shape.namespaces, sizeof(fw::nvme_namespace));
  const std::size_t mappings = take(fw::dma_mapping::most, sizeof(fw::dma_mapping));
  const std::size_t drive_stop = take(1, sizeof(std::uint32_t));
  const std::size_t attach_stop = take(1, sizeof(std::uint32_t));
  control_ = memory_block(near_, bytes, options_.device);
  host_doorbells_ = make_doorbells(doorbell_bytes);
  auto* base = static_cast<unsigned char*>(control_.data());
  node_.queues = reinterpret_cast<fw::nvme_queue*>(base + queues);
  node_.namespaces = reinterpret_cast<fw::nvme_namespace*>(base + namespaces);
  node_.mappings = reinterpret_cast<fw::dma_mapping*>(base + mappings);
  drive_stop_ = reinterpret_cast<std::uint32_t*>(base + drive_stop);
  attach_stop_ = reinterpret_cast<std::uint32_t*>(base + attach_stop);
}

/// Of host memory: memory that other processes may map.
memory_block emulated_nvme::make_doorbells(std::size_t bytes) {
  if (host_place_ != place::host) return memory_block(host_place_, bytes, options_.device);
  auto shared = std::make_shared<shared_memory>(bytes);
  doorbell_fd_ = shared->file();
  return memory_block(place::host, shared->data(), shared->bytes(), 0, [shared](void*) {});
}

nvme_device::doorbell_file emulated_nvme::shared_doorbells() const {
  if (doorbell_fd_ < 0 || runner_ != runner_kind::cpu)
    throw input_error("emu-nvme: other processes use one that CPU threads serve: runner=cpu");
  return {doorbell_fd_, 0, host_doorbells_.bytes(), 0, stride_bytes};
}

std::uint64_t emulated_nvme::faults() const {
  std::uint64_t all = 0;
  for (std::uint32_t k = 0; k < node_.shape.queues; ++k)
    all += system_word<std::uint64_t>(node_.queues[k].faults).load(relaxed);
  return all;
}

void emulated_nvme::make_namespaces() {
  const std::uint64_t bytes = where_.bytes / block_bytes * block_bytes;
  const bool hbm = where_.media == nvme_endpoint::media_kind::hbm;
  for (std::uint32_t k = 0; k < where_.namespaces; ++k) {
    fw::nvme_namespace n;
    if (!where_.file.empty()) {
      const std::string path = k == 0 ? where_.file : fmt::format("{}.{}", where_.file, k + 1);
      files_.push_back(std::make_unique<flash_file>(path, bytes));
      n.data = static_cast<unsigned char*>(files_.back()->data());
    } else {
      media_.emplace_back(hbm ? place::device : host_place_, bytes, options_.device);
      n.data = static_cast<unsigned char*>(media_.back().data());
    }
    n.block_shift = static_cast<std::uint32_t>(std::countr_zero(where_.lba_bytes));
    n.blocks = bytes >> n.block_shift;
    put(node_.namespaces + k, &n, sizeof n);
  }
  if (!files_.empty()) node_.store = static_cast<fw::namespace_store*>(this);
}

fw::nvme_node emulated_nvme::stopped_by(std::uint32_t* stop) const {
  fw::nvme_node n = node_;
  n.stop = stop;
  return n;
}

/// The window's memory first: one that has bytes is whole.
void emulated_nvme::publish(std::uint32_t window, const fw::dma_mapping& mapping) {
  if (mapping.bytes != 0)
    put(&node_.mappings[window].memory, &mapping.memory, sizeof mapping.memory);
  put(&node_.mappings[window].bytes, &mapping.bytes, sizeof mapping.bytes);
}

std::uint64_t emulated_nvme::map(void* memory, std::uint64_t bytes) {
  return windows_.map(memory, bytes, !(options_.client == machine::gpu && is_gpu_memory(memory)));
}

void emulated_nvme::unmap(std::uint64_t address) noexcept {
  try {
    windows_.unmap(address);
  } catch (const std::exception&) {
    // The GPU failed, and with it everything that the controller served.
  }
  await_round();
}

/// Waits until each thread has ended what it was doing: it holds no address of before any more. A
/// round ends with all commands that were begun in it.
void emulated_nvme::await_round() const noexcept {
  if (!rounds_) return;
  const deadline d = simt::within(5'000'000'000);
  for (std::uint32_t t = 0; t < where_.threads; ++t) {
    // Two: the one under way may have begun before.
    const std::uint64_t wanted = rounds_[t].load(std::memory_order_acquire) + 2;
    while (serving_.load() != 0 && rounds_[t].load(std::memory_order_acquire) < wanted &&
           !d.expired(simt::now_ns()))
      std::this_thread::yield();
  }
}

unsigned char* emulated_nvme::host_memory(std::uint64_t address, std::uint64_t bytes) {
  return windows_.host_memory(address, bytes);
}

void emulated_nvme::put(void* to, const void* from, std::size_t bytes) {
  if (near_ == place::host ||
      (to >= host_doorbells_.data() &&
       to < static_cast<unsigned char*>(host_doorbells_.data()) + host_doorbells_.bytes())) {
    return store_words(to, from, bytes);
  }
  copy_in(near_, options_.device, to, from, bytes);
}

void emulated_nvme::get(void* to, const void* from, std::size_t bytes) {
  if (near_ != place::host) return copy_out(near_, options_.device, to, from, bytes);
  load_words(to, from, bytes);
}

nvme_pcie_doorbells emulated_nvme::doorbells(std::uint16_t queue, place where) {
  const bool near = where == place::device;
  auto* base = static_cast<unsigned char*>(near ? control_.data() : host_doorbells_.data());
  return {reinterpret_cast<std::uint32_t*>(base + 2ull * queue * stride_bytes), stride_bytes, near};
}

bool emulated_nvme::flush(std::uint32_t nsid) noexcept {
  bool kept = true;
  for (std::uint32_t k = 0; k < files_.size(); ++k)
    if (nsid == k + 1 || nsid == ~0u) kept = files_[k]->sync() && kept;
  return kept;
}

void emulated_nvme::start_threads() {
  serving_ = 1;
  rounds_ = std::make_unique<std::atomic<std::uint64_t>[]>(where_.threads);
  for (std::uint32_t t = 0; t < where_.threads; ++t)
    threads_.push_back(start_thread("emulated NVMe", "serving an emulated NVMe controller",
                                    [this, t] { serve(t); }));
}

/// A CPU thread: the workers whose turn is `turn` of `threads`.
void emulated_nvme::serve(std::uint32_t turn) {
  const fw::nvme_node n = stopped_by(&stop_);
  std::vector<fw::nvme_worker> own;
  for (std::uint32_t role = turn; role < n.shape.roles(); role += where_.threads)
    own.emplace_back(n, role);
  const simt::group g = simt::group::warp();
  try {
    fw::service_rounds<fw::nvme_node>{&n, turn}.repeat(g, [&](std::uint32_t, std::uint32_t) {
      bool busy = false;
      for (fw::nvme_worker& w : own) busy = w.tick(g) || busy;
      rounds_[turn].fetch_add(1, std::memory_order_release);
      return busy;
    });
  } catch (const std::exception& e) {
    // As a controller that fails: requests end by their deadlines.
    log(log_level::error, std::string("the emulated NVMe controller failed: ") + e.what());
    serving_ = 0;
  }
}

void emulated_nvme::serve(simt::host::executor& run, std::uint32_t& stop) {
  stop = 0;
  const fw::nvme_node n = stopped_by(&stop);
  run.serve_in(simt::domain::nic, n.shape.roles(), where_.lanes, stop, fw::nvme_service{n});
}

void emulated_nvme::drive_together(const std::function<void()>& work,
                                   std::span<nvme_device* const> others) {
  if (runner_ == runner_kind::simulated) return drive_simulated(work, others);
  const auto inner = [&] {
    if (others.empty()) return work();
    others[0]->drive_together(work, others.subspan(1));
  };
  if (runner_ == runner_kind::cpu) return inner();
  drive_on_gpu(inner);
}

/// One executor for all of them: lanes of one cannot wait for another executor's.
void emulated_nvme::drive_simulated(const std::function<void()>& work,
                                    std::span<nvme_device* const> others) {
  std::vector<emulated_nvme*> all{this};
  for (nvme_device* d : others) all.push_back(dynamic_cast<emulated_nvme*>(d));
  std::vector<std::unique_lock<std::mutex>> held;
  for (emulated_nvme* d : all) held.emplace_back(d->drive_use_);
  const auto set_serving = [&all](std::uint32_t on) {
    for (emulated_nvme* d : all) d->serving_ = on;
  };
  simt::host::executor run;
  std::vector<std::uint32_t> stops(all.size());
  for (std::size_t k = 0; k < all.size(); ++k) all[k]->serve(run, stops[k]);
  set_serving(1);
  run.spawn_in(simt::domain::gpu0, 1, 1, call_back{}, &work);
  try {
    run.run();
  } catch (...) {
    set_serving(0);
    throw;
  }
  set_serving(0);
}

void emulated_nvme::attach(simt::host::executor& executor) {
  if (runner_ == runner_kind::simulated) serve(executor, stop_);
}

#if !defined(GNSTOR_WITH_CUDA)
void emulated_nvme::attach(simt::cuda::executor&) {}
void emulated_nvme::drive_on_gpu(const std::function<void()>& work) { work(); }
#endif

void emulated_nvme::inject_fault(std::uint32_t nsid, std::string_view fault) {
  if (nsid == 0 || nsid > where_.namespaces) {
    throw input_error(fmt::format("namespace {}: the controller has {}", nsid, where_.namespaces));
  }
  if (fault == "dead") return controller_->remove();
  constexpr std::pair<std::string_view, fw::namespace_fault> known[] = {
      {"none", fw::namespace_fault::none},
      {"media_error", fw::namespace_fault::media_error},
      {"silent", fw::namespace_fault::silent}};
  for (const auto& [name, value] : known) {
    if (name != fault) continue;
    fw::nvme_namespace& n = node_.namespaces[nsid - 1];
    const std::uint64_t all = ~std::uint64_t{0} >> 1;
    const auto word = static_cast<std::uint32_t>(value);
    put(&n.bad_count, &all, sizeof all);
    put(&n.fault, &word, sizeof word);
    return;
  }
  throw input_error(fmt::format("fault '{}': use none, media_error, silent or dead", fault));
}

std::vector<std::string> emulated_nvme::notes() const {
  const char* const who = runner_ == runner_kind::gpu   ? "warps beside the kernels of each run"
                          : runner_ == runner_kind::cpu ? "CPU threads"
                                                        : "lanes of the host executor";
  return {
      fmt::format("an emulated NVMe controller: {} serve its queues; kernels ring its doorbells "
                  "themselves{}",
                  who,
                  files_.empty() ? "; what is written ends with this process"
                                 : "; a Flush makes what was written outlive a power cut")};
}

}  // namespace gnstor::host

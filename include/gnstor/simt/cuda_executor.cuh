#pragma once
/// Runs the library's kernels on a CUDA device.

#include <gnstor/core/duration.hpp>
#include <gnstor/simt/array_uses.hpp>
#include <gnstor/simt/domain.hpp>
#include <gnstor/simt/lane.hpp>
#include <gnstor/simt/reservation.hpp>
#include <gnstor/simt/stream.hpp>

#include <cooperative_groups.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace gnstor::detail {

template <class Functor>
struct device_shared {
  using type = simt::no_shared;
};
template <class Functor>
  requires requires { typename Functor::shared; }
struct device_shared<Functor> {
  using type = typename Functor::shared;
};

/// The largest block of a functor that names one as `most_threads`; 0: what its registers allow.
template <class Functor>
inline constexpr std::uint32_t most_threads = 0;
template <class Functor>
  requires requires { Functor::most_threads; }
inline constexpr std::uint32_t most_threads<Functor> = Functor::most_threads;

/// The kernel behind every spawn: gives each thread its lane.
template <class Functor, class... Args>
__global__ void __launch_bounds__(most_threads<Functor>) entry(Functor functor, Args... args) {
  using shared = typename device_shared<Functor>::type;
  static_assert(std::is_trivially_default_constructible_v<shared>,
                "nothing initialises shared memory");
  static_assert((std::is_trivially_copyable_v<Args> && ...),
                "kernel arguments are copied to the device");
  __shared__ shared memory;
  simt::lane<shared> self(&memory);
  functor(self, args...);
}

inline void cuda_check(cudaError_t error, const char* call) {
  if (error == cudaSuccess) return;
  throw std::runtime_error(std::string(call) + ": " + cudaGetErrorString(error));
}

}  // namespace gnstor::detail

namespace gnstor::simt {

static_assert(warp_group<cooperative_groups::thread_block_tile<32>>);
static_assert(
    warp_group<cooperative_groups::thread_block_tile<32, cooperative_groups::thread_block>>);
static_assert(warp_group<cooperative_groups::coalesced_group>);

}  // namespace gnstor::simt

namespace gnstor::simt::cuda {

/// Makes room for kernels of up to `bytes` of local memory a thread on the current device.
///
/// Launching a kernel that needs more than there is waits for every kernel that runs, and a
/// persistent one never ends. So the room is made before: a session makes 3 KiB.
inline void reserve_local_memory(std::size_t bytes) {
  std::size_t there = 0;
  gnstor::detail::cuda_check(cudaDeviceGetLimit(&there, cudaLimitStackSize), "cudaDeviceGetLimit");
  if (there >= bytes) return;
  gnstor::detail::cuda_check(cudaDeviceSetLimit(cudaLimitStackSize, bytes), "cudaDeviceSetLimit");
}

/// Loads a kernel, and throws `std::runtime_error` if it needs more local memory than there is room
/// for: its launch would wait for every kernel that runs. @return what is known of it
inline cudaFuncAttributes require_local_memory(const void* kernel) {
  cudaFuncAttributes loaded;
  gnstor::detail::cuda_check(cudaFuncGetAttributes(&loaded, kernel), "cudaFuncGetAttributes");
  std::size_t room = 0;
  gnstor::detail::cuda_check(cudaDeviceGetLimit(&room, cudaLimitStackSize), "cudaDeviceGetLimit");
  if (loaded.localSizeBytes <= room) return loaded;
  throw std::runtime_error("a kernel needs " + std::to_string(loaded.localSizeBytes) +
                           " bytes of local memory a thread and there are " + std::to_string(room) +
                           ": call simt::cuda::reserve_local_memory before the first session "
                           "or kernel");
}

/// Runs kernels on the current CUDA device: every grid of one `run()` on a stream of its own, so
/// that they run together. With a stream of the caller's they run in its order: after what was
/// enqueued there before, and before what is enqueued there later.
///
/// The counterpart of `simt::host::executor`. All grids of a run must fit the device at the same
/// time if they wait for each other. Not for use from two threads at once.
class executor {
 public:
  executor() = default;
  /// Runs in the order of `caller`, a stream of the current device; null is the default stream. It
  /// must live until the last `run` or `run_async`.
  explicit executor(simt::stream caller) : caller_(caller), has_caller_(true) {}
  executor(const executor&) = delete;
  executor& operator=(const executor&) = delete;
  ~executor() {
    array_uses::end(this);
    if (!serving_.empty()) stop_at_once();
    for (cudaStream_t stream : streams_) static_cast<void>(cudaStreamDestroy(stream));
  }

  /// Adds a grid: `grid` blocks of `block` threads that each call `f(lane, args...)`; both may have
  /// several dimensions: `spawn(4, {8, 6}, f)`.
  ///
  /// Loads the kernel at once: a kernel that is loaded lazily waits for the kernels that run, and a
  /// persistent one never ends.
  template <class Functor, class... Args>
  void spawn(shape grid, shape block, Functor f, Args... args) {
    (array_uses::add_to(arrays_, args), ...);
    launches_.push_back(loaded(grid, block, f, args...));
  }

  /// Adds a plain `__global__` kernel: as `kernel<<<grid, block>>>(args...)`, on a stream of its
  /// own beside the others, and beside what a session has to run with it (`session::attach`).
  ///
  /// A template is named with its arguments: `launch(8, 128, scale<float>, view)`.
  template <class... Parameters>
  void launch(dim3 grid, dim3 block, void (*kernel)(Parameters...),
              std::type_identity_t<Parameters>... args) {
    check_room(kernel, block.x * block.y * block.z);
    (array_uses::add_to(arrays_, args), ...);
    launches_.push_back([=](cudaStream_t stream) {
      kernel<<<grid, block, 0, stream>>>(args...);
      gnstor::detail::cuda_check(cudaGetLastError(), "kernel launch");
    });
  }

  /// Adds a service: a grid that runs beside the others and returns once `stop`, a word of device
  /// memory, is not 0. The device itself sets it when the other grids have ended.
  template <class Functor, class... Args>
  void serve(shape grid, shape block, std::uint32_t& stop, Functor f, Args... args) {
    services_.push_back({loaded(grid, block, f, args...), &stop, {}, false});
  }
  /// The service that was added last needs the others until it has ended: their stop words are set
  /// after that.
  void ends_first() { services_.back().ends_first = true; }
  /// Keeps what was taken for the service that was added last: it is given back if that never
  /// starts.
  void reserve(reservation taken) { services_.back().taken.push_back(std::move(taken)); }
  /// True if services were added to the next run.
  bool has_services() const { return !services_.empty(); }

  /// Lets the other grids begin when `word`, in device memory, has come to `value`: a service
  /// raises it, so that it is there before whoever needs it. `run` throws if it does not within
  /// `patience`: it does not fit beside the kernels that run. Tools that watch kernels are slow.
  void begin_after(std::uint32_t& word, std::uint32_t value,
                   duration patience = std::chrono::minutes(1)) {
    gates_.push_back({&word, value, patience});
  }

  /// The same as `spawn`; the domain makes no difference on the device, whose kernels all run on
  /// the current one.
  template <class Functor, class... Args>
  void spawn_in(domain, shape grid, shape block, Functor f, Args... args) {
    spawn(grid, block, f, args...);
  }

  /// Launches all spawned grids, waits for them, and forgets them. Throws std::runtime_error naming
  /// the CUDA call that failed; a kernel's own fault appears in cudaStreamSynchronize.
  ///
  /// What was asked of the default stream before is done first: `cudaMemset` and `cudaMemcpy` may
  /// return before the device's memory has changed, and the grids' streams do not wait for them.
  void run() {
    run_async();
    wait();
  }

  /// The same without waiting: the grids are enqueued, and `wait` says how they ended.
  ///
  /// Beside a service it waits all the same: two runs that overlapped would stop each other's.
  void run_async() {
    const auto launches = std::exchange(launches_, {});
    if (launches.empty() && !services_.empty()) {
      services_.clear();
      gates_.clear();
      throw std::runtime_error("a service with no grid to serve would never end");
    }
    make_streams(services_.size() + launches.size());
    start_services();
    cudaStream_t* const clients = streams_.data() + serving_.size();
    try {
      for (std::size_t k = 0; k < launches.size(); ++k) follow(clients[k], caller_);
      for (std::size_t k = 0; k < launches.size(); ++k) launches[k](clients[k]);
      end_services(clients, launches.size());
    } catch (...) {
      stop_at_once();
      throw;
    }
    for (std::size_t k = 0; has_caller_ && k < launches.size(); ++k) follow(caller_, clients[k]);
    array_uses::begin(this, std::exchange(arrays_, {}), {streams_, is_done});
    if (!serving_.empty()) wait();
  }

  /// Starts the services that were added, for kernels that no executor knows: when this returns
  /// they are there, for whatever comes on any stream, until `end_services`. Throws as `run`, with
  /// none of them left running. Meanwhile this executor runs nothing else.
  void begin_services() { start_services(); }

  /// Ends them behind what the caller's stream holds by now; what it is given later begins after
  /// their end. Throws std::runtime_error if the stream takes no more: they end at once then.
  void end_services() {
    try {
      stop_services(caller_);
    } catch (...) {
      stop_at_once();
      throw;
    }
    for (std::size_t k = 0; k < serving_.size(); ++k) follow(caller_, streams_[k]);
  }

  /// Waits for everything that this executor has enqueued. Throws std::runtime_error naming the
  /// CUDA call that failed; a kernel's own fault appears in cudaStreamSynchronize.
  void wait() {
    for (cudaStream_t stream : streams_)
      gnstor::detail::cuda_check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
    serving_.clear();
    array_uses::end(this);
  }

 private:
  using launcher = std::function<void(cudaStream_t)>;
  struct service {
    launcher kernel;
    std::uint32_t* stop;
    std::vector<reservation> taken;
    bool ends_first;
  };
  struct gate {
    std::uint32_t* word;
    std::uint32_t value;
    duration patience;
  };

  /// Loads a kernel and checks that it can be launched beside a running one, `threads` to a block.
  template <class... Parameters>
  static void check_room(void (*kernel)(Parameters...), std::uint32_t threads) {
    const cudaFuncAttributes loaded = require_local_memory(reinterpret_cast<const void*>(kernel));
    if (threads > static_cast<std::uint32_t>(loaded.maxThreadsPerBlock)) {
      throw std::runtime_error("a block of " + std::to_string(threads) +
                               " threads does not fit: this kernel allows " +
                               std::to_string(loaded.maxThreadsPerBlock));
    }
  }

  /// The launch of a functor's kernel, checked.
  template <class Functor, class... Args>
  static launcher loaded(shape grid, shape block, Functor f, Args... args) {
    static_assert(std::is_trivially_copyable_v<Functor>,
                  "a kernel functor is copied to the device");
    check_room(gnstor::detail::entry<Functor, Args...>, block.count());
    return [=](cudaStream_t stream) {
      gnstor::detail::
          entry<<<::dim3(grid.x, grid.y, grid.z), ::dim3(block.x, block.y, block.z), 0, stream>>>(
              f, args...);
      gnstor::detail::cuda_check(cudaGetLastError(), "kernel launch");
    };
  }

  void make_streams(std::size_t count) {
    for (; streams_.size() < count;) {
      cudaStream_t stream = nullptr;
      gnstor::detail::cuda_check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking),
                                 "cudaStreamCreateWithFlags");
      streams_.push_back(stream);
    }
  }

  /// Lets what `later` is given from now on wait for what `earlier` was given so far.
  static void follow(cudaStream_t later, cudaStream_t earlier) {
    cudaEvent_t done = nullptr;
    gnstor::detail::cuda_check(cudaEventCreateWithFlags(&done, cudaEventDisableTiming),
                               "cudaEventCreateWithFlags");
    cudaError_t outcome = cudaEventRecord(done, earlier);
    if (outcome == cudaSuccess) outcome = cudaStreamWaitEvent(later, done, 0);
    static_cast<void>(cudaEventDestroy(done));
    gnstor::detail::cuda_check(outcome, "cudaStreamWaitEvent");
  }

  static bool is_done(cudaStream_t stream) { return cudaStreamQuery(stream) != cudaErrorNotReady; }

  /// Launches the services that were added, on the first streams, and waits for their gates. If it
  /// throws none of them is left running.
  void start_services() {
    auto services = std::exchange(services_, {});
    const auto gates = std::exchange(gates_, {});
    make_streams(services.size() + 1);
    // Before the first starts: tools that watch kernels make a wait for a stream one for all of
    // them.
    for (const service& s : services) set(s, 0, streams_[0]);
    gnstor::detail::cuda_check(cudaStreamSynchronize(streams_[0]), "cudaStreamSynchronize");
    try {
      for (service& s : services) {
        s.kernel(streams_[serving_.size()]);
        for (reservation& r : s.taken) r.use();
        serving_.push_back(std::move(s));
      }
      for (const gate& g : gates) {
        if (has_come(g, streams_[serving_.size()])) continue;
        throw std::runtime_error(
            "a service did not start beside the kernels that run: it does not fit; end those, or "
            "give it fewer warps");
      }
    } catch (...) {
      stop_at_once();
      throw;
    }
  }

  /// Stops the services, whatever they still serve, and waits for them, ten seconds at most. What
  /// has not come by then finds its stop when it comes; until then what it looks at has to stay, so
  /// it stays for ever.
  void stop_at_once() noexcept {
    const std::size_t count = serving_.size();
    const auto last = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    for (const service& s : serving_)
      static_cast<void>(cudaMemsetAsync(s.stop, 1, sizeof *s.stop, streams_[count]));
    bool ended = false;
    while (!ended && std::chrono::steady_clock::now() < last)
      ended = std::all_of(streams_.begin(), streams_.begin() + count, is_done);
    if (ended) {
      serving_.clear();
    } else {
      static_cast<void>(new std::vector<service>(std::exchange(serving_, {})));
    }
  }

  /// Lets the last client stream set the stop words when all of them have come so far.
  void end_services(cudaStream_t* clients, std::size_t count) {
    if (serving_.empty()) return;
    cudaStream_t last = clients[count - 1];
    for (std::size_t k = 0; k + 1 < count; ++k) follow(last, clients[k]);
    stop_services(last);
  }
  /// Sets the stop words behind what `stream` holds, those of services that others need when these
  /// have ended.
  void stop_services(cudaStream_t stream) {
    for (const service& s : serving_)
      if (s.ends_first) set(s, 1, stream);
    for (std::size_t k = 0; k < serving_.size(); ++k)
      if (serving_[k].ends_first) follow(stream, streams_[k]);
    for (const service& s : serving_)
      if (!s.ends_first) set(s, 1, stream);
  }
  /// Sets the stop word to 0, or to some other value.
  static void set(const service& s, int value, cudaStream_t stream) {
    gnstor::detail::cuda_check(cudaMemsetAsync(s.stop, value, sizeof *s.stop, stream),
                               "cudaMemsetAsync");
  }

  /// True once the word of `g` has its value; false after its patience.
  static bool has_come(const gate& g, cudaStream_t stream) {
    using clock = std::chrono::steady_clock;
    const auto since = clock::now();
    for (std::uint32_t seen = 0; duration(clock::now() - since) < g.patience;) {
      gnstor::detail::cuda_check(
          cudaMemcpyAsync(&seen, g.word, sizeof seen, cudaMemcpyDeviceToHost, stream),
          "cudaMemcpyAsync");
      gnstor::detail::cuda_check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
      if (seen >= g.value) return true;
    }
    return false;
  }

  std::vector<launcher> launches_;
  array_uses::names arrays_;       ///< that the launches use
  std::vector<service> services_;  ///< of the next run
  std::vector<service> serving_;   ///< that run, on the first streams
  std::vector<gate> gates_;
  std::vector<cudaStream_t> streams_;
  cudaStream_t caller_ =
      nullptr;  ///< whose order is kept; without one the default stream goes first
  bool has_caller_ = false;
};

}  // namespace gnstor::simt::cuda

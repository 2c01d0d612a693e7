/// A pager for kernels that are launched by `<<<>>>` on streams of the user's.
#include "gpu_node.hpp"
#include "refusals.hpp"
#include <gnstor/host/array.hpp>
#include <gnstor/host/error.hpp>
#include <gnstor/host/mapped_array.hpp>

#include <cuda_runtime.h>
#include <doctest/doctest.h>

#include <algorithm>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

using namespace gnstor;
using namespace gnstor::literals;
using namespace gnstor::test;
namespace host = gnstor::host;

namespace {

using numbers_view = served_array<std::uint32_t>;

__global__ void add_one(numbers_view view) {
  const std::uint64_t threads = std::uint64_t{gridDim.x} * blockDim.x;
  for (std::uint64_t i = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < view.size();
       i += threads)
    view[i] += 1;
}

struct tally {
  unsigned long long right, wrong, failed;
};
/// Every warp reads one page, each lane an element of it.
__global__ void read_pages(numbers_view view, std::uint32_t expected, tally* seen) {
  const std::uint64_t thread = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  const std::uint64_t pages = view.size() / view.elements_per_page();
  const std::uint64_t page = thread / 32 * 2654435761u % pages;
  const std::uint64_t i = page * view.elements_per_page() + thread % 32;
  const auto got = view.load(i);
  if (!got) {
    atomicAdd(&seen->failed, 1ull);
  } else {
    atomicAdd(got.value == expected ? &seen->right : &seen->wrong, 1ull);
  }
}

/// Holds its threads for a while.
__global__ void occupy(std::uint64_t ns) {
  for (until more{simt::within(ns)}; more;) continue;
}

/// True where these tests do not run: they wait for streams while a pager is there.
bool no_gpu() {
  if (under_a_tool()) {
    MESSAGE("skipped: under a tool that waits for every kernel");
    return true;
  }
  int devices = 0;
  if (cudaGetDeviceCount(&devices) == cudaSuccess && devices != 0) return false;
  MESSAGE("skipped: no GPU");
  return true;
}

unsigned processors() {
  int count = 0;
  REQUIRE(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, 0) == cudaSuccess);
  return static_cast<unsigned>(count);
}
/// Blocks of 1024 threads that fill the device.
unsigned device_full() {
  int each = 0;
  REQUIRE(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&each, occupy, 1024, 0) == cudaSuccess);
  return static_cast<unsigned>(each) * processors();
}

/// A stream that waits for no other.
struct own_stream {
  cudaStream_t s = nullptr;
  own_stream() { REQUIRE(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking) == cudaSuccess); }
  ~own_stream() { CHECK(cudaStreamDestroy(s) == cudaSuccess); }
  void wait() const { REQUIRE(cudaStreamSynchronize(s) == cudaSuccess); }
};

/// Numbers on host memory, all of them 7, with few frames.
struct numbers_rig {
  static constexpr std::uint32_t count = 1 << 18;  ///< 256 pages
  host::mapped_memory memory{"host:?bytes=" + std::to_string(4 * count)};
  host::mapped_array<std::uint32_t> array{
      memory, count, {.frame_bytes = 64 * 4096, .page_bytes = 4096}};

  numbers_rig() { std::fill_n(memory.as<std::uint32_t>(), count, 7u); }
  /// Numbers that are not `expected`, once all is written back.
  std::uint64_t wrong(std::uint32_t expected) {
    array.close();
    std::uint64_t n = 0;
    for (std::uint32_t i = 0; i < count; ++i) n += memory.as<std::uint32_t>()[i] != expected;
    return n;
  }
};

}  // namespace

TEST_CASE("plain kernels of a stream have a pager until its stop, in the stream's order") {
  if (no_gpu()) return;
  own_stream order;
  numbers_rig n;
  const numbers_view view = n.array.served_view();
  {
    host::pager pager = n.array.serve(order.s);
    for (int k = 0; k < 3; ++k) add_one<<<8, 128, 0, order.s>>>(view);
    pager.stop();
    CHECK(cudaDeviceSynchronize() == cudaSuccess);  // nothing runs for ever
    pager.stop();
  }
  {
    const host::pager pager = n.array.serve(order.s);
    add_one<<<8, 128, 0, order.s>>>(view);
  }
  CHECK(cudaDeviceSynchronize() == cudaSuccess);
  n.array.check();
  CHECK(n.array.counters().evictions > 0);
  CHECK(n.wrong(11) == 0);
}

TEST_CASE("plain kernels of the default stream have a pager, too") {
  if (no_gpu()) return;
  numbers_rig n;
  {
    host::pager pager = n.array.serve(nullptr, {.warps = 4});
    add_one<<<8, 128>>>(n.array.served_view());
    host::pager moved = std::move(pager);
    pager.stop();  // NOLINT: it is nothing now
    add_one<<<8, 128>>>(n.array.served_view());
  }
  CHECK(cudaDeviceSynchronize() == cudaSuccess);
  CHECK(n.wrong(9) == 0);
}

TEST_CASE("without a pager a plain kernel's faults end at once, and after its stop again") {
  if (no_gpu()) return;
  own_stream order;
  numbers_rig n;
  const host::memory_block seen(host::place::pinned, sizeof(tally));
  auto* const found = static_cast<tally*>(seen.data());
  read_pages<<<1, 128, 0, order.s>>>(n.array.served_view(), 7, found);
  order.wait();
  CHECK(found->failed == 128);
  n.array.clear_errors();
  host::pager pager = n.array.serve(order.s);
  read_pages<<<1, 128, 0, order.s>>>(n.array.served_view(), 7, found);
  order.wait();
  CHECK(found->right == 128);
  pager.stop();
  n.array.fill(7);  // no frame holds them any more
  read_pages<<<1, 128, 0, order.s>>>(n.array.served_view(), 7, found);
  order.wait();
  CHECK(found->failed == 256);
  add_one<<<1, 32, 0, order.s>>>(n.array.served_view());
  order.wait();
  CHECK_THROWS_WITH_AS(n.array.flush(), doctest::Contains("array::serve"), host::io_error);
  n.array.clear_errors();
}

TEST_CASE("a pager that does not fit is an error before anything is launched") {
  if (no_gpu()) return;
  own_stream other, order;
  numbers_rig n;
  const numbers_view view = n.array.served_view();
  // All but the room of one block: what CUDA sets words by fits, and some blocks of a pager.
  occupy<<<device_full() - 1, 1024, 0, other.s>>>(2'000'000'000);
  CHECK_THROWS_WITH_AS((void)n.array.serve(order.s, {.start_timeout = 100_ms}),
                       doctest::Contains("it does not fit"), std::runtime_error);
  other.wait();
  {
    const host::pager pager = n.array.serve(order.s);
    add_one<<<8, 128, 0, order.s>>>(view);
  }
  CHECK(n.wrong(8) == 0);
}

TEST_CASE("an array has one pager: a second, an executor's, and a close are refused") {
  if (no_gpu()) return;
  own_stream order;
  numbers_rig n;
  std::optional<host::pager> pager(n.array.serve(order.s));
  CHECK(says(refusal_of<host::input_error>([&] { (void)n.array.serve(order.s); }), "has a pager"));
  host::executor run;
  CHECK(says(refusal_of<host::input_error>([&] { n.array.attach(run); }), "has a pager"));
  CHECK(says(refusal_of<host::input_error>([&] { n.array.close(); }), "has a pager"));
  add_one<<<8, 128, 0, order.s>>>(n.array.served_view());
  pager.reset();
  CHECK(n.wrong(8) == 0);
}

TEST_CASE("a graph has a pager that was there before; no pager is captured") {
  if (no_gpu()) return;
  own_stream order;
  numbers_rig n, other;
  const numbers_view view = n.array.served_view();
  host::pager pager = n.array.serve(order.s);
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t exec = nullptr;
  REQUIRE(cudaStreamBeginCapture(order.s, cudaStreamCaptureModeRelaxed) == cudaSuccess);
  add_one<<<8, 128, 0, order.s>>>(view);
  add_one<<<8, 128, 0, order.s>>>(view);
  CHECK(says(refusal_of<host::input_error>([&] { pager.stop(); }), "end the capture"));
  CHECK(says(refusal_of<host::input_error>([&] { (void)other.array.serve(order.s); }),
             "before cudaStreamBeginCapture"));
  REQUIRE(cudaStreamEndCapture(order.s, &graph) == cudaSuccess);
  REQUIRE(cudaGraphInstantiate(&exec, graph, 0) == cudaSuccess);
  for (int k = 0; k < 2; ++k) REQUIRE(cudaGraphLaunch(exec, order.s) == cudaSuccess);
  pager.stop();
  order.wait();
  CHECK(cudaGraphExecDestroy(exec) == cudaSuccess);
  CHECK(cudaGraphDestroy(graph) == cudaSuccess);
  CHECK(n.wrong(11) == 0);
}

TEST_CASE("a pager ends though a capture keeps its stream from taking the stop") {
  if (no_gpu()) return;
  own_stream order;
  numbers_rig n;
  cudaGraph_t graph = nullptr;
  {
    const host::pager pager = n.array.serve(order.s);
    REQUIRE(cudaStreamBeginCapture(order.s, cudaStreamCaptureModeThreadLocal) == cudaSuccess);
  }
  REQUIRE(cudaStreamEndCapture(order.s, &graph) == cudaSuccess);
  if (graph != nullptr) CHECK(cudaGraphDestroy(graph) == cudaSuccess);
  CHECK(cudaDeviceSynchronize() == cudaSuccess);
  CHECK(n.wrong(7) == 0);
}

TEST_CASE("a launch that fails keeps no pager from its stop") {
  if (no_gpu()) return;
  own_stream order;
  numbers_rig n;
  host::pager pager = n.array.serve(order.s);
  add_one<<<8, 4096, 0, order.s>>>(n.array.served_view());
  CHECK(cudaGetLastError() != cudaSuccess);
  add_one<<<8, 128, 0, order.s>>>(n.array.served_view());
  pager.stop();
  CHECK(cudaDeviceSynchronize() == cudaSuccess);
  CHECK(n.wrong(8) == 0);
}

TEST_CASE("a pager is refused where launches wait for their kernels") {
  if (no_gpu()) return;
  numbers_rig n;
  REQUIRE(setenv("CUDA_LAUNCH_BLOCKING", "1", 1) == 0);  // CUDA has looked before
  const std::string served = refusal_of<host::input_error>([&] { (void)n.array.serve(nullptr); });
  host::executor run;
  const std::string attached = refusal_of<host::input_error>([&] { n.array.attach(run); });
  REQUIRE(unsetenv("CUDA_LAUNCH_BLOCKING") == 0);
  CHECK(says(served, "CUDA_LAUNCH_BLOCKING"));
  CHECK(says(attached, "array.view()"));
  const host::pager pager = n.array.serve(nullptr);  // nothing was taken
}

TEST_CASE("ten times the device's threads miss 32 frames of a volume, on two streams") {
  if (no_gpu()) return;
  own_stream one, two;
  constexpr std::uint32_t count = 1 << 20;  // 1024 pages
  // Before the session and so freed after it: CUDA frees pinned memory when no kernel runs, the
  // node's included.
  const host::memory_block seen(host::place::pinned, sizeof(tally));
  auto* const found = static_cast<tally*>(seen.data());
  // A node on this CPU would take minutes for as many faults.
  host::session s("emu:?capacity=64M&runner=gpu");
  host::array<std::uint32_t> a(s, s.create_volume({.bytes = 4 * count}), count,
                               {.frame_bytes = 32 * 4096, .page_bytes = 4096});
  a.fill(7);
  const numbers_view view = a.served_view();
  const unsigned grid = 10 * device_full();
  {
    const host::pager pager = a.serve(one.s);
    read_pages<<<grid, 1024, 0, one.s>>>(view, 7, found);
    read_pages<<<grid, 1024, 0, two.s>>>(view, 7, found);
    two.wait();
  }
  MESSAGE(found->right << " right, " << found->failed << " without a page in time");
  CHECK(found->wrong == 0);
  CHECK(found->right + found->failed == 2ull * grid * 1024);
  CHECK(found->right > 0);
  a.clear_errors();
  a.close();
}

TEST_CASE("beside a node that is not resident there is no pager by itself") {
  if (no_gpu()) return;
  host::session s("emu:?capacity=16M&runner=gpu&resident=no");
  host::array<std::uint32_t> a(s, s.create_volume({.bytes = 1 << 20}), 1 << 18);
  CHECK(says(refusal_of<host::input_error>([&] { (void)a.serve(nullptr); }),
             "array.attach(executor)"));
}

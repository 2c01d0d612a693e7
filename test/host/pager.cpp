/// A pager that no executor's run begins and ends: on the host it has a thread, and its rules are
/// the GPU's.
#include "refusals.hpp"
#include <gnstor/host/array.hpp>
#include <gnstor/host/error.hpp>
#include <gnstor/host/mapped_array.hpp>
#include <gnstor/host/memory_array.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <launch_blocking.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

using namespace gnstor;
using namespace gnstor::test;
namespace host = gnstor::host;

namespace {

constexpr std::uint32_t count = 1 << 16;  ///< numbers: 64 pages of 4 KiB
constexpr host::array_options paging{.frame_bytes = 32 * 4096, .page_bytes = 4096};
constexpr std::uint32_t poison = 0xdbdbdbdb;

struct add_one {
  template <class Lane, class View>
  void operator()(Lane& lane, View view) const {
    for (std::uint64_t i = lane.global_thread(); i < view.size(); i += lane.grid_threads())
      view[i] += 1;
  }
};
struct read_first {
  template <class Lane, class View>
  void operator()(Lane& lane, View view, std::uint32_t* got) const {
    if (lane.global_thread() == 0) *got = view[0];
  }
};
struct prefetch_all {
  template <class Lane, class View>
  void operator()(Lane&, View view) const {
    for (std::uint64_t i = 0; i < view.size(); i += view.elements_per_page()) view.prefetch(i);
  }
};

/// Numbers on host memory, all of them 7.
struct numbers_rig {
  host::mapped_memory memory{"host:?bytes=" + std::to_string(4 * count)};
  host::mapped_array<std::uint32_t> array{memory, count, paging};

  numbers_rig() { std::fill_n(memory.as<std::uint32_t>(), count, 7u); }
  /// Runs a kernel as a stream of the user's would: nobody attaches anything to it.
  template <class Kernel, class... Args>
  void run(Kernel kernel, Args... args) {
    host::executor alone;
    alone.spawn(2, 64, kernel, array.served_view(), args...);
    alone.run();
  }
  std::uint32_t first() {
    std::uint32_t got = 0;
    run(read_first{}, &got);
    return got;
  }
};

}  // namespace

TEST_CASE("one pager serves kernels of several runs, until it is stopped") {
  numbers_rig n;
  {
    host::pager pager = n.array.serve(nullptr);
    for (int round = 0; round < 3; ++round) n.run(add_one{});
    pager.stop();
    pager.stop();
  }
  CHECK(n.array.counters().evictions > 0);
  n.array.close();
  std::uint64_t wrong = 0;
  for (std::uint32_t i = 0; i < count; ++i) wrong += n.memory.as<std::uint32_t>()[i] != 10;
  CHECK(wrong == 0);
}

TEST_CASE("a pager serves a volume whose node is there all the time") {
  host::session s("emu:?capacity=16M");
  const volume_info v = s.create_volume({.bytes = 4 * count});
  host::array<std::uint32_t> a(s, v, count, paging);
  a.fill(1);
  {
    const host::pager pager = a.serve(nullptr, {.warps = 2});
    for (int round = 0; round < 2; ++round) {
      host::executor alone;
      alone.spawn(2, 64, add_one{}, a.served_view());
      alone.run();
    }
  }
  std::vector<std::uint32_t> found(count);
  a.read(0, count, found.data());
  CHECK(found == std::vector<std::uint32_t>(count, 3));
  a.close();
}

TEST_CASE("a fault is not ready at once before a pager is there, and after its stop") {
  numbers_rig n;
  CHECK(n.first() == poison);
  n.array.clear_errors();
  host::pager pager = n.array.serve(nullptr);
  CHECK(n.first() == 7);
  pager.stop();
  CHECK(n.array.get(0) == 7);
  n.array.set(0, 8);  // no frame holds it any more
  CHECK(n.first() == poison);
  CHECK_THROWS_WITH_AS(n.array.flush(), doctest::Contains("array::serve"), host::io_error);
  n.array.clear_errors();
  n.array.close();
}

TEST_CASE("a pager that was stopped has fetched what was prefetched") {
  numbers_rig n;
  host::pager pager = n.array.serve(nullptr);
  n.run(prefetch_all{});
  pager.stop();
  CHECK(n.array.counters().pages_in >= n.array.frames());
  CHECK_NOTHROW(n.array.close());
}

TEST_CASE("the end of a pager stops it, and one that was moved from does nothing") {
  numbers_rig n;
  for (int turn = 0; turn < 2; ++turn) {
    std::optional<host::pager> kept;
    {
      host::pager pager = n.array.serve(nullptr);
      kept.emplace(std::move(pager));
      pager.stop();  // NOLINT: it is nothing now
    }
    CHECK(n.first() == 7);
    CHECK(
        says(refusal_of<host::input_error>([&] { (void)n.array.serve(nullptr); }), "has a pager"));
    host::executor run;
    CHECK(says(refusal_of<host::input_error>([&] { n.array.attach(run); }), "has a pager"));
    CHECK(says(refusal_of<host::input_error>([&] { n.array.close(); }), "has a pager"));
    CHECK(n.array.is_open());
    n.array.set(0, 7);
    CHECK(n.first() == 7);
    kept.reset();
    n.array.set(0, 7);
    CHECK(n.first() == poison);
    n.array.clear_errors();
  }
  n.array.close();
}

TEST_CASE("a kernel that fails does not keep a pager from its stop") {
  numbers_rig n;
  host::pager pager = n.array.serve(nullptr);
  host::executor failing;
  failing.spawn(
      1, 32,
      [](auto&, auto view) {
        if (view[0] == 7) throw std::runtime_error("the kernel failed");
      },
      n.array.served_view());
  CHECK_THROWS_WITH_AS(failing.run(), doctest::Contains("the kernel failed"), std::runtime_error);
  pager.stop();
  const host::pager next = n.array.serve(nullptr, {.warps = 2});
  CHECK(n.first() == 7);
}

TEST_CASE("where the node runs beside executors alone, a pager cannot run by itself") {
  host::session s("emu:?capacity=16M&runner=sim");
  host::array<std::uint32_t> on_volume(s, s.create_volume({.bytes = 4 * count}), count, paging);
  CHECK(says(refusal_of<host::input_error>([&] { (void)on_volume.serve(nullptr); }),
             "array.attach(executor)"));
  host::remote_memory peer("emu-memory:?bytes=256K");
  host::memory_array<std::uint32_t> on_peer(peer, count, paging);
  CHECK(says(refusal_of<host::input_error>([&] { (void)on_peer.serve(nullptr); }),
             "array.attach(executor)"));
  // Neither is served by what was refused.
  host::executor run;
  on_volume.attach(run);
  on_peer.attach(run);
}

TEST_CASE("a pager is refused where launches wait for their kernels, and the remedy is named") {
  for (const char* harmless : {static_cast<const char*>(nullptr), "", "0"})
    CHECK_NOTHROW(detail::refuse_launch_blocking(harmless));
  for (const char* blocking : {"1", "true"}) {
    const std::string why =
        refusal_of<host::input_error>([&] { detail::refuse_launch_blocking(blocking); });
    CHECK(says(why, "CUDA_LAUNCH_BLOCKING"));
    CHECK(says(why, "array.view()"));
  }
  CHECK_NOTHROW(detail::refuse_profiler(nullptr));
  const std::string why =
      refusal_of<host::input_error>([] { detail::refuse_profiler("/opt/ncu"); });
  CHECK(says(why, "ncu"));
  CHECK(says(why, "array.view()"));
}

/// Lanes of a warp that ask together share the work.
#include "pool_fixture.hpp"
#include "qp/seed_sweep.hpp"
#include <gnstor/simt/lane.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <utility>
#include <vector>

using namespace gnstor;
using namespace gnstor::test;

namespace {

using usual = block_allocator<thread_scope_device>;

/// Counts the atomic operations of all lanes: two scheduling points each. Its own words are plain,
/// so it counts nothing under ThreadSanitizer.
class atomic_count {
 public:
  static void start() {
    if (under_tsan || simt::current_hook->point == counted) return;
    passed_on = simt::current_hook->point;
    simt::current_hook->point = counted;
  }
  static std::uint64_t take() { return std::exchange(points, 0) / 2; }

 private:
  static void counted(const char* what) {
    ++points;
    passed_on(what);
  }
  static inline void (*passed_on)(const char*) = nullptr;
  static inline std::uint64_t points = 0;
};

/// Each lane takes a part and may release it.
struct take_parts {
  struct shared {};
  std::uint64_t bytes = 4096;
  bool give_back = false;
  std::uint32_t times = 1;  ///< how often the same part is released, all lanes the part of lane 0

  template <class Lane>
  void operator()(Lane& lane, usual pool, extent* parts, std::uint32_t* released) const {
    const std::uint32_t me = lane.global_thread();
    atomic_count::start();
    const result<extent> part = pool.allocate(bytes);
    if (part) parts[me] = part.value;
    lane.warp().sync();
    if (!give_back) return;
    const extent mine = times == 1 ? parts[me] : parts[0];
    bool refused = false;
    try {
      refused = !pool.release(mine).ok();
    } catch (const verify_error&) {
      refused = true;
    }
    released[me] = refused ? 0 : 1;
  }
};

struct outcome {
  std::vector<extent> parts;
  std::vector<std::uint32_t> released;
  std::uint64_t atomics;
};

outcome run(usual pool, std::uint32_t lanes, take_parts body) {
  outcome out{std::vector<extent>(lanes), std::vector<std::uint32_t>(lanes), 0};
  host::executor machine;
  machine.spawn(1, lanes, body, pool, out.parts.data(), out.released.data());
  machine.run();
  out.atomics = atomic_count::take();
  return out;
}

/// Whether the parts are disjoint, each of `bytes` bytes.
bool disjoint(std::vector<extent> parts, std::uint64_t bytes) {
  std::sort(parts.begin(), parts.end(),
            [](const extent& a, const extent& b) { return a.offset < b.offset; });
  for (std::size_t k = 0; k < parts.size(); ++k) {
    if (parts[k].bytes != bytes) return false;
    if (k != 0 && parts[k - 1].offset + bytes > parts[k].offset) return false;
  }
  return true;
}

}  // namespace

TEST_CASE("lanes that ask together get parts of their own, of every size") {
  for (const std::uint64_t bytes : {4096, 12288, 61440, 65536, 196608, 1048576}) {
    CAPTURE(bytes);
    pool_fixture<usual> pool(64 << 20);
    const outcome seen = run(pool.ref(), 32, {.bytes = bytes});
    CHECK(disjoint(seen.parts, bytes));
    CHECK(pool.ref().usage().owned_bytes() == 32 * bytes);
    for (const extent& part : seen.parts) CHECK(pool.ref().release(part).ok());
    CHECK(pool.ref().is_whole());
  }
}

TEST_CASE("a warp's pages cost few atomic operations more than a lane's page") {
  pool_fixture<usual> pool(8 << 20);
  const std::uint64_t one = run(pool.ref(), 1, {.give_back = true}).atomics;
  const outcome warp = run(pool.ref(), 32, {.give_back = true});
  CHECK(disjoint(warp.parts, 4096));
  CHECK(pool.ref().is_whole());
  MESSAGE("atomic operations: one lane " << one << ", a warp " << warp.atomics);
  // Each lane looks whether its page is in use, at two words. The rest is for two words of 16 pages
  // what it is for one lane's word.
  CHECK(warp.atomics <= 2 * 32 + 2 * one);
}

TEST_CASE("when a pool has room for some lanes of a warp, these are served") {
  pool_fixture<usual> pool(1 << 20);
  const outcome seen = run(pool.ref(), 32, {.bytes = 65536});
  CHECK(std::count_if(seen.parts.begin(), seen.parts.end(),
                      [](const extent& part) { return part.bytes == 65536; }) == 16);
  CHECK(pool.ref().free_bytes() == 0);
}

TEST_CASE("of lanes that release one part together, one succeeds") {
  pool_fixture<usual> pool(8 << 20);
  const outcome seen = run(pool.ref(), 32, {.bytes = 8192, .give_back = true, .times = 32});
  CHECK(std::count(seen.released.begin(), seen.released.end(), 1u) == 1);
  CHECK(pool.ref().usage().owned_bytes() == 31 * 8192);
}

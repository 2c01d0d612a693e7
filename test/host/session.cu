/// End to end on a GPU: the array node is a persistent kernel, a client kernel walks an array
/// through `view[i]`, and the volume holds the result, in the next session too.
#include "gpu_node.hpp"
#include "temp_folder.hpp"
#include "walk.hpp"
#include <gnstor/host/array.hpp>

#include <doctest/doctest.h>

#include <string>
#include <vector>

using namespace gnstor;
using namespace gnstor::test;
namespace host = gnstor::host;

namespace {

constexpr std::uint64_t items = 1 << 18;

/// A counter that kernels add to.
class counter {
 public:
  explicit counter(host::session& s) : memory_(s.client_place(), 8, s.options().device) {}
  std::uint64_t* data() const { return static_cast<std::uint64_t*>(memory_.data()); }
  std::uint64_t value() const {
    std::uint64_t v = 0;
    memory_.read(0, &v, sizeof v);
    return v;
  }

 private:
  host::memory_block memory_;
};

template <class Kernel, class... Args>
void run(host::session& s, std::uint32_t grid, std::uint32_t block, Kernel kernel, Args... args) {
  host::executor machine;
  machine.spawn(grid, block, kernel, args...);
  s.attach(machine);
  machine.run();
}

/// Fills a volume, changes it in two rounds through an array with a quarter of its pages in frames,
/// and reads it back.
void walk(host::session& s, std::uint32_t page_bytes) {
  const volume_info v = s.create_volume({.bytes = 8 * items});
  std::vector<std::uint64_t> numbers(items);
  for (std::uint64_t i = 0; i < items; ++i) numbers[i] = walked(i, 0);
  s.write(v, 0, numbers.data(), 8 * items);
  host::array<std::uint64_t> a(s, v, items, {.frame_bytes = 2 * items, .page_bytes = page_bytes});
  const counter wrong(s);
  for (std::uint64_t round = 0; round < 2; ++round) {
    run(s, 8, 128, add_to_all{.round = round}, a.view(), wrong.data());
  }
  run(s, 4, 128, check_pages{.round = 2}, a.view(), wrong.data());
  CHECK(wrong.value() == 0);
  a.flush();
  CHECK(a.counters().io_errors == 0);
  CHECK(a.counters().evictions > 0);
  s.read(v, 0, numbers.data(), 8 * items);
  std::uint64_t bad = 0;
  for (std::uint64_t i = 0; i < items; ++i) bad += numbers[i] != walked(i, 2) ? 1 : 0;
  CHECK(bad == 0);
}

}  // namespace

TEST_CASE("a kernel walks an array on a volume, the array node being a kernel or CPU threads") {
  for (const std::string endpoint :
       {"emu:?capacity=16M&runner=gpu", "emu:?capacity=16M&runner=gpu&media=hbm",
        "emu:?capacity=16M&runner=cpu"}) {
    CAPTURE(endpoint);
    host::session s(gpu_node(endpoint));
    walk(s, 4096);
    walk(s, 16384);
  }
}

TEST_CASE(
    "a node that is not resident runs beside every kernel, and the device can be waited for") {
  for (const std::string endpoint : {"emu:?capacity=16M&runner=gpu&resident=no",
                                     "emu:?capacity=16M&runner=gpu&media=hbm&resident=no"}) {
    CAPTURE(endpoint);
    host::session s(endpoint);
    CHECK(cudaDeviceSynchronize() == cudaSuccess);
    walk(s, 4096);
    CHECK(cudaDeviceSynchronize() == cudaSuccess);
    walk(s, 16384);
  }
}

TEST_CASE("kernels reach the array through the proxy's CPU thread as well") {
  for (const std::string endpoint : {"emu:?capacity=16M&runner=cpu&transport=proxy",
                                     "emu:?capacity=16M&runner=gpu&transport=proxy"}) {
    CAPTURE(endpoint);
    host::session s(endpoint);
    walk(s, 16384);
  }
}

TEST_CASE("a volume written by kernels survives its session, on files in memory and on a disk") {
  for (const bool disk : {false, true}) {
    CAPTURE(disk);
    const temp_folder folder(disk ? std::filesystem::temp_directory_path().string() : in_memory);
    const std::string endpoint =
        "emu:?capacity=16M&runner=gpu&flash=" + folder.path() + (disk ? "&media=hbm" : "");
    {
      host::session s(endpoint);
      walk(s, 65536 / 4);
    }
    host::session s(endpoint);
    const volume_info v = s.open_volume(volume_id(1));
    host::array<std::uint64_t> a(s, v, items, {.frame_bytes = 2 * items, .page_bytes = 16384});
    const counter wrong(s);
    run(s, 4, 128, check_pages{.round = 2}, a.view(), wrong.data());
    CHECK(wrong.value() == 0);
  }
}

TEST_CASE("on a GPU the end of an array throws what view[i] = x could not say") {
  for (const std::string endpoint : {"emu:?capacity=16M&runner=gpu", "emu:?capacity=16M"}) {
    CAPTURE(endpoint);
    host::session s(gpu_node(endpoint));
    const volume_info v = s.create_volume({.bytes = 8 * items});
    host::array<std::uint64_t> a(s, v, items, {.frame_bytes = 2 * items, .page_bytes = 4096});
    for (std::uint32_t ssd = 0; ssd < 4; ++ssd) s.inject_fault(ssd, "dead");
    run(s, 2, 64, store_some{}, a.view(), 2048, 7);
    for (std::uint32_t ssd = 0; ssd < 4; ++ssd) s.inject_fault(ssd, "none");
    CHECK_THROWS_AS(a.close(), host::io_error);
    CHECK(a.counters().first_error_at == 4);
    a.clear_errors();
    run(s, 2, 64, store_some{}, a.view(), items - 64, 7);
    CHECK_THROWS_AS(a.flush(), host::io_error);
    CHECK(status::unpack(a.counters().first_error).code == status_code::out_of_range);
    a.clear_errors();
    a.close();
    std::vector<std::uint64_t> last(512);
    s.read(v, 8 * items - 4096, last.data(), 4096);
    CHECK(last[511] == 7 + 63);
  }
}

TEST_CASE("a node that is not resident brings its files up to date, too") {
  const temp_folder folder(in_memory);
  const std::string endpoint =
      "emu:?capacity=16M&ssds=2&shards=4&runner=gpu&resident=no&flash=" + folder.path();
  {
    host::session s(endpoint);
    walk(s, 4096);
  }
  host::session s(endpoint);
  const volume_info v = s.open_volume(volume_id(1));
  std::vector<std::uint64_t> numbers(items);
  s.read(v, 0, numbers.data(), 8 * items);
  std::uint64_t bad = 0;
  for (std::uint64_t i = 0; i < items; ++i) bad += numbers[i] != walked(i, 2) ? 1 : 0;
  CHECK(bad == 0);
}

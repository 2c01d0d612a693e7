/// Arrays end to end on this machine: kernels, paging, channels, and an emulated array.
#include "under_tsan.hpp"
#include "walk.hpp"
#include <gnstor/host/array.hpp>
#include <gnstor/host/mapped_array.hpp>
#include <gnstor/host/memory_array.hpp>

#include <doctest/doctest.h>

#include <string>
#include <vector>

using namespace gnstor;
using namespace gnstor::literals;
using namespace gnstor::test;
namespace host = gnstor::host;

namespace {

constexpr std::uint64_t count = 1 << 16;  ///< elements of 8 bytes: 128 pages of 4 KiB
constexpr host::array_options few_frames{.frame_bytes = 32 * 4096, .page_bytes = 4096};

template <class Kernel, class... Args>
void run(host::session& s, std::uint32_t grid, std::uint32_t block, Kernel kernel, Args... args) {
  host::executor machine;
  machine.spawn(grid, block, kernel, args...);
  s.attach(machine);
  machine.run();
}

void fill(host::session& s, const volume_info& v) {
  std::vector<std::uint64_t> start(count);
  for (std::uint64_t i = 0; i < count; ++i) start[i] = walked(i, 0);
  s.write(v, 0, start.data(), 8 * count);
}

std::uint64_t wrong_on_volume(host::session& s, const volume_info& v, std::uint64_t round) {
  std::vector<std::uint64_t> found(count);
  s.read(v, 0, found.data(), 8 * count);
  std::uint64_t wrong = 0;
  for (std::uint64_t i = 0; i < count; ++i) wrong += found[i] != walked(i, round) ? 1 : 0;
  return wrong;
}

}  // namespace

TEST_CASE("a kernel changes an array four times its frames, and the volume holds the result") {
  for (const std::string endpoint : {"emu:?capacity=16M", "emu:?capacity=16M&transport=proxy",
                                     "emu:?capacity=16M&runner=sim&lanes=8"}) {
    CAPTURE(endpoint);
    // All lanes of a simulated runner are one thread.
    if (under_tsan && endpoint.find("runner=sim") != std::string::npos) continue;
    host::session s(endpoint);
    const volume_info v = s.create_volume({.bytes = 8 * count});
    fill(s, v);
    host::array<std::uint64_t> a(s, v, count, few_frames);
    CHECK(a.pages() == 128);
    CHECK(a.frames() == 32);
    std::uint64_t wrong = 0;
    for (std::uint64_t round = 0; round < 2; ++round) {
      run(s, 4, 64, add_to_all{.round = round}, a.view(), &wrong);
    }
    run(s, 2, 64, check_pages{.round = 2}, a.view(), &wrong);
    CHECK(wrong == 0);
    a.flush();
    CHECK(wrong_on_volume(s, v, 2) == 0);
    const page_cache_counters c = a.counters();
    CHECK(c.evictions > 0);
    CHECK(c.pages_in - c.evictions <= 32);
    CHECK(c.io_errors == 0);
    CHECK(c.first_error == 0);
  }
}

TEST_CASE("a flush of more pages than there are request slots ends") {
  host::session s("emu:?capacity=32M", {.channels = 1, .depth = 8});
  const volume_info v = s.create_volume({.bytes = 1 << 20, .replicas = 3});
  host::array<std::uint64_t> a(s, v, (1 << 20) / 8, {.frame_bytes = 1 << 20, .page_bytes = 4096});
  run(s, 2, 128, touch_pages{}, a.view());
  a.flush();
  CHECK(a.counters().pages_out == 256);
  std::vector<std::uint64_t> found((1 << 20) / 8);
  s.read(v, 0, found.data(), 1 << 20);
  std::uint64_t wrong = 0;
  for (std::uint64_t i = 0; i < found.size(); ++i) {
    wrong += found[i] != (i % 512 == 0 ? i + 1 : 0) ? 1 : 0;
  }
  CHECK(wrong == 0);
}

TEST_CASE("a flush that cannot reach an SSD says so, keeps the pages, and succeeds later") {
  host::session s("emu:?capacity=16M");
  const volume_info v = s.create_volume({.bytes = 8 * count});
  fill(s, v);
  host::array<std::uint64_t> a(s, v, count, {.frame_bytes = 8 * count, .page_bytes = 65536});
  std::uint64_t wrong = 0;
  run(s, 2, 64, add_to_all{.round = 0}, a.view(), &wrong);
  CHECK(wrong == 0);
  s.inject_fault(3, "dead");
  std::string said;
  try {
    a.flush();
  } catch (const host::io_error& e) {
    said = e.what();
    CHECK(e.outcome().ssd == 3);
  }
  CHECK(said.find("pages dirty") != std::string::npos);
  CHECK(said.find("SSD 3") != std::string::npos);
  s.inject_fault(3, "none");
  a.clear_errors();
  a.flush();
  CHECK(a.counters().first_error == 0);
  CHECK(wrong_on_volume(s, v, 1) == 0);
}

TEST_CASE("an element on broken SSDs gives their error to the lane until it is forgiven") {
  host::session s("emu:?capacity=16M");
  const volume_info v = s.create_volume({.bytes = 8 * count});
  fill(s, v);
  host::array<std::uint64_t> a(s, v, count, few_frames);
  const auto where = rendezvous_placement(4).replicas(v.vid, v.hash_factor, 0, 2);
  for (std::uint32_t k = 0; k < 2; ++k) s.inject_fault(where.ssd[k].value, "media_error");
  std::vector<std::uint64_t> outcome(64);
  run(s, 1, 64, load_first{}, a.view(), outcome.data());
  for (const std::uint64_t word : outcome) {
    const status seen = status::unpack(word);
    CHECK(seen.code == status_code::nvme_error);
    CHECK(where.contains(ssd_index(seen.ssd)));
    CHECK(seen == status::unpack(outcome[0]));
  }
  CHECK(a.counters().first_error == outcome[0]);
  for (std::uint32_t k = 0; k < 2; ++k) s.inject_fault(where.ssd[k].value, "none");
  run(s, 1, 64, load_first{}, a.view(), outcome.data());
  CHECK(outcome[63] != 0);
  a.clear_errors();
  run(s, 1, 64, load_first{}, a.view(), outcome.data());
  for (const std::uint64_t word : outcome) CHECK(word == 0);
  CHECK(a.counters().first_error == 0);
}

TEST_CASE("pages read beside a silent SSD are right, and their first frames are not used again") {
  host::session s("emu:?capacity=16M&runner=sim", {.channels = 1});
  const volume_info v = s.create_volume({.bytes = 8 * count});
  fill(s, v);
  host::array<std::uint64_t> a(s, v, count,
                               {.frame_bytes = 8 * count, .page_bytes = 65536, .timeout = 2_s});
  s.inject_fault(1, "silent");
  std::uint64_t wrong = 0;
  run(s, 1, 32, check_pages{.round = 0}, a.view(), &wrong);
  s.inject_fault(1, "none");
  CHECK(a.counters().io_errors == 0);
  CHECK(a.counters().lost_frames > 0);
  CHECK(a.counters().lost_frames < 8);
  run(s, 1, 64, add_to_all{.round = 0}, a.view(), &wrong);
  a.flush();
  CHECK(wrong_on_volume(s, v, 1) == 0);
  a.take_frames_back();
  CHECK(a.counters().lost_frames == 0);
  // There is a frame for every page again: once the hand has come to those that are free, nothing
  // is fetched.
  for (int pass = 0; pass < 8; ++pass) run(s, 1, 64, check_pages{.round = 1}, a.view(), &wrong);
  const std::uint64_t after = a.counters().pages_in;
  run(s, 1, 64, check_pages{.round = 1}, a.view(), &wrong);
  CHECK(a.counters().pages_in == after);
  CHECK(wrong == 0);
}

TEST_CASE("a page is what fits the ground, unless the user says otherwise") {
  constexpr std::uint64_t numbers = 1 << 18;  // 1 MiB
  const auto page_of = [](auto& a) { return 4 * a.view().elements_per_page(); };
  host::session s("emu:?capacity=16M");
  const volume_info v = s.create_volume({.bytes = 4 * numbers});
  host::array<std::uint32_t> on_volume(s, v, numbers);
  CHECK(page_of(on_volume) == 65536);
  CHECK(on_volume.pages() == 16);
  host::remote_memory peer("emu-memory:?bytes=1M");
  host::memory_array<std::uint32_t> on_peer(peer, numbers);
  CHECK(page_of(on_peer) == 65536);
  host::mapped_memory memory("host:?bytes=1M");
  host::mapped_array<std::uint32_t> mapped(memory, numbers);
  CHECK(page_of(mapped) == 4096);
  CHECK(mapped.pages() == 256);
  CHECK(mapped.frames() == 64);
  host::mapped_array<std::uint32_t> otherwise(memory, numbers, {.page_bytes = 65536});
  CHECK(page_of(otherwise) == 65536);
}

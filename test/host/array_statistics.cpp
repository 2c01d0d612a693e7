/// What an array says of its paging, and when it asks for more frames.
#include "array_access.hpp"

using namespace gnstor;
using namespace gnstor::test;

namespace {

constexpr std::uint64_t many = 1 << 20;  ///< elements of 4 bytes: 4 MiB, 64 pages of 64 KiB

/// Every thread sums its own contiguous chunk, an element in each KiB. Threads go on side by side,
/// as those of a GPU do.
struct sum_chunks {
  template <class Lane, class View>
  void operator()(Lane& lane, View view, std::uint64_t* sum) const {
    const std::uint64_t chunk = view.size() / lane.grid_threads();
    const std::uint64_t first = lane.global_thread() * chunk;
    std::uint64_t mine = 0;
    for (std::uint64_t i = first; i < first + chunk; i += 256) {
      mine += view[i];
      lane.sync_block();
    }
    device_word<std::uint64_t>(*sum).fetch_add(mine, relaxed);
  }
};
/// Neighbouring threads read neighbouring elements, once through the array.
struct sum_stream {
  template <class Lane, class View>
  void operator()(Lane& lane, View view, std::uint64_t* sum) const {
    std::uint64_t mine = 0;
    for (std::uint64_t i = lane.global_thread(); i < view.size(); i += lane.grid_threads())
      mine += view[i];
    device_word<std::uint64_t>(*sum).fetch_add(mine, relaxed);
  }
};

/// Statistics of a fresh array of 4 MiB with 32 frames after `rounds` runs of `kernel`.
template <class Kernel>
gnstor::host::array_statistics after(const Kernel& kernel, std::uint32_t rounds,
                                     std::uint32_t frames = 32) {
  gnstor::host::mapped_memory memory("host:?bytes=4M");
  gnstor::host::mapped_array<std::uint32_t> a(
      memory, many, {.frame_bytes = std::uint64_t{frames} << 16, .page_bytes = 1 << 16});
  a.fill(1);
  std::uint64_t sum = 0;
  for (std::uint32_t k = 0; k < rounds; ++k) {
    gnstor::host::executor kernels;
    kernels.spawn(1, 64, kernel, a.view(), &sum);
    kernels.run();
  }
  a.close();
  return a.statistics();
}

/// Numbers of an array of 64 pages.
gnstor::host::array_statistics made(const page_cache_counters& c, std::uint32_t frames = 32) {
  return gnstor::host::array_statistics::of(c, "array on volume 7", 64, frames, 4096);
}

bool says(const std::string& text, const std::string& part) {
  CAPTURE(text);
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE(
    "threads that read a contiguous chunk each, with half as many frames, get the advice for "
    "more") {
  const gnstor::host::array_statistics s = after(sum_chunks{}, 1);
  CHECK(s.faults > 3 * 64);
  CHECK(s.touched() == 64);
  CHECK(s.is_short_of_frames());
  CHECK(says(s.advice(), "the array on host memory is short of frames: kernels used 64 pages, 32"));
  CHECK(says(s.advice(), "with frame_bytes = 4194304 (64 frames) each is fetched once"));
  CHECK(says(s.to_string(), s.advice()));
}

TEST_CASE("the frames that the advice asks for are enough") {
  const gnstor::host::array_statistics s = after(sum_chunks{}, 3, 64);
  CHECK(s.faults == 64);
  CHECK(s.refetches == 0);
  CHECK(s.advice().empty());
}

TEST_CASE("an array that is read once from end to end is given no advice") {
  const gnstor::host::array_statistics s = after(sum_stream{}, 1);
  CHECK(s.faults == 64);
  CHECK(s.refetches == 0);
  CHECK(s.bytes_in == 4 << 20);
  CHECK(s.bytes_out == 0);
  CHECK(s.advice().empty());
  CHECK(says(s.to_string(), "faults       64\n"));
  // Read twice, half of what comes in has been there: that is no shortage yet.
  CHECK(after(sum_stream{}, 2).advice().empty());
}

TEST_CASE("pages that the host has written do not make an array short of frames") {
  memory_rig r({.frame_bytes = 32 * 512, .page_bytes = 512});
  std::vector<std::uint32_t> numbers(access_count);
  // 20 of 79 pages, which fit, come in again and again as the host has written them.
  for (int k = 0; k < 20; ++k) {
    r.array.write(0, 20 * 128, numbers.data());
    const auto some = [](auto& lane, auto view, std::uint64_t* sum) {
      for (std::uint64_t i = lane.global_thread(); i < 20 * 128; i += lane.grid_threads())
        device_word<std::uint64_t>(*sum).fetch_add(view[i], relaxed);
    };
    std::uint64_t sum = 0;
    r.run(some, r.array.view(), &sum);
  }
  CHECK(wrong_in_kernel(r, {}) == access_count - 1);
  const gnstor::host::array_statistics s = r.array.statistics();
  CHECK(s.refetches >= 300);
  CHECK(s.dropped >= 300);
  CHECK(s.frames < s.touched());
  CHECK(s.advice().empty());
}

TEST_CASE("statistics add up") {
  page_cache_counters c;
  c.pages_in = 100;
  c.pages_out = 30;
  c.evictions = 70;
  c.io_errors = 2;
  c.lost_frames = 1;
  c.refetches = 59;
  c.overwritten = 10;
  c.waits = 5;
  c.dropped = 9;
  const gnstor::host::array_statistics s = made(c);
  CHECK(s.faults == 100);
  CHECK(s.touched() == 41);
  CHECK(s.bytes_in == 90 * 4096);
  CHECK(s.bytes_out == 30 * 4096);
  CHECK(s.evictions == 61);
  CHECK(s.dropped == 9);
  CHECK(s.waits == 5);
  CHECK(s.errors == 2);
  CHECK(s.lost_frames == 1);
  CHECK(says(s.to_string(), "array on volume 7: 64 pages of 4096 bytes, 32 frames\n"));
  CHECK(!s.is_short_of_frames());  // 50 refetches that frames would spare
  c.refetches = 60;
  CHECK(made(c).is_short_of_frames());
  CHECK(
      says(made(c).advice(), "used 40 pages, 32 frames held them, and each was fetched 2.5 times"));
  CHECK(!made(c, 40).is_short_of_frames());
  CHECK(made({}).advice().empty());
}

TEST_CASE("an array is short of frames that others take, however many there are") {
  page_cache_counters c;
  c.pages_in = 100;
  c.evictions = 95;
  c.refetches = 60;
  const auto s = gnstor::host::array_statistics::of(c, "array on volume 7", 64, 1000, 4096, true);
  CHECK(s.held == 5);
  CHECK(s.is_short_of_frames());
  CHECK(says(s.advice(), "with kept_frame_bytes = 163840 (40 frames), or a pool that is larger"));
  CHECK(says(s.to_string(), "1000 frames shared with others\n"));
  CHECK(says(s.to_string(), "frames held  5\n"));
  const auto own = gnstor::host::array_statistics::of(c, "array on volume 7", 64, 1000, 4096);
  CHECK(!own.is_short_of_frames());
}

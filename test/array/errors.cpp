/// What an array does when its store fails, hangs, or runs out of frames. Nothing may be lost, and
/// nothing may stay pinned.
#include "lambda_kernel.hpp"
#include "rig.hpp"

#include <doctest/doctest.h>

using namespace gnstor;
using namespace gnstor::test;
namespace host = simt::host;

namespace {

/// Runs `body(lane, view)` as every lane of one block of a rig. Time is virtual: a busy machine
/// reaches no deadline early.
template <class Rig, class Body>
void run(Rig& r, std::uint32_t lanes, Body body) {
  const host::options seeded{.run = host::mode::seeded, .seed = 1};
  REQUIRE(r.run(seeded, 1, lanes, lambda_kernel<Body>{body}, r.view()) == "");
}

using words = rig<std::uint64_t, false>;

std::uint64_t poison() {
  std::uint64_t p = 0;
  std::memset(&p, words::view_type::poison_byte, sizeof p);
  return p;
}

}  // namespace

TEST_CASE("a failed fetch reaches every lane that asked, and the page stays failed") {
  words r(rig_shape{});
  r.plan[3] = disk_plan::fetch_fails;
  const status expected = fake_store<false>::media_error(page_index(3));
  status seen[32];
  run(r, 32, [&](auto& lane, const auto& view) {
    seen[lane.thread()] = view.load(24 + lane.thread() % 8).status;
  });
  for (const status& s : seen) CHECK(s == expected);
  CHECK(r.saw.fetches == 1);
  r.plan[3] = 0;
  status later;
  std::uint64_t read = 0;
  run(r, 1, [&](auto&, const auto& view) {
    later = view.store(24, 7);
    read = view[24];
  });
  CHECK(later == expected);
  CHECK(read == poison());
  CHECK(r.saw.fetches == 1);
  CHECK(r.counters().io_errors == 1);
  CHECK(status::unpack(r.counters().first_error) == expected);
  CHECK(r.quiet() == "");
}

TEST_CASE("a failed page answers with its own error, not with the array's first") {
  words r(rig_shape{});
  r.plan[1] = r.plan[2] = disk_plan::fetch_fails;
  status second;
  run(r, 1, [&](auto&, const auto& view) {
    (void)view.load(8);
    (void)view.load(16);
    second = view.load(17).status;
  });
  CHECK(second == fake_store<false>::media_error(page_index(2)));
  CHECK(r.quiet() == "");
}

TEST_CASE("a forgiven page is fetched again") {
  words r(rig_shape{});
  r.plan[3] = disk_plan::fetch_fails;
  r.content[24] = 42;
  result<std::uint64_t> again = status{};
  run(r, 1, [&](auto&, const auto& view) {
    (void)view.load(24);
    r.plan[3] = 0;
    view.cache().forgive(page_index(3));
    view.cache().forgive(page_index(4));
    again = view.load(24);
  });
  CHECK(again.status.ok());
  CHECK(again.value == 42);
  CHECK(r.quiet() == "");
}

TEST_CASE("the other lanes of a warp do not suffer from a failed page") {
  words r(rig_shape{});
  r.plan[1] = disk_plan::fetch_fails;
  std::uint64_t read[32];
  for (std::size_t k = 0; k < 96; ++k) r.content[k] = 100 + k;
  run(r, 32, [&](auto& lane, const auto& view) { read[lane.thread()] = view[lane.thread()]; });
  for (std::size_t k = 0; k < 32; ++k) CHECK(read[k] == (k / 8 == 1 ? poison() : 100 + k));
}

TEST_CASE("a failed write of view[i] leaves a status and changes nothing") {
  words r(rig_shape{.frames = 1, .timeout_ns = 100'000});
  run(r, 1, [&](auto& lane, const auto& view) {
    const auto g = simt::group::self();
    const auto held = view.acquire_page(g, 0);
    REQUIRE(held);
    view[8] = 5;
    view[8] += 5;
    view.release_page(g, held.value);
    static_cast<void>(lane);
  });
  CHECK(status::unpack(r.counters().first_error).code == status_code::no_memory);
  CHECK(r.counters().io_errors == 0);
  CHECK(r.quiet() == "");
  std::uint64_t after = 1;
  run(r, 1, [&](auto&, const auto& view) { after = view[8]; });
  CHECK(after == 0);
}

TEST_CASE(
    "with all frames pinned an access ends with no_memory at its deadline, and nothing leaks") {
  words r(rig_shape{.frames = 2, .timeout_ns = 100'000});
  status seen[8];
  std::uint64_t waited = 0;
  run(r, 8, [&](auto& lane, const auto& view) {
    const auto a = view.acquire_page(lane.warp(), 0);
    const auto b = view.acquire_page(lane.warp(), 8);
    const std::uint64_t before = simt::now_ns();
    seen[lane.thread()] = view.load(16 + 8 * lane.thread()).status;
    if (lane.thread() == 0) waited = simt::now_ns() - before;
    view.release_page(lane.warp(), a.value);
    view.release_page(lane.warp(), b.value);
  });
  for (const status& s : seen) CHECK(s.code == status_code::no_memory);
  CHECK(waited >= 100'000);
  CHECK(r.quiet() == "");
  CHECK(r.saw.fetches == 2);
  CHECK(r.counters().io_errors == 0);
  status after;
  run(r, 1, [&](auto&, const auto& view) { after = view.load(16).status; });
  CHECK(after.ok());
  CHECK(r.quiet() == "");
}

TEST_CASE("a page whose write-back fails stays with its bytes, and other frames are used") {
  words r(rig_shape{.frames = 2});
  r.plan[0] = disk_plan::store_fails;
  run(r, 1, [&](auto&, const auto& view) {
    view[3] = 77;
    for (std::uint64_t page = 1; page < 12; ++page) CHECK(view.load(8 * page).status.ok());
    CHECK(view.load(3).value == 77);
    CHECK(view.flush(page_index(0)) == fake_store<false>::media_error(page_index(0)));
  });
  CHECK(r.word(0).is(page_word::dirty));
  CHECK(r.counters().io_errors != 0);
  CHECK(r.quiet() == "");
  r.plan[0] = 0;
  r.expected[3] = 77;
  run(r, 1, [&](auto&, const auto& view) { CHECK(view.flush(page_index(0)).ok()); });
  CHECK(r.flushed() == "");
}

TEST_CASE("when every page is dirty and none can be written back, the access ends with no_memory") {
  words r(rig_shape{.frames = 2, .timeout_ns = 100'000});
  for (auto& p : r.plan) p = disk_plan::store_fails;
  status s;
  run(r, 1, [&](auto&, const auto& view) {
    view[0] = 1;
    view[8] = 2;
    s = view.load(16).status;
    CHECK(view.load(0).value == 1);
    CHECK(view.load(8).value == 2);
  });
  CHECK(s.code == status_code::no_memory);
  CHECK(r.quiet() == "");
}

TEST_CASE("the frame of a fetch that timed out holds no page again") {
  words r(rig_shape{.timeout_ns = 200'000});
  r.plan[2] = disk_plan::fetch_hangs;
  status s;
  run(r, 1, [&](auto&, const auto& view) {
    s = view.load(16).status;
    for (int turn = 0; turn < 3; ++turn) {
      for (std::uint64_t page = 3; page < 12; ++page) CHECK(view.load(8 * page).status.ok());
    }
  });
  CHECK(s.code == status_code::timed_out);
  CHECK(r.counters().lost_frames == 1);
  CHECK(r.quiet() == "");
}

TEST_CASE("a page fetched beside a request that was given up moves to a safe frame") {
  words r(rig_shape{});
  r.plan[2] = disk_plan::fetch_is_late;
  r.content[17] = 170;
  run(r, 1, [&](auto&, const auto& view) {
    const auto g = simt::group::self();
    const auto held = view.acquire_page(g, 17);
    REQUIRE(held);
    CHECK((r.frames->use[r.disk_ref().frame_of(held.value.data)] & disk::given_up) == 0);
    CHECK(held.value[17] == 170);
    view.release_page(g, held.value);
    for (std::uint64_t page = 3; page < 12; ++page) CHECK(view.load(8 * page).status.ok());
  });
  CHECK(r.counters().lost_frames == 1);
  CHECK(r.counters().io_errors == 0);
  CHECK(r.quiet() == "");
}

TEST_CASE("a silent SSD costs an array one frame, not one for each page") {
  words r(rig_shape{});
  for (std::uint32_t& plan : r.plan) plan = disk_plan::fetch_is_late;
  run(r, 1, [&](auto&, const auto& view) {
    for (int turn = 0; turn < 3; ++turn) {
      for (std::uint64_t page = 0; page < 12; ++page) CHECK(view.load(8 * page).status.ok());
    }
  });
  CHECK(r.counters().lost_frames == 1);
  CHECK(r.counters().io_errors == 0);
  CHECK(r.quiet() == "");
}

TEST_CASE("after a write-back that timed out the frame holds its page, but no other") {
  words r(rig_shape{.frames = 3, .timeout_ns = 200'000});
  r.plan[0] = disk_plan::store_hangs;
  run(r, 1, [&](auto&, const auto& view) {
    view[1] = 11;
    CHECK(view.flush(page_index(0)).code == status_code::timed_out);
    CHECK(view.load(1).value == 11);
    r.plan[0] = 0;
    view.cache().forgive(page_index(0));
    view[2] = 22;
    for (std::uint64_t page = 1; page < 12; ++page) CHECK(view.load(8 * page).status.ok());
    CHECK(view.load(1).value == 11);
  });
  r.expected[1] = 11;
  r.expected[2] = 22;
  CHECK(r.counters().lost_frames == 1);
  CHECK(r.quiet() == "");
  CHECK(r.flushed() == "");
  // After a reset of its channel nothing uses the frame any more.
  for (std::uint32_t& use : r.frames->use) use &= ~disk::given_up;
  run(r, 1, [&](auto&, const auto& view) {
    for (std::uint32_t f = 0; f < 3; ++f) view.cache().take_back(frame_index(f));
    for (std::uint64_t page = 0; page < 12; ++page) CHECK(view.load(8 * page).status.ok());
  });
  CHECK(r.counters().lost_frames == 0);
  CHECK(r.quiet() == "");
}

TEST_CASE("a frame that may hold its page alone is as any other when it was taken back") {
  words r(rig_shape{.frames = 1, .timeout_ns = 200'000});
  r.plan[0] = disk_plan::store_hangs;
  run(r, 1, [&](auto&, const auto& view) {
    view[1] = 11;
    CHECK(view.flush(page_index(0)).code == status_code::timed_out);
    r.plan[0] = 0;
    for (std::uint32_t& use : r.frames->use) use &= ~disk::given_up;
    view.cache().take_back(frame_index(0));
    CHECK(view.flush(page_index(0)).ok());
    CHECK(view.load(8).status.ok());
    CHECK(view.load(1).value == 11);
  });
  CHECK(r.counters().lost_frames == 0);
  CHECK(r.quiet() == "");
}

TEST_CASE("a write-back that hangs leaves time to take another frame") {
  words r(rig_shape{.frames = 3, .timeout_ns = 400'000});
  r.plan[0] = disk_plan::store_hangs;
  status s;
  run(r, 1, [&](auto&, const auto& view) {
    view[0] = 9;
    (void)view.load(8);
    (void)view.load(16);
    s = view.load(24).status;
  });
  CHECK(s.ok());
  CHECK(r.word(0).is(page_word::dirty));
  CHECK(r.quiet() == "");
}

TEST_CASE("an index past the end is refused in every way") {
  words r(rig_shape{}, 93);
  run(r, 1, [&](auto&, const auto& view) {
    CHECK(view.load(93).status.code == status_code::out_of_range);
    CHECK(view.store(~std::uint64_t{0}, 1).code == status_code::out_of_range);
    CHECK(view.acquire_page(simt::group::self(), 93).status.code == status_code::out_of_range);
    CHECK(static_cast<std::uint64_t>(view[95]) == poison());
    view[94] = 3;
  });
  CHECK(status::unpack(r.counters().first_error) ==
        status::make(status_code::out_of_range, reporter::array));
  CHECK(r.saw.fetches == 0);
  CHECK(r.quiet() == "");
}

TEST_CASE("a pinned page is neither flushed nor taken") {
  words r(rig_shape{.frames = 2});
  run(r, 1, [&](auto&, const auto& view) {
    const auto g = simt::group::self();
    const auto held = view.acquire_page(g, 0, page_use::write);
    REQUIRE(held);
    held.value[5] = 55;
    CHECK(view.flush(page_index(0)).code == status_code::would_block);
    for (std::uint64_t page = 1; page < 12; ++page) CHECK(view.load(8 * page).status.ok());
    CHECK(held.value[5] == 55);
    view.release_page(g, held.value);
    CHECK(view.flush(page_index(0)).ok());
    CHECK(view.flush(page_index(0)).ok());
    CHECK(view.flush(page_index(1)).ok());
  });
  r.expected[5] = 55;
  CHECK(r.saw.stores == 1);
  CHECK(r.flushed() == "");
  CHECK(r.quiet() == "");
}

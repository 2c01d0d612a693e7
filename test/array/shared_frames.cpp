/// Arrays that share their frames.
// label: thorough
#include "alone.hpp"
#include "mapped_rig.hpp"
#include "pager_rig.hpp"
#include "qp/seed_sweep.hpp"
#include "rig.hpp"
#include "verdict.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string>

using namespace gnstor;
using namespace gnstor::test;
namespace host = simt::host;

namespace {

using words = rig<std::uint64_t, true>;
using memory_words = mapped_rig<std::uint64_t>;
using chunked_words = mapped_rig<std::uint64_t, small_chunks>;

/// Two arrays on the same frames.
template <class Rig>
struct two_sharers {
  /// @param shape of each; `second` says what differs of the other
  two_sharers(rig_shape shape, rig_shape other)
      : frames(std::make_shared<rig_frames>(shape,
                                            Rig::view_type::cache_type::ring_bytes(shape.frames))),
        a(numbered(shape, 0), count(shape), frames),
        b(numbered(other, 1), count(other), frames) {
    (void)a.view();  // each knows the other from here on
    (void)b.view();
  }
  /// Elements: the last page is not full.
  static std::uint64_t count(const rig_shape& s) { return s.pages * s.page_words - 1; }

  std::shared_ptr<rig_frames> frames;
  Rig a;
  Rig b;

 private:
  static rig_shape numbered(rig_shape s, std::uint32_t number) {
    s.share.array = number;
    return s;
  }
};

/// The runs of a case, by the frames' rule.
eviction rule_of(const host::options& chosen) {
  constexpr std::array rules{eviction::fifo, eviction::clock, eviction::resist_scans};
  return rules[chosen.seed % rules.size()];
}
rig_shape shape_of(const host::options& chosen) {
  return {.pages = 12, .frames = 5, .page_words = 8, .delay = 1, .how = rule_of(chosen)};
}

/// Kernels of both arrays at once; what is wrong, or nothing.
template <class Rig>
std::string both_at_once(host::options chosen) {
  const rig_shape shape = shape_of(chosen);
  rig_shape other = shape;
  other.pages = 9;
  two_sharers<Rig> s(shape, other);
  host::executor machine(chosen);
  const auto seed = static_cast<std::uint32_t>(chosen.seed);
  machine.spawn(1, 32, random_elements<std::uint64_t>{.rounds = 4, .seed = seed}, s.a.view(),
                s.a.expected.data(), &s.a.lanes);
  machine.spawn(1, 32, random_elements<std::uint64_t>{.rounds = 4, .seed = seed + 1}, s.b.view(),
                s.b.expected.data(), &s.b.lanes);
  std::string fault = verdict(s.a, run_to_end(machine), chosen);
  return fault.empty() ? verdict(s.b, "", chosen) : fault;
}

/// The same, each with a pager and a cleaner.
template <class Rig>
std::string both_served(host::options chosen) {
  rig_shape shape = shape_of(chosen);
  shape.frames = 40;
  shape.pages = 60;
  two_sharers<Rig> s(shape, shape);
  pager_rig<std::uint64_t, Rig> pa(s.a, shape, 1, 1), pb(s.b, shape, 1, 1);
  chosen.step_budget = 20'000'000;
  const random_elements<std::uint64_t> kernel{.rounds = 4,
                                              .seed = static_cast<std::uint32_t>(chosen.seed)};
  host::executor machine(chosen);
  pa.begin();
  pb.begin();
  pa.serve(machine);
  pb.serve(machine);
  machine.spawn(1, 32, kernel, pa.view(), s.a.expected.data(), &s.a.lanes);
  machine.spawn(1, 32, kernel, pb.view(), s.b.expected.data(), &s.b.lanes);
  std::string fault = verdict(s.a, run_to_end(machine), chosen);
  return fault.empty() ? verdict(s.b, "", chosen) : fault;
}

/// Reads an element of each page from `first` to before `last`; whether all were there.
template <class Rig>
bool read_pages(Rig& r, std::uint32_t first, std::uint32_t last) {
  bool good = true;
  alone(r, [&](const auto& view) {
    for (std::uint64_t p = first; p < last; ++p) good = view.load(8 * p).status.ok() && good;
  });
  return good;
}
template <class Rig>
std::uint32_t resident(const Rig& r, std::uint32_t pages) {
  std::uint32_t n = 0;
  for (std::uint32_t p = 0; p < pages; ++p) n += r.word(p).usable() ? 1 : 0;
  return n;
}

}  // namespace

TEST_CASE_TEMPLATE("a page takes its frame from another array's page, which keeps what was stored",
                   Rig, words, memory_words, chunked_words) {
  const rig_shape shape{.pages = 12, .frames = 4, .page_words = 8};
  two_sharers<Rig> s(shape, shape);
  alone(s.a, [&](const auto& view) {
    for (std::uint64_t p = 0; p < 4; ++p) CHECK(view.store(8 * p, 70 + p).ok());
  });
  CHECK(resident(s.a, 12) == 4);
  CHECK(read_pages(s.b, 0, 3));
  CHECK(resident(s.a, 12) == 1);
  CHECK(resident(s.b, 12) == 3);
  CHECK(s.a.counters().evictions == 3);
  CHECK(s.a.counters().pages_out == 3);
  CHECK(s.b.counters().evictions == 0);
  CHECK(s.b.counters().pages_out == 0);
  CHECK(s.a.quiet() == "");
  CHECK(s.b.quiet() == "");
  alone(s.a, [&](const auto& view) {
    for (std::uint64_t p = 0; p < 4; ++p) CHECK(view.load(8 * p).value == 70 + p);
  });
  CHECK(s.b.counters().evictions == 3);
}

TEST_CASE_TEMPLATE("what an array keeps of shared frames no other takes", Rig, words,
                   memory_words) {
  const rig_shape kept{.pages = 12, .frames = 8, .page_words = 8, .share = {.least = 3}};
  const rig_shape free{.pages = 12, .frames = 8, .page_words = 8};
  two_sharers<Rig> s(kept, free);
  CHECK(read_pages(s.a, 0, 6));
  for (int round = 0; round < 5; ++round) CHECK(read_pages(s.b, 0, 12));
  CHECK(resident(s.a, 12) == 3);
  CHECK(resident(s.b, 12) == 5);
}

TEST_CASE_TEMPLATE("an array takes no more of shared frames than it may", Rig, words,
                   memory_words) {
  const rig_shape few{.pages = 12, .frames = 8, .page_words = 8, .share = {.most = 2}};
  const rig_shape free{.pages = 12, .frames = 8, .page_words = 8};
  two_sharers<Rig> s(few, free);
  // Nor of free ones.
  CHECK(read_pages(s.a, 0, 12));
  CHECK(resident(s.a, 12) == 2);
  CHECK(read_pages(s.b, 0, 6));
  for (int round = 0; round < 5; ++round) CHECK(read_pages(s.a, 0, 12));
  CHECK(resident(s.a, 12) == 2);
  CHECK(resident(s.b, 12) == 6);
}

TEST_CASE("a page that cannot be written back is its own array's error, and keeps its frame") {
  const rig_shape shape{.pages = 6, .frames = 2, .page_words = 8};
  two_sharers<words> s(shape, shape);
  s.a.plan[0] = disk_plan::store_fails;
  alone(s.a, [&](const auto& view) { CHECK(view.store(0, 7).ok()); });
  CHECK(read_pages(s.b, 0, 6));
  CHECK(s.a.counters().io_errors == 1);
  CHECK(s.b.counters().io_errors == 0);
  CHECK(s.a.word(0).usable());
  CHECK(s.a.word(0).is(page_word::write_failed));
  CHECK(resident(s.b, 6) == 1);
}

TEST_CASE("a frame that a write-back was given up on is its own array's loss") {
  const rig_shape shape{.pages = 6, .frames = 2, .page_words = 8, .timeout_ns = 1'000'000};
  two_sharers<words> s(shape, shape);
  s.a.plan[0] = disk_plan::store_hangs;
  alone(s.a, [&](const auto& view) { CHECK(view.store(0, 7).ok()); });
  (void)read_pages(s.b, 0, 6);
  s.a.plan[0] = 0;
  alone(s.a, [&](const auto& view) {
    CHECK(view.cache().flush(page_index(0), deadline::never()).ok());
  });
  // The page has gone to the disk; its frame holds no other.
  CHECK(read_pages(s.b, 0, 6));
  CHECK(s.a.counters().lost_frames == 1);
  CHECK(s.b.counters().lost_frames == 0);
  // Any of the arrays takes it back.
  alone(s.b, [&](const auto& view) {
    for (std::uint32_t f = 0; f < 2; ++f) view.cache().take_back(frame_index(f));
  });
  CHECK(s.a.counters().lost_frames == 0);
  CHECK(s.b.counters().lost_frames == 0);
  CHECK(s.a.quiet() == "");
  CHECK(s.b.quiet() == "");
}

TEST_CASE("arrays that share frames, fast") {
  for (std::uint64_t seed = 0; seed < 3; ++seed) {
    host::options chosen;
    chosen.seed = seed;
    CHECK(both_at_once<words>(chosen) == "");
    CHECK(both_at_once<memory_words>(chosen) == "");
    CHECK(both_at_once<chunked_words>(chosen) == "");
    CHECK(both_served<words>(chosen) == "");
    CHECK(both_served<memory_words>(chosen) == "");
  }
}
TEST_CASE("arrays that share frames, seeded") {
  sweep(host::mode::seeded, 100, both_at_once<words>);
  sweep(host::mode::seeded, 100, both_at_once<memory_words>);
  sweep(host::mode::seeded, 100, both_at_once<chunked_words>);
  sweep(host::mode::seeded, 20, both_served<words>);
  sweep(host::mode::seeded, 20, both_served<memory_words>);
}
TEST_CASE("arrays that share frames, weak") {
  sweep(host::mode::weak, 40, both_at_once<words>);
  sweep(host::mode::weak, 40, both_at_once<memory_words>);
  sweep(host::mode::weak, 40, both_at_once<chunked_words>);
  sweep(host::mode::weak, 10, both_served<words>);
}

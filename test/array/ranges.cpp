/// Ranges of an array that a group uses page after page. GNSTOR_SEEDS and GNSTOR_FIRST_SEED as
/// `qp/seed_sweep.hpp` says.
#include "lambda_kernel.hpp"
#include "pager_rig.hpp"
#include "qp/seed_sweep.hpp"
#include "verdict.hpp"
#include <gnstor/simt/warp_number.hpp>

#include <doctest/doctest.h>

#include <type_traits>
#include <vector>

using namespace gnstor;
using namespace gnstor::test;

namespace {

constexpr std::uint64_t share = 300;

using words = std::uint64_t;
using on_disk = rig<words, true>;
using on_memory = mapped_rig<words>;

/// Each warp reads, writes and overwrites ranges of its own part of the array, whose pages at both
/// ends are its neighbours', too.
struct ranges_of_warps {
  struct shared {};
  std::uint32_t rounds;
  std::uint32_t seed;

  template <class Lane, class View>
  void operator()(Lane& lane, View view, words* expected, access_record* record) const {
    const simt::group g = lane.warp();
    const std::uint64_t warps = lane.grid_threads() / 32;
    const std::uint64_t mine = view.size() / warps;
    const std::uint64_t begin = lane.global_thread() / 32 * mine;
    std::uint64_t draw = mix64(std::uint64_t{seed} << 32 | begin);
    for (std::uint32_t round = 0; round < rounds; ++round) {
      draw = mix64(draw + 1);
      const std::uint64_t first = draw % mine;
      const std::uint64_t count = (draw >> 20) % (mine - first + 1);
      const std::uint32_t use = draw >> 60;
      std::uint64_t next = begin + first;
      const auto each = [&](auto part, std::uint64_t at) {
        if (at != next && g.leads()) disk::add(record->wrong, 1);
        next = at + part.size();
        for (std::uint64_t k = g.thread_rank(); k < part.size(); k += g.size())
          one(const_cast<words&>(part[k]), expected[at + k], use, draw + at + k, record);
      };
      const status s = use < 8    ? view.read_range(g, begin + first, count, each)
                       : use < 12 ? view.write_range(g, begin + first, count, each)
                                  : view.overwrite_range(g, begin + first, count, each);
      if (!s.ok()) disk::add(record->failed, 1);
      if (next != begin + first + count && g.leads()) disk::add(record->wrong, 1);
    }
  }

 private:
  static void one(words& element, words& expected, std::uint32_t use, std::uint64_t draw,
                  access_record* record) {
    const device_word<words> word(element);
    if (use < 12 && word.load(relaxed) != expected) disk::add(record->wrong, 1);
    if (use < 8) return;
    expected = mix64(draw);
    word.store(expected, relaxed);
  }
};

rig_shape shape_of(std::uint64_t seed) {
  return {.pages = 6, .frames = 2 + static_cast<std::uint32_t>(seed % 3), .page_words = 16};
}
template <class Rig>
std::string ranges_run(host::options chosen) {
  const rig_shape shape = shape_of(chosen.seed);
  Rig r(shape, 16 * shape.pages - 5);
  chosen.step_budget *= 10;
  const ranges_of_warps kernel{.rounds = 3, .seed = static_cast<std::uint32_t>(chosen.seed)};
  return verdict(r, r.run(chosen, 2, 32, kernel, r.view(), r.expected.data(), &r.lanes), chosen);
}
template <class Rig>
std::string served_run(host::options chosen) {
  const rig_shape shape = shape_of(chosen.seed);
  Rig r(shape, 16 * shape.pages - 5);
  pager_rig<words, Rig> p(r, shape, 1);
  chosen.step_budget *= 10;
  const ranges_of_warps kernel{.rounds = 3, .seed = static_cast<std::uint32_t>(chosen.seed)};
  return verdict(r, p.run(chosen, 2, 32, kernel, p.view(), r.expected.data(), &r.lanes), chosen);
}

/// y = A x, a row of A per warp in turn.
struct rows_by_ranges {
  struct shared {};
  template <class Lane, class View>
  void operator()(Lane& lane, View a, const words* x, words* y, std::uint64_t columns,
                  access_record* record) const {
    const simt::group warp = lane.warp();
    for (std::uint64_t row = simt::warp_number(); row * columns < a.size();
         row += simt::warp_count()) {
      // [snippet
      std::uint64_t sum = 0;
      const std::uint64_t first = row * columns;
      const status s = a.read_range(warp, first, columns, [&](auto part, std::uint64_t i) {
        for (auto k = warp.thread_rank(); k < part.size(); k += warp.size())
          sum += part[k] * x[i + k - first];
      });
      // snippet]
      if (!s.ok()) disk::add(record->failed, 1);
      for (std::uint32_t step = 16; step != 0; step /= 2)
        sum += warp.shfl(sum, static_cast<int>((warp.thread_rank() + step) % 32));
      if (warp.leads()) y[row] = sum;
    }
  }
};

/// Runs `body(lane, view)` as every lane of a warp; what that threw, or nothing.
template <class Body>
std::string run(on_disk& r, Body body) {
  return r.run({.run = host::mode::seeded, .seed = 1}, 1, 32, lambda_kernel<Body>{body}, r.view());
}

}  // namespace

TEST_CASE("ranges of an array keep their words, fast") {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    CHECK(ranges_run<on_disk>({.seed = seed}) == "");
    CHECK(ranges_run<on_memory>({.seed = seed}) == "");
    CHECK(served_run<on_disk>({.seed = seed}) == "");
    CHECK(served_run<on_memory>({.seed = seed}) == "");
  }
}
TEST_CASE("ranges of an array keep their words, seeded") {
  sweep(host::mode::seeded, share, ranges_run<on_disk>);
  sweep(host::mode::seeded, share, served_run<on_memory>);
}
TEST_CASE("ranges of an array keep their words, weak") {
  sweep(host::mode::weak, share, ranges_run<on_disk>);
  sweep(host::mode::weak, share, ranges_run<on_memory>);
  sweep(host::mode::weak, share, served_run<on_disk>);
}

TEST_CASE("rows that begin and end within pages are read by ranges") {
  constexpr std::uint64_t columns = 13, rows = 7;
  on_disk r(rig_shape{.pages = 12, .frames = 4}, columns * rows);
  std::vector<words> x(columns), y(rows), wanted(rows);
  for (std::uint64_t i = 0; i < columns; ++i) x[i] = i + 1;
  for (std::uint64_t i = 0; i < columns * rows; ++i) {
    r.content[i] = mix64(i);
    wanted[i / columns] += mix64(i) * x[i % columns];
  }
  const std::string thrown = r.run({.run = host::mode::seeded, .seed = 1}, 2, 32, rows_by_ranges{},
                                   r.view(), x.data(), y.data(), columns, &r.lanes);
  CHECK(thrown == "");
  CHECK(r.lanes.failed == 0);
  CHECK(y == wanted);
  CHECK(r.quiet() == "");
}

TEST_CASE("a range is used page after page, and its elements alone") {
  on_disk r(rig_shape{.pages = 6, .frames = 2});
  for (std::uint64_t i = 0; i < r.content.size(); ++i) r.content[i] = 100 + i;
  std::vector<std::uint64_t> firsts, sizes;
  const std::string thrown = run(r, [&](auto& lane, const auto& view) {
    const simt::group g = lane.warp();
    const status s = view.read_range(g, 5, 14, [&](auto part, std::uint64_t i) {
      static_assert(std::is_same_v<decltype(part[0]), const words&>);
      CHECK(part[0] == 100 + i);
      if (!g.leads()) return;
      firsts.push_back(i);
      sizes.push_back(part.size());
    });
    CHECK(s == status{});
  });
  CHECK(thrown == "");
  CHECK(firsts == std::vector<std::uint64_t>{5, 8, 16});
  CHECK(sizes == std::vector<std::uint64_t>{3, 8, 3});
  CHECK(r.saw.fetches == 3);
  CHECK(r.saw.stores == 0);
  CHECK(r.quiet() == "");
}

TEST_CASE("a block uses a range of a view that only reads, each page once") {
  on_disk r(rig_shape{.pages = 6, .frames = 3});
  for (std::uint64_t i = 0; i < r.content.size(); ++i) r.content[i] = mix64(i);
  std::vector<words> seen(40);
  const auto body = [&](auto& lane, const simt::block_group& block, const auto& writing) {
    const auto view = writing.read_only();
    const status s = view.read_range(block, 3, 40, [&](auto part, std::uint64_t i) {
      static_assert(std::is_same_v<decltype(part[0]), const words&>);
      for (std::uint64_t k = lane.thread(); k < part.size(); k += 80) seen[i + k - 3] = part[k];
    });
    CHECK(s == status{});
  };
  CHECK(r.run({.run = host::mode::seeded, .seed = 1}, 1, 80, block_kernel<decltype(body)>{body},
              r.view()) == "");
  for (std::uint64_t i = 0; i < seen.size(); ++i) CHECK(seen[i] == mix64(i + 3));
  CHECK(r.saw.fetches == 6);
  CHECK(r.quiet() == "");
}

TEST_CASE("a range that is overwritten has only the pages fetched that it does not cover") {
  on_disk r(rig_shape{.pages = 6, .frames = 6});
  for (std::uint64_t i = 0; i < r.content.size(); ++i) r.content[i] = r.expected[i] = 100 + i;
  const std::string thrown = run(r, [&](auto& lane, const auto& view) {
    const simt::group g = lane.warp();
    const auto put = [&](auto part, std::uint64_t i) {
      for (std::uint64_t k = g.thread_rank(); k < part.size(); k += g.size()) part[k] = i + k;
    };
    CHECK(view.overwrite_range(g, 5, 25, put) == status{});
    CHECK(view.overwrite_range(g, 40, 8, put) == status{});
    if (g.leads()) {
      for (std::uint32_t p = 0; p < 6; ++p) CHECK(view.flush(page_index(p)).ok());
    }
  });
  CHECK(thrown == "");
  for (std::uint64_t i = 5; i < 30; ++i) r.expected[i] = i;
  for (std::uint64_t i = 40; i < 48; ++i) r.expected[i] = i;
  CHECK(r.saw.fetches == 2);
  CHECK(r.flushed() == "");
  CHECK(r.quiet() == "");
}

TEST_CASE("a range beyond the end, an empty one, and one with a page that cannot be had") {
  on_disk r(rig_shape{.pages = 12, .frames = 2}, 93);
  r.plan[3] = disk_plan::fetch_fails;
  std::uint32_t seen = 0;
  const std::string thrown = run(r, [&](auto& lane, const auto& view) {
    const simt::group g = lane.warp();
    const auto count = [&](auto part, std::uint64_t) {
      if (g.leads()) seen += static_cast<std::uint32_t>(part.size());
    };
    constexpr std::uint64_t most = ~std::uint64_t{0};
    for (const auto& [first, length] : {std::pair<std::uint64_t, std::uint64_t>{90, 4},
                                        {94, 0},
                                        {1, most},
                                        {most, 2},
                                        {most, most}}) {
      CHECK(view.read_range(g, first, length, count).code == status_code::out_of_range);
      CHECK(view.write_range(g, first, length, count).code == status_code::out_of_range);
    }
    CHECK(view.read_range(g, 93, 0, count) == status{});
    CHECK(view.read_range(g, 0, 0, count) == status{});
    CHECK(seen == 0);
    g.sync();
    CHECK(view.read_range(g, 10, 50, count) == fake_store<true>::media_error(page_index(3)));
  });
  CHECK(thrown == "");
  CHECK(seen == 14);
  CHECK(r.quiet() == "");
}

TEST_CASE("a group has the pages of its lanes fetched together, and holds none") {
  on_disk r(rig_shape{.pages = 12, .frames = 8}, 93);
  r.plan[3] = disk_plan::fetch_fails;
  const std::string thrown = run(r, [&](auto& lane, const auto& view) {
    const simt::group g = lane.warp();
    const std::uint64_t rank = g.thread_rank();
    view.prefetch(g, rank * 8, rank < 6 || rank > 20);
    g.sync();
    if (!g.leads()) return;
    for (std::uint32_t p = 0; p < 12; ++p) {
      const page_word word = view.cache().look(page_index(p));
      CHECK(word.usable() == (p < 6 && p != 3));
      CHECK(word.references() == 0);
    }
    CHECK(view.load(24).status == fake_store<true>::media_error(page_index(3)));
  });
  CHECK(thrown == "");
  CHECK(r.quiet() == "");
}

TEST_CASE("a range asks for its next page before it works on one, where others fetch") {
  const rig_shape shape{.pages = 6, .frames = 6};
  on_disk r(shape);
  pager_rig<words, on_disk> p(r, shape, 1);
  std::uint32_t asked = 0;
  const auto body = [&](auto& lane, const auto& view) {
    const simt::group g = lane.warp();
    CHECK(view.read_range(g, 0, view.size(), [&](auto part, std::uint64_t i) {
      const page_index next(static_cast<std::uint32_t>((i + part.size()) / 8));
      if (g.leads() && next.value < 6)
        asked += view.cache().look(next).is(page_word::busy | page_word::resident) ? 1 : 0;
    }) == status{});
  };
  CHECK(p.run({.run = host::mode::seeded, .seed = 1}, 1, 32, lambda_kernel<decltype(body)>{body},
              p.view()) == "");
  CHECK(asked == 5);
  // Of an overwritten one alone the page at its end is fetched.
  const auto overwrite = [&](auto& lane, const auto& view) {
    const simt::group g = lane.warp();
    CHECK(view.overwrite_range(g, 8, 17, [&](auto part, std::uint64_t i) {
      if (!g.leads()) return;
      for (words& w : part) w = i;
      const page_index end(3);
      if (i == 16)
        asked += view.cache().look(end).is(page_word::busy | page_word::resident) ? 1 : 0;
    }) == status{});
  };
  on_disk fresh(shape);
  pager_rig<words, on_disk> beside(fresh, shape, 1);
  CHECK(beside.run({.run = host::mode::seeded, .seed = 1}, 1, 32,
                   lambda_kernel<decltype(overwrite)>{overwrite}, beside.view()) == "");
  CHECK(asked == 6);
  CHECK(fresh.quiet() == "");
}

/// Threads that remember the page they read last. GNSTOR_SEEDS and GNSTOR_FIRST_SEED as
/// `qp/seed_sweep.hpp` says.
#include "pager_rig.hpp"
#include "qp/seed_sweep.hpp"
#include <gnstor/array/cached_reader.hpp>

#include <doctest/doctest.h>

using namespace gnstor;
using namespace gnstor::test;

namespace {

constexpr std::uint64_t share = 300;

using words = std::uint64_t;
using on_disk = rig<words, true>;
using on_memory = mapped_rig<words>;

rig_shape shape_of(std::uint64_t seed) {
  return {.pages = 2 + static_cast<std::uint32_t>(seed / 2 % 3),
          .frames = 1 + static_cast<std::uint32_t>(seed % 2),
          .page_words = 8};
}

template <class Rig>
std::string verdict(Rig& r, const std::string& thrown) {
  if (!thrown.empty()) return thrown;
  if (r.lanes.wrong != 0) return "an element had a wrong value";
  if (r.lanes.failed != 0) return "an access failed";
  return r.quiet();
}

template <class Rig>
std::string neighbours_run(host::options chosen) {
  const rig_shape shape = shape_of(chosen.seed);
  Rig r(shape, 8ull * shape.pages);
  words* content = nullptr;
  if constexpr (requires { r.content(); }) {
    content = r.content();
  } else {
    content = r.content.data();
  }
  for (std::uint64_t i = 0; i < r.expected.size() / 2; ++i) content[i] = r.expected[i] = mix64(i);
  const auto seed = static_cast<std::uint32_t>(chosen.seed);
  const read_neighbours kernel{.rounds = 6};
  if (chosen.seed % 3 != 0)
    return verdict(r, r.run(chosen, 2, 4, kernel, r.view(), seed, r.expected.data(), &r.lanes));
  pager_rig<words, Rig> p(r, shape, 1);
  chosen.step_budget *= 10;
  return verdict(r, p.run(chosen, 2, 4, kernel, p.view(), seed, r.expected.data(), &r.lanes));
}

}  // namespace

TEST_CASE("who remembers its page reads that page alone, fast") {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    CHECK(neighbours_run<on_disk>({.seed = seed}) == "");
    CHECK(neighbours_run<on_memory>({.seed = seed}) == "");
  }
}
TEST_CASE("who remembers its page reads that page alone, seeded") {
  sweep(host::mode::seeded, share, neighbours_run<on_disk>);
  sweep(host::mode::seeded, share, neighbours_run<on_memory>);
}
TEST_CASE("who remembers its page reads that page alone, weak") {
  sweep(host::mode::weak, share, neighbours_run<on_disk>);
  sweep(host::mode::weak, share, neighbours_run<on_memory>);
}

TEST_CASE("a remembered page that has left its frame is fetched, also if it is another frame's") {
  on_memory r({.pages = 4, .frames = 2, .page_words = 2}, 8);
  for (std::uint64_t i = 0; i < 8; ++i) r.content()[i] = 10 + i;
  const auto view = r.view();
  cached_reader reader(view);
  CHECK(reader[0] == 10);
  CHECK(reader[1] == 11);
  CHECK(r.counters().pages_in == 1);
  for (std::uint64_t i = 2; i < 8; i += 2) CHECK(view.load(i).value == 10 + i);
  CHECK(reader[1] == 11);
  CHECK(reader[0] == 10);
  CHECK(r.counters().pages_in == 5);
  CHECK(r.quiet() == "");
}

TEST_CASE("a reader that remembers holds no page") {
  on_memory r({.pages = 2, .frames = 1, .page_words = 2}, 4);
  const auto view = r.view();
  cached_reader reader(view);
  CHECK(reader[0] == 0);
  CHECK(r.word(0).references() == 0);
  CHECK(view.load(2).status.ok());
}

TEST_CASE("a reader that remembers fails as its view does") {
  on_disk r(rig_shape{}, 93);
  r.plan[3] = disk_plan::fetch_fails;
  const auto view = r.view();
  cached_reader reader(view);
  CHECK(reader.load(92).status.ok());
  CHECK(reader.load(93).status == status::make(status_code::out_of_range, reporter::array));
  CHECK(reader.load(24).status == fake_store<true>::media_error(page_index(3)));
  CHECK(r.counters().first_error_at == 3);
  words poison;
  std::memset(&poison, decltype(view)::poison_byte, sizeof poison);
  CHECK(reader[24] == poison);
  CHECK(reader[92] == 0);
}

namespace {

/// A view of one page that says how often its word was looked at.
struct watched_view {
  using value_type = std::uint32_t;
  struct pages {
    mutable std::uint32_t looks = 0;
    std::uint32_t* frame;
    page_word look(page_index) const {
      ++looks;
      return {page_word::resident | page_word::accessed};
    }
    bool is_still(page_index, page_word) const { return true; }
    unsigned char* data(frame_index) const { return reinterpret_cast<unsigned char*>(frame); }
  };
  std::uint64_t size() const { return 128; }
  element_layout<value_type> layout() const { return element_layout<value_type>(512); }
  const pages& cache() const { return pages_; }

  struct far {
    static value_type load_or_poison(int, std::uint64_t) { return 0; }
    static result<value_type> load(int, std::uint64_t) { return 0u; }
  };

  pages pages_;
  int twin_ = 0;
};

struct read_slowly {
  struct shared {};
  template <class Lane>
  void operator()(Lane& lane, const watched_view* view, std::uint32_t* quickly) const {
    cached_reader reader(*view);
    for (std::uint64_t i = 0; i < 64; ++i) (void)reader[i];
    *quickly = view->pages_.looks;
    const std::uint64_t then = simt::now_ns();
    for (bounded n{1u << 20}; n && simt::now_ns() - then < 200'000;) lane.pause();
    (void)reader[64];
  }
};

}  // namespace

TEST_CASE("what is remembered of a page is renewed after a while, and not before") {
  std::uint32_t elements[128] = {};
  watched_view view{{0, elements}};
  std::uint32_t quickly = 0;
  simt::host::executor machine({.run = host::mode::seeded, .seed = 1});
  machine.spawn(1, 1, read_slowly{}, &view, &quickly);
  machine.run();
  CHECK(quickly >= 1);
  CHECK(quickly <= 2);
  CHECK(view.pages_.looks == quickly + 1);
}

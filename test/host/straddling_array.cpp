/// Arrays of elements whose size is no power of two, as their host and their kernels see them.
#include "temp_folder.hpp"
#include <gnstor/host/array.hpp>
#include <gnstor/host/mapped_array.hpp>

#include <doctest/doctest.h>

#include <fstream>
#include <vector>

using namespace gnstor;
using namespace gnstor::test;

namespace {

struct three_floats {
  float x, y, z;
  friend bool operator==(const three_floats&, const three_floats&) = default;
};
three_floats point(std::uint64_t i, float plus = 0) {
  const auto x = static_cast<float>(i % 65536);
  return {x + plus, x + 0.25f, x + 0.5f};
}

/// Moves elements `first`, `first + step`, ... along x.
struct move_points {
  std::uint64_t first;
  std::uint64_t step;
  template <class Lane, class View>
  GNSTOR_HD void operator()(Lane& lane, View view) const {
    for (std::uint64_t i = first + step * lane.global_thread(); i < view.size();
         i += step * lane.grid_threads()) {
      const three_floats p = view[i];
      view[i] = {p.x + 1, p.y, p.z};
    }
  }
};
struct copy_point {
  template <class Lane, class View>
  GNSTOR_HD void operator()(Lane& lane, View view, std::uint64_t i, three_floats* to) const {
    if (lane.global_thread() == 0) *to = view[i];
  }
};

template <class Array, class Kernel, class... Args>
void run_on(Array& a, gnstor::host::session* s, std::uint32_t threads, Kernel kernel,
            Args... args) {
  gnstor::host::executor run;
  run.spawn(1, threads, kernel, a.view(), args...);
  if (s != nullptr) s->attach(run);
  run.run();
}

/// The host writes, kernels change some, among them all that lie on two pages, and the host reads.
template <class Array>
void check_array(Array& a, gnstor::host::session* s) {
  std::vector<three_floats> points(a.size());
  for (std::uint64_t i = 0; i < a.size(); ++i) points[i] = point(i);
  a.write(0, a.size(), points.data());
  CHECK(a.get(341) == point(341));  // the first that lies on two pages of 4096 bytes
  a.set(682, point(1));
  points[682] = point(1);
  // Pages begin within elements 341, 682, 1024 (none of it), 1365, ...
  run_on(a, s, 32, move_points{0, 341});
  for (std::uint64_t i = 0; i < a.size(); i += 341) points[i].x += 1;
  a.flush();
  std::vector<three_floats> found(a.size());
  a.read(0, a.size(), found.data());
  CHECK(found == points);
  a.read(340, 3, found.data());
  for (std::uint64_t i = 0; i < 3; ++i) CHECK(found[i] == points[340 + i]);
  a.fill({1, 2, 3});
  run_on(a, s, 1, move_points{341, a.size()});
  CHECK(a.get(340) == three_floats{1, 2, 3});
  CHECK(a.get(341) == three_floats{2, 2, 3});
  CHECK(a.get(a.size() - 1) == three_floats{1, 2, 3});
}

}  // namespace

TEST_CASE("an array of three floats on host memory has them one after another") {
  constexpr std::uint64_t count = 5000;
  gnstor::host::mapped_memory memory("host:?bytes=64K");
  gnstor::host::mapped_array<three_floats> a(memory, count, {.page_bytes = 4096});
  check_array(a, nullptr);
  a.set(4321, point(9));
  a.close();
  CHECK(memory.as<three_floats>()[4321] == point(9));
  CHECK(memory.as<three_floats>()[341] == three_floats{2, 2, 3});
}

TEST_CASE("an array of three floats on a volume has them one after another") {
  gnstor::host::session s("emu:?capacity=64M");
  constexpr std::uint64_t count = 5000;
  gnstor::host::array<three_floats> a(s, s.create_volume({.bytes = 64 << 10}), count,
                                      {.page_bytes = 4096});
  check_array(a, &s);
  a.close();
}

TEST_CASE("a file is loaded to the last of its elements, whose page holds no other") {
  // 8 bytes on the last page; files are loaded in pieces that are no multiple of 12.
  constexpr std::uint64_t count = 342 + 1024 * 390;
  static_assert(count * 12 % 4096 == 8);
  const temp_folder folder;
  const std::string path = folder.path() + "/points";
  std::vector<three_floats> points(count);
  for (std::uint64_t i = 0; i < count; ++i) points[i] = point(i, 1);
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(points.data()),
             static_cast<std::streamsize>(count * 12));
  gnstor::host::mapped_array<three_floats> a(gnstor::host::mapped_pages::fresh(count * 12), count,
                                             {.page_bytes = 4096});
  three_floats seen{};
  run_on(a, nullptr, 1, copy_point{}, count - 1, &seen);  // its pages are in frames
  CHECK(seen == three_floats{});
  a.load_from(path);
  run_on(a, nullptr, 1, copy_point{}, count - 1, &seen);
  CHECK(seen == points[count - 1]);
  a.save_to(folder.path() + "/again");
  std::ifstream again(folder.path() + "/again", std::ios::binary);
  std::vector<three_floats> saved(count);
  again.read(reinterpret_cast<char*>(saved.data()), static_cast<std::streamsize>(count * 12));
  CHECK(saved == points);
}

TEST_CASE("an element larger than a page is refused") {
  struct large {
    std::uint32_t words[300];
  };
  gnstor::host::mapped_memory memory("host:?bytes=1M");
  CHECK_THROWS_WITH_AS(
      (gnstor::host::mapped_array<large>(memory, 10, {.page_bytes = 1024})),
      "array page of 1024 bytes: smaller than an element of 1200; use larger pages",
      const gnstor::host::input_error&);
}

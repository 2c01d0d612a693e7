/// Ranges of arrays that warps of a GPU use page after page: on host memory and on a volume, by
/// their own lanes and by a pager.
#include <gnstor/host/array.hpp>
#include <gnstor/host/mapped_array.hpp>
#include <gnstor/simt/warp_number.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <vector>

using namespace gnstor;
namespace host = gnstor::host;

namespace {

constexpr std::uint64_t ranged_elements = 50'001;  ///< the last page ends within itself
constexpr std::uint64_t stretch = 777;             ///< of a range: begins and ends within pages
const host::array_options few_frames{.frame_bytes = 32 * 4096, .page_bytes = 4096};

/// Calls `use(warp, first, count)` for the ranges of the calling warp.
template <class Use>
GNSTOR_HD void in_ranges(std::uint64_t size, const Use& use) {
  const simt::group warp = simt::group::whole_warp();
  for (std::uint64_t first = simt::warp_number() * stretch; first < size;
       first += simt::warp_count() * stretch)
    use(warp, first, size - first < stretch ? size - first : stretch);
}
GNSTOR_HD void note_failure(status s, std::uint32_t* failed) {
  if (!s.ok()) device_word<std::uint32_t>(*failed).fetch_add(1, relaxed);
}

struct overwrite_ranges {
  template <class Lane, class View>
  GNSTOR_HD void operator()(Lane&, View view, std::uint32_t* failed) const {
    in_ranges(view.size(), [&](const simt::group& warp, std::uint64_t first, std::uint64_t count) {
      note_failure(view.overwrite_range(warp, first, count,
                                        [&](auto part, std::uint64_t i) {
                                          for (auto k = warp.thread_rank(); k < part.size();
                                               k += 32)
                                            part[k] = static_cast<std::uint32_t>(3 * (i + k));
                                        }),
                   failed);
    });
  }
};
struct add_to_ranges {
  template <class Lane, class View>
  GNSTOR_HD void operator()(Lane&, View view, std::uint32_t* failed) const {
    in_ranges(view.size(), [&](const simt::group& warp, std::uint64_t first, std::uint64_t count) {
      note_failure(view.write_range(warp, first, count,
                                    [&](auto part, std::uint64_t i) {
                                      for (auto k = warp.thread_rank(); k < part.size(); k += 32)
                                        part[k] += static_cast<std::uint32_t>(i + k);
                                    }),
                   failed);
    });
  }
};
struct sum_of_ranges {
  template <class Lane, class View>
  GNSTOR_HD void operator()(Lane&, View view, std::uint64_t* sum, std::uint32_t* failed) const {
    in_ranges(view.size(), [&](const simt::group& warp, std::uint64_t first, std::uint64_t count) {
      view.prefetch(warp, first + warp.thread_rank() * 1024, warp.thread_rank() < 2);
      std::uint64_t mine = 0;
      note_failure(view.read_range(warp, first, count,
                                   [&](auto part, std::uint64_t) {
                                     for (auto k = warp.thread_rank(); k < part.size(); k += 32)
                                       mine += part[k];
                                   }),
                   failed);
      device_word<std::uint64_t>(*sum).fetch_add(mine, relaxed);
    });
  }
};

/// Runs the kernels on an array by one of its views, beside whatever `attach` gives them.
template <class Array, class View, class Attach>
void check_ranges(Array& array, const View& view, const Attach& attach) {
  const host::memory_block words(host::place::device, 16);
  auto* const sum = static_cast<std::uint64_t*>(words.data());
  auto* const failed = reinterpret_cast<std::uint32_t*>(sum + 1);
  const auto run = [&](const auto& kernel, auto... more) {
    host::executor kernels;
    kernels.spawn(2, 64, kernel, view, more...);
    attach(kernels);
    kernels.run();
  };
  run(overwrite_ranges{}, failed);
  run(add_to_ranges{}, failed);
  run(sum_of_ranges{}, sum, failed);
  array.check();
  std::uint64_t found[2];
  words.read(0, found, sizeof found);
  CHECK(found[0] == 4 * (ranged_elements * (ranged_elements - 1) / 2));
  CHECK(found[1] == 0);
  array.flush();
}

}  // namespace

TEST_CASE("for tools: warps of a GPU use ranges of host memory") {
  host::mapped_memory memory("host:?bytes=" + std::to_string(4 * ranged_elements));
  host::mapped_array<std::uint32_t> array(memory, ranged_elements, few_frames);
  check_ranges(array, array.view(), [](host::executor&) {});
  const auto* data = memory.as<std::uint32_t>();
  for (std::uint32_t i = 0; i < ranged_elements; ++i) REQUIRE(data[i] == 4 * i);
}

TEST_CASE("warps of a GPU use ranges of a volume, by their own lanes and beside a pager") {
  host::session session("emu:?runner=gpu&resident=no&shards=2&ssds=2&replicas=1&capacity=16M",
                        {.channels = 2});
  const volume_info volume = session.create_volume({.bytes = 4 * ranged_elements});
  host::array<std::uint32_t> array(session, volume, ranged_elements, few_frames);
  check_ranges(array, array.view(), [&](host::executor& kernels) { session.attach(kernels); });
  check_ranges(array, array.served_view(), [&](host::executor& kernels) {
    session.attach(kernels);
    array.attach(kernels, {.warps = 4});
  });
  std::vector<std::uint32_t> all(ranged_elements);
  array.read(0, ranged_elements, all.data());
  for (std::uint32_t i = 0; i < ranged_elements; ++i) REQUIRE(all[i] == 4 * i);
}

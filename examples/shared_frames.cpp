#include <gnstor/host/frame_pool.hpp>
#include <gnstor/host/mapped_array.hpp>

#include <cstdio>
#include <numeric>

namespace host = gnstor::host;

constexpr std::uint64_t rows = 1 << 16;
constexpr std::uint64_t row_words = 64;

/// Each thread adds up one row of a table after another, in the order that an index says: what a
/// GNN does with the features of the vertices that it draws.
struct add_up_rows {
  template <class Lane, class Index, class Table>
  GNSTOR_HD void operator()(Lane& lane, Index index, Table table, std::uint64_t* sum) const {
    std::uint64_t mine = 0;
    for (std::uint64_t i = lane.global_thread(); i < index.size(); i += lane.grid_threads()) {
      const std::uint64_t row = index[i];
      for (std::uint64_t w = 0; w < row_words; ++w) mine += table[row * row_words + w];
    }
    gnstor::device_word<std::uint64_t>(*sum).fetch_add(mine, gnstor::relaxed);
  }
};

int main() try {
  host::mapped_memory index_memory = host::mapped_memory("host:?bytes=256K");
  host::mapped_memory table_memory = host::mapped_memory("host:?bytes=16M");
  auto* order = index_memory.as<std::uint32_t>();
  for (std::uint64_t i = 0; i < rows; ++i)
    order[i] = static_cast<std::uint32_t>(i * 48'271 % rows);  // each row once, out of order
  std::iota(table_memory.as<std::uint32_t>(), table_memory.as<std::uint32_t>() + rows * row_words,
            0u);

  // Frames for a quarter of the data. Nobody has to say how many each array needs; the index keeps
  // some whatever the table takes.
  const host::frame_pool frames(index_memory.options(), {.frame_bytes = 4 << 20});
  host::mapped_array<std::uint32_t> index(index_memory, rows,
                                          {.pool = &frames, .kept_frame_bytes = 128 << 10});
  host::mapped_array<std::uint32_t> table(table_memory, rows * row_words, {.pool = &frames});

  constexpr bool on_gpu = host::this_machine == host::machine::gpu;
  host::memory_block sum(on_gpu ? host::place::device : host::place::host, sizeof(std::uint64_t));
  host::executor kernels;
  kernels.spawn(on_gpu ? 264 : 2, 128, add_up_rows{}, index.view(), table.view(),
                static_cast<std::uint64_t*>(sum.data()));
  kernels.run();

  std::uint64_t found = 0;
  sum.read(0, &found, sizeof found);
  constexpr std::uint64_t words = rows * row_words;
  const bool right = found == words * (words - 1) / 2;
  for (const auto* array : {&index, &table}) {
    const host::array_statistics n = array->statistics();
    std::printf("%6llu pages came in, %6llu of %u frames at the end\n",
                static_cast<unsigned long long>(n.faults), static_cast<unsigned long long>(n.held),
                n.frames);
  }
  std::printf("the sum of %llu rows is %llu, %s\n", static_cast<unsigned long long>(rows),
              static_cast<unsigned long long>(found), right ? "right" : "WRONG");
  index.close();
  table.close();
  return right ? 0 : 1;
} catch (const std::exception& e) {
  std::fprintf(stderr, "shared_frames: %s\n", e.what());
  return 2;
}

// Programs on data in host memory: arrays whose pages kernels fetch, beside the other ways that the
// same kernels reach the same data. Every ratio is the median of rounds in which all took turns;
// every result is checked before its time counts.
//
// The arrays have frames for a quarter of the data, and each run begins without any page. Ratios,
// above 1 where the array is faster: `uvm_ratio` to managed memory that lies on the host before,
// the better of no advice and read-mostly, `uvm_plain_ratio` without advice; `zero_copy_ratio` to
// pinned memory read in place; `bulk_ratio` to a copy of all data to the GPU and the kernels there.
//
// `bfs`, `cc`, `sssp` on SHAPE, Balanced CSR: edges walked per second, bytes moved per edge walked.
// `mvt`, `atax`, `bicg`, `vector_add`: bytes needed per second, bytes moved per byte needed.
// `taxi/qN`: the seconds of every trip, and N more columns, on smaller pages, of those trips that
// take more than 9000: 0.08 %, drawn evenly among the rows.
//
// GNSTOR_SCALE and GNSTOR_DEGREE are the graphs' (24, 16), and with GNSTOR_CHUNKS=0 they are plain
// CSR; GNSTOR_MATRIX the rows and columns (16384), GNSTOR_VECTOR the elements of a vector (2^28),
// GNSTOR_TAXI_ROWS the trips (2^26), GNSTOR_TAXI_PAGE_BYTES the pages of columns but the seconds
// (512), GNSTOR_ROUNDS how often (3), GNSTOR_PAGE_BYTES (4096), GNSTOR_FRAMES_PERCENT (25),
// GNSTOR_GRID and GNSTOR_BLOCK the kernels'.
#include "program_paging/dense_programs.cuh"
#include "program_paging/graph_programs.cuh"
#include "program_paging/taxi_programs.cuh"

#include <benchmark/benchmark.h>

namespace {

using namespace gnstor::benchmarks;

const bool registered = [] {
  for (const bool uniform : {false, true}) {
    const std::string on = uniform ? "/uniform" : "/kronecker";
    add_benchmark("bfs" + on, [=](benchmark::State& s) { bfs(s, uniform); });
    add_benchmark("cc" + on, [=](benchmark::State& s) { cc(s, uniform); });
    add_benchmark("sssp" + on, [=](benchmark::State& s) { sssp(s, uniform); });
  }
  add_benchmark("mvt", [](benchmark::State& s) { multiply(s, dense::product::mvt); });
  add_benchmark("atax", [](benchmark::State& s) { multiply(s, dense::product::atax); });
  add_benchmark("bicg", [](benchmark::State& s) { multiply(s, dense::product::bicg); });
  add_benchmark("vector_add", vector_add);
  for (std::uint32_t k = 1; k <= taxi::value_columns; ++k)
    add_benchmark("taxi/q" + std::to_string(k), [=](benchmark::State& s) { taxi_query(s, k); });
  return true;
}();

}  // namespace

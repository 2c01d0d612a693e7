// Programs on data in host memory: arrays whose pages kernels fetch, beside the other ways that the
// same kernels reach the same data. Every ratio is the median of rounds in which all took turns;
// every result is checked before its time counts.
//
// The arrays have frames for a quarter of the data, and each run begins without any page. Ratios,
// above 1 where the array is faster: `uvm_ratio` to managed memory that lies on the host before,
// the better of no advice and read-mostly, `uvm_plain_ratio` without advice; `zero_copy_ratio` to
// pinned memory read in place; `bulk_ratio` to a copy of all data to the GPU and the kernels there.
// `subgraph_ratio` to steps that first copy the edges of their own vertices to the GPU, the better
// of edges gathered by kernels and, as in Subway, by this machine's cores
// (`subgraph_by_cores_ratio`). `NAME_sums_ratio` is the same of the times of all rounds, added up.
//
// `bfs`, `cc`, `sssp` on SHAPE (behind `scale:N/` unless that is 24, and `page:N/` unless 4096),
// Balanced CSR: edges walked per second, bytes moved per edge walked; each round of a search is
// from another source with two neighbours or more. `mvt`, `atax`, `bicg`, `vector_add`: bytes
// needed per second, bytes moved per byte needed, and `link_ratio`, the bytes read per second to
// those that SMs read of pinned memory. `taxi/qN`: the seconds of every trip, and N more columns,
// on smaller pages, of those trips that take more than 9000: 0.08 %, drawn evenly among the rows.
//
// `sweep/PROGRAM/data_per_frames:R`: frames for 1 / R of the data. `optimal_GB` is what an optimal
// offline policy (Belady's MIN) fetches with as many frames, of the pages that a run touched whose
// kernels recorded them; `optimal_ms` the time of these bytes at the rate at which SMs read pinned
// memory in the same round (`link_GB_per_s`), and `time_per_optimal` the program's time to that.
// `pressure` is data / frames - 1, as DREAM has it, `slowdown` the time to that with frames for all
// data. `sum/passes:N` adds up a vector N times, to and fro.
//
// GNSTOR_SCALE and GNSTOR_DEGREE are the graphs' (24, 16), GNSTOR_SEED theirs and the sources' (1),
// and with GNSTOR_CHUNKS=0 they are plain CSR; GNSTOR_MATRIX the rows and columns (16384),
// GNSTOR_VECTOR the elements of a vector (2^28), GNSTOR_TAXI_ROWS the trips (2^26),
// GNSTOR_TAXI_PAGE_BYTES the pages of columns but the seconds (512), GNSTOR_ROUNDS how often (3),
// GNSTOR_SOURCES how many sources a search has (GNSTOR_ROUNDS; 8 at most above scale 24),
// GNSTOR_PEERS who takes part, of uvm,zero_copy,bulk,subgraph (all),
// GNSTOR_SUBGRAPH_PERCENT of the edges that a copied subgraph has at a time (100),
// GNSTOR_PAGE_BYTES (4096),
// GNSTOR_FRAMES_PERCENT (25), GNSTOR_EVICTION (0: FIFO, 1: CLOCK, 2: resists scans), GNSTOR_GRID
// and GNSTOR_BLOCK the kernels'.
#include "program_paging/dense_programs.cuh"
#include "program_paging/graph_programs.cuh"
#include "program_paging/sweep.cuh"
#include "program_paging/taxi_programs.cuh"

#include <benchmark/benchmark.h>

#include <functional>
#include <sstream>
#include <string>

namespace {

using namespace gnstor::benchmarks;

using benchmark::State;

/// A benchmark for each share of the data that frames hold.
void add_sweep(const std::string& name, const std::function<void(State&, double)>& run) {
  for (const double ratio : data_per_frames) {
    std::ostringstream full_name;
    full_name << "sweep/" << name << "/data_per_frames:" << ratio;
    add_benchmark(full_name.str(), [=](State& s) { run(s, ratio); });
  }
}

const bool registered = [] {
  for (const bool uniform : {false, true}) {
    // Another scale or size of pages has rows of its own: what is promised is of 24 and 4096.
    const std::string on = (scale() == 24 ? "" : "/scale:" + std::to_string(scale())) +
                           (page_bytes() == 4096 ? "" : "/page:" + std::to_string(page_bytes())) +
                           (uniform ? "/uniform" : "/kronecker");
    add_benchmark("bfs" + on, [=](State& s) { search_on_peers<verified_bfs>(s, uniform); });
    add_benchmark("cc" + on, [=](State& s) { cc(s, uniform); });
    add_benchmark("sssp" + on, [=](State& s) { search_on_peers<verified_sssp>(s, uniform); });
    add_sweep("bfs" + on, [=](State& s, double r) { sweep_search<verified_bfs>(s, uniform, r); });
    add_sweep("sssp" + on, [=](State& s, double r) { sweep_search<verified_sssp>(s, uniform, r); });
  }
  add_benchmark("mvt", [](State& s) { multiply(s, dense::product::mvt); });
  add_benchmark("atax", [](State& s) { multiply(s, dense::product::atax); });
  add_benchmark("bicg", [](State& s) { multiply(s, dense::product::bicg); });
  add_benchmark("vector_add", vector_add);
  add_sweep("mvt", sweep_mvt);
  for (const std::uint32_t passes : {1u, 4u})
    add_sweep("sum/passes:" + std::to_string(passes),
              [=](State& s, double r) { sweep_sum(s, passes, r); });
  for (std::uint32_t k = 1; k <= taxi::value_columns; ++k)
    add_benchmark("taxi/q" + std::to_string(k), [=](State& s) { taxi_query(s, k); });
  return true;
}();

}  // namespace

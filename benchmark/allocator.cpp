// A long churn at 80 % of a pool, on the host runtime: the share of large requests that are still
// served as one contiguous block. Needs no GPU; the GPU's own churn is in allocator.cu.
#include "support/contiguity_report.hpp"
#include <gnstor/simt_host/executor.hpp>

#include <benchmark/benchmark.h>

#include <vector>

namespace {

using gnstor::contiguity::record;

constexpr std::uint32_t requests = 100000;  // of all threads

/// One churn of an allocator; false with an error in `state` if a page was lost or had two owners.
template <class Allocator>
bool churned(benchmark::State& state, std::uint64_t pool_bytes, std::uint32_t warps, record& seen) {
  const std::uint32_t each = requests / warps;
  const gnstor::contiguity::plan p{
      .requests = each, .warm_up = each / 4, .slots = 1000, .target_bytes = pool_bytes / 10 * 8};
  std::vector<std::uint64_t> words(Allocator::bytes_for(pool_bytes) / 8 + 1);
  Allocator::format(words.data(), pool_bytes);
  const Allocator pool(words.data(), pool_bytes);
  std::vector<std::uint64_t> marks(pool_bytes / gnstor::contiguity::page);
  std::vector<gnstor::contiguity::holding> holdings(std::size_t{warps} * p.slots);
  seen = {};
  gnstor::simt::host::executor machine;
  machine.spawn(warps, 1, gnstor::contiguity::churn<Allocator>(p), pool,
                gnstor::contiguity::page_marks{marks.data(), 1}, holdings.data(), &seen);
  machine.run();
  return gnstor::contiguity::verified(state, seen, pool.free_bytes() == pool_bytes);
}

void contiguity(benchmark::State& state, std::uint64_t pool_bytes, std::uint32_t warps) {
  gnstor::contiguity::compare(state, [&]<class Allocator>(record& seen) {
    return churned<Allocator>(state, pool_bytes, warps, seen);
  });
}

const bool registered = gnstor::contiguity::register_churns("allocator_host", contiguity);

}  // namespace

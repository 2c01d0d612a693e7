#pragma once
/// What every run of the array's tests is judged by.

#include "paging.hpp"
#include <gnstor/simt_host/options.hpp>

#include <string>

namespace gnstor::test {

/// What is wrong after a run; nothing if all is well: what it threw, values that lanes found wrong,
/// the page words, and what a flush leaves.
/// @param r a rig whose lanes kept `r.lanes`; it runs the flush
/// @param flush a kernel, of `lanes` lanes
template <class Rig, class Flush = flush_warps>
std::string verdict(Rig& r, const std::string& thrown, simt::host::options chosen, Flush flush = {},
                    std::uint32_t lanes = 32) {
  if (!thrown.empty()) return thrown;
  if (r.lanes.wrong != 0) return "an element had a wrong value";
  if (r.lanes.failed != 0) return "an access failed";
  std::string fault = r.quiet();
  if (fault.empty()) fault = r.run(chosen, 1, lanes, flush, r.view(), &r.lanes);
  if (fault.empty() && r.lanes.failed != 0) fault = "a page could not be flushed";
  if (fault.empty()) fault = r.quiet();
  if (fault.empty()) fault = r.flushed();
  return fault;
}

}  // namespace gnstor::test

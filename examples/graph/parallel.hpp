#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

namespace graph {

/// Number of threads to build a graph with: `wanted`, or one a core if that is 0.
inline unsigned worker_count(unsigned wanted) {
  return wanted != 0 ? wanted : std::max(1u, std::thread::hardware_concurrency());
}

/// Calls body(k) for every k below `count` on `threads` threads; each takes the next k when it is
/// free.
///
/// `body` must not throw. The calling thread is one of the threads.
template <class Body>
void for_each_index(unsigned threads, std::uint64_t count, Body body) {
  std::atomic<std::uint64_t> next{0};
  auto work = [&] {
    for (std::uint64_t k = next.fetch_add(1); k < count; k = next.fetch_add(1)) body(k);
  };
  std::vector<std::jthread> helpers;
  for (unsigned t = 1; t < threads && t < count; ++t) helpers.emplace_back(work);
  work();
}

}  // namespace graph

#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace gnstor::serve {

/// Where a request of a block server is.
enum class request_phase : std::uint8_t {
  buffer,     ///< waits for memory
  receiving,  ///< its data comes from the client
  queued,     ///< waits for room in a channel, or for its turn
  waiting,    ///< for another epoch or connection, or for an SSD that is silent
  flash,      ///< SSDs are at it
  sending,    ///< its data and its answer go to the client
};
inline constexpr std::size_t request_phases = 6;

/// How many requests are in each phase, and how long those took that have left it. Any thread may
/// call anything; threads that count seldom share a cache line.
class phase_counts {
 public:
  /// Upper ends of the classes of times but the last, which has none: 1 us, and four times more
  /// each, up to 17 s.
  static constexpr std::size_t classes = 14;
  static constexpr std::uint64_t end_ns(std::size_t k) { return std::uint64_t{1000} << 2 * k; }

  void enter(request_phase p) { mine().of[at(p)].present.fetch_add(1, relaxed); }
  void leave(request_phase p, std::uint64_t took_ns) {
    phase& f = mine().of[at(p)];
    f.present.fetch_sub(1, relaxed);
    f.took_ns.fetch_add(took_ns, relaxed);
    f.times[class_of(took_ns)].fetch_add(1, relaxed);
  }
  /// It took no time worth a look at the clock.
  void pass(request_phase p) { mine().of[at(p)].times[0].fetch_add(1, relaxed); }
  void finish(bool well) { (well ? mine().done : mine().failed).fetch_add(1, relaxed); }

  /// What was counted of one phase.
  struct record {
    std::int64_t present = 0;
    std::uint64_t took_ns = 0;
    std::array<std::uint64_t, classes> times{};
  };
  record of(request_phase p) const {
    record sum;
    for (const stripe& s : stripes_) {
      const phase& f = s.of[at(p)];
      sum.present += f.present.load(relaxed);
      sum.took_ns += f.took_ns.load(relaxed);
      for (std::size_t k = 0; k < classes; ++k) sum.times[k] += f.times[k].load(relaxed);
    }
    return sum;
  }
  /// Requests that have ended.
  std::uint64_t finished(bool well) const {
    std::uint64_t sum = 0;
    for (const stripe& s : stripes_) sum += (well ? s.done : s.failed).load(relaxed);
    return sum;
  }

 private:
  static constexpr auto relaxed = std::memory_order_relaxed;
  static constexpr std::size_t stripes = 16;
  struct phase {
    std::atomic<std::int64_t> present{0};
    std::atomic<std::uint64_t> took_ns{0};
    std::array<std::atomic<std::uint64_t>, classes> times{};
  };
  struct alignas(64) stripe {
    std::array<phase, request_phases> of{};
    std::atomic<std::uint64_t> done{0};
    std::atomic<std::uint64_t> failed{0};
  };

  static std::size_t at(request_phase p) { return static_cast<std::size_t>(p); }
  static std::size_t class_of(std::uint64_t ns) {
    std::size_t k = 0;
    for (; k + 1 < classes && ns > end_ns(k);) ++k;
    return k;
  }
  stripe& mine() {
    static std::atomic<std::size_t> threads{0};
    thread_local const std::size_t turn = threads.fetch_add(1, relaxed) % stripes;
    return stripes_[turn];
  }

  std::vector<stripe> stripes_{stripes};
};

}  // namespace gnstor::serve

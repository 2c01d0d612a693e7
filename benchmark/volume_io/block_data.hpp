#pragma once

#include "../support/pattern.hpp"
#include "plan.hpp"
#include <gnstor/core/status.hpp>
#include <gnstor/simt/plain_word.hpp>

namespace gnstor::benchmarks {

/// The memory of one operation: what a write sets there and what a read must have put there.
class block_data {
 public:
  GNSTOR_HD block_data(std::uint64_t address, const plan& p)
      : words_(reinterpret_cast<std::uint64_t*>(address)), plan_(p) {}

  GNSTOR_HD void fill(vba first) const {
    const std::uint32_t step = plan_.whole != 0 || plan_.write_percent != 100 ? 1 : last;
    for (std::uint32_t w = 0; w < words(); w = next(w, step))
      words_[w] = right(first, w, plan_.generation);
  }
  /// Words that are wrong.
  GNSTOR_HD std::uint64_t wrong(vba first) const {
    const std::uint32_t step = plan_.whole != 0 ? 1 : last;
    const std::uint32_t generation = plan_.expected(first);
    std::uint64_t bad = 0;
    for (std::uint32_t w = 0; w < words(); w = next(w, step))
      bad += words_[w] != right(first, w, generation);
    return bad;
  }

 private:
  static constexpr std::uint32_t last = block_words - 1;

  GNSTOR_HD std::uint32_t words() const { return plan_.blocks * block_words; }
  GNSTOR_HD static std::uint32_t next(std::uint32_t w, std::uint32_t step) {
    return w + (w % block_words == last ? 1 : step);
  }
  GNSTOR_HD static std::uint64_t right(vba first, std::uint32_t w, std::uint32_t generation) {
    return pattern(first.value + w / block_words, w % block_words, generation);
  }

  std::uint64_t* words_;
  plan plan_;
};

/// What went wrong in a run: `count` of operations and words, and the first failed operation's
/// status.
struct failures {
  std::uint64_t count = 0;
  std::uint64_t first = 0;

  GNSTOR_HD void add(std::uint64_t bad) {
    if (bad != 0) device_word<std::uint64_t>(count).fetch_add(bad, relaxed);
  }
  /// 1 if `s` is a failure.
  GNSTOR_HD std::uint64_t keep(status s) {
    if (s.ok()) return 0;
    std::uint64_t none = 0;
    device_word<std::uint64_t>(first).compare_exchange(none, s.pack(), relaxed);
    return 1;
  }
};

}  // namespace gnstor::benchmarks

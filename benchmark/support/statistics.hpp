#pragma once
/// Figures of several rounds.

#include <algorithm>
#include <vector>

namespace gnstor::benchmarks {

inline double median(std::vector<double> v) {
  std::sort(v.begin(), v.end());
  return v.empty() ? 0 : v[v.size() / 2];
}

/// What was measured and what it is compared with, taken in turn: the ratio is the median of the
/// rounds' ratios, so that a slow moment hits both.
struct compared {
  std::vector<double> ours;
  std::vector<double> others;

  void add(double our, double other) {
    ours.push_back(our);
    others.push_back(other);
  }
  double ratio() const {
    std::vector<double> each;
    for (std::size_t k = 0; k < ours.size(); ++k) each.push_back(ours[k] / others[k]);
    return median(each);
  }
};

}  // namespace gnstor::benchmarks

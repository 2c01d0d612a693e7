#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <stdexcept>
#include <string>

namespace gnstor::test {

/// What a fuzzer gives a parser, taken piece by piece. Past its end there are zeroes.
class fuzz_input {
 public:
  explicit fuzz_input(std::span<const std::uint8_t> bytes) : left_(bytes) {}

  bool empty() const { return left_.empty(); }
  std::size_t size() const { return left_.size(); }

  template <class T>
  T take() {
    T value{};
    fill(&value, sizeof value);
    return value;
  }
  /// The next bytes, as many as there are.
  void fill(void* to, std::size_t bytes) {
    const std::size_t n = bytes < left_.size() ? bytes : left_.size();
    if (n != 0) std::memcpy(to, left_.data(), n);
    left_ = left_.subspan(n);
  }

 private:
  std::span<const std::uint8_t> left_;
};

/// What must hold whatever the input.
inline void fuzz_demand(bool holds, const char* what) {
  if (!holds) throw std::logic_error(what);
}

}  // namespace gnstor::test

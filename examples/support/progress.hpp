#pragma once

#include <gnstor/host/array_access.hpp>

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>

namespace support {

/// A line on stderr that says how far a phase has come: rewritten on a terminal, else every tenth.
class progress {
 public:
  progress(std::string phase, std::uint64_t total)
      : phase_(std::move(phase)), total_(total), terminal_(::isatty(STDERR_FILENO) != 0) {}
  progress(const progress&) = delete;
  progress& operator=(const progress&) = delete;

  void at(std::uint64_t done) {
    const auto percent = static_cast<unsigned>(total_ == 0 ? 100 : done * 100 / total_);
    if (percent < shown_ + (terminal_ ? 1 : 10) && percent != 100) return;
    if (percent == shown_) return;
    shown_ = percent;
    std::fprintf(stderr, "%s%s %3u %%%s", terminal_ ? "\r" : "", phase_.c_str(), percent,
                 terminal_ && percent < 100 ? "" : "\n");
  }

 private:
  std::string phase_;
  std::uint64_t total_;
  unsigned shown_ = 0;
  bool terminal_;
};

/// A progress line as what an array calls while it loads or saves a file.
inline gnstor::host::progress_call progress_line(std::string phase, std::uint64_t total) {
  return [line = std::make_shared<progress>(std::move(phase), total)](
             std::uint64_t done, std::uint64_t) { line->at(done); };
}

/// Writes `count` elements to the beginning of an array, before kernels use it.
/// @param make `make(to, at, n)` puts elements [at, at + n) to `to`
template <class T, class Array, class Make>
void write_made(const std::string& phase, Array& array, std::uint64_t count, const Make& make) {
  constexpr std::uint64_t piece = (4 << 20) / sizeof(T);
  const auto made = std::make_unique<T[]>(std::min(piece, count));
  progress shown(phase, count);
  for (std::uint64_t at = 0; at < count; at += piece) {
    const std::uint64_t n = std::min(piece, count - at);
    make(made.get(), at, n);
    array.write(at, n, made.get());
    shown.at(at + n);
  }
}
/// The same of elements in this CPU's memory.
template <class Array, class T>
void write_shown(const std::string& phase, Array& array, const T* from, std::uint64_t count) {
  write_made<T>(phase, array, count, [from](T* to, std::uint64_t at, std::uint64_t n) {
    std::copy_n(from + at, n, to);
  });
}

}  // namespace support

#pragma once

#include <unistd.h>

#include <cstdint>
#include <cstdio>
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

}  // namespace support

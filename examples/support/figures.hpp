#pragma once
/// What an example prints at its end: one figure a line on stdout, name first.

#include <gnstor/host/array_statistics.hpp>
#include <gnstor/host/error.hpp>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

namespace support {

/// Seconds since it was made.
class stopwatch {
 public:
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

inline void figure(const char* name, const std::string& value) {
  std::printf("%-14s %s\n", name, value.c_str());
}
inline void figure(const char* name, std::uint64_t value) { figure(name, std::to_string(value)); }

/// A number with two digits after the point, and its unit.
inline std::string with_unit(double value, const char* unit) {
  char text[64];
  std::snprintf(text, sizeof text, "%.2f %s", value, unit);
  return text;
}
inline std::string in_bytes(double bytes) {
  if (bytes < 1 << 20) return with_unit(bytes / (1 << 10), "KiB");
  if (bytes < 1 << 30) return with_unit(bytes / (1 << 20), "MiB");
  return with_unit(bytes / (1 << 30), "GiB");
}

/// What the paging of an example's arrays came to, added up.
class paging_figures {
 public:
  /// @param first_error of the array's counters
  void add(const gnstor::host::array_statistics& s, std::uint64_t first_error) {
    pages_in_ += s.faults;
    refetches_ += s.refetches;
    pages_out_ += s.write_backs;
    bytes_ += s.bytes_in + s.bytes_out;
    evictions_ += s.evictions;
    io_errors_ += s.errors;
    if (first_error_.ok()) first_error_ = gnstor::status::unpack(first_error);
    if (s.is_short_of_frames()) advice_.push_back(s.advice());
  }

  std::uint64_t io_errors() const { return io_errors_; }

  /// @param accesses elements that the kernels read or wrote
  /// @param failed of these, accesses that came back with an error
  void print(std::uint64_t accesses, std::uint64_t failed, double seconds) const {
    const std::uint64_t hits = accesses > pages_in_ ? accesses - pages_in_ : 0;
    const double share =
        accesses == 0 ? 0 : 100.0 * static_cast<double>(hits) / static_cast<double>(accesses);
    const auto bytes = static_cast<double>(bytes_);
    figure("pages in",
           std::to_string(pages_in_) + ", " + std::to_string(refetches_) + " of them again");
    figure("hits", std::to_string(hits) + " of " + std::to_string(accesses) + " accesses, " +
                       with_unit(share, "%"));
    figure("evictions", evictions_);
    figure("pages out", pages_out_);
    figure("bytes moved", in_bytes(bytes) + ", " + in_bytes(bytes / seconds) + "/s");
    figure("I/O errors",
           std::to_string(io_errors_) +
               (io_errors_ == 0 ? "" : ", first: " + gnstor::host::to_string(first_error_)));
    figure("failed", std::to_string(failed) + " accesses");
    for (const std::string& a : advice_) figure("advice", a + "; --frames gives more");
  }

 private:
  std::uint64_t pages_in_ = 0;
  std::uint64_t refetches_ = 0;
  std::uint64_t pages_out_ = 0;
  std::uint64_t bytes_ = 0;
  std::uint64_t evictions_ = 0;
  std::uint64_t io_errors_ = 0;
  gnstor::status first_error_{};
  std::vector<std::string> advice_;
};

}  // namespace support

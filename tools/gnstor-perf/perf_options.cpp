#include "perf_options.hpp"

#include <gnstor/core/units.hpp>
#include <gnstor/host/error.hpp>
#include <gnstor/host/text_values.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

namespace gnstor::tools {
namespace {

constexpr std::string_view zipf_word = "zipf:";

std::uint64_t size_of(const std::string& name, const std::string& text) {
  const std::optional<std::uint64_t> bytes = host::parse_size(text);
  if (bytes && *bytes != 0) return *bytes;
  throw host::input_error(fmt::format("--{} {}: expected a size such as 4K or 64M", name, text));
}

double theta_of(const std::string& text) {
  try {
    const double theta = std::stod(text.substr(zipf_word.size()));
    if (theta > 0 && theta < 1) return theta;
  } catch (const std::exception&) {
    // said below
  }
  throw host::input_error(fmt::format(
      "--random_distribution {}: expected random, or zipf:THETA with THETA between 0 and 1", text));
}

}  // namespace

std::uint64_t perf_options::block_bytes() const { return size_of("bs", block_size); }

std::uint32_t perf_options::reads() const {
  if (rw == "read" || rw == "randread") return 100;
  return rw == "write" || rw == "randwrite" ? 0 : read_percent;
}

void perf_options::check() const {
  const std::uint64_t bytes = block_bytes();
  if (bytes % 512 != 0 || bytes > 16 << 20 || (bytes > 4096 && bytes % 4096 != 0) ||
      (bytes < 4096 && 4096 % bytes != 0)) {
    throw host::input_error(
        fmt::format("--bs {}: use 512, 1K or 2K, or a multiple of 4K up to 16M", block_size));
  }
  if (random_distribution != "random") {
    if (!random_distribution.starts_with(zipf_word)) (void)theta_of(std::string(zipf_word));
    (void)theta_of(random_distribution);
    if (sequential()) {
      throw host::input_error(
          fmt::format("--random_distribution means nothing with --rw {}: use "
                      "randread, randwrite or randrw",
                      rw));
    }
  }
  if (!size.empty()) (void)size_of("size", size);
}

workload perf_options::places_of(std::uint64_t volume_bytes, std::uint32_t unit_bytes) const {
  workload w;
  const std::uint64_t used =
      size.empty() ? volume_bytes : std::min(size_of("size", size), volume_bytes);
  w.place_bytes = static_cast<std::uint32_t>(block_bytes());
  w.unit_bytes = std::min(unit_bytes, w.place_bytes);
  w.places = used / w.place_bytes;
  w.read_percent = reads();
  w.seed = seed;
  w.sequence = sequential() ? workload::order::sequential : workload::order::random;
  if (w.places < jobs) {
    throw host::input_error(fmt::format(
        "{} bytes are too few for {} jobs with blocks of {}: use a larger --size, fewer --numjobs, "
        "or a smaller --bs",
        used, jobs, block_size));
  }
  if (random_distribution == "random") return w;
  w.sequence = workload::order::zipf;
  w.zipf_theta = theta_of(random_distribution);
  const std::uint64_t summed = std::min<std::uint64_t>(w.places, 10'000'000);
  for (std::uint64_t k = 1; k <= summed; ++k)
    w.zipf_zeta += 1 / std::pow(static_cast<double>(k), w.zipf_theta);
  if (w.places > summed) {  // the rest by its integral
    const double e = 1 - w.zipf_theta;
    w.zipf_zeta +=
        (std::pow(static_cast<double>(w.places), e) - std::pow(static_cast<double>(summed), e)) / e;
  }
  const double two = 1 + std::pow(0.5, w.zipf_theta);
  w.zipf_eta = (1 - std::pow(2.0 / static_cast<double>(w.places), 1 - w.zipf_theta)) /
               (1 - two / w.zipf_zeta);
  return w;
}

}  // namespace gnstor::tools

#pragma once

#include <gnstor/core/hash.hpp>

#include <cuda/std/cmath>

#include <cstdint>

namespace gnstor::tools {

/// Which places of a volume jobs read or write, in which order: the same on every machine, and
/// the same again by its seed.
struct workload {
  enum class order : std::uint32_t { sequential, random, zipf };

  std::uint64_t places = 0;       ///< of `place_bytes`
  std::uint32_t place_bytes = 0;  ///< of one I/O
  std::uint32_t unit_bytes = 0;   ///< that have a stamp of their own: a block at most
  std::uint32_t read_percent = 100;
  order sequence = order::random;
  double zipf_theta = 0;  ///< of `zipf`: 0 to 1, the larger the fewer places have most I/Os
  double zipf_zeta = 0;   ///< the sum of 1 / k^theta over all places
  double zipf_eta = 0;
  std::uint64_t seed = 1;

  /// The first word of unit `unit` as version `version` has it; word k is this plus k.
  GNSTOR_HD constexpr std::uint64_t stamp(std::uint64_t unit, std::uint64_t version) const {
    return mix64(mix64(seed + version) ^ unit);
  }
  GNSTOR_HD constexpr std::uint32_t units() const { return place_bytes / unit_bytes; }

  /// Draw `turn` of lane `lane`: which place, and whether it is read.
  GNSTOR_HD std::uint64_t draw(std::uint64_t lane, std::uint64_t turn, bool& reads) const {
    const std::uint64_t bits = mix64(seed ^ mix64(lane << 40 ^ turn));
    reads = read_percent == 100 || mix32(static_cast<std::uint32_t>(bits)) % 100 < read_percent;
    if (sequence == order::zipf) return by_rank(bits);
    return bits % places;
  }

 private:
  /// Gray and others, "Quickly generating billion-record synthetic databases", 1994. The ranks are
  /// spread over the volume.
  GNSTOR_HD std::uint64_t by_rank(std::uint64_t bits) const {
    const double u = static_cast<double>(bits >> 11) / static_cast<double>(1ull << 53);
    const double uz = u * zipf_zeta;
    std::uint64_t rank = 0;
    if (uz >= 1.0) {
      const double half = cuda::std::pow(0.5, zipf_theta);
      rank = uz < 1.0 + half
                 ? 1
                 : static_cast<std::uint64_t>(
                       static_cast<double>(places) *
                       cuda::std::pow(zipf_eta * u - zipf_eta + 1.0, 1.0 / (1.0 - zipf_theta)));
    }
    return mix64(rank + seed) % places;
  }
};

}  // namespace gnstor::tools

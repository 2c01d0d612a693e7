#pragma once

#include <gnstor/wire/afa/array_description.hpp>

#include <algorithm>
#include <optional>
#include <span>

namespace gnstor::host {

/// Of what an array's SSDs say, one description in the latest epoch that all of them know which
/// answer and take part in it; while they are being informed of another, one in the epoch before.
/// Null if none answers.
/// @param said of SSD k, in `said[k]`; nothing where it does not answer
inline const wire::afa::array_description* agreed_among(
    std::span<const std::optional<wire::afa::array_description>> said) {
  const wire::afa::array_description* latest = nullptr;
  for (const auto& one : said) {
    if (one && (latest == nullptr || one->epoch > latest->epoch)) latest = &*one;
  }
  if (latest == nullptr) return nullptr;
  const wire::afa::array_description* agreed = latest;
  for (std::size_t k = 0; k < said.size(); ++k) {
    const bool takes_part = k >= 64 || (latest->absent >> k & 1) == 0;
    if (takes_part && said[k] && said[k]->epoch < agreed->epoch) agreed = &*said[k];
  }
  return agreed;
}

}  // namespace gnstor::host

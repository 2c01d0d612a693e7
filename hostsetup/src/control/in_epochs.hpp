#pragma once

#include "own_status.hpp"
#include <gnstor/core/duration.hpp>
#include <gnstor/wire/nvme/media_status.hpp>

#include <chrono>
#include <cstdint>
#include <thread>

namespace gnstor::host {

/// True if an operation that failed so may succeed in another epoch: an SSD of this one is gone, or
/// knows that other one already.
inline bool may_pass(status s) {
  if (s.ok() || s.code == status_code::out_of_range) return false;
  if (s.code != status_code::nvme_error) return true;
  const auto type = static_cast<wire::nvme::status_code_type>(s.nvme_type);
  if (type == wire::nvme::status_code_type::vendor_specific)
    return is_own(s, wire::afa::status::stale_epoch) || is_own(s, wire::afa::status::rebuilding);
  // Damage stays; an SSD that cannot write is dead, and soon not asked any more.
  return type != wire::nvme::status_code_type::media ||
         s.nvme_code == static_cast<std::uint8_t>(wire::nvme::media_status::write_fault);
}

/// Carries out an operation on an array that a manager brings to another epoch when an SSD fails:
/// again in each new epoch, entirely, until it succeeds, another epoch would not help, or
/// `patience` is over. Nothing is sent again within an epoch: a late write could pass a newer one.
/// @param where in what it was carried out, something to compare: the epoch, and whatever else
/// separates what is sent from what was sent before. Asked after each time
/// @param operation `status()`: in the epoch that was learned last
/// @param learn `void()`: asks the array for its epoch
template <class Where, class Operation, class Learn>
status in_epochs(duration patience, const Where& where, const Operation& operation,
                 const Learn& learn) {
  using clock = std::chrono::steady_clock;
  constexpr std::chrono::milliseconds between_looks{10};
  const auto until = clock::now() + std::chrono::nanoseconds(patience.ns());
  status s = operation();
  auto was = where();
  while (may_pass(s) && clock::now() < until) {
    learn();
    if (where() == was) {
      std::this_thread::sleep_for(between_looks);
      continue;
    }
    s = operation();
    was = where();
  }
  return s;
}

}  // namespace gnstor::host

#pragma once
/// What the outcome of one command means for the operation that it is a part of.

#include <gnstor/core/deadline.hpp>
#include <gnstor/core/status.hpp>
#include <gnstor/simt/group.hpp>
#include <gnstor/wire/afa/status.hpp>
#include <gnstor/wire/mlx5/syndrome.hpp>
#include <gnstor/wire/nvme/status.hpp>

#include <cuda/std/bit>

namespace gnstor::detail {

/// The outcome of two parts of one operation: the first failure, unless it would hide that the
/// buffer may still be used.
GNSTOR_HD constexpr status combined(status a, status b) {
  if (!a.failed() && !b.failed()) return a.ok() ? b : a;
  const status failed = a.failed() ? a : b;
  const status late = a.left_behind() ? a : b;
  if (failed.left_behind() || !late.left_behind()) return failed;
  return late.failed() ? late : status::make(status_code::timed_out, reporter::volume);
}

/// True if another replica may do what this SSD did not. Media errors, a dying SSD and silence may
/// be this SSD's own trouble; a refusal is the same everywhere, but of a volume that lies
/// elsewhere.
GNSTOR_HD constexpr bool another_replica_may_help(status s) {
  if (s.code == status_code::timed_out) return true;
  if (s.code != status_code::nvme_error) return false;
  switch (static_cast<wire::nvme::status_code_type>(s.nvme_type)) {
    case wire::nvme::status_code_type::media:
    case wire::nvme::status_code_type::path: return true;
    case wire::nvme::status_code_type::generic:
      return s.nvme_code == static_cast<std::uint8_t>(wire::nvme::generic_status::internal_error) ||
             s.nvme_code ==
                 static_cast<std::uint8_t>(wire::nvme::generic_status::namespace_not_ready);
    case wire::nvme::status_code_type::vendor_specific:  // it has left that SSD meanwhile
      return s.nvme_code == static_cast<std::uint8_t>(wire::afa::status::wrong_ssd) ||
             s.nvme_code == static_cast<std::uint8_t>(wire::afa::status::unknown_volume);
    default: return false;
  }
}

/// True if the SSDs that failed so may be gone in another epoch, or know it already.
GNSTOR_HD constexpr bool another_epoch_may_help(status s) {
  if (s.code != status_code::nvme_error) return false;
  if (s.nvme_type != static_cast<std::uint8_t>(wire::nvme::status_code_type::vendor_specific))
    return s.nvme_type != static_cast<std::uint8_t>(wire::nvme::status_code_type::media) &&
           another_replica_may_help(s);
  return s.nvme_code == static_cast<std::uint8_t>(wire::afa::status::stale_epoch) ||
         s.nvme_code == static_cast<std::uint8_t>(wire::afa::status::rebuilding);
}

/// True if a request failed with the connection of its channel, and another one may carry it:
/// unless it was itself what the connection died of.
GNSTOR_HD constexpr bool lost_with_channel(status s) {
  const bool lost = s.code == status_code::flushed || s.code == status_code::reset;
  if (lost || s.code == status_code::not_ready) return true;  // the other one is being made
  if (s.code != status_code::transport_error) return false;
  using wire::mlx5::syndrome;
  switch (static_cast<syndrome>(s.syndrome)) {
    case syndrome::local_length_error:
    case syndrome::local_protection_error:
    case syndrome::memory_window_bind_error:
    case syndrome::local_access_error:
    case syndrome::remote_invalid_request:
    case syndrome::remote_access_error: return false;
    default: return true;
  }
}

/// The first of `attempts` attempts' share of the time that is left; the last one gets all of it.
GNSTOR_HD constexpr deadline share_of(deadline d, std::uint64_t now_ns, std::uint32_t attempts) {
  if (attempts <= 1 || d.expired(now_ns) || d.at_ns() == deadline::never().at_ns()) return d;
  const std::uint64_t left = d.at_ns() - now_ns;
  return deadline::after(now_ns, attempts == 2 ? left / 2 : left / attempts);  // mostly a shift
}

/// The status with the SSD that answered, where an SSD did.
GNSTOR_HD constexpr status named(status s, std::uint16_t ssd) {
  if (s.code == status_code::nvme_error) s.ssd = ssd;
  return s;
}

/// The `combined` outcome of all lanes of `g`, in each of them.
/// @par Callers every lane of `g`, converged
template <simt::warp_group G>
GNSTOR_HD status combined(const G& g, status mine) {
  const std::uint32_t failed = g.ballot(mine.failed());
  const std::uint32_t late = g.ballot(mine.left_behind());
  if ((failed | late) == 0) return mine;
  const std::uint32_t first_failed = failed != 0 ? failed : late;
  const std::uint32_t first_late = (failed & late) != 0 ? failed & late : late != 0 ? late : failed;
  const auto of = [&](std::uint32_t lanes) {
    return status::unpack(g.shfl(mine.pack(), static_cast<int>(cuda::std::countr_zero(lanes))));
  };
  const status a = of(first_failed);
  return combined(a, of(first_late));
}

static_assert(combined(status{}, status::nvme(2, 0x81, 3)) == status::nvme(2, 0x81, 3));
static_assert(combined(status::in_use(1), status{}) == status::in_use(1));
static_assert(share_of(deadline::after(0, 100), 10, 3).at_ns() == 40);

}  // namespace gnstor::detail

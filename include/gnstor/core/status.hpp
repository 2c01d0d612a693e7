#pragma once

#include <gnstor/core/config.hpp>

#include <type_traits>

namespace gnstor::inline v0 {

/// What happened to an operation, as one word that a caller can branch on.
enum class status_code : std::uint8_t {
  ok = 0,
  would_block,       ///< nothing was done; try again, or make room first
  timed_out,         ///< the deadline passed; the request may still complete behind the scenes
  invalid_argument,  ///< the caller's argument is wrong; nothing was sent
  out_of_range,      ///< beyond the end of the volume or array; nothing was sent
  no_memory,         ///< no buffer, frame or command id could be had within the deadline
  not_ready,         ///< the channel is not connected yet
  closed,            ///< the channel is closed or dead; nothing was sent
  nvme_error,        ///< an SSD answered with `nvme_type` and `nvme_code`
  transport_error,   ///< the NIC answered with `syndrome`: this very request failed
  flushed,           ///< the queue pair died under this request; another request failed first
  reset,             ///< the queue pair was torn down at both ends and made again: the request may
                     ///< have been executed, and nothing of it can happen any more
  unsupported,       ///< the session was opened without what this needs; nothing was sent
  buffer_in_use,  ///< another replica delivered the data, but the SSD `ssd`, which had been asked
                  ///< first and given up, may still write the buffer: read again into another
  stale,          ///< the file has changed, or is about to: what was read is not handed over
};

/// Who reported a status.
enum class reporter : std::uint8_t {
  none = 0,
  caller,
  queue_pair,
  channel,
  nic,
  ssd,
  volume,
  array
};

/// The outcome of an operation: a code, who reported it, and the peer's own words for it.
///
/// Eight bytes, trivially copyable, so that it fits one 64-bit word of a request table.
struct [[nodiscard]] status {
  status_code code = status_code::ok;
  reporter by = reporter::none;
  std::uint8_t nvme_type = 0;  ///< NVMe status code type (Base 2.3, figure 101), if `nvme_error`
  std::uint8_t nvme_code = 0;  ///< NVMe status code, if `nvme_error`
  std::uint8_t syndrome = 0;   ///< mlx5 CQE syndrome, if `transport_error`, `flushed` or `reset`
  std::uint8_t vendor_syndrome = 0;  ///< mlx5 vendor syndrome, likewise
  std::uint16_t ssd = 0;  ///< index of the SSD: that answered, if `nvme_error`; that did not, if
                          ///< `buffer_in_use`, or an asynchronous operation has `timed_out`

  /// True if all went well, and for good: the buffer is the caller's, nobody writes it any more.
  GNSTOR_HD constexpr bool ok() const { return code == status_code::ok; }
  /// True if what was asked for did not happen. Of `buffer_in_use` it did, though it may not last.
  GNSTOR_HD constexpr bool failed() const { return !ok() && code != status_code::buffer_in_use; }
  /// True if a request was given up on the way: its buffer may still be read or written, until its
  /// channel is reset. Never after `ok`. A dead channel that refuses a request (`flushed`, by the
  /// channel) has sent nothing.
  GNSTOR_HD constexpr bool left_behind() const {
    return code == status_code::timed_out || code == status_code::buffer_in_use ||
           (code == status_code::flushed && by != reporter::channel);
  }
  /// True if nothing of the failed request can happen any more: its buffer is free, and nothing of
  /// it can come after a second try. It may have been executed already. After a `transport_error`
  /// the peer may still have the request: only a reset of the channel ends that.
  GNSTOR_HD constexpr bool retry_safe() const {
    return !ok() && !left_behind() && code != status_code::transport_error;
  }

  GNSTOR_HD static constexpr status make(status_code code, reporter by) {
    status s;
    s.code = code;
    s.by = by;
    return s;
  }
  /// The data is there, and `silent` may still write its buffer.
  GNSTOR_HD static constexpr status in_use(std::uint16_t silent) {
    status s = make(status_code::buffer_in_use, reporter::volume);
    s.ssd = silent;
    return s;
  }
  /// An SSD's answer. Type 0, code 0 is success.
  GNSTOR_HD static constexpr status nvme(std::uint8_t type, std::uint8_t code, std::uint16_t ssd) {
    status s;
    if (type == 0 && code == 0) return s;
    s = make(status_code::nvme_error, reporter::ssd);
    s.nvme_type = type;
    s.nvme_code = code;
    s.ssd = ssd;
    return s;
  }

  GNSTOR_HD friend constexpr bool operator==(const status& a, const status& b) {
    return a.pack() == b.pack();
  }

  /// The status as one 64-bit word, and back.
  GNSTOR_HD constexpr std::uint64_t pack() const {
    return std::uint64_t(code) | std::uint64_t(by) << 8 | std::uint64_t(nvme_type) << 16 |
           std::uint64_t(nvme_code) << 24 | std::uint64_t(syndrome) << 32 |
           std::uint64_t(vendor_syndrome) << 40 | std::uint64_t(ssd) << 48;
  }
  GNSTOR_HD static constexpr status unpack(std::uint64_t word) {
    status s;
    s.code = static_cast<status_code>(word & 0xff);
    s.by = static_cast<reporter>(word >> 8 & 0xff);
    s.nvme_type = static_cast<std::uint8_t>(word >> 16);
    s.nvme_code = static_cast<std::uint8_t>(word >> 24);
    s.syndrome = static_cast<std::uint8_t>(word >> 32);
    s.vendor_syndrome = static_cast<std::uint8_t>(word >> 40);
    s.ssd = static_cast<std::uint16_t>(word >> 48);
    return s;
  }
};

static_assert(sizeof(status) == 8 && std::is_trivially_copyable_v<status>);
static_assert(status::unpack(status::nvme(2, 0x81, 3).pack()) == status::nvme(2, 0x81, 3));

}  // namespace gnstor::inline v0

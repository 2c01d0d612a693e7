#pragma once

#include <gnstor/core/status.hpp>
#include <gnstor/wire/nvme/completion_entry.hpp>

namespace gnstor::inline v0 {

/// What a completion queue entry reports.
enum class completion_kind : std::uint8_t {
  none,      ///< there was no entry
  response,  ///< an NVMe response capsule arrived; `response` holds it
  sent,      ///< a signalled request of the send queue is done; `index` names it
  failed,    ///< a request of the send queue failed; `index` names it, `outcome` says why. One that
             ///< takes two blocks of a NIC's queue may be announced twice
  broken,    ///< a receive failed: the queue pair is dead; `outcome` says why
};

/// One completion of a queue pair.
struct completion {
  completion_kind kind = completion_kind::none;
  std::uint64_t index = 0;                  ///< send queue index, for `sent` and `failed`
  wire::nvme::completion_entry response{};  ///< for `response`
  status outcome{};                         ///< for `failed` and `broken`
};

}  // namespace gnstor::inline v0

#pragma once

#include <gnstor/packet/packet_cause.hpp>
#include <gnstor/simt/atomic_ref.hpp>

#include <type_traits>

namespace gnstor::inline v0 {

/// Counters by cause, readable by the CPU while kernels run.
struct packet_counters {
  std::uint64_t words[static_cast<std::size_t>(packet_cause::count)];

  GNSTOR_HD void add(packet_cause cause, std::uint64_t n = 1) {
    system_word<std::uint64_t>(word(cause)).fetch_add(n, relaxed);
  }
  GNSTOR_HD std::uint64_t read(packet_cause cause) {
    return system_word<std::uint64_t>(word(cause)).load(relaxed);
  }

 private:
  GNSTOR_HD std::uint64_t& word(packet_cause cause) {
    return words[static_cast<std::size_t>(cause)];
  }
};

static_assert(std::is_trivial_v<packet_counters>);

}  // namespace gnstor::inline v0

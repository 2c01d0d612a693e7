#pragma once

#include <gnstor/simt/atomic_ref.hpp>

#include <type_traits>

namespace gnstor::fw {

/// What a port counts: readable while it works.
struct nic_counters {
  std::uint64_t made;           ///< numbers that the generator has used up
  std::uint64_t delivered;      ///< frames written to the receive ring
  std::uint64_t given;          ///< of these, sound ones: what may be sent on
  std::uint64_t given_digest;   ///< of their numbers, whatever their order
  std::uint64_t lost;           ///< by the wire
  std::uint64_t damaged;        ///< delivered with a check sequence error
  std::uint64_t miscounted;     ///< delivered with a checksum error
  std::uint64_t runts;          ///< dropped by the MAC
  std::uint64_t oversize;       ///< likewise
  std::uint64_t missed;         ///< for want of a descriptor
  std::uint64_t faults;         ///< descriptors with an address that is nobody's
  std::uint64_t bad_tails;      ///< tails beyond the ring
  std::uint64_t bad_transmits;  ///< descriptors that describe no frame
  std::uint64_t refused;        ///< frames to send that the wire did not take
  std::uint64_t sent;           ///< frames that the transmit ring gave to the wire

  GNSTOR_HD static void add(std::uint64_t& word, std::uint64_t n = 1) {
    system_word<std::uint64_t>(word).fetch_add(n, relaxed);
  }
  GNSTOR_HD static std::uint64_t read(std::uint64_t& word) {
    return system_word<std::uint64_t>(word).load(relaxed);
  }
};

static_assert(std::is_trivial_v<nic_counters>);

}  // namespace gnstor::fw

#pragma once

#include <gnstor/wire/ethernet/ip_protocol.hpp>

#include <type_traits>

namespace gnstor::inline v0 {

/// A rule as kernels have it: which packets it is about, and what these have to contain.
/// `host::rule_set` makes them of text.
struct intrusion_rule {
  enum action_kind : std::uint32_t { alert, drop, pass };
  static constexpr std::uint32_t any_protocol = 0;
  static constexpr std::uint32_t no_end = 0;  ///< of `content::depth`

  /// Addresses whose bits under `mask` are `address`, or all others.
  struct network {
    std::uint32_t address;
    std::uint32_t mask;  ///< 0: any
    std::uint32_t negated;
    GNSTOR_HD constexpr bool has(std::uint32_t a) const {
      return ((a & mask) == address) != (negated != 0);
    }
  };
  /// Ports from `first` to `last`, or all others.
  struct ports {
    std::uint32_t first;
    std::uint32_t last;
    std::uint32_t negated;
    GNSTOR_HD constexpr bool has(std::uint32_t p) const {
      return (p >= first && p <= last) != (negated != 0);
    }
  };
  /// Bytes that have to be somewhere in a part of the payload.
  struct content {
    std::uint32_t at;      ///< in the text of all
    std::uint32_t length;  ///< not 0
    std::uint32_t nocase;  ///< 1: letters match in either case
    std::uint32_t offset;  ///< of the payload, where it may begin
    std::uint32_t depth;   ///< bytes from there in which it lies; or `no_end`
  };

  std::uint32_t action;    ///< `action_kind`
  std::uint32_t protocol;  ///< `wire::ethernet::ip_protocol`, or `any_protocol`
  network source;
  network destination;
  ports source_ports;  ///< any where the protocol has none
  ports destination_ports;
  std::uint32_t first_content;
  std::uint32_t contents;  ///< all of which have to be there
  std::uint32_t sid;       ///< Snort's number of the rule
  std::uint32_t revision;
};

static_assert(std::is_trivial_v<intrusion_rule> && sizeof(intrusion_rule) == 72);
static_assert(sizeof(intrusion_rule::content) == 20);

}  // namespace gnstor::inline v0

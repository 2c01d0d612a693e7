#pragma once

#include <cstdint>
#include <string>

namespace gnstor::host {

/// What becomes of packets to the addresses of one prefix.
struct route {
  enum class kind : std::uint8_t {
    via,          ///< they go to a gateway
    connected,    ///< their destination is on the wire itself
    unreachable,  ///< they go back as ICMP host unreachable
    prohibited,   ///< they go back as ICMP administratively prohibited
    blackhole,    ///< they vanish
  };

  std::uint32_t prefix = 0;  ///< 10.0.0.0 is 0x0a000000; no bit behind the length is set
  std::uint8_t length = 0;   ///< 0 to 32 bits
  kind what = kind::via;
  std::uint32_t gateway = 0;  ///< of `via`
  std::uint32_t metric = 0;   ///< of two routes of one prefix the lower one counts
  std::uint32_t line = 0;     ///< of the file that it was read from; 0: none

  static constexpr std::uint32_t mask(std::uint8_t length) {
    return length == 0 ? 0 : ~std::uint32_t{0} << (32 - length);
  }
  /// Its prefix: "10.0.0.0/8".
  std::string text() const;
};

}  // namespace gnstor::host

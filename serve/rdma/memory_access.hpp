#pragma once

#include <base/shared_secret.hpp>
#include <gnstor/wire/memory/region_refusal.hpp>
#include <gnstor/wire/memory/region_request.hpp>

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gnstor::serve {

/// Who may use a memory server's regions: hosts of some addresses, and who knows a secret. To
/// others it does not say where a region lies; it does not encrypt.
class memory_access {
 public:
  /// Everybody.
  memory_access() = default;
  /// @param addresses IPv4 or IPv6 addresses; none: all. Throws `input_error` for what is none
  memory_access(const std::vector<std::string>& addresses,
                std::optional<host::shared_secret> secret);

  /// Why the host at `address` does not get what it asks for; nothing if it may.
  std::optional<wire::memory::region_refusal> refusal(
      std::string_view address, const wire::memory::region_request& asked) const;

 private:
  using binary = std::array<unsigned char, 16>;  ///< an IPv4 address as ::ffff:a.b.c.d
  static std::optional<binary> read(std::string_view text);

  std::vector<binary> addresses_;
  std::optional<host::shared_secret> secret_;
};

}  // namespace gnstor::serve

#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <string>

namespace gnstor::host::fabrics {

/// Who a host is to a target: its NQN, by which targets admit it, and its 128-bit id.
struct host_identity {
  std::string nqn;
  std::array<std::uint8_t, 16> id{};
  std::string origin;      ///< where the two come from, for messages
  bool generated = false;  ///< from the machine's id or name

  /// Takes `nqn` and `id` (a UUID) where they are given, else `hostnqn` and `hostid` of `folder`,
  /// else makes them from the machine's id, which no other machine has: the same at every start.
  /// The id itself is not shown to anybody (machine-id(5)). A machine without one goes by its name.
  /// Throws `input_error` for a malformed one.
  static host_identity find(const std::string& nqn, const std::string& id,
                            const std::filesystem::path& folder = "/etc/nvme",
                            const std::filesystem::path& machine_id = "/etc/machine-id");
};

/// The 16 bytes of a UUID such as "6c616200-0000-4000-8000-000000000001". Throws `input_error`.
std::array<std::uint8_t, 16> parse_uuid(const std::string& text);
/// The UUID of 16 bytes.
std::string uuid_text(const std::array<std::uint8_t, 16>& id);
/// Throws `input_error` unless `nqn` is "nqn." and at most 223 bytes. @param what whose name it is
void check_nqn(const std::string& nqn, const char* what);

}  // namespace gnstor::host::fabrics

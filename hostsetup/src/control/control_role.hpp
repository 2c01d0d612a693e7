#pragma once

#include <gnstor/core/units.hpp>
#include <gnstor/wire/afa/volume_record.hpp>

#include <string>

namespace gnstor::host {

/// Metadata of a call by gRPC: the NQN of the host that asks.
inline constexpr const char* asking_host = "gnstor-host";

/// Who asks an array's manager, and what it may do: an administrator everything, a host what it
/// owns and was admitted to. Each `need_` throws `control_error` where that does not hold.
class control_role {
 public:
  static control_role administrator() { return {true, {}}; }
  /// @param nqn of the host
  static control_role of_host(std::string nqn) { return {false, std::move(nqn)}; }

  bool is_administrator() const { return administrator_; }
  /// The host's NQN; an administrator has none.
  const std::string& nqn() const { return nqn_; }
  bool owns(const wire::afa::volume_record& r) const;
  bool has_rights(const wire::afa::volume_record& r) const;
  /// @param what is wanted, for the message
  void need_administrator(const char* what) const;
  /// ... or the volume's owner.
  void need_owner(const wire::afa::volume_record& r, const char* what) const;
  /// ... or its owner, or a host with some right to it.
  void need_rights(const wire::afa::volume_record& r) const;
  /// The NQN of the host that is acted for: an administrator names any, a host itself or nobody.
  std::string acts_for(const std::string& host) const;

 private:
  control_role(bool administrator, std::string nqn)
      : administrator_(administrator), nqn_(std::move(nqn)) {}

  bool administrator_;
  std::string nqn_;
};

}  // namespace gnstor::host

#pragma once

#include <gnstor/wire/afa/volume_record.hpp>

#include <grpcpp/server_context.h>

#include <string>

namespace gnstor::serve {

/// Who calls, and what it may do: by the common name of its certificate, `admin:WHO` for
/// everything, `host:NAME` for what is that host's. Without certificates, on this machine alone,
/// everybody is an administrator.
class caller {
 public:
  /// Throws `control_error` if the certificate has no role.
  explicit caller(const grpc::ServerContext& call);

  bool is_admin() const { return admin_; }
  /// The host's NQN; an administrator has none.
  const std::string& nqn() const { return nqn_; }
  /// Throws `control_error` unless this is an administrator. @param what it wants, for the message
  void need_admin(const char* what) const;
  /// ... unless it is one, or the volume's owner.
  void need_owner(const wire::afa::volume_record& r, const char* what) const;
  /// ... unless it is one, or has some right to the volume.
  void need_rights(const wire::afa::volume_record& r) const;
  bool has_rights(const wire::afa::volume_record& r) const;
  /// The NQN of the host that is acted for: an administrator names any, a host itself or nobody.
  /// Throws `control_error`.
  std::string acts_for(const std::string& host) const;

 private:
  bool owns(const wire::afa::volume_record& r) const;

  bool admin_ = true;
  std::string nqn_;
};

}  // namespace gnstor::serve

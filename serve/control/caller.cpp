#include "caller.hpp"

#include <link/client_identity.hpp>

#include <control/control_error.hpp>
#include <fmt/format.h>
#include <grpc/grpc_security_constants.h>

#include <algorithm>

namespace gnstor::serve {
namespace {

using host::client_identity;
using host::control_error;
using host::control_reason;

}  // namespace

caller::caller(const grpc::ServerContext& call) {
  const auto peer = call.auth_context();
  if (!peer->IsPeerAuthenticated()) return;
  std::string name;
  for (const grpc::string_ref& n : peer->FindPropertyValues(GRPC_X509_CN_PROPERTY_NAME))
    name.assign(n.data(), n.size());
  if (name.starts_with("admin:") && name.size() > 6) return;
  admin_ = false;
  if (!name.starts_with("host:") || name.size() == 5) {
    throw control_error(
        control_reason::not_allowed,
        fmt::format("the common name \"{}\" of the certificate gives no role", name.substr(0, 64)),
        "use one for admin:WHO or host:NAME");
  }
  nqn_ = client_identity::nqn_of(name.substr(5));
}

void caller::need_admin(const char* what) const {
  if (admin_) return;
  throw control_error(control_reason::not_allowed,
                      fmt::format("{}: {} is no administrator", what, nqn_),
                      "use a certificate for admin:WHO");
}

bool caller::owns(const wire::afa::volume_record& r) const {
  return r.owner != 0 && r.owner == client_identity::key_of(nqn_);
}

void caller::need_owner(const wire::afa::volume_record& r, const char* what) const {
  if (admin_ || owns(r)) return;
  throw control_error(control_reason::not_allowed,
                      fmt::format("{} volume {}: {} does not own it", what, r.vid, nqn_),
                      "ask its owner, or an administrator");
}

bool caller::has_rights(const wire::afa::volume_record& r) const {
  const std::uint16_t client = client_identity::client_of(nqn_).value;
  const auto* end = r.clients + std::min(r.client_count, wire::afa::max_volume_clients);
  return admin_ || owns(r) || std::any_of(r.clients, end, [&](const wire::afa::volume_client& c) {
           return c.client == client && c.rights != 0;
         });
}

void caller::need_rights(const wire::afa::volume_record& r) const {
  if (has_rights(r)) return;
  throw control_error(control_reason::not_allowed,
                      fmt::format("volume {} is not shared with {}", r.vid, nqn_),
                      "its owner or an administrator does so: gnstorctl volume share");
}

std::string caller::acts_for(const std::string& host) const {
  if (admin_ && host.empty()) {
    throw control_error(control_reason::bad_request, "no host is named",
                        "give its NQN, or the name that its sessions connect by");
  }
  if (admin_) return client_identity::nqn_of(host);
  if (host.empty() || client_identity::nqn_of(host) == nqn_) return nqn_;
  throw control_error(control_reason::not_allowed,
                      fmt::format("{} may not act for {}", nqn_, client_identity::nqn_of(host)),
                      "use that host's certificate, or an administrator's");
}

}  // namespace gnstor::serve

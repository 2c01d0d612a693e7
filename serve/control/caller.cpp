#include "caller.hpp"

#include <gnstor/host/control_error.hpp>
#include <link/client_identity.hpp>

#include <fmt/format.h>
#include <grpc/grpc_security_constants.h>

namespace gnstor::serve {

namespace {

/// Who calls, by its certificate.
host::control_role certified(const grpc::ServerContext& call) {
  const auto peer = call.auth_context();
  if (!peer->IsPeerAuthenticated()) return host::control_role::administrator();
  std::string name;
  for (const grpc::string_ref& n : peer->FindPropertyValues(GRPC_X509_CN_PROPERTY_NAME))
    name.assign(n.data(), n.size());
  if (name.starts_with("admin:") && name.size() > 6) return host::control_role::administrator();
  if (name.starts_with("host:") && name.size() > 5)
    return host::control_role::of_host(host::client_identity::nqn_of(name.substr(5)));
  throw host::control_error(
      host::control_reason::not_allowed,
      fmt::format("the common name \"{}\" of the certificate gives no role", name.substr(0, 64)),
      "use one for admin:WHO or host:NAME");
}

}  // namespace

host::control_role caller(const grpc::ServerContext& call) {
  host::control_role who = certified(call);
  const auto asks = call.client_metadata().find(host::asking_host);
  if (asks == call.client_metadata().end()) return who;
  return host::control_role::of_host(
      who.acts_for(std::string(asks->second.data(), asks->second.size())));
}

}  // namespace gnstor::serve

#pragma once

#include <control/control_role.hpp>
#include <grpcpp/server_context.h>

namespace gnstor::serve {

/// Who calls: by the common name of its certificate, `admin:WHO` an administrator, `host:NAME` that
/// host. Without certificates, on this machine alone, everybody is an administrator. Throws
/// `control_error` if the certificate has no role.
host::control_role caller(const grpc::ServerContext& call);

}  // namespace gnstor::serve

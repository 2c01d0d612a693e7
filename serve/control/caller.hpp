#pragma once

#include <control/control_role.hpp>
#include <grpcpp/server_context.h>

namespace gnstor::serve {

/// Who calls: by the common name of its certificate, `admin:WHO` an administrator, `host:NAME` that
/// host. Without certificates, on this machine alone, everybody is an administrator. A session says
/// as which host it asks, and then may do what that host may. Throws `control_error` if the
/// certificate has no role, or is another host's.
host::control_role caller(const grpc::ServerContext& call);

}  // namespace gnstor::serve

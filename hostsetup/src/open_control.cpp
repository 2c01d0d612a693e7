#include "open_control.hpp"

#include <gnstor/host/endpoint.hpp>
#include <gnstor/host/error.hpp>
#if defined(GNSTOR_WITH_RDMA)
#include <remote/fabrics_link.hpp>
#endif

#include <fmt/format.h>

// gRPC is behind a library of its own, which asks the linker for this function.
extern "C" [[gnu::weak]] void gnstor_open_daemon(const gnstor::host::control_endpoint& where,
                                                 const std::string& host,
                                                 gnstor::host::managed_array& opened);

namespace gnstor::host {

std::unique_ptr<array_control> open_control(endpoint& where, const session_options& options) {
  if (gnstor_open_daemon == nullptr) {
    throw error(
        "a gnstor:// endpoint in a program without gRPC: link gnstor::control beside gnstor::host "
        "(find_package(gnstor COMPONENTS control), which needs libgrpc++-dev)");
  }
#if defined(GNSTOR_WITH_RDMA)
  managed_array opened;
  where.rdma->host_nqn = host_nqn_of(*where.rdma, options);
  gnstor_open_daemon(*where.control, where.rdma->host_nqn, opened);
  where.rdma = data_of(opened.data, *where.control, *where.rdma);
  return std::move(opened.control);
#else
  static_cast<void>(where);
  static_cast<void>(options);
  throw error(
      "this build of gnstor has no RDMA, by which a managed array's data is reached: install "
      "libibverbs-dev, librdmacm-dev and uuid-dev, then configure it again");
#endif
}

rdma_endpoint data_of(const std::string& said, const control_endpoint& daemon,
                      const rdma_endpoint& options) {
  if (said.empty()) {
    throw error(fmt::format(
        "the daemon at {} manages an array that nobody serves to sessions: let gnstor-target "
        "--manage serve and manage it",
        daemon.server()));
  }
  const endpoint data = endpoint::parse(said);
  if (!data.rdma)
    throw error(
        fmt::format("the daemon at {} says that the array's data is at {}, which sessions "
                    "of other processes cannot reach",
                    daemon.server(), said));
  rdma_endpoint where = options;
  where.host = data.rdma->host;
  where.port = data.rdma->port;
  where.subsystem = data.rdma->subsystem;
  // It listens everywhere: also where the daemon answers.
  if (where.host == "0.0.0.0" || where.host == "::") where.host = daemon.host;
  return where;
}

}  // namespace gnstor::host

#include "discovered.hpp"

#include "wire_text.hpp"

#include <fmt/format.h>

namespace gnstor::host::fabrics {
namespace {

std::string transport_name(std::uint8_t type) {
  if (type == wire::fabrics::transport_rdma) return "rdma";
  if (type == wire::fabrics::transport_tcp) return "tcp";
  return fmt::format("transport {}", type);
}

}  // namespace

discovered discovered::from(const wire::fabrics::discovery_entry& said) {
  discovered d;
  d.nqn = wire_text(said.subnqn, sizeof said.subnqn);
  d.transport = transport_name(said.trtype);
  d.address = wire_text(said.traddr, sizeof said.traddr);
  d.port = wire_text(said.trsvcid, sizeof said.trsvcid);
  d.discovery = said.subtype != wire::fabrics::subsystem_nvm;
  return d;
}

}  // namespace gnstor::host::fabrics

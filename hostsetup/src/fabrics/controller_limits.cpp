#include "controller_limits.hpp"

#include "wire_text.hpp"
#include <gnstor/host/error.hpp>
#include <gnstor/wire/fabrics/capsule.hpp>
#include <gnstor/wire/nvme/controller_properties.hpp>
#include <gnstor/wire/nvme/features.hpp>
#include <gnstor/wire/nvme/keyed_sgl.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <bit>

namespace gnstor::host::fabrics {
namespace {

void check_capsules(const wire::nvme::identify_controller& said) {
  if ((said.sgls & wire::nvme::sgls_supported_mask) == 0 ||
      (said.sgls & wire::nvme::sgls_keyed) == 0) {
    throw input_error(fmt::format(
        "the controller takes no keyed SGLs (SGLS {:08X}h), which NVMe over RDMA needs: "
        "this is not an RDMA controller",
        said.sgls));
  }
  constexpr std::uint32_t unit = wire::nvme::capsule_unit_bytes;
  if (said.ioccsz < wire::fabrics::command_capsule_bytes / unit ||
      said.iorcsz < wire::fabrics::response_capsule_bytes / unit) {
    throw input_error(
        fmt::format("the controller takes command capsules of {} bytes and answers with {}; NVMe "
                    "over Fabrics has at least {} and {}",
                    unit * said.ioccsz, unit * said.iorcsz, wire::fabrics::command_capsule_bytes,
                    wire::fabrics::response_capsule_bytes));
  }
}

/// The largest power of two, up to `wanted`, that the controller's queues have room for.
std::uint32_t granted_depth(std::uint32_t wanted, std::uint64_t cap, std::uint16_t maxcmd,
                            std::vector<std::string>& notes) {
  std::uint32_t most = wire::nvme::max_queue_entries(cap);
  if (maxcmd != 0) most = std::min<std::uint32_t>(most, maxcmd);
  const std::uint32_t granted = std::min(wanted, std::bit_floor(most));
  if (granted < wanted) {
    notes.push_back(
        fmt::format("depth {} wanted; the controller allows {} requests per queue: {} used", wanted,
                    most, granted));
  }
  if (granted < 2) throw input_error("the controller's queues hold less than two requests");
  return granted;
}

}  // namespace

controller_limits controller_limits::from(const wire::nvme::identify_controller& said,
                                          std::uint64_t cap, std::uint32_t depth,
                                          std::vector<std::string>& notes) {
  controller_limits l;
  l.controller_id = said.cntlid;
  l.serial = wire_text(said.sn, sizeof said.sn);
  l.model = wire_text(said.mn, sizeof said.mn);
  l.firmware = wire_text(said.fr, sizeof said.fr);
  l.version = said.ver;
  l.discovery = said.cntrltype == wire::nvme::cntrltype_discovery;
  l.keep_alive = said.kas != 0;
  l.write_zeroes = (said.oncs & wire::nvme::oncs_write_zeroes) != 0;
  l.dataset_management = (said.oncs & wire::nvme::oncs_dataset_management) != 0;
  l.volatile_cache = (said.vwc & wire::nvme::vwc_present) != 0;
  if (l.discovery) return l;
  check_capsules(said);
  l.namespace_events = (said.oaes & wire::nvme::event_namespace_attribute) != 0;
  l.depth = granted_depth(depth, cap, said.maxcmd, notes);
  // The length of a keyed SGL has 24 bits.
  const std::uint64_t ceiling = wire::nvme::max_keyed_sgl_bytes & ~std::uint64_t{4095};
  const std::uint64_t page = wire::nvme::min_page_bytes(cap);
  const bool bounded = said.mdts != 0 && said.mdts < 24;
  l.max_transfer_bytes =
      static_cast<std::uint32_t>(bounded ? std::min(page << said.mdts, ceiling) : ceiling);
  return l;
}

}  // namespace gnstor::host::fabrics

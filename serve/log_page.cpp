#include "log_page.hpp"

#include "fill_page.hpp"
#include "product.hpp"
#include <gnstor/wire/afa/admin_opcode.hpp>
#include <gnstor/wire/afa/association_end.hpp>
#include <gnstor/wire/fabrics/connect_data.hpp>
#include <gnstor/wire/fabrics/discovery_header.hpp>
#include <gnstor/wire/nvme/commands_log.hpp>
#include <gnstor/wire/nvme/error_log_entry.hpp>
#include <gnstor/wire/nvme/firmware_log.hpp>
#include <gnstor/wire/nvme/health_log.hpp>
#include <gnstor/wire/nvme/log_page.hpp>
#include <gnstor/wire/nvme/status.hpp>

#include <algorithm>

namespace gnstor::serve {
namespace {

namespace nvme = wire::nvme;
using nvme::generic_status;
using nvme::make_status;

using page_bytes = std::vector<std::byte>;

constexpr std::uint32_t sectors_per_block = block_bytes / 512;

template <class Structure>
page_bytes page_of(const Structure& said) {
  page_bytes bytes(sizeof said);
  fill_page(bytes, said);
  return bytes;
}

nvme::health_log health(const traffic_counters& t) {
  nvme::health_log said{};
  said.temperature[0] = present_kelvin & 0xff;
  said.temperature[1] = present_kelvin >> 8;
  said.spare_percent = 100;
  said.spare_threshold_percent = 10;
  said.data_units_read.low = nvme::data_units(t.read_blocks * sectors_per_block);
  said.data_units_written.low = nvme::data_units(t.written_blocks * sectors_per_block);
  said.host_reads.low = t.reads;
  said.host_writes.low = t.writes;
  return said;
}

nvme::firmware_log firmware() {
  nvme::firmware_log said{};
  said.active = 1;
  fill_text(said.revision[0], product_version, ' ');
  return said;
}

nvme::namespace_list changed_namespaces(bool changed) {
  nvme::namespace_list said{};
  if (changed) said.nsid[0] = only_namespace;
  return said;
}

nvme::commands_log commands(subsystem_kind kind) {
  using admin = nvme::admin_opcode;
  using io = nvme::nvm_opcode;
  using own = wire::afa::admin_opcode;
  constexpr std::uint32_t reads = nvme::command_supported;
  constexpr std::uint32_t changes = nvme::command_supported | nvme::command_changes_blocks;
  nvme::commands_log said{};
  for (const admin a :
       {admin::get_log_page, admin::identify, admin::abort, admin::set_features,
        admin::get_features, admin::asynchronous_event_request, admin::keep_alive}) {
    said.admin[static_cast<std::uint8_t>(a)] = nvme::command_supported;
  }
  if (kind == subsystem_kind::discovery) return said;
  for (const io i : {io::flush, io::read}) said.io[static_cast<std::uint8_t>(i)] = reads;
  for (const io i : {io::write, io::write_zeroes}) said.io[static_cast<std::uint8_t>(i)] = changes;
  if (kind == subsystem_kind::volume) {
    said.io[static_cast<std::uint8_t>(io::dataset_management)] = changes;
    return said;
  }
  for (const own a : {own::volume_add, own::volume_chmod, own::volume_delete, own::volume_list,
                      own::array_describe, own::ssd_describe}) {
    said.admin[static_cast<std::uint8_t>(a)] = nvme::command_supported;
  }
  said.admin[wire::afa::association_end::opcode] = nvme::command_supported;
  return said;
}

wire::fabrics::discovery_entry discovery_entry(const subsystem& s, const target_limits& limits,
                                               const target_port& port) {
  namespace fabrics = wire::fabrics;
  const bool ipv4 = port.address.find(':') == std::string::npos;
  fabrics::discovery_entry said{};
  said.trtype = fabrics::transport_rdma;
  said.adrfam = ipv4 ? fabrics::address_ipv4 : fabrics::address_ipv6;
  said.subtype = fabrics::subsystem_nvm;
  said.treq = fabrics::channel_not_secured;
  said.cntlid = fabrics::dynamic_controller;
  said.asqsz = static_cast<std::uint16_t>(
      std::min<std::uint32_t>(fabrics::min_admin_entries, limits.queue_entries));
  fill_text(said.trsvcid, port.service, ' ');
  fill_text(said.subnqn, s.nqn, '\0');
  fill_text(said.traddr, port.address, ' ');
  said.tsas.qptype = fabrics::rdma_connected;
  said.tsas.prtype = fabrics::rdma_any_provider;
  said.tsas.cms = fabrics::rdma_cm;
  return said;
}

page_bytes discovery_page(const target_model& target, const controller& c,
                          const target_port& port) {
  wire::fabrics::discovery_header header{};
  std::uint64_t generation = 0;
  const auto found = target.visible(c.host().nqn, generation);
  header.genctr = generation;
  header.numrec = found.size();
  page_bytes bytes = page_of(header);
  for (const auto& s : found) {
    const page_bytes entry = page_of(discovery_entry(*s, target.limits(), port));
    bytes.insert(bytes.end(), entry.begin(), entry.end());
  }
  return bytes;
}

}  // namespace

answer log_page(const target_model& target, controller& c, const target_port& port,
                const wire::nvme::submission_entry& e, std::span<std::byte> data) {
  const std::uint64_t offset = nvme::log_offset_of(e);
  const std::uint8_t id = nvme::log_of(e);
  const bool watched = !nvme::log_retains_event(e);
  const subsystem_kind kind = c.of().kind;
  page_bytes page;
  if (kind == subsystem_kind::discovery && id != nvme::log_discovery) {
    return refuse(generic_status::invalid_field);
  }
  // None of the pages is a namespace's own: LPA says so of health.
  const bool whole = e.nsid == 0 || e.nsid == nvme::all_namespaces;
  if (kind != subsystem_kind::discovery && !whole) {
    return refuse(generic_status::invalid_field);
  }
  switch (id) {
    case nvme::log_error_information: page = page_of(nvme::error_log_entry{}); break;
    case nvme::log_health: page = page_of(health(c.traffic())); break;
    case nvme::log_firmware_slot: page = page_of(firmware()); break;
    case nvme::log_changed_namespaces:
      page = page_of(changed_namespaces(false));  // and below, where nothing is refused any more
      break;
    case nvme::log_commands: page = page_of(commands(kind)); break;
    case nvme::log_discovery:
      if (kind != subsystem_kind::discovery) return refuse(generic_status::invalid_field);
      page = discovery_page(target, c, port);
      break;
    default: return refuse(nvme::command_status::invalid_log_page);
  }
  if (nvme::log_by_index(e) || offset % 4 != 0 || offset > page.size()) {
    return refuse(generic_status::invalid_field);
  }
  if (id == nvme::log_changed_namespaces) {
    // Who reads its beginning knows, whether the event is to stay reported or not.
    const bool changed = offset == 0 && c.take_changed();
    page = page_of(changed_namespaces(changed && kind == subsystem_kind::volume));
  }
  if (watched && id == nvme::log_changed_namespaces) c.log_read(target_event::namespace_changed);
  if (watched && id == nvme::log_discovery) c.log_read(target_event::discovery_changed);
  const std::size_t there = std::min<std::size_t>(page.size() - offset, data.size());
  std::copy_n(page.begin() + static_cast<std::ptrdiff_t>(offset), there, data.begin());
  std::fill(data.begin() + static_cast<std::ptrdiff_t>(there), data.end(), std::byte{0});
  return {};
}

}  // namespace gnstor::serve

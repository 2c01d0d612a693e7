#include "identify.hpp"

#include "fill_page.hpp"
#include "product.hpp"
#include <gnstor/core/hash.hpp>
#include <gnstor/wire/fabrics/capsule.hpp>
#include <gnstor/wire/nvme/controller_properties.hpp>
#include <gnstor/wire/nvme/identify.hpp>
#include <gnstor/wire/nvme/status.hpp>

#include <fmt/format.h>

#include <array>
#include <bit>
#include <cstring>

namespace gnstor::serve {
namespace {

namespace nvme = wire::nvme;
using nvme::generic_status;
using nvme::make_status;

constexpr std::uint8_t block_shift = std::countr_zero(block_bytes);
constexpr std::uint32_t keep_alive_step_ms = 1000;
constexpr std::uint8_t aborts_at_once = 4;

/// A name for life from a subsystem's NQN, on the target `h`.
std::uint64_t hash_nqn(std::string_view nqn, std::uint64_t h) {
  for (const char c : nqn) h = mix64(h + static_cast<unsigned char>(c) + 1);
  return h;
}

template <class Integer>
constexpr std::uint8_t log2_of(Integer power_of_two) {
  return static_cast<std::uint8_t>(std::countr_zero(power_of_two));
}

/// The largest namespace id of a subsystem.
std::uint32_t namespaces_of(subsystem_kind kind, const array_gateway& array) {
  switch (kind) {
    case subsystem_kind::volume: return only_namespace;
    case subsystem_kind::array: return array.ssds();
    case subsystem_kind::discovery: break;
  }
  return 0;
}

/// What a host must know before it sends I/O: queues, transfers, capsules.
void say_limits(nvme::identify_controller& said, const target_limits& limits) {
  said.mdts = log2_of(limits.transfer_bytes / block_bytes);
  said.acl = aborts_at_once - 1;
  said.aerl = static_cast<std::uint8_t>(limits.held_events - 1);
  said.kas = keep_alive_step_ms / nvme::keep_alive_unit_ms;
  said.sqes = nvme::sqes_64_bytes;
  said.cqes = nvme::cqes_16_bytes;
  said.maxcmd = static_cast<std::uint16_t>(limits.queue_entries);
  said.sgls = nvme::sgls_supported | nvme::sgls_keyed | nvme::sgls_in_capsule_offset;
  said.ioccsz =
      (wire::fabrics::command_capsule_bytes + limits.in_capsule_bytes) / nvme::capsule_unit_bytes;
  said.iorcsz = wire::fabrics::response_capsule_bytes / nvme::capsule_unit_bytes;
  said.icdoff = 0;  // in-capsule data follows the command
  said.msdbd = 1;
}

nvme::identify_controller describe_controller(const controller& c, const array_gateway& array) {
  nvme::identify_controller said{};
  const subsystem_kind kind = c.of().kind;
  const bool discovery = kind == subsystem_kind::discovery;
  fill_text(said.sn, fmt::format("{:016x}", hash_nqn(c.of().nqn, array.identity())), ' ');
  fill_text(said.mn, product_name, ' ');
  fill_text(said.fr, product_version, ' ');
  fill_text(said.subnqn, c.of().nqn, '\0');
  said.rab = 6;
  said.cmic = discovery ? std::uint8_t{0} : nvme::cmic_controllers;
  said.cntlid = c.id();
  said.association = c.association();
  said.ver = nvme::version_1_4;
  said.oaes = c.optional_events();
  said.ctratt = nvme::ctratt_long_host_id | nvme::ctratt_traffic_keeps_alive;
  said.cntrltype = discovery ? nvme::cntrltype_discovery : nvme::cntrltype_io;
  said.frmw = nvme::frmw_first_read_only | nvme::frmw_one_slot;
  said.lpa = nvme::lpa_extended | (discovery ? 0 : nvme::lpa_commands);
  said.wctemp = warning_kelvin;
  said.cctemp = critical_kelvin;
  said.nn = namespaces_of(kind, array);
  said.oncs = nvme::oncs_write_zeroes |
              (kind == subsystem_kind::volume ? nvme::oncs_dataset_management : 0);
  said.vwc = nvme::vwc_flush_all | (c.has_write_cache() ? nvme::vwc_present : 0);
  say_limits(said, c.limits());
  return said;
}

/// A name of 16 bytes.
using long_name = std::array<std::uint64_t, 2>;

/// The NGUID of a volume.
long_name nguid_of(const volume_shape& v) { return {v.identity, mix64(v.identity)}; }

/// A UUID of version 8, made of the volume's identity. RFC 9562, 5.8: the version is in bits 7:4 of
/// byte 6, the variant in bits 7:6 of byte 8.
long_name uuid_of(const volume_shape& v) {
  constexpr std::uint64_t version = std::uint64_t{0xf} << 52;
  constexpr std::uint64_t variant = 0xc0;
  return {(mix64(v.identity + 1) & ~version) | std::uint64_t{8} << 52,
          (mix64(v.identity + 2) & ~variant) | 0x80};
}

nvme::identify_namespace describe_namespace(const volume_shape& v) {
  nvme::identify_namespace said{};
  said.nsze = said.ncap = said.nuse = v.blocks;
  said.nmic = nvme::nmic_shared;
  said.dlfeat = nvme::dlfeat_reads_zeroes | nvme::dlfeat_write_zeroes;
  said.nsattr = v.writable ? std::uint8_t{0} : nvme::nsattr_write_protected;
  const long_name nguid = nguid_of(v);
  std::memcpy(said.nguid, nguid.data(), sizeof said.nguid);
  said.lbaf[0].data_shift = block_shift;
  return said;
}

nvme::namespace_descriptor descriptor(std::uint8_t type, const long_name& name) {
  nvme::namespace_descriptor said{};
  said.nidt = type;
  said.nidl = sizeof said.nid;
  std::memcpy(said.nid, name.data(), sizeof said.nid);
  return said;
}

nvme::identify_nvm_controller describe_command_set() {
  nvme::identify_nvm_controller said{};
  said.wzsl = log2_of(most_zeroed_blocks);
  said.dmrl = static_cast<std::uint8_t>(most_dataset_ranges);
  said.dmrsl = most_zeroed_blocks;
  said.dmsl = most_zeroed_blocks;
  return said;
}

/// The namespaces that come after id `after`, of those a host is shown.
answer list_namespaces(std::uint32_t after, bool shown, std::span<std::byte> data) {
  if (after >= nvme::last_namespace) return refuse(generic_status::invalid_namespace);
  nvme::namespace_list said{};
  if (shown && after < only_namespace) said.nsid[0] = only_namespace;
  fill_page(data, said);
  return {};
}

answer identify_volume(const controller& c, const nvme::submission_entry& e,
                       std::span<std::byte> data) {
  const std::uint8_t cns = nvme::cns_of(e);
  const bool of_namespace = cns == nvme::cns_namespace || cns == nvme::cns_namespace_descriptors;
  if (of_namespace && e.nsid != only_namespace) return refuse(generic_status::invalid_namespace);
  switch (cns) {
    case nvme::cns_namespace: fill_page(data, describe_namespace(c.of().store->shape())); return {};
    case nvme::cns_active_namespaces: return list_namespaces(e.nsid, true, data);
    case nvme::cns_namespace_descriptors: {
      const volume_shape shape = c.of().store->shape();
      fill_page(data, std::array{descriptor(nvme::nidt_nguid, nguid_of(shape)),
                                 descriptor(nvme::nidt_uuid, uuid_of(shape))});
      return {};
    }
    case nvme::cns_command_set_controller:
      if (nvme::command_set_of(e) != 0) return refuse(generic_status::invalid_field);
      fill_page(data, describe_command_set());
      return {};
    default: return refuse(generic_status::invalid_field);
  }
}

/// The SSDs are reached by namespace id, yet no namespace is shown: a block driver that read one
/// would not know volumes and rights.
answer identify_array(const nvme::submission_entry& e, std::uint32_t ssds,
                      std::span<std::byte> data) {
  switch (nvme::cns_of(e)) {
    case nvme::cns_namespace:
      if (e.nsid == 0 || (e.nsid > ssds && e.nsid != nvme::all_namespaces)) {
        return refuse(generic_status::invalid_namespace);
      }
      fill_page(data, nvme::identify_namespace{});
      return {};
    case nvme::cns_active_namespaces: return list_namespaces(e.nsid, false, data);
    default: return refuse(generic_status::invalid_field);
  }
}

}  // namespace

answer identify(const controller& c, const nvme::submission_entry& e, const array_gateway& array,
                std::span<std::byte> data) {
  if (nvme::cns_of(e) == nvme::cns_controller) {
    fill_page(data, describe_controller(c, array));
    return {};
  }
  switch (c.of().kind) {
    case subsystem_kind::volume: return identify_volume(c, e, data);
    case subsystem_kind::array: return identify_array(e, array.ssds(), data);
    case subsystem_kind::discovery: break;
  }
  return refuse(generic_status::invalid_field);
}

}  // namespace gnstor::serve

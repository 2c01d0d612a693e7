#include "identify.hpp"

#include "byte_page.hpp"
#include <gnstor/core/hash.hpp>
#include <gnstor/wire/fabrics/capsule.hpp>
#include <gnstor/wire/nvme/read_write.hpp>
#include <gnstor/wire/nvme/status.hpp>

#include <fmt/format.h>

#include <bit>

namespace gnstor::serve {
namespace {

using wire::nvme::generic_status;
using wire::nvme::make_status;

// CNS values. NVMe Base 2.3, 5.1.13, "CNS".
constexpr std::uint8_t cns_namespace = 0x00;
constexpr std::uint8_t cns_controller = 0x01;
constexpr std::uint8_t cns_active_list = 0x02;
constexpr std::uint8_t cns_descriptors = 0x03;
constexpr std::uint8_t cns_command_set_controller = 0x06;

constexpr std::uint32_t all_namespaces = 0xffffffff;
constexpr std::uint8_t four_kibibytes = 12;  ///< LBADS: the exponent

/// A name for life from a subsystem's NQN, on the target `h`.
std::uint64_t hash_nqn(std::string_view nqn, std::uint64_t h) {
  for (const char c : nqn) h = mix64(h + static_cast<unsigned char>(c) + 1);
  return h;
}

/// What a host must know before it sends I/O: queues, transfers, capsules. NVMe Base 2.3, figure
/// "Identify Controller Data Structure".
void fabrics_part(const controller& c, byte_page& page) {
  const target_limits& limits = c.limits();
  page.put8(512, 0x66);  // SQES: 64 bytes
  page.put8(513, 0x44);  // CQES: 16 bytes
  page.put16(514, static_cast<std::uint16_t>(limits.queue_entries));
  page.put32(536, 1u | 1u << 2 | 1u << 20);  // SGLS: byte aligned, keyed, in-capsule offset
  page.text(768, 256, c.of().nqn, '\0');
  page.put32(1792, (wire::fabrics::command_capsule_bytes + limits.in_capsule_bytes) / 16);
  page.put32(1796, wire::fabrics::response_capsule_bytes / 16);
  page.put16(1800, 0);  // ICDOFF: in-capsule data follows the command
  page.put8(1803, 1);   // MSDBD: one descriptor
}

void identify_controller(const controller& c, const array_gateway& array,
                         std::span<std::byte> data) {
  byte_page page(data);
  const subsystem_kind kind = c.of().kind;
  const bool discovery = kind == subsystem_kind::discovery;
  page.text(4, 20, fmt::format("{:016x}", hash_nqn(c.of().nqn, array.identity())), ' ');
  page.text(24, 40, "gnstor-target", ' ');
  page.text(64, 8, "0.1.0", ' ');
  page.put8(72, 6);                  // RAB: bursts of 64
  page.put8(76, discovery ? 0 : 2);  // CMIC: several controllers
  page.put8(77, static_cast<std::uint8_t>(
                    std::countr_zero(c.limits().transfer_bytes / block_bytes)));  // MDTS
  page.put16(78, c.id());
  page.put32(80, 0x00010400);
  page.put32(92, c.optional_events());  // OAES
  page.put32(96, 1u | 1u << 6);         // CTRATT: 128-bit host id, traffic keeps alive
  page.put8(111, discovery ? 2 : 1);    // CNTRLTYPE
  page.put8(258, 3);                    // ACL: zero based
  page.put8(259, static_cast<std::uint8_t>(c.limits().held_events - 1));  // AERL: zero based
  page.put8(260, 3);  // FRMW: one slot, read only
  // LPA: Get Log Page has an offset and a 32-bit length; commands and their effects are listed.
  page.put8(261, 1u << 2 | (discovery ? 0 : 1u << 1));
  page.put16(266, 343);  // WCTEMP
  page.put16(268, 353);  // CCTEMP
  page.put16(320, 10);   // KAS: in steps of a second
  page.put32(516, kind == subsystem_kind::volume ? 1 : (discovery ? 0 : array.ssds()));
  page.put16(520, kind == subsystem_kind::volume ? 1u << 2 | 1u << 3 : 1u << 3);  // ONCS
  page.put8(525, 3u << 1 | (c.has_write_cache() ? 1 : 0));  // VWC; Flush of all is understood
  fabrics_part(c, page);
}

void identify_namespace(const volume_shape& v, std::span<std::byte> data) {
  byte_page page(data);
  page.put64(0, v.blocks);     // NSZE
  page.put64(8, v.blocks);     // NCAP
  page.put64(16, v.blocks);    // NUSE
  page.put8(30, 1);            // NMIC: shared by controllers
  page.put8(33, 1u << 3 | 1);  // DLFEAT: deallocated blocks read as zeroes, also by Write Zeroes
  page.put8(99, v.writable ? 0 : 1);  // NSATTR: write protected
  page.put64(104, v.identity);        // NGUID
  page.put64(112, mix64(v.identity));
  page.put8(130, four_kibibytes);  // LBA format 0
}

/// NGUID and a UUID of version 8, both made of the volume's identity. NVMe Base 2.3, figure
/// "Namespace Identification Descriptor".
void describe_namespace(const volume_shape& v, std::span<std::byte> data) {
  byte_page page(data);
  page.put8(0, 2);  // NIDT: NGUID
  page.put8(1, 16);
  page.put64(4, v.identity);
  page.put64(12, mix64(v.identity));
  page.put8(20, 3);  // NIDT: UUID
  page.put8(21, 16);
  page.put64(24, (mix64(v.identity + 1) & ~(std::uint64_t{0xf} << 52)) | std::uint64_t{8} << 52);
  page.put64(32, (mix64(v.identity + 2) & ~std::uint64_t{0xc0}) | 0x80);
}

answer identify_volume(const controller& c, const wire::nvme::submission_entry& e,
                       std::span<std::byte> data) {
  byte_page page(data);
  switch (static_cast<std::uint8_t>(e.cdw10)) {
    case cns_namespace:
      if (e.nsid != 1) return refuse(generic_status::invalid_namespace);
      identify_namespace(c.of().store->shape(), data);
      return {};
    case cns_active_list:
      if (e.nsid >= 0xfffffffe) return refuse(generic_status::invalid_namespace);
      if (e.nsid == 0) page.put32(0, 1);
      return {};
    case cns_descriptors:
      if (e.nsid != 1) return refuse(generic_status::invalid_namespace);
      describe_namespace(c.of().store->shape(), data);
      return {};
    case cns_command_set_controller:
      if ((e.cdw11 >> 24) != 0) return refuse(generic_status::invalid_field);
      page.put8(1, static_cast<std::uint8_t>(std::countr_zero(most_zeroed_blocks)));  // WZSL
      page.put8(3, static_cast<std::uint8_t>(most_dataset_ranges));                   // DMRL
      page.put32(4, most_zeroed_blocks);                                              // DMRSL
      page.put64(8, most_zeroed_blocks);                                              // DMSL
      return {};
    default: return refuse(generic_status::invalid_field);
  }
}

/// The SSDs are reached by namespace id, yet no namespace is shown: a block driver that read one
/// would not know volumes and rights.
answer identify_array(const wire::nvme::submission_entry& e, std::uint32_t ssds,
                      std::span<std::byte> data) {
  const byte_page page(data);
  switch (static_cast<std::uint8_t>(e.cdw10)) {
    case cns_namespace:
      return e.nsid == 0 || (e.nsid > ssds && e.nsid != all_namespaces)
                 ? refuse(generic_status::invalid_namespace)
                 : answer{};
    case cns_active_list:
      return e.nsid >= 0xfffffffe ? refuse(generic_status::invalid_namespace) : answer{};
    default: return refuse(generic_status::invalid_field);
  }
}

}  // namespace

answer identify(const controller& c, const wire::nvme::submission_entry& e,
                const array_gateway& array, std::span<std::byte> data) {
  if ((e.cdw10 & 0xff) == cns_controller) {
    identify_controller(c, array, data);
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

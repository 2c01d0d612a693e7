#include "log_page.hpp"

#include "byte_page.hpp"
#include <gnstor/wire/nvme/status.hpp>

#include <algorithm>

namespace gnstor::serve {
namespace {

using wire::nvme::generic_status;
using wire::nvme::make_status;

// Log page identifiers. NVMe Base 2.3, 5.1.12.
constexpr std::uint8_t error_information = 0x01;
constexpr std::uint8_t smart_health = 0x02;
constexpr std::uint8_t firmware_slot = 0x03;
constexpr std::uint8_t changed_namespaces = 0x04;
constexpr std::uint8_t commands_supported = 0x05;
constexpr std::uint8_t discovery = 0x70;

constexpr std::size_t discovery_record_bytes = 1024;
constexpr std::size_t list_bytes = 4096;  ///< of the changed namespaces
constexpr std::uint32_t every_namespace = 0xffffffff;

using page_bytes = std::vector<std::byte>;

page_bytes smart_page(traffic_counters& t) {
  page_bytes bytes(512);
  byte_page page(bytes);
  page.put16(1, 300);  // composite temperature, kelvin
  page.put8(3, 100);   // available spare, per cent
  page.put8(4, 10);    // its threshold
  // Data units are thousands of 512 bytes, rounded up.
  const auto units = [](std::uint64_t blocks) { return (blocks * 8 + 999) / 1000; };
  page.put64(32, units(t.read_blocks));
  page.put64(48, units(t.written_blocks));
  page.put64(64, t.reads);
  page.put64(80, t.writes);
  return bytes;
}

page_bytes firmware_page() {
  page_bytes bytes(512);
  byte_page page(bytes);
  page.put8(0, 1);
  page.text(8, 8, "0.1.0", ' ');
  return bytes;
}

page_bytes changed_page(bool changed) {
  page_bytes bytes(list_bytes);
  byte_page page(bytes);
  if (changed) page.put32(0, 1);
  return bytes;
}

/// One dword per command: bit 0 supported, bit 1 changes contents. NVMe Base 2.3, "Commands
/// Supported and Effects".
page_bytes commands_page(subsystem_kind kind) {
  page_bytes bytes(4096);
  byte_page page(bytes);
  for (const std::size_t admin : {0x02, 0x06, 0x08, 0x09, 0x0a, 0x0c, 0x18})
    page.put32(4 * admin, 1);
  if (kind == subsystem_kind::discovery) return bytes;
  for (const std::size_t reading : {0x00, 0x02}) page.put32(1024 + 4 * reading, 1);
  for (const std::size_t changing : {0x01, 0x08}) page.put32(1024 + 4 * changing, 3);
  if (kind == subsystem_kind::volume) page.put32(1024 + 4 * 0x09, 3);
  if (kind == subsystem_kind::array) {
    for (const std::size_t own : {0xc1, 0xc5, 0xc8, 0xca, 0xce}) page.put32(4 * own, 1);
  }
  return bytes;
}

/// NVMe Base 2.3, figure "Discovery Log Page Entry".
void discovery_record(const subsystem& s, const target_limits& limits, const target_port& port,
                      std::span<std::byte> out) {
  byte_page page(out);
  page.put8(0, 1);                                                    // TRTYPE: RDMA
  page.put8(1, port.address.find(':') == std::string::npos ? 1 : 2);  // ADRFAM: IPv4 or IPv6
  page.put8(2, 2);                                                    // SUBTYPE: NVM subsystem
  page.put8(3, 2);                                                    // TREQ: no secure channel
  page.put16(6, 0xffff);                                              // CNTLID: the target chooses
  page.put16(8, static_cast<std::uint16_t>(std::min(32u, limits.queue_entries)));  // ASQSZ
  page.text(32, 32, port.service, ' ');
  page.text(256, 256, s.nqn, '\0');
  page.text(512, 256, port.address, ' ');
  page.put8(768, 1);  // RDMA_QPTYPE: reliable connected
  page.put8(769, 1);  // RDMA_PRTYPE: not said
  page.put8(770, 1);  // RDMA_CMS: RDMA CM
}

page_bytes discovery_page(const target_model& target, const controller& c,
                          const target_port& port) {
  std::uint64_t generation = 0;
  const auto found = target.visible(c.host().nqn, generation);
  page_bytes bytes(discovery_record_bytes * (1 + found.size()));
  byte_page page(std::span<std::byte>(bytes).first(discovery_record_bytes));
  page.put64(0, generation);
  page.put64(8, found.size());
  for (std::size_t k = 0; k < found.size(); ++k) {
    discovery_record(
        *found[k], target.limits(), port,
        std::span(bytes).subspan(discovery_record_bytes * (1 + k), discovery_record_bytes));
  }
  return bytes;
}

}  // namespace

std::uint64_t log_bytes(const wire::nvme::submission_entry& e) {
  const std::uint64_t dwords = (std::uint64_t{e.cdw11 & 0xffff} << 16 | e.cdw10 >> 16) + 1;
  return dwords * 4;
}

answer log_page(const target_model& target, controller& c, const target_port& port,
                const wire::nvme::submission_entry& e, std::span<std::byte> data) {
  const std::uint64_t offset = std::uint64_t{e.cdw13} << 32 | e.cdw12;
  const bool by_index = (e.cdw14 >> 23 & 1) != 0;
  const auto id = static_cast<std::uint8_t>(e.cdw10);
  const bool watched = (e.cdw10 >> 15 & 1) == 0;  // RAE: the event stays reported
  const subsystem_kind kind = c.of().kind;
  page_bytes page;
  if (kind == subsystem_kind::discovery && id != discovery) {
    return {make_status(generic_status::invalid_field, true)};
  }
  // None of the pages is a namespace's own: LPA says so of health.
  const bool whole = e.nsid == 0 || e.nsid == every_namespace;
  if (kind != subsystem_kind::discovery && !whole) {
    return {make_status(generic_status::invalid_field, true)};
  }
  switch (id) {
    case error_information: page.resize(64); break;
    case smart_health: page = smart_page(c.traffic()); break;
    case firmware_slot: page = firmware_page(); break;
    case changed_namespaces:
      page.resize(list_bytes);  // filled below, where nothing is refused any more
      break;
    case commands_supported: page = commands_page(kind); break;
    case discovery:
      if (kind != subsystem_kind::discovery) {
        return {make_status(generic_status::invalid_field, true)};
      }
      page = discovery_page(target, c, port);
      break;
    default: return {make_status(wire::nvme::command_status::invalid_log_page, true)};
  }
  if (by_index || offset % 4 != 0 || offset > page.size()) {
    return {make_status(generic_status::invalid_field, true)};
  }
  if (id == changed_namespaces) {
    // Who reads its beginning knows, whether the event is to stay reported or not.
    const bool changed = offset == 0 && c.take_changed();
    page = changed_page(changed && kind == subsystem_kind::volume);
  }
  if (watched && id == changed_namespaces) c.log_read(target_event::namespace_changed);
  if (watched && id == discovery) c.log_read(target_event::discovery_changed);
  const std::size_t there = std::min<std::size_t>(page.size() - offset, data.size());
  std::copy_n(page.begin() + static_cast<std::ptrdiff_t>(offset), there, data.begin());
  std::fill(data.begin() + static_cast<std::ptrdiff_t>(there), data.end(), std::byte{0});
  return {};
}

}  // namespace gnstor::serve

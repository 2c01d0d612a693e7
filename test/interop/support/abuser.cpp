#include "abuser.hpp"

#include <gnstor/wire/afa/admin_opcode.hpp>
#include <gnstor/wire/fabrics/connect.hpp>
#include <gnstor/wire/fabrics/property.hpp>
#include <gnstor/wire/nvme/admin_opcode.hpp>
#include <gnstor/wire/nvme/read_write.hpp>
#include <verbs/connect_error.hpp>

#include <cstring>

namespace gnstor::interop {
namespace {

using host::verbs::connect_error;
using host::verbs::connect_failure;
using wire::fabrics::property_offset;
using wire::nvme::nvm_opcode;
using wire::nvme::submission_entry;

constexpr std::uint32_t data_bytes = 65536;
constexpr auto patience = std::chrono::milliseconds(25);

template <class T>
std::vector<unsigned char> bytes_of(const T& value) {
  std::vector<unsigned char> bytes(sizeof value);
  std::memcpy(bytes.data(), &value, sizeof value);
  return bytes;
}

bool refused(const wire::nvme::completion_entry& answer) { return answer.status >> 1 != 0; }

}  // namespace

abuser::abuser(const host::verbs::net_address& target, std::vector<std::string> subsystems)
    : target_(target),
      subsystems_(std::move(subsystems)),
      domain_(host::verbs::device::towards(target_, std::chrono::seconds(5))),
      data_(host::place::host, data_bytes),
      region_(domain_, data_.data(), data_bytes, {.remote_read = true, .remote_write = true}) {}

void abuser::run(std::uint64_t seed) {
  mutator m(seed);
  ++tally_.sequences;
  const std::string& subsystem =
      subsystems_[m.below(static_cast<std::uint32_t>(subsystems_.size()))];
  std::optional<raw_queue> admin = join(m, 0, 0xffff);
  if (!admin || m.one_in(16)) return;
  const auto controller = connect(m, *admin, subsystem, 0, 0xffff);
  if (m.one_in(16)) return;
  if (controller && !m.one_in(8)) {
    command(
        m, *admin,
        bytes_of(wire::fabrics::make_property_set(1, property_offset::configuration, 0x460001)));
  }
  exchange(m, *admin, true);
  if (!controller || m.one_in(4)) return;
  const auto queue_id = static_cast<std::uint16_t>(1 + m.below(2));
  std::optional<raw_queue> io = join(m, queue_id, *controller);
  if (!io || m.one_in(16)) return;
  (void)connect(m, *io, subsystem, queue_id, *controller);
  exchange(m, *io, false);
  exchange(m, *admin, true);
}

std::optional<raw_queue> abuser::join(mutator& m, std::uint16_t queue_id,
                                      std::uint16_t controller) {
  wire::fabrics::connection_request said{};
  said.qid = queue_id;
  said.hrqsize = 32;
  said.hsqsize = 31;
  said.cntlid = controller;
  capsule bytes = bytes_of(said);
  if (m.one_in(8)) m.spoil(std::span(bytes).first(10));
  if (m.one_in(16)) bytes.resize(m.below(57));
  try {
    return std::optional<raw_queue>(std::in_place, domain_, target_, bytes);
  } catch (const connect_error& e) {
    if (e.kind() != connect_failure::rejected) throw;
    ++tally_.queues_refused;
    return std::nullopt;
  }
}

std::optional<std::uint16_t> abuser::connect(mutator& m, raw_queue& queue,
                                             const std::string& subsystem, std::uint16_t queue_id,
                                             std::uint16_t controller) {
  wire::fabrics::connect_data data{};
  data.hostid[15] = 7;
  data.cntlid = controller;
  subsystem.copy(data.subnqn, sizeof data.subnqn - 1);
  std::strcpy(data.hostnqn, "nqn.2026-11.test:abuser");
  std::memcpy(data_.data(), &data, sizeof data);
  if (m.one_in(8)) m.spoil({static_cast<unsigned char*>(data_.data()), sizeof data});
  const auto sgl = m.one_in(8) ? some_data(m, sizeof data)
                               : wire::nvme::make_keyed_sgl(region_.buffer().address, sizeof data,
                                                            region_.rkey());
  capsule bytes = bytes_of(wire::fabrics::make_connect(7, queue_id, 32, sgl, m.below(3) * 5000));
  if (m.one_in(8)) spoil(m, bytes);
  (void)queue.send(bytes);
  const auto said = queue.answer(std::chrono::seconds(2));
  if (!said) {
    tally_.broken += queue.broken();
    return std::nullopt;
  }
  if (refused(*said)) {
    ++tally_.connects_refused;
    return std::nullopt;
  }
  ++tally_.connects;
  return wire::fabrics::connect_cntlid(said->dw0);
}

void abuser::exchange(mutator& m, raw_queue& queue, bool admin) {
  const bool was_broken = queue.broken();
  for (std::uint32_t left = m.below(8); left != 0 && !queue.broken(); --left) {
    capsule bytes = admin ? admin_command(m) : io_command(m);
    if (m.one_in(2)) spoil(m, bytes);
    command(m, queue, std::move(bytes));
  }
  tally_.broken += queue.broken() && !was_broken;
}

/// Sends a command; mostly waits for an answer, to whichever command it is.
void abuser::command(mutator& m, raw_queue& queue, capsule bytes) {
  if (!queue.send(bytes)) return;
  ++tally_.commands;
  if (m.one_in(4)) return;
  const auto said = queue.answer(patience);
  if (!said) return;
  ++tally_.answers;
  tally_.errors += refused(*said);
}

/// A data block of this host; or one that it does not have.
wire::nvme::keyed_sgl abuser::some_data(mutator& m, std::uint32_t bytes) const {
  std::uint64_t address = region_.buffer().address;
  std::uint32_t key = region_.rkey();
  switch (m.below(12)) {
    case 0: key ^= 1u << m.below(32); break;
    case 1: key = m.odd_value(); break;
    case 2: address += data_bytes - m.below(8192); break;
    case 3: address = m.any(); break;
    case 4: bytes = m.odd_value(); break;
    default: break;
  }
  return wire::nvme::make_keyed_sgl(address, bytes & 0xffffff, key);
}

abuser::capsule abuser::admin_command(mutator& m) const {
  using wire::nvme::admin_opcode;
  constexpr std::uint8_t opcodes[] = {
      0x02,
      0x06,
      0x08,
      0x09,
      0x0a,
      0x0c,
      0x18,
      static_cast<std::uint8_t>(wire::afa::admin_opcode::volume_add),
      static_cast<std::uint8_t>(wire::afa::admin_opcode::volume_chmod),
      static_cast<std::uint8_t>(wire::afa::admin_opcode::volume_delete),
      static_cast<std::uint8_t>(wire::afa::admin_opcode::volume_list),
      static_cast<std::uint8_t>(wire::afa::admin_opcode::array_describe)};
  constexpr std::uint32_t features[] = {0x01, 0x02, 0x07, 0x0b, 0x0f, 0x81, 0x84, 0x00};
  constexpr std::uint32_t pages[] = {0x01, 0x02, 0x03, 0x04, 0x05, 0x70, 0x80, 0x00};
  if (m.one_in(8)) {
    return bytes_of(
        wire::fabrics::make_property_set(2, static_cast<property_offset>(m.below(0x40)), m.any()));
  }
  if (m.one_in(8)) {
    return bytes_of(
        wire::fabrics::make_property_get(3, static_cast<property_offset>(m.below(0x40))));
  }
  submission_entry c{};
  c.opcode = opcodes[m.below(std::size(opcodes))];
  c.flags = wire::nvme::flags_sgl;
  c.command_id = static_cast<std::uint16_t>(m.any());
  c.nsid = m.below(4) == 0 ? m.odd_value() : m.below(3);
  c.dptr = some_data(m, 4096);
  switch (static_cast<admin_opcode>(c.opcode)) {
    case admin_opcode::identify: c.cdw10 = m.below(8); break;
    case admin_opcode::get_log_page: c.cdw10 = pages[m.below(8)] | 1023u << 16; break;
    case admin_opcode::set_features:
    case admin_opcode::get_features:
      c.cdw10 = features[m.below(8)];
      c.cdw11 = m.odd_value();
      break;
    default: c.cdw10 = m.odd_value();
  }
  return bytes_of(c);
}

abuser::capsule abuser::io_command(mutator& m) const {
  constexpr nvm_opcode opcodes[] = {nvm_opcode::read, nvm_opcode::write, nvm_opcode::flush,
                                    nvm_opcode::write_zeroes, nvm_opcode::dataset_management};
  const std::uint32_t blocks = 1 + m.below(m.one_in(8) ? 65536 : 16);
  const std::uint64_t slba = m.one_in(4) ? m.any() : m.below(20'000);
  submission_entry c = wire::nvme::make_read_write(
      opcodes[m.below(std::size(opcodes))], static_cast<std::uint16_t>(m.any()),
      m.one_in(8) ? m.odd_value() : 1, slba, blocks, some_data(m, blocks * 4096));
  capsule bytes = bytes_of(c);
  if (m.one_in(4)) {  // data in the capsule: as much as there should be, or not
    c.dptr.address = m.one_in(4) ? m.odd_value() : 0;
    c.dptr.length_key_type =
        std::uint64_t{m.one_in(4) ? m.odd_value() : blocks * 4096} | std::uint64_t{1} << 56;
    bytes = bytes_of(c);
    bytes.resize(64 + m.below(3) * 4096);
  }
  return bytes;
}

/// Changes fields, or the length.
void abuser::spoil(mutator& m, capsule& bytes) const {
  m.spoil(std::span(bytes).first(std::min<std::size_t>(bytes.size(), 64)));
  if (m.one_in(4)) bytes.resize(1 + m.below(m.one_in(2) ? 64 : raw_queue::slot_bytes));
}

}  // namespace gnstor::interop

#pragma once

#include <gnstor/core/hash.hpp>
#include <gnstor/wire/afa/command.hpp>
#include <gnstor/wire/afa/describe.hpp>
#include <gnstor/wire/afa/status.hpp>
#include <gnstor/wire/afa/volume.hpp>
#include <gnstor/wire/fabrics/capsule.hpp>
#include <gnstor/wire/fabrics/connect.hpp>
#include <gnstor/wire/fabrics/private_data.hpp>
#include <gnstor/wire/fabrics/property.hpp>
#include <gnstor/wire/mlx5/cqe.hpp>
#include <gnstor/wire/mlx5/doorbell.hpp>
#include <gnstor/wire/mlx5/segment.hpp>

namespace gnstor::test {

/// Packs and unpacks everything that both ends of the wire pack, with fields drawn from a seed.
///
/// One body for both machines: the bytes a kernel writes must be the bytes the host writes.
class round_trip {
 public:
  /// What one machine made of one draw of fields.
  struct outcome {
    std::uint64_t digest = 0;    ///< of all bytes that were packed
    std::uint32_t failures = 0;  ///< fields that did not come back
  };

  GNSTOR_HD explicit round_trip(std::uint64_t seed) : state_(seed) {}

  GNSTOR_HD outcome run() {
    work_queue_entry();
    completion();
    doorbell();
    io_command();
    admin_command();
    fabrics_command();
    status_field();
    return result_;
  }

 private:
  template <class Integer>
  GNSTOR_HD Integer draw(std::uint64_t mask = ~std::uint64_t{0}) {
    state_ = mix64(state_ + 1);
    return static_cast<Integer>(state_ & mask);
  }
  GNSTOR_HD void expect(bool came_back) { result_.failures += came_back ? 0 : 1; }
  GNSTOR_HD void take(std::uint64_t word) { result_.digest = mix64(result_.digest ^ word); }
  template <class Struct>
  GNSTOR_HD void take_bytes(const Struct& value) {
    struct words {
      std::uint32_t word[sizeof(Struct) / 4];
    };
    const words all = cuda::std::bit_cast<words>(value);
    for (std::uint32_t word : all.word) take(word);
  }

  GNSTOR_HD void work_queue_entry() {
    const auto index = draw<std::uint16_t>();
    const auto qpn = draw<std::uint32_t>(0xffffff);
    const auto ds = draw<std::uint8_t>(0x3f);
    const auto address = draw<std::uint64_t>();
    const auto key = draw<std::uint32_t>();
    const auto bytes = draw<std::uint32_t>(0x7fffffff);
    const auto control = wire::mlx5::make_control(wire::mlx5::opcode::send, index, qpn, ds,
                                                  wire::mlx5::completion_always, key);
    const auto remote = wire::mlx5::make_remote_address(address, key);
    const auto data = wire::mlx5::make_data(address, key, bytes);
    take_bytes(control);
    take_bytes(remote);
    take_bytes(data);
    expect(control.opcode() == wire::mlx5::opcode::send && control.index() == index);
    expect(control.qpn() == qpn && control.ds() == ds && control.signaled());
    expect(remote.address() == address && remote.rkey() == key);
    expect(data.address() == address && data.lkey() == key && data.bytes() == bytes);
  }

  GNSTOR_HD void completion() {
    const auto counter = draw<std::uint16_t>();
    const auto kind = static_cast<wire::mlx5::cqe_opcode>(draw<std::uint8_t>(15));
    const bool owner = draw<std::uint8_t>(1) != 0;
    const auto vendor = draw<std::uint8_t>();
    const auto why = static_cast<wire::mlx5::syndrome>(draw<std::uint8_t>());
    const auto qpn = draw<std::uint32_t>(0xffffff);
    wire::mlx5::completion_entry entry{};
    entry.tail = wire::mlx5::pack_tail(counter, kind, owner);
    entry.error_word = wire::mlx5::pack_error(vendor, why);
    entry.sop_drop_qpn = wire::mlx5::pack_sop_qpn(vendor, qpn);
    take_bytes(entry);
    expect(wire::mlx5::tail_counter(entry.tail) == counter);
    expect(wire::mlx5::tail_opcode(entry.tail) == kind);
    expect(wire::mlx5::tail_owner(entry.tail) == owner);
    expect(wire::mlx5::error_vendor_syndrome(entry.error_word) == vendor);
    expect(wire::mlx5::error_syndrome(entry.error_word) == why);
    expect(wire::mlx5::sop_opcode(entry.sop_drop_qpn) == vendor);
    expect(wire::mlx5::sop_qpn(entry.sop_drop_qpn) == qpn);
  }

  GNSTOR_HD void doorbell() {
    const auto index = draw<std::uint64_t>();
    const auto qpn = draw<std::uint32_t>(0xffffff);
    const auto value = wire::mlx5::doorbell_value(static_cast<std::uint16_t>(index), qpn);
    const auto word = wire::mlx5::record_value(index);
    take(value);
    take(word);
    expect(wire::mlx5::doorbell_qpn(value) == qpn);
    expect(wire::mlx5::record_index(word) == static_cast<std::uint16_t>(index));
  }

  GNSTOR_HD void io_command() {
    const auto slba = draw<std::uint64_t>();
    const std::uint32_t blocks = draw<std::uint16_t>() + 1u;
    const auto epoch = draw<std::uint32_t>();
    const auto ssd = ssd_index(draw<std::uint16_t>(63));
    // One draw a statement: compilers evaluate the arguments of a call in different orders.
    const auto address = draw<std::uint64_t>();
    const auto length = draw<std::uint32_t>(0xffffff);
    const auto sgl = wire::nvme::make_keyed_sgl(address, length, draw<std::uint32_t>());
    auto entry = wire::nvme::make_read_write(wire::nvme::nvm_opcode::read, draw<std::uint16_t>(),
                                             wire::afa::nsid_of(ssd), slba, blocks, sgl);
    wire::afa::set_epoch(entry, epoch);
    take_bytes(entry);
    expect(wire::afa::address_of(entry).pack() == slba && wire::nvme::blocks_of(entry) == blocks);
    expect(wire::afa::epoch_of(entry) == epoch && wire::afa::ssd_of(entry.nsid) == ssd);
    expect(entry.dptr.key() == sgl.key() && entry.dptr.length() == sgl.length());
  }

  GNSTOR_HD void admin_command() {
    wire::afa::admin_command sent;
    sent.opcode = wire::afa::admin_opcode::volume_chmod;
    sent.command_id = draw<std::uint16_t>();
    sent.epoch = draw<std::uint32_t>();
    sent.volume = volume_id(draw<std::uint16_t>());
    const auto entry = sent.pack();
    take_bytes(entry);
    const auto got = wire::afa::admin_command::unpack(entry);
    expect(got.opcode == sent.opcode && got.command_id == sent.command_id);
    expect(got.epoch == sent.epoch && got.volume == sent.volume);
  }

  GNSTOR_HD void fabrics_command() {
    const auto qid = draw<std::uint16_t>();
    const auto data = wire::nvme::make_keyed_sgl(draw<std::uint64_t>(), 1024, 7);
    const auto connect = wire::fabrics::make_connect(draw<std::uint16_t>(), qid, 128, data);
    const auto capsule = wire::fabrics::capsule_cast<wire::fabrics::command_capsule>(connect);
    take_bytes(capsule);
    const auto got = wire::fabrics::capsule_cast<wire::fabrics::connect_command>(capsule);
    expect(got.qid == qid && got.sqsize == 127 && got.sgl.length() == 1024);
    const auto property = wire::fabrics::make_property_set(
        1, wire::fabrics::property_offset::configuration, draw<std::uint64_t>());
    take_bytes(property);
  }

  GNSTOR_HD void status_field() {
    const auto type = draw<std::uint8_t>(7);
    const auto code = draw<std::uint8_t>();
    const auto field = wire::nvme::make_status(type, code, true);
    take(field);
    expect(wire::nvme::status_type(field) == type && wire::nvme::status_code(field) == code);
  }

  std::uint64_t state_;
  outcome result_;
};

}  // namespace gnstor::test

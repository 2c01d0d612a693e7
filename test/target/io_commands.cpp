/// Reads, writes and their kin, on a volume's queue and on the array's.
#include "rig.hpp"
#include <gnstor/wire/afa/admin_command.hpp>
#include <gnstor/wire/afa/volume_list.hpp>
#include <gnstor/wire/afa/volume_record.hpp>

using namespace gnstor;
using namespace gnstor::test;
using wire::nvme::nvm_opcode;

namespace {

std::vector<std::byte> pattern(std::size_t bytes, int seed) {
  std::vector<std::byte> p(bytes);
  for (std::size_t k = 0; k < bytes; ++k) p[k] = static_cast<std::byte>(k * 7 + k / 4096 + seed);
  return p;
}

}  // namespace

TEST_CASE("what a host writes, by key or in the capsule, is what it reads") {
  target_rig rig;
  const auto admin = rig.admin(volume_nqn);
  const auto q = rig.io(volume_nqn);
  const auto far = pattern(3 * block_bytes, 1);
  CHECK(q->send(host_queue::io(nvm_opcode::write, 97, 3), far).status == 0);
  CHECK(q->send(host_queue::io(nvm_opcode::read, 97, 3)).data == far);
  auto inside = host_queue::io(nvm_opcode::write, 5, 1);
  inside.dptr.address = 0;
  inside.dptr.length_key_type = block_bytes | std::uint64_t{1} << 56;
  const auto near = pattern(block_bytes, 2);
  CHECK(q->send(inside, {}, near).status == 0);
  CHECK(q->send(host_queue::io(nvm_opcode::read, 5, 1)).data == near);
}

TEST_CASE("a key to be invalidated is named in the response, and only then") {
  target_rig rig;
  const auto admin = rig.admin(volume_nqn);
  const auto q = rig.io(volume_nqn);
  auto e = host_queue::io(nvm_opcode::read, 0, 1);
  CHECK_FALSE(q->send(e).invalidated);
  e.dptr.length_key_type |= std::uint64_t{0x0f} << 56;
  CHECK(q->send(e).invalidated);
}

TEST_CASE("each wrong field of an I/O command has its own status") {
  target_rig rig;
  const auto admin = rig.admin(volume_nqn);
  const auto q = rig.io(volume_nqn);
  for (const nvm_opcode op : {nvm_opcode::read, nvm_opcode::write}) {
    const auto spoiled = [&](auto change) {
      auto e = host_queue::io(op, 10, 2);
      change(e);
      return q->send(e, pattern(8192, 0)).status;
    };
    CHECK(spoiled([](auto& e) { e.nsid = 0; }) == dnr(generic_status::invalid_namespace));
    CHECK(spoiled([](auto& e) { e.nsid = 2; }) == dnr(generic_status::invalid_namespace));
    CHECK(spoiled([](auto& e) { e.nsid = ~0u; }) == dnr(generic_status::invalid_namespace));
    CHECK(spoiled([](auto& e) { e.cdw10 = 99; }) == dnr(generic_status::lba_out_of_range));
    CHECK(spoiled([](auto& e) { e.cdw10 = 100; }) == dnr(generic_status::lba_out_of_range));
    CHECK(spoiled([](auto& e) { e.cdw10 = e.cdw11 = ~0u; }) ==
          dnr(generic_status::lba_out_of_range));
    CHECK(spoiled([](auto& e) { e.cdw12 = 0xffff; }) == dnr(generic_status::lba_out_of_range));
    CHECK(spoiled([](auto& e) { e.cdw12 = 32; }) == dnr(generic_status::invalid_field));
    CHECK(spoiled([](auto& e) { e.flags = 0; }) == dnr(generic_status::invalid_field));
    CHECK(spoiled([](auto& e) { e.flags = 0x80; }) == dnr(generic_status::invalid_field));
    CHECK(spoiled([](auto& e) { e.flags = 0x41; }) == dnr(generic_status::invalid_field));
    const auto length = [&](std::uint32_t n) {
      return spoiled([n](auto& e) {
        e.dptr = wire::nvme::make_keyed_sgl(host_queue::address, n, host_queue::key);
      });
    };
    CHECK(length(0) == dnr(generic_status::invalid_sgl_length));
    CHECK(length(8191) == dnr(generic_status::invalid_sgl_length));
    CHECK(length(12288) == dnr(generic_status::invalid_sgl_length));
    for (const std::uint64_t type : {0x00, 0x10, 0x20, 0x30, 0x41, 0x50, 0xff}) {
      CAPTURE(type);
      CHECK(spoiled([type](auto& e) {
              e.dptr.length_key_type = (e.dptr.length_key_type & ~(0xffull << 56)) | type << 56;
            }) == dnr(generic_status::invalid_sgl_type));
    }
  }
  for (const int opcode : {0x03, 0x04, 0x05, 0x0c, 0x0d, 0x7e, 0x99}) {
    auto e = host_queue::io(nvm_opcode::read, 0, 1);
    e.opcode = static_cast<std::uint8_t>(opcode);
    CHECK(q->send(e).status == dnr(generic_status::invalid_opcode));
  }
  CHECK(q->get(wire::fabrics::property_offset::version).status ==
        dnr(generic_status::invalid_opcode));
}

TEST_CASE("in-capsule data must lie within the message, and never serves a read") {
  target_rig rig;
  const auto admin = rig.admin(volume_nqn);
  const auto q = rig.io(volume_nqn);
  const auto sent = [&](std::uint64_t at, std::uint64_t length, std::size_t there,
                        nvm_opcode op = nvm_opcode::write) {
    auto e = host_queue::io(op, 5, 1);
    e.dptr.address = at;
    e.dptr.length_key_type = length | std::uint64_t{1} << 56;
    return q->send(e, {}, pattern(there, 3)).status;
  };
  CHECK(sent(0, 4096, 4096) == 0);
  CHECK(sent(16, 4096, 4112) == 0);
  CHECK(sent(0, 4096, 4095) == dnr(generic_status::invalid_sgl_offset));
  CHECK(sent(1, 4096, 4096) == dnr(generic_status::invalid_sgl_offset));
  CHECK(sent(~std::uint64_t{0}, 4096, 4096) == dnr(generic_status::invalid_sgl_offset));
  CHECK(sent(4097, 4096, 4096) == dnr(generic_status::invalid_sgl_offset));
  CHECK(sent(0, 4095, 4096) == dnr(generic_status::invalid_sgl_length));
  CHECK(sent(0, 0xffffffff, 4096) == dnr(generic_status::invalid_sgl_length));
  CHECK(sent(0, 4096, 0) == dnr(generic_status::invalid_sgl_offset));
  CHECK(sent(0, 4096, 4096, nvm_opcode::read) == dnr(generic_status::invalid_sgl_type));
}

TEST_CASE("write zeroes, deallocate and flush reach the volume within its bounds") {
  target_rig rig;
  const auto admin = rig.admin(volume_nqn);
  const auto q = rig.io(volume_nqn);
  REQUIRE(q->send(host_queue::io(nvm_opcode::write, 0, 32), pattern(32 * block_bytes, 1)).status ==
          0);
  CHECK(q->send(host_queue::io(nvm_opcode::write_zeroes, 3, 2)).status == 0);
  reply r = q->send(host_queue::io(nvm_opcode::read, 2, 4));
  CHECK(r.number(0, 8) != 0);
  CHECK(r.number(4096, 8) == 0);
  CHECK(r.number(2 * 4096 + 4088, 8) == 0);
  CHECK(r.number(3 * 4096, 8) != 0);
  CHECK(q->send(host_queue::io(nvm_opcode::write_zeroes, 99, 2)).status ==
        dnr(generic_status::lba_out_of_range));
  CHECK(q->send(wire::nvme::make_flush(9, 1)).status == 0);
  CHECK(q->send(wire::nvme::make_flush(9, 0xffffffff)).status == 0);
  CHECK(q->send(wire::nvme::make_flush(9, 2)).status == dnr(generic_status::invalid_namespace));
  CHECK(rig.volume->flushes == 2);

  const auto trim = [&](std::vector<wire::nvme::dataset_range> ranges,
                        std::uint32_t attributes = 4) {
    std::vector<std::byte> bytes(ranges.size() * 16);
    std::memcpy(bytes.data(), ranges.data(), bytes.size());
    auto e = wire::nvme::make_deallocate(
        9, 1, static_cast<std::uint32_t>(ranges.size()),
        wire::nvme::make_keyed_sgl(host_queue::address, static_cast<std::uint32_t>(bytes.size()),
                                   1));
    e.cdw11 = attributes;
    return q->send(e, bytes).status;
  };
  CHECK(trim({{0, 1, 10}, {0, 2, 20}}) == 0);
  r = q->send(host_queue::io(nvm_opcode::read, 9, 13));
  CHECK(r.number(0, 8) != 0);
  CHECK(r.number(4096, 8) == 0);
  CHECK(r.number(11 * 4096, 8) == 0);
  CHECK(r.number(12 * 4096, 8) == 0);
  CHECK(trim({{0, 1, 30}, {0, 1, 100}}) == dnr(generic_status::lba_out_of_range));
  CHECK(trim({{0, 0xffffffff, 0}}) == dnr(generic_status::lba_out_of_range));
  CHECK(trim({{0, 1, ~std::uint64_t{0}}}) == dnr(generic_status::lba_out_of_range));
  CHECK(trim({{0, 1, 30}}, 0) == 0);  // a hint of another kind changes nothing
  CHECK(q->send(host_queue::io(nvm_opcode::read, 30, 1)).number(0, 8) != 0);
}

TEST_CASE("as many ranges as Identify says may be deallocated by one command, and not one more") {
  target_rig rig;
  const auto admin = rig.admin(volume_nqn);
  const auto q = rig.io(volume_nqn);
  const auto most = static_cast<std::uint32_t>(admin->identify(6).number(3, 1));
  REQUIRE(most == 255);
  for (const std::uint32_t ranges : {most, most + 1}) {
    for (const std::uint32_t attributes : {4u, 0u}) {
      const std::vector<std::byte> bytes(ranges * 16);
      auto e = wire::nvme::make_deallocate(
          9, 1, ranges, wire::nvme::make_keyed_sgl(host_queue::address, ranges * 16, 1));
      e.cdw11 = attributes;
      CHECK(q->send(e, bytes).status ==
            (ranges == most ? std::uint16_t{0}
                            : dnr(wire::nvme::command_status::command_size_limit_exceeded)));
    }
  }
}

TEST_CASE("one command cannot make more zeroes than Identify says") {
  target_rig rig;
  rig.target.withdraw(volume_nqn);
  rig.volume = std::make_shared<fake_volume>(65537);
  rig.target.offer({volume_nqn, serve::subsystem_kind::volume, {}, rig.volume});
  const auto admin = rig.admin(volume_nqn);
  const auto q = rig.io(volume_nqn);
  const auto trim = [&](std::uint32_t blocks) {
    const wire::nvme::dataset_range range{0, blocks, 0};
    std::vector<std::byte> bytes(16);
    std::memcpy(bytes.data(), &range, 16);
    return q
        ->send(wire::nvme::make_deallocate(9, 1, 1, wire::nvme::make_keyed_sgl(8, 16, 1)), bytes)
        .status;
  };
  CHECK(trim(65536) == 0);
  CHECK(trim(65537) == dnr(wire::nvme::command_status::command_size_limit_exceeded));
}

TEST_CASE("while another client may write, writes are reservation conflicts and reads go on") {
  target_rig rig;
  const auto admin = rig.admin(volume_nqn);
  const auto q = rig.io(volume_nqn);
  rig.volume->writable = false;
  CHECK(q->send(host_queue::io(nvm_opcode::write, 0, 1), pattern(4096, 0)).status ==
        dnr(generic_status::reservation_conflict));
  CHECK(q->send(host_queue::io(nvm_opcode::write_zeroes, 0, 1)).status ==
        dnr(generic_status::reservation_conflict));
  CHECK(q->send(host_queue::io(nvm_opcode::read, 0, 1)).status == 0);
}

TEST_CASE("a read that fails sends no data") {
  target_rig rig;
  const auto admin = rig.admin(volume_nqn);
  const auto q = rig.io(volume_nqn);
  rig.volume->fail = wire::nvme::make_status(wire::nvme::media_status::unrecovered_read_error);
  const reply r = q->send(host_queue::io(nvm_opcode::read, 0, 1));
  CHECK(r.status == rig.volume->fail);
  CHECK(r.data.empty());
}

TEST_CASE("the array gets GNStor's commands under the identity of the Connect") {
  constexpr std::uint32_t record_bytes = sizeof(wire::afa::volume_record);
  target_rig rig;
  const auto admin = rig.admin(array_nqn, bob);
  const client_id who = admin->queue().association()->host().client;
  wire::afa::admin_command add;
  add.opcode = wire::afa::admin_opcode::volume_add;
  add.nsid = 2;
  add.epoch = 1;
  add.payload = wire::nvme::make_keyed_sgl(host_queue::address, record_bytes, host_queue::key);
  const auto record = pattern(record_bytes, 5);
  CHECK(admin->send(add.pack(), record).status == 0);
  REQUIRE(rig.array.calls.size() == 1);
  CHECK(rig.array.calls[0].admin);
  CHECK(rig.array.calls[0].client == who);
  CHECK(rig.array.calls[0].entry.nsid == 2);
  CHECK(rig.array.calls[0].payload == record);
  add.payload = wire::nvme::make_keyed_sgl(host_queue::address, record_bytes - 1, host_queue::key);
  CHECK(admin->send(add.pack(), record).status == dnr(generic_status::invalid_sgl_length));

  auto list = add;
  list.opcode = wire::afa::admin_opcode::volume_list;
  list.payload = wire::nvme::make_keyed_sgl(host_queue::address, 8192, host_queue::key);
  CHECK(admin->send(list.pack()).data.size() == sizeof(wire::afa::volume_list));
  auto gone = add;
  gone.opcode = wire::afa::admin_opcode::volume_delete;
  gone.payload = wire::nvme::make_empty_sgl();
  CHECK(admin->send(gone.pack()).status == 0);
  CHECK(admin->send(host_queue::command(std::uint8_t{0xc2}, 1, 0)).status ==
        dnr(generic_status::invalid_opcode));

  const auto q = rig.io(array_nqn, bob);
  const reply r = q->send(host_queue::io(nvm_opcode::read, 0x0001'0002'0000'0003, 32));
  CHECK(r.data.size() == 32 * block_bytes);
  CHECK(rig.array.calls.back().client == who);
  CHECK(rig.array.calls.back().entry.cdw11 == 0x00010002);
  CHECK(q->send(host_queue::io(nvm_opcode::read, 0, 33)).status ==
        dnr(generic_status::invalid_field));
  CHECK(q->send(host_queue::io(nvm_opcode::write_zeroes, 0, 64)).status == 0);
  CHECK(q->send(host_queue::io(nvm_opcode::compare, 0, 1)).status ==
        dnr(generic_status::invalid_opcode));
  rig.array.fail = 0x1234;
  CHECK(q->send(host_queue::io(nvm_opcode::write, 0, 1), pattern(4096, 1)).status == 0x1234);
}

TEST_CASE("the submission queue head goes round with the queue, or says that nobody looks") {
  target_rig rig;
  host_queue q(rig.target, 0);
  CHECK(q.connect(volume_nqn, alice).sq_head == 1);
  REQUIRE(q.enable().sq_head == 2);
  for (int k = 3; k < 100; ++k)
    CHECK(q.send(host_queue::command(wire::nvme::admin_opcode::keep_alive, 0, 0)).sq_head ==
          k % 32);
  host_queue blind(rig.target, 0);
  auto c = blind.connecting(32);
  c.cattr = wire::fabrics::cattr_no_flow_control;
  CHECK(blind
            .send(wire::fabrics::capsule_cast<submission_entry>(c),
                  host_queue::connect_bytes(volume_nqn, alice))
            .sq_head == 0xffff);
}

#pragma once

#include "input.hpp"
#include "target/rig.hpp"

namespace gnstor::test {

/// Messages to the NVMe-oF target by RDMA: to queues that are connected and to one that is not,
/// with data behind the command or in the host's memory.
inline void fuzz_target_capsule(fuzz_input in) {
  target_rig t;
  const auto discovery = t.admin(std::string(serve::discovery_nqn).c_str(), bob);
  const auto array_admin = t.admin(array_nqn);
  const auto array_io = t.io(array_nqn);
  const auto admin = t.admin(volume_nqn, bob);
  const auto io = t.io(volume_nqn, bob);
  host_queue fresh_admin(t.target, 0);
  host_queue fresh_io(t.target, 2);
  host_queue* const queues[] = {discovery.get(), array_admin.get(), array_io.get(), admin.get(),
                                io.get(),        &fresh_admin,      &fresh_io};
  for (int k = 0; !in.empty() && k < 32; ++k) {
    const auto which = in.take<std::uint8_t>();
    const auto behind = in.take<std::uint16_t>() % 5000;
    host_queue& q = *queues[which % 7];
    std::vector<std::byte> message(which >= 250 ? which % 64u : 64u + behind);
    in.fill(message.data(), message.size() < 64 + 1100 ? message.size() : 64 + 1100);
    std::vector<std::byte> memory(4096);
    in.fill(memory.data(), which / 7 % 2 * 256u);
    const reply r = q.raw(message, memory);
    fuzz_demand(r.data.size() <= (1u << 22), "an answer larger than any transfer");
    (void)q.event();
    q.now_ms += which;
  }
  t.target.tick(10'000'000);
  // A host that keeps to the rules is served as ever.
  const auto last = t.admin(volume_nqn, alice);
  fuzz_demand(last->identify(1).status == 0, "another host is not served");
}

inline std::vector<std::vector<std::uint8_t>> target_capsule_seeds() {
  std::vector<std::vector<std::uint8_t>> all;
  const auto add = [&](std::uint8_t queue, const submission_entry& e) {
    std::vector<std::uint8_t> one{queue, 0, 0};
    const auto* p = reinterpret_cast<const std::uint8_t*>(&e);
    one.insert(one.end(), p, p + sizeof e);
    all.push_back(std::move(one));
  };
  using wire::nvme::nvm_opcode;
  for (const std::uint8_t opcode : {0x02, 0x06, 0x08, 0x09, 0x0a, 0x0c, 0x18}) {
    auto e = host_queue::command(opcode, 1, 4096);
    e.cdw10 = 1;
    add(3, e);
    add(0, e);
  }
  for (const std::uint8_t opcode : {0xc1, 0xc5, 0xc8, 0xca, 0xcd})
    add(1, host_queue::command(opcode, 1, opcode == 0xca ? 4096 : 128));
  for (const nvm_opcode op : {nvm_opcode::read, nvm_opcode::write, nvm_opcode::write_zeroes})
    add(4, host_queue::io(op, 3, 1));
  add(4, wire::nvme::make_flush(9, 1));
  auto trim = host_queue::command(0x09, 1, 32);
  trim.cdw10 = 1;
  trim.cdw11 = 4;
  add(4, trim);
  add(5, wire::fabrics::capsule_cast<submission_entry>(wire::fabrics::make_property_set(
             2, wire::fabrics::property_offset::configuration, 0x00460001)));
  return all;
}

}  // namespace gnstor::test

#pragma once

#include "hostile_node.hpp"

namespace gnstor::test {

namespace fuzz {

inline void set_record(const fw::queue_attributes& at, int which, std::uint16_t index) {
  auto* words = reinterpret_cast<std::uint32_t*>(at.doorbell_record);
  words[which] = wire::mlx5::record_value(index);
}
inline void ring(const fw::queue_attributes& at, std::uint16_t index) {
  set_record(at, 1, index);
  *reinterpret_cast<std::uint64_t*>(at.doorbell) = wire::mlx5::doorbell_value(index, at.number);
}

}  // namespace fuzz

/// Send entries, receives, doorbells and rings as a client may leave them: anything.
inline void fuzz_wqe(fuzz_input in) {
  hostile_node n;
  const fw::queue_attributes at = n.context().at;
  for (int steps = 0; !in.empty() && steps < 64; ++steps) {
    const auto op = in.take<std::uint8_t>();
    switch (op % 8) {
      case 0: {  // a whole block of the send ring
        auto* block =
            reinterpret_cast<unsigned char*>(at.send_ring) + op / 8 % at.send_entries * 64;
        in.fill(block, 64);
        break;
      }
      case 1: {  // a SEND or a one-sided transfer, nearly right
        const std::uint64_t index =
            n.context().send_head + in.take<std::uint8_t>() % at.send_entries;
        wire::nvme::submission_entry e;
        one_sided t;
        if ((op & 8) != 0) {
          in.fill(&e, sizeof e);
          e.dptr.address = n.address(e.dptr.address);
          n.f.refs[0].queue().write_send(index, e);
        } else {
          t.local_address = n.address(in.take<std::uint32_t>() & 0x1ffff);
          t.remote_address = n.address(in.take<std::uint64_t>());
          t.bytes = in.take<std::uint32_t>();
          t.lkey = in.take<std::uint16_t>();
          t.rkey = in.take<std::uint16_t>();
          t.write = (op & 16) != 0;
          n.f.refs[0].queue().write_one_sided(index, t);
        }
        break;
      }
      case 2:  // one byte of anything the queue has in memory
        n.queue()[in.take<std::uint16_t>() % hostile_node::queue_bytes()] = in.take<std::uint8_t>();
        break;
      case 3:  // so many more are posted
        fuzz::ring(at, static_cast<std::uint16_t>(n.context().send_head + op / 8));
        break;
      case 4: fuzz::ring(at, in.take<std::uint16_t>()); break;
      case 5:  // receives
        fuzz::set_record(at, 0, in.take<std::uint16_t>());
        break;
      case 6: {  // a receive that leads anywhere
        auto* entry = reinterpret_cast<wire::mlx5::data_segment*>(at.receive_ring) +
                      op / 8 % at.receive_entries;
        in.fill(entry, sizeof *entry);
        break;
      }
      case 7: n.f.step(1 + op / 64); break;
    }
  }
  n.check();
}

}  // namespace gnstor::test

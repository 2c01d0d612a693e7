#pragma once
/// The last queue pair made, as a NIC knows it that has seen nothing but the DevX commands.

#include "fake_machine.hpp"
#include <hca/memory_region.hpp>
#include <hca/queue_context.hpp>

#include <doctest/doctest.h>

namespace gnstor::test {

/// The address that an offset of a command's umem stands for.
inline std::uint64_t address(std::uint32_t umem, std::uint64_t offset, std::uint64_t bytes) {
  const fake_machine::registration& r = fake_machine::get().umem(umem);
  REQUIRE(offset + bytes <= r.bytes);
  return r.address + offset;
}

/// The queue pair as CREATE_CQ and CREATE_QP describe it.
inline fw::queue_attributes described() {
  const fake_machine::command& cq = fake_machine::get().last(0x400);
  const fake_machine::command& qp = fake_machine::get().last(0x500);
  fw::queue_attributes at;
  at.completion_entries = 1u << (cq.word(0x1c) >> 24 & 0x1f);
  at.receive_entries = 1u << (qp.word(0x20) >> 19 & 0xf);
  at.send_entries = 1u << (qp.word(0x20) >> 11 & 0xf);
  const std::uint32_t stride = 16u << (qp.word(0x20) >> 16 & 7);
  CHECK(stride == 16);
  at.completion_ring = address(cq.word(0x58), cq.wide(0x50), 64ull * at.completion_entries);
  at.receive_ring = address(qp.word(0x108), qp.wide(0x100),
                            std::uint64_t{stride} * at.receive_entries + 64ull * at.send_entries);
  at.send_ring = at.receive_ring + std::uint64_t{stride} * at.receive_entries;
  at.doorbell_record = address(qp.word(0xfc), qp.wide(0xb8), 8);
  at.doorbell = reinterpret_cast<std::uint64_t>(fake_machine::get().doorbell);
  at.number = fake_machine::get().queue_number;
  at.domain = 1;
  at.scatter_responses = (qp.word(0x18 + 0xc4) & 0xff) == 1 ? 1 : 0;
  return at;
}

/// The memory that the queue may touch: what was registered around its rings, and nothing else.
inline fw::memory_region registered() {
  const fake_machine& m = fake_machine::get();
  const std::uint64_t rings = described().completion_ring;
  for (const fake_machine::registration& r : m.regions) {
    if (rings - r.address >= r.bytes) continue;
    const bool writes = (r.access & IBV_ACCESS_LOCAL_WRITE) != 0;
    return {r.address, r.bytes, writes ? std::uint32_t{fw::local_write} : 0u, 1, r.key, 0};
  }
  FAIL("the queue's memory is not registered");
  return {};
}

}  // namespace gnstor::test

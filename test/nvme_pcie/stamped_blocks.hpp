#pragma once
/// Lanes write stamped blocks through one channel, read them back and compare, on either machine.

#include <gnstor/channel/channel.hpp>
#include <gnstor/memory/io_buffer.hpp>
#include <gnstor/simt/lane.hpp>
#include <gnstor/wire/nvme/read_write.hpp>

namespace gnstor::test {

/// What went wrong. Zero at the start.
struct stamped_record {
  std::uint32_t failed = 0;   ///< commands that did not end well
  std::uint32_t wrong = 0;    ///< words that are not what was written
  std::uint32_t touched = 0;  ///< words behind a buffer that were changed
  std::uint32_t rounds = 0;   ///< that went well
  std::uint64_t why = 0;      ///< `status::pack()` of one that failed
};

/// Each lane owns `lane_blocks` blocks of 512 bytes of namespace 1, and `lane_bytes` of the buffer.
template <class Channel>
struct stamped_blocks {
  struct shared {};
  static constexpr std::uint32_t lane_bytes = 32 << 10;
  static constexpr std::uint32_t most_bytes = 12
                                              << 10;  ///< of a transfer: four pages, at an offset

  Channel channel;
  io_buffer buffer;
  std::uint32_t block_bytes = 4096;
  std::uint32_t rounds = 4;
  std::uint64_t timeout_ns = 10'000'000'000;
  bool apart = true;  ///< lanes draw their sizes each for itself; else a block's are alike
  stamped_record* record = nullptr;

  template <class Lane>
  GNSTOR_HD void operator()(Lane& lane) const {
    const std::uint32_t me = lane.global_thread();
    std::uint32_t draw = ((apart ? me : lane.block()) + 1) * 2654435761u;
    for (std::uint32_t round = 0; round < rounds; ++round) {
      draw = draw * 1664525u + 1013904223u;
      const std::uint32_t blocks = 1 + (draw >> 8) % (most_bytes / block_bytes);
      // At any dword of its page.
      const std::uint32_t offset = (draw >> 20) % 1024 * 4;
      const std::uint64_t lba = std::uint64_t{me} * (lane_bytes / block_bytes) + draw % 2;
      if (!one(me, round, lba, blocks, offset)) return count(record->failed, 1);
    }
    count(record->rounds, rounds);
  }

 private:
  GNSTOR_HD static void count(std::uint32_t& word, std::uint32_t n) {
    device_word<std::uint32_t>(word).fetch_add(n, relaxed);
  }
  GNSTOR_HD static std::uint32_t stamp(std::uint32_t me, std::uint32_t round, std::uint32_t word) {
    return (me * 0x10001u + round * 0x9e3779b9u) ^ word;
  }

  GNSTOR_HD bool one(std::uint32_t me, std::uint32_t round, std::uint64_t lba, std::uint32_t blocks,
                     std::uint32_t offset) const {
    using wire::nvme::nvm_opcode;
    const std::uint32_t bytes = blocks * block_bytes;
    const std::uint64_t address = buffer.address + std::uint64_t{me} * lane_bytes + offset;
    auto* words = reinterpret_cast<std::uint32_t*>(address);
    const std::uint32_t behind = bytes / 4;
    for (std::uint32_t k = 0; k < behind; ++k) words[k] = stamp(me, round, k);
    words[behind] = ~stamp(me, round, behind);
    if (!send(nvm_opcode::write, lba, blocks, address)) return false;
    for (std::uint32_t k = 0; k < behind; ++k) words[k] = 0xdeadbeef;
    if (!send(nvm_opcode::read, lba, blocks, address)) return false;
    std::uint32_t wrong = 0;
    for (std::uint32_t k = 0; k < behind; ++k) wrong += words[k] != stamp(me, round, k);
    if (wrong != 0) count(record->wrong, wrong);
    if (words[behind] != ~stamp(me, round, behind)) count(record->touched, 1);
    return true;
  }
  GNSTOR_HD bool send(wire::nvme::nvm_opcode op, std::uint64_t lba, std::uint32_t blocks,
                      std::uint64_t address) const {
    const auto data = wire::nvme::make_keyed_sgl(address, blocks * block_bytes, buffer.rkey);
    const status s = channel.execute(wire::nvme::make_read_write(op, 0, 1, lba, blocks, data),
                                     simt::within(timeout_ns));
    if (!s.ok()) device_word<std::uint64_t>(record->why).store(s.pack(), relaxed);
    return s.ok();
  }
};

}  // namespace gnstor::test

#pragma once
/// Blocks of threads that each own a queue of the local controller, on either machine.

#include <gnstor/channel/nvme_block_queue.hpp>
#include <gnstor/memory/io_buffer.hpp>
#include <gnstor/simt/lane.hpp>

namespace gnstor::test {

/// What the threads of all blocks found. Zero at the start.
struct block_queue_record {
  std::uint32_t failed = 0;
  std::uint32_t wrong = 0;
  std::uint32_t done = 0;
};

/// Each round two of three threads write a block of 512 bytes and read it back, the others look on.
template <std::uint32_t Threads>
struct own_queues {
  using shared = nvme_block_words<Threads>;

  const nvme_pcie_queue_pair<>* queues = nullptr;  ///< one per block
  io_buffer buffer;                                ///< 512 bytes per thread
  std::uint32_t rounds = 4;
  block_queue_record* record = nullptr;

  template <class Lane>
  GNSTOR_HD void operator()(Lane& lane) const {
    nvme_block_queue<Threads> queue(lane, lane.shared(), queues[lane.block()]);
    const std::uint32_t me = lane.global_thread();
    const io_buffer mine = buffer.slice(std::uint64_t{me} * 512, 512);
    auto* words = reinterpret_cast<std::uint32_t*>(mine.address);
    for (std::uint32_t round = 0; round < rounds; ++round) {
      const bool wants = (me + round) % 3 != 0;
      const std::uint32_t stamp = me * 0x10001u + round;
      if (wants) fill(words, stamp);
      count(record->failed, !one(lane, queue, wire::nvme::nvm_opcode::write, me, mine, wants));
      if (wants) fill(words, 0xdeadbeef);
      count(record->failed, !one(lane, queue, wire::nvme::nvm_opcode::read, me, mine, wants));
      if (!wants) continue;
      std::uint32_t wrong = 0;
      for (std::uint32_t k = 0; k < 128; ++k) wrong += words[k] != stamp + k;
      count(record->wrong, wrong);
      count(record->done, 1);
    }
    count(record->failed, !queue.release(lane));
  }

 private:
  GNSTOR_HD static void fill(std::uint32_t* words, std::uint32_t stamp) {
    for (std::uint32_t k = 0; k < 128; ++k) words[k] = stamp + k;
  }
  GNSTOR_HD static void count(std::uint32_t& word, std::uint32_t n) {
    if (n != 0) device_word<std::uint32_t>(word).fetch_add(n, relaxed);
  }
  template <class Lane>
  GNSTOR_HD static bool one(Lane& lane, nvme_block_queue<Threads>& queue, wire::nvme::nvm_opcode op,
                            std::uint32_t lba, const io_buffer& page, bool wants) {
    const auto data = wire::nvme::make_keyed_sgl(page.address, 512, page.rkey);
    return queue
        .execute(lane, wire::nvme::make_read_write(op, 0, 1, lba, 1, data), wants,
                 simt::within(10'000'000'000))
        .ok();
  }
};

}  // namespace gnstor::test

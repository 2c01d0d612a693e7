#pragma once
/// Lanes write a volume that is striped over several controllers, and read it back.

#include <gnstor/simt/lane.hpp>
#include <gnstor/volume/volume_ref.hpp>

namespace gnstor::test {

/// What went wrong. Zero at the start.
struct striped_record {
  std::uint32_t failed = 0;  ///< I/Os that did not end well
  std::uint32_t wrong = 0;   ///< words that are not what was written
  std::uint32_t done = 0;    ///< lanes that came to their end
};

/// What word `k` of volume block `block` is after round `round`.
GNSTOR_HD constexpr std::uint32_t striped_stamp(std::uint32_t block, std::uint32_t k,
                                                std::uint32_t round) {
  return (block + 1) * 0x9e3779b9u ^ (k * 0x10001u + round * 0x1003fu);
}

/// Each lane owns `lane_blocks` consecutive blocks of the volume, and memory for them.
template <class Channel>
struct striped_blocks {
  Channel channel;
  volume_info volume;
  io_buffer buffer;
  std::uint32_t lane_blocks = 6;
  std::uint32_t rounds = 2;
  std::uint64_t timeout_ns = 10'000'000'000;
  striped_record* record = nullptr;

  template <class Lane>
  GNSTOR_HD void operator()(Lane& lane) const {
    const std::uint32_t me = lane.global_thread();
    const std::uint32_t words = lane_blocks * block_bytes / 4;
    const io_buffer own = buffer.slice(std::uint64_t{me} * 4 * words, 4 * words);
    const std::uint32_t first = me * lane_blocks;
    const volume_ref<Channel> v(volume, channel_set<Channel>(&channel, 1),
                                rendezvous_placement(volume.ssd_count));
    auto* mine = reinterpret_cast<std::uint32_t*>(own.address);
    for (std::uint32_t round = 0; round < rounds; ++round) {
      for (std::uint32_t k = 0; k < words; ++k)
        mine[k] = striped_stamp(first + k / 1024, k % 1024, round);
      count(record->failed, !v.write(vba(first), lane_blocks, own, ends()).ok());
      for (std::uint32_t k = 0; k < words; ++k) mine[k] = 0xdeadbeef;
      count(record->failed, !v.read(vba(first), lane_blocks, own, ends()).ok());
      std::uint32_t wrong = 0;
      for (std::uint32_t k = 0; k < words; ++k)
        wrong += mine[k] != striped_stamp(first + k / 1024, k % 1024, round);
      count(record->wrong, wrong);
    }
    count(record->failed, !v.flush(ends()).ok());
    count(record->done, 1);
  }

 private:
  GNSTOR_HD deadline ends() const { return simt::within(timeout_ns); }
  GNSTOR_HD static void count(std::uint32_t& word, std::uint32_t n) {
    if (n != 0) device_word<std::uint32_t>(word).fetch_add(n, relaxed);
  }
};

}  // namespace gnstor::test

#pragma once

#include "block_data.hpp"
#include <gnstor/simt/clock.hpp>
#include <gnstor/simt/warp_number.hpp>
#include <gnstor/volume/exclusive_volume.hpp>
#include <gnstor/volume/remote_volume.hpp>

namespace gnstor::benchmarks {

inline constexpr std::uint64_t io_deadline_ns = 5'000'000'000;

/// Which operations of a volume are a lane's: every `count`-th, from `index` on.
struct turns {
  std::uint32_t index = 0;
  std::uint32_t count = 1;
};

/// Every lane moves its own piece of the buffer, over and over.
struct move_blocks {
  template <class Lane, class Volume>
  GNSTOR_HD void operator()(Lane& lane, Volume volume, io_buffer memory, plan p,
                            failures* seen) const {
    move(memory_of(lane, memory, p), {lane.global_thread(), lane.grid_threads()}, p, *seen,
         [&](bool write, vba first, const io_buffer& mine, deadline d) {
           return write ? volume.write(first, p.blocks, mine, d)
                        : volume.read(first, p.blocks, mine, d);
         });
  }

 protected:
  template <class Lane>
  GNSTOR_HD static io_buffer memory_of(const Lane& lane, const io_buffer& memory, const plan& p) {
    const std::uint64_t bytes = p.blocks * block_bytes;
    return memory.slice(lane.global_thread() * bytes, bytes);
  }
  template <class Io>
  GNSTOR_HD static void move(const io_buffer& mine, turns t, const plan& p, failures& seen,
                             const Io& io) {
    const block_data data(mine.address, p);
    std::uint64_t bad = 0;
    for (std::uint32_t k = 0; k < p.rounds; ++k) {
      const std::uint32_t turn = p.turn(k * t.count + t.index);
      const vba first = p.position(turn);
      const auto soon = simt::within(io_deadline_ns);
      const bool write = p.writes(turn);
      if (write) data.fill(first);
      bad += seen.keep(io(write, first, mine, soon));
      if (!write) bad += data.wrong(first);
    }
    seen.add(bad);
  }
};

/// The same by warps that have a channel to themselves: reads, or writes.
template <bool Writes>
struct move_blocks_alone : move_blocks {
  template <class Lane>
  GNSTOR_HD void operator()(Lane& lane, remote_volume volume, io_buffer memory, plan p,
                            failures* seen) const {
    const simt::group warp = lane.warp();
    exclusive_volume own(warp, volume);
    move(memory_of(lane, memory, p), {lane.global_thread(), lane.grid_threads()}, p, *seen,
         [&](bool, vba first, const io_buffer& mine, deadline d) {
           if constexpr (Writes) return own.write(warp, first, p.blocks, mine, d);
           if constexpr (!Writes) return own.read(warp, first, p.blocks, mine, d);
         });
    own.release(warp);
  }
};

/// The same by clients, each a block with a volume and a channel of its own.
struct move_blocks_of_clients : move_blocks {
  template <class Lane>
  GNSTOR_HD void operator()(Lane& lane, const remote_volume* volumes, io_buffer memory, plan p,
                            failures* seen) const {
    const remote_volume volume = volumes[lane.block()];
    move(memory_of(lane, memory, p), {lane.thread(), lane.block_threads()}, p, *seen,
         [&](bool write, vba first, const io_buffer& mine, deadline d) {
           return write ? volume.write(first, p.blocks, mine, d)
                        : volume.read(first, p.blocks, mine, d);
         });
  }
};

/// One lane of each warp, and every warp with a channel to itself: one operation after another.
/// Every read has memory of its own: `check_one_by_one` compares it afterwards.
template <bool Writes>
struct move_one_by_one {
  template <class Lane>
  GNSTOR_HD void operator()(Lane& lane, remote_volume volume, io_buffer memory, plan p,
                            failures* seen) const {
    const simt::group warp = lane.warp();
    exclusive_volume own(warp, volume);
    const std::uint64_t bytes = p.blocks * block_bytes;
    const std::uint32_t before = simt::warp_number() * p.rounds;
    std::uint64_t bad = 0;
    for (std::uint32_t k = before + 1; k <= before + p.rounds; ++k) {
      const vba first = p.position(k);
      const io_buffer mine = memory.slice((Writes ? before : k - 1) * bytes, bytes);
      const auto soon = simt::within(io_deadline_ns);
      if constexpr (Writes) {
        if (warp.leads()) block_data(mine.address, p).fill(first);
      }
      const status s = Writes ? own.write(warp, first, p.blocks, mine, soon, warp.leads())
                              : own.read(warp, first, p.blocks, mine, soon, warp.leads());
      bad += seen->keep(s);
    }
    seen->add(bad);
    own.release(warp);
  }
};

/// Compares what `move_one_by_one` has read; `p.rounds` counts the reads of all warps.
struct check_one_by_one {
  template <class Lane>
  GNSTOR_HD void operator()(Lane& lane, remote_volume, io_buffer memory, plan p,
                            failures* seen) const {
    const std::uint64_t bytes = p.blocks * block_bytes;
    std::uint64_t bad = 0;
    for (std::uint32_t k = 1 + lane.global_thread(); k <= p.rounds; k += lane.grid_threads())
      bad += block_data(memory.slice((k - 1) * bytes, bytes).address, p).wrong(p.position(k));
    seen->add(bad);
  }
};

}  // namespace gnstor::benchmarks

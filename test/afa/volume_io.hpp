#pragma once
/// What every lane of a test of the whole data path runs, on the host runtime and on the GPU.

#include "mlx5_volume.hpp"
#include <gnstor/core/hash.hpp>
#include <gnstor/simt/lane.hpp>

namespace gnstor::test {

/// What went wrong. Zero at the start.
struct volume_io_record {
  std::uint32_t ended = 0;
  std::uint32_t failed = 0;       ///< a read or write did not succeed
  std::uint32_t wrong_own = 0;    ///< a lane did not read back what it wrote
  std::uint32_t torn = 0;         ///< a block that others overwrite was of two writes, or of none
  std::uint32_t not_zero = 0;     ///< a block never written was not zero
  std::uint64_t first_fault = 0;  ///< `status::pack()`
};

/// Lanes write blocks of their own and one that all share, and read them back.
///
/// Blocks 0 .. lanes-1 are the lanes' own, the next one is shared, the one after it is never
/// written.
struct volume_io {
  struct shared {};

  mlx5_volume volume;
  const mlx5_channel* channels = nullptr;
  std::uint32_t channel_count = 1;
  connect_options connecting;
  unsigned char* buffer = nullptr;  ///< one block per lane
  std::uint32_t key = 0;
  std::uint32_t rounds = 1;
  std::uint32_t seed = 0;
  std::uint64_t timeout_ns = ~std::uint64_t{0};  ///< of one read or write
  volume_io_record* record = nullptr;
  std::uint32_t* stop = nullptr;  ///< set by the last lane, where no executor does

  template <class Lane>
  GNSTOR_HD void operator()(Lane& lane) const {
    const std::uint32_t me = lane.global_thread();
    const std::uint32_t lanes = lane.grid_threads();
    connect(me == 0);
    std::uint32_t draw = (me + 1 + seed * 0x10001u) * 2654435761u;
    for (std::uint32_t round = 0; round < rounds; ++round) {
      draw = draw * 1664525u + 1013904223u;
      own(me, round);
      if ((draw >> 31) != 0) {
        overwrite(me, lanes, draw);
      } else {
        look(me, lanes);
      }
    }
    read(me, lanes + 1);
    if (stamp_of(me) != 0) count(record->not_zero);
    if (device_word<std::uint32_t>(record->ended).fetch_add(1, acq_rel) + 1 != lanes) return;
    if (stop != nullptr) system_word<std::uint32_t>(*stop).store(1, release);
  }

 private:
  static constexpr std::uint32_t words = block_bytes / sizeof(std::uint64_t);
  static constexpr std::uint64_t mixed = ~std::uint64_t{0};

  GNSTOR_HD static void count(std::uint32_t& counter) {
    device_word<std::uint32_t>(counter).fetch_add(1, relaxed);
  }
  GNSTOR_HD void check(status s) const {
    if (s.ok()) return;
    count(record->failed);
    std::uint64_t none = 0;
    device_word<std::uint64_t>(record->first_fault).compare_exchange(none, s.pack(), relaxed);
  }
  GNSTOR_HD std::uint64_t* page(std::uint32_t me) const {
    return reinterpret_cast<std::uint64_t*>(buffer + std::uint64_t{me} * block_bytes);
  }
  GNSTOR_HD io_buffer mine(std::uint32_t me) const {
    return {reinterpret_cast<std::uint64_t>(page(me)), block_bytes, key, key};
  }
  GNSTOR_HD void fill(std::uint32_t me, std::uint64_t stamp) const {
    for (std::uint32_t k = 0; k < words; ++k) page(me)[k] = stamp;
  }
  /// The stamp of the lane's page, or `mixed`.
  GNSTOR_HD std::uint64_t stamp_of(std::uint32_t me) const {
    for (std::uint32_t k = 1; k < words; ++k) {
      if (page(me)[k] != page(me)[0]) return mixed;
    }
    return page(me)[0];
  }
  GNSTOR_HD void read(std::uint32_t me, std::uint32_t block) const {
    fill(me, mix64(block));
    check(volume.read(vba(block), 1, mine(me), simt::within(timeout_ns)));
  }
  GNSTOR_HD void write(std::uint32_t me, std::uint32_t block, std::uint64_t stamp) const {
    fill(me, stamp);
    check(volume.write(vba(block), 1, mine(me), simt::within(timeout_ns)));
  }

  GNSTOR_HD void connect(bool mine_to_do) const {
    for (std::uint32_t k = 0; k < channel_count; ++k) {
      if (mine_to_do) check(channels[k].connect(connecting, deadline::never()));
      for (until ready{deadline::never()}; ready && !mine_to_do;) {
        if (channels[k].phase() != channel_phase::connecting) break;
      }
    }
  }
  GNSTOR_HD void own(std::uint32_t me, std::uint32_t round) const {
    const std::uint64_t stamp = std::uint64_t{me + 1} << 32 | round;
    write(me, me, stamp);
    read(me, me);
    if (stamp_of(me) != stamp) count(record->wrong_own);
  }
  GNSTOR_HD void overwrite(std::uint32_t me, std::uint32_t lanes, std::uint32_t draw) const {
    write(me, lanes, std::uint64_t{0x5ead} << 48 | draw);
  }
  GNSTOR_HD void look(std::uint32_t me, std::uint32_t lanes) const {
    read(me, lanes);
    const std::uint64_t stamp = stamp_of(me);
    if (stamp == mixed || (stamp != 0 && stamp >> 48 != 0x5ead)) count(record->torn);
  }
};

}  // namespace gnstor::test

#pragma once
/// Kernels whose lanes take their buffers from the session's pool, more at a time than it begins
/// with.

#include <gnstor/host/executor.hpp>
#include <gnstor/host/session.hpp>
#include <gnstor/host/session_pool.hpp>
#include <gnstor/simt/lane.hpp>

#include <doctest/doctest.h>

#include <string>

namespace gnstor::test {

struct pool_record {
  std::uint32_t holders;    ///< lanes that have had a buffer
  std::uint32_t refused;    ///< answers would_block
  std::uint32_t gave_up;    ///< lanes that got no buffer, or whose neighbours got none
  std::uint32_t failed;     ///< reads and writes
  std::uint32_t different;  ///< blocks that came back with other bytes
};

/// Each lane takes `bytes` bytes, waits until all lanes hold theirs, writes block k of the volume
/// from its buffer and reads it back into the buffer's end, and gives the buffer back.
struct fill_from_pool {
  std::uint64_t bytes;

  template <class Lane>
  GNSTOR_HD void operator()(Lane& lane, remote_volume volume, expandable_pool<> pool,
                            pool_record* record) const {
    const auto count = [](std::uint32_t& n) {
      device_word<std::uint32_t>(n).fetch_add(1, relaxed);
    };
    const std::uint32_t me = lane.global_thread();
    const deadline d = simt::within(30'000'000'000);
    result<io_buffer> mine = pool.allocate(bytes);
    for (until wait{d}; wait && !mine;) {
      count(record->refused);
      lane.pause();
      mine = pool.allocate(bytes);
    }
    if (!mine) return count(record->gave_up);
    count(record->holders);
    const device_word<std::uint32_t> holders(record->holders);
    for (until wait{d}; wait && holders.load(relaxed) < lane.grid_threads();) lane.pause();
    if (holders.load(relaxed) < lane.grid_threads()) count(record->gave_up);

    const io_buffer out = mine.value.slice(0, block_bytes);
    const io_buffer back = mine.value.slice(bytes - block_bytes, block_bytes);
    auto* const sent = static_cast<std::uint32_t*>(out.data());
    for (std::uint32_t k = 0; k < block_bytes / 4; ++k) sent[k] = me << 16 | k;
    if (!volume.write(vba(me), 1, out, d).ok() || !volume.read(vba(me), 1, back, d).ok())
      count(record->failed);
    const auto* const got = static_cast<const std::uint32_t*>(back.data());
    for (std::uint32_t k = 0; k < block_bytes / 4; ++k) {
      if (got[k] != (me << 16 | k)) return count(record->different);
    }
    if (!pool.release(mine.value).ok()) count(record->failed);
  }
};

/// Lanes hold 64 KiB each of a pool that begins with 1 MiB.
inline void check_growing_pool(const std::string& endpoint) {
  constexpr std::uint32_t lanes = 64;
  constexpr std::uint64_t each = 65536, mib = std::uint64_t{1} << 20;
  host::session s(endpoint);
  const volume_info v = s.create_volume({.bytes = lanes * block_bytes});
  const host::session_pool pool = s.pool({.initial_bytes = mib, .max_bytes = 8 * mib});
  CHECK(pool.bytes() == mib);
  CHECK(pool.max_bytes() == 8 * mib);
  const host::memory_block record(s.client_place(), sizeof(pool_record), s.options().device);
  host::executor kernels;
  kernels.spawn(2, lanes / 2, fill_from_pool{each}, s.ref(v), pool.ref(),
                static_cast<pool_record*>(record.data()));
  s.attach(kernels);
  kernels.run();
  pool_record found{};
  record.read(0, &found, sizeof found);
  CHECK(found.holders == lanes);
  CHECK(found.refused > 0);
  CHECK(found.gave_up == 0);
  CHECK(found.failed == 0);
  CHECK(found.different == 0);
  CHECK(pool.bytes() >= lanes * each);
  CHECK(pool.bytes() <= pool.max_bytes());
}

}  // namespace gnstor::test

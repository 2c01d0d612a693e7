#pragma once
/// What every thread of a growing pool's test runs, on the host runtime and on the GPU.

#include <gnstor/memory/expandable_pool.hpp>
#include <gnstor/simt/lane.hpp>

namespace gnstor::test {

/// What the threads saw. One in memory that all of them reach; zero at the start.
struct growth_record {
  std::uint32_t granted = 0;
  std::uint32_t waited = 0;     ///< answers would_block
  std::uint32_t gave_up = 0;    ///< requests that had no answer in a second
  std::uint32_t wrong_key = 0;  ///< buffers whose keys are not those of their region
  std::uint32_t not_ours = 0;   ///< buffers in which another thread's word stood
  std::uint32_t wrong_status = 0;
};

/// Keys of a test's regions follow from their address, so that a kernel can check them.
GNSTOR_HD constexpr std::uint32_t key_of(const pool_region& region) {
  return static_cast<std::uint32_t>(region.address >> 12) ^
         static_cast<std::uint32_t>(region.bytes);
}

/// All threads of a block hold a buffer at the same time: more than the first region has.
template <class Pool>
struct hold_together {
  struct shared {};
  std::uint64_t bytes = 4096;
  std::uint32_t rounds = 1;

  template <class Lane>
  GNSTOR_HD void operator()(Lane& lane, Pool pool, const pool_table* table,
                            growth_record* record) const {
    const std::uint64_t me = lane.global_thread() + 1;
    for (std::uint32_t round = 0; round < rounds; ++round) {
      const result<io_buffer> buffer = patient(pool, record);
      if (!buffer) count(record->gave_up);
      if (buffer) {
        count(record->granted);
        if (!of_a_region(pool, table, buffer.value)) count(record->wrong_key);
        *static_cast<std::uint64_t*>(buffer.value.data()) = me;
      }
      lane.sync_block();
      if (!buffer) continue;
      if (*static_cast<const std::uint64_t*>(buffer.value.data()) != me) count(record->not_ours);
      if (!pool.release(buffer.value).ok()) count(record->wrong_status);
    }
  }

 private:
  GNSTOR_HD static void count(std::uint32_t& counter) {
    device_word<std::uint32_t>(counter).fetch_add(1, relaxed);
  }

  /// Asks until the host has made the pool large enough.
  GNSTOR_HD result<io_buffer> patient(const Pool& pool, growth_record* record) const {
    result<io_buffer> buffer = status::make(status_code::would_block, reporter::none);
    for (until wait{simt::within(1'000'000'000)}; wait;) {
      buffer = pool.allocate(bytes);
      if (buffer) return buffer;
      count(record->waited);
      if (buffer.status.code != status_code::would_block) count(record->wrong_status);
    }
    return buffer;
  }

  GNSTOR_HD static bool of_a_region(const Pool& pool, const pool_table* table,
                                    const io_buffer& buffer) {
    const std::uint32_t regions = pool.regions();
    for (std::uint32_t k = 0; k < regions; ++k) {
      const pool_region& region = table->region[k];
      if (buffer.address - region.address < region.bytes)
        return buffer.lkey == key_of(region) && buffer.rkey == ~key_of(region);
    }
    return false;
  }
};

}  // namespace gnstor::test

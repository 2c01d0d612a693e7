#pragma once
/// Batches of warps that have a channel of their own: the same on a CPU and on a GPU.

#include "async_owned.hpp"
#include <gnstor/channel/warp_batch.hpp>

namespace gnstor::test {

/// Each thread reads its blocks one after another through its warp's batch.
struct read_in_batches {
  static constexpr std::uint32_t warps = 2;
  using volume = async_exclusive_volume<>;
  using shared = warp_batch<warps, volume>::storage;
  std::uint32_t area = 0;
  std::uint64_t timeout_ns = 20'000'000'000;

  template <class Lane>
  GNSTOR_HD void operator()(Lane& lane, remote_volume v, async_record* records,
                            io_buffer buffer) const {
    const simt::group g = lane.warp();
    volume own(g, v);
    warp_batch<warps, volume> batch(g, own, lane.shared(), lane.thread() / 32);
    const std::uint32_t me = lane.global_thread();
    const std::uint64_t half = std::uint64_t{lane.grid_threads()} * area;
    async_record& mine = records[me];
    std::uint32_t next = 0;
    const auto handle = [&](status s) {
      ++mine.called;
      if (!s.ok() && mine.outcome == 0) mine.outcome = s.pack();
    };
    const deadline d = simt::within(timeout_ns);
    for (until more{deadline::never()}; more;) {
      const bool wants = next < area && !d.expired(simt::now_ns());
      if (!g.any(wants)) break;  // all lanes leave together
      const status sent = batch.submit(g, wants, [&](volume& io, bool now) {
        const io_buffer to = buffer.slice(
            (half + std::uint64_t{me} * area + next % area) * block_bytes, block_bytes);
        return io.read_async(g, vba(me * area + next % area), 1, to, d, now);
      });
      if (sent.ok()) ++next;
      batch.commit(g);
      if (batch.poll(g)) more.progressed();
      (void)batch.dispatch(g, handle);
    }
    batch.drain(g, simt::within(timeout_ns), handle);
    own.release(g);
  }
};

/// Every block is read once, by its thread, and is right.
inline void own_batches_read_every_block(const std::string& endpoint, std::uint32_t depth) {
  CAPTURE(endpoint);
  CAPTURE(depth);
  async_owned_run r(endpoint, 2, depth);
  r.session.write(r.volume, 0, r.bytes.data(), r.bytes.size());
  for (const async_record& one : r.run(read_in_batches{}, 1)) {
    REQUIRE(one.outcome == 0);
    REQUIRE(one.called == r.area);
  }
  CHECK((r.data() == r.bytes));
}

}  // namespace gnstor::test

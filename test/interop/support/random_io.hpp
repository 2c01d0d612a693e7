#pragma once

#include "extent.hpp"
#include <gnstor/channel/channel.hpp>
#include <gnstor/core/bounded.hpp>
#include <gnstor/simt/clock.hpp>
#include <gnstor/simt/lane.hpp>
#include <gnstor/wire/nvme/read_write.hpp>

namespace gnstor::interop {

/// What the lanes of one run work on together.
struct random_io_work {
  const extent* extents = nullptr;
  std::uint32_t count = 0;
  std::uint32_t nsid = 1;
  std::uint32_t block_bytes = 512;
  io_buffer image;                        ///< what the namespace holds, or shall hold
  io_buffer seen;                         ///< where reads go
  std::uint64_t* outcomes = nullptr;      ///< a packed status for each extent
  std::uint64_t timeout_ns = 0;           ///< of each command
  alignas(64) std::uint32_t next = 0;     ///< the extent that is taken next
  alignas(64) std::uint32_t flying = 0;   ///< commands in flight on all channels
  alignas(64) std::uint32_t highest = 0;  ///< most that have been
};

/// The kernel: each lane takes an extent, sends its command through its block's channel, waits for
/// the answer, and takes the next.
template <class Channel>
struct random_io {
  const Channel* channels = nullptr;
  std::uint32_t channel_count = 1;

  template <class Lane>
  GNSTOR_HD void operator()(Lane& lane, random_io_work* work) const {
    const Channel& channel = channels[lane.block() % channel_count];
    for (bounded n{work->count}; n;) {
      const std::uint32_t mine = device_word<std::uint32_t>(work->next).fetch_add(1, relaxed);
      if (mine >= work->count) return;
      const status outcome = move(channel, *work, work->extents[mine]);
      device_word<std::uint64_t>(work->outcomes[mine]).store(outcome.pack(), release);
    }
  }

 private:
  GNSTOR_HD static status move(const Channel& channel, random_io_work& work, const extent& e) {
    using wire::nvme::nvm_opcode;
    const io_buffer part = (e.write != 0 ? work.image : work.seen).slice(e.offset, e.bytes);
    const auto data = wire::nvme::make_keyed_sgl(part.address, e.bytes, part.rkey);
    const auto command = wire::nvme::make_read_write(
        e.write != 0 ? nvm_opcode::write : nvm_opcode::read, 0, work.nsid,
        e.offset / work.block_bytes, e.bytes / work.block_bytes, data);
    const deadline last = simt::within(work.timeout_ns);
    for (until more{last}; more;) {
      const result<ticket> sent = channel.submit(command);
      if (!sent && sent.status.code != status_code::would_block) return sent.status;
      if (sent) {
        count_flying(work);
        const status outcome = channel.wait(sent.value, last);
        device_word<std::uint32_t>(work.flying).fetch_sub(1, relaxed);
        return outcome;
      }
      (void)channel.poll();
    }
    return status::make(status_code::timed_out, reporter::caller);
  }
  GNSTOR_HD static void count_flying(random_io_work& work) {
    const std::uint32_t now = device_word<std::uint32_t>(work.flying).fetch_add(1, relaxed) + 1;
    device_word<std::uint32_t>(work.highest).fetch_max(now, relaxed);
  }
};

}  // namespace gnstor::interop

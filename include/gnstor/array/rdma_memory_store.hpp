#pragma once

#include <gnstor/array/page_store.hpp>
#include <gnstor/channel/channel_set.hpp>
#include <gnstor/channel/remote_memory_channel.hpp>
#include <gnstor/memory/remote_region.hpp>

namespace gnstor::inline v0 {

/// Pages kept in memory of a peer, one RDMA READ or WRITE each: page p is the bytes from p *
/// page_bytes on. The last page ends where the region ends.
///
/// Transfers go by the calling warp's channel. Unlike an SSD the peer does not answer by itself: a
/// region that is withdrawn kills the queue pair that asks for it.
template <class Channel>
class rdma_memory_store {
 public:
  GNSTOR_HD rdma_memory_store(const channel_set<Channel>& channels, const remote_region& region,
                              std::uint32_t page_bytes)
      : channels_(channels), region_(region), page_bytes_(page_bytes) {}

  GNSTOR_HD std::uint32_t page_bytes() const { return page_bytes_; }
  /// Of page `page`, which begins within the region.
  GNSTOR_HD std::uint32_t page_bytes(page_index page) const {
    const std::uint64_t rest = region_.bytes - offset(page);
    return rest < page_bytes_ ? static_cast<std::uint32_t>(rest) : page_bytes_;
  }
  GNSTOR_HD const remote_region& region() const { return region_; }

  GNSTOR_HD status fetch(page_index page, const io_buffer& frame, deadline d) const {
    return channels_.mine().execute(transfer(page, frame, false), d);
  }
  GNSTOR_HD status store(page_index page, const io_buffer& frame, deadline d) const {
    return channels_.mine().execute(transfer(page, frame, true), d);
  }

  /// A transfer that was begun, and the channel on which.
  struct ticket_type {
    std::uint32_t channel = 0;
    transfer_ticket transfer{};
  };

  /// Begins what `fetch` and `store` do. Each takes one entry of the channel's queue, which
  /// completes by itself.
  GNSTOR_HD result<ticket_type> begin_fetch(page_index page, const io_buffer& frame,
                                            deadline) const {
    return begin(transfer(page, frame, false));
  }
  GNSTOR_HD result<ticket_type> begin_store(page_index page, const io_buffer& frame,
                                            deadline) const {
    return begin(transfer(page, frame, true));
  }
  GNSTOR_HD status try_finish(ticket_type t) const {
    return channels_[t.channel].try_wait(t.transfer);
  }
  GNSTOR_HD status finish(ticket_type t, deadline d) const {
    return channels_[t.channel].wait(t.transfer, d);
  }

  /// There is no other replica to ask.
  GNSTOR_HD rdma_memory_store avoiding(ssd_index) const { return *this; }

 private:
  GNSTOR_HD std::uint64_t offset(page_index page) const {
    return std::uint64_t{page.value} * page_bytes_;
  }
  GNSTOR_HD one_sided transfer(page_index page, const io_buffer& frame, bool write) const {
    one_sided t;
    t.local_address = frame.address;
    t.lkey = frame.lkey;
    t.remote_address = region_.address + offset(page);
    t.rkey = region_.rkey;
    t.bytes = page_bytes(page);
    t.write = write;
    return t;
  }
  GNSTOR_HD result<ticket_type> begin(const one_sided& t) const {
    const std::uint32_t mine = channels_.my_index();
    const result<transfer_ticket> sent = channels_[mine].submit(t);
    if (!sent) return sent.status;
    return ticket_type{mine, sent.value};
  }

  channel_set<Channel> channels_;
  remote_region region_;
  std::uint32_t page_bytes_;
};

static_assert(async_page_store<rdma_memory_store<remote_memory_channel>>);

}  // namespace gnstor::inline v0

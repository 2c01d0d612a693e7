#pragma once

#include <afa/page_copy.hpp>
#include <gnstor/simt/clock.hpp>
#include <hca/transfer.hpp>

#include <timing/stream_sender.hpp>

#include <algorithm>
#include <cstring>

namespace gnstor::fw {

/// Sends the data of reads as one NIC's `stream_sender` says: out of flash into the NIC's memory,
/// and from there into the client's. The pages were looked up and are pinned when a command comes
/// here.
class send_engine {
 public:
  send_engine(const node& n, std::uint32_t nic)
      : node_(&n), nic_(nic), sender_(n.stream_senders[nic]) {}

  /// One round. True while reads are under way, so that the owner does not sleep.
  /// @par Callers every lane of `g`, converged; always the same owner
  bool tick(const simt::group& g) const {
    bool busy = false;
    if (g.leads()) {
      const std::uint64_t now = simt::now_ns();
      take(now);
      data way(*node_);
      for (const std::uint64_t tag : sender_->run(now, way)) end(static_cast<std::uint32_t>(tag));
      busy = !sender_->is_idle();
    }
    return g.broadcast(static_cast<std::uint32_t>(busy)) != 0;
  }

 private:
  static constexpr std::uint32_t most = 32;  ///< commands per round

  /// Between flash, the NIC's memory and the client's.
  class data final : public stream_sender::ports {
   public:
    explicit data(const node& n) : node_(&n) {}
    bool fetch(std::uint64_t tag, std::uint32_t block, unsigned char* into) override {
      const auto handle = static_cast<std::uint32_t>(tag);
      io_command& c = node_->commands[handle];
      const node::ssd drive = node_->ssds[c.ssd];
      const std::uint32_t page = node_->pages(handle)[block];
      bool sound = true;
      if (page == node::ssd::no_page) {
        // In another epoch it may belong elsewhere, and have been dropped here.
        sound = drive.epoch() == c.entry.cdw2 && !drive.is_doubtful(c.where);
        std::memset(into, 0, block_bytes);
      } else {
        const auto* flash =
            reinterpret_cast<const unsigned char*>(c.media) + std::uint64_t{page} * block_bytes;
        transfer(simt::group::self(), into, flash, block_bytes);
        sound = node_->shape.check_reads == 0 ||
                gnstor::detail::page_crc_here(into) == drive.seal_of(page);
      }
      if (!sound) c.status = drive.epoch() != c.entry.cdw2 ? overtaken : damaged_page;
      return sound;
    }
    void send(std::uint64_t tag, std::uint32_t block, const unsigned char* from) override {
      const io_command& c = node_->commands[tag];
      auto* memory = reinterpret_cast<unsigned char*>(c.entry.dptr.address);
      deliver(simt::group::self(), memory + std::uint64_t{block} * block_bytes, from, block_bytes);
    }

   private:
    const node* node_;
  };

  void take(std::uint64_t now) const {
    const handle_ring arrived = node_->send_ring(nic_);
    std::uint64_t head = arrived.head();
    std::uint32_t handle = 0;
    for (std::uint32_t k = 0; k < most && arrived.peek(head, handle); ++k, ++head) {
      io_command& c = node_->commands[handle];
      c.status = 0;
      sender_->submit(now, {.tag = handle,
                            .first = std::uint64_t{c.where.first.value} * block_bytes,
                            .ssd = c.ssd,
                            .blocks = c.where.blocks});
    }
    if (head != arrived.head()) arrived.advance(head);
  }

  void end(std::uint32_t handle) const {
    io_command& c = node_->commands[handle];
    const node::ssd drive = node_->ssds[c.ssd];
    const std::uint32_t blocks = c.where.blocks;
    std::uint32_t pinned[most_transfer_blocks];
    std::copy_n(node_->pages(handle), blocks, pinned);
    c.stage = command_stage::done;
    node_->done_ring(c.queue).push(handle);
    // Last: nobody waits for it. The command is somebody else's by now.
    for (std::uint32_t k = 0; k < blocks; ++k) {
      if (pinned[k] != node::ssd::no_page) drive.unpin(pinned[k]);
    }
  }

  const node* node_;
  std::uint32_t nic_;
  stream_sender* sender_;
};

}  // namespace gnstor::fw

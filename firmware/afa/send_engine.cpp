#include <afa/page_copy.hpp>
#include <afa/send_engine.hpp>
#include <gnstor/simt/clock.hpp>
#include <hca/transfer.hpp>

#include <timing/stream_sender.hpp>

#include <algorithm>
#include <cstring>

namespace gnstor::fw {
namespace {

constexpr std::uint32_t most = 32;  ///< commands per round

}  // namespace

/// Between flash, the NIC's memory and the client's.
class send_engine::data final : public stream_sender::ports {
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

bool send_engine::round() const {
  const std::uint64_t now = simt::now_ns();
  take(now);
  data way(*node_);
  for (const std::uint64_t tag : sender_->run(now, way)) end(static_cast<std::uint32_t>(tag));
  return !sender_->is_idle();
}

void send_engine::take(std::uint64_t now) const {
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

void send_engine::end(std::uint32_t handle) const {
  io_command& c = node_->commands[handle];
  const node::ssd drive = node_->ssds[c.ssd];
  const std::uint32_t blocks = c.where.blocks;
  std::uint32_t pinned[most_transfer_blocks];
  std::copy_n(node_->pages(handle), blocks, pinned);
  node_->refuse_if_dead(c.ssd, c);
  c.stage = command_stage::done;
  node_->done_ring(c.queue).push(handle);
  // Last: nobody waits for it. The command is somebody else's by now.
  for (std::uint32_t k = 0; k < blocks; ++k) {
    if (pinned[k] != node::ssd::no_page) drive.unpin(pinned[k]);
  }
}

}  // namespace gnstor::fw

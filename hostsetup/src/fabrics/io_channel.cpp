#include "io_channel.hpp"

#include "words.hpp"
#include <gnstor/host/error.hpp>
#include <gnstor/simt/clock.hpp>

#include <cstring>

namespace gnstor::host::fabrics {
namespace {

constexpr std::size_t page_aligned(std::size_t n) { return (n + 4095) / 4096 * 4096; }
std::size_t queue_bytes_of(std::uint32_t depth) {
  return page_aligned(proxy_queue_layout::of(depth).bytes);
}
std::size_t state_bytes_of(std::uint32_t depth, bool asynchronous) {
  return page_aligned(proxy_channel::bytes(depth, asynchronous));
}

}  // namespace

io_channel::io_channel(controller& of, place where, bool asynchronous)
    : depth_(of.limits().depth),
      asynchronous_(asynchronous),
      memory_(where, queue_bytes_of(depth_) + state_bytes_of(depth_, asynchronous) + 4096),
      registered_(of.register_memory(memory_.data(), memory_.bytes())),
      channel_(proxy_queue_pair<>(static_cast<unsigned char*>(memory_.data()), depth_),
               static_cast<unsigned char*>(memory_.data()) + queue_bytes_of(depth_), asynchronous),
      slot_(of) {
  open();
}

void io_channel::open() {
  auto* base = static_cast<unsigned char*>(memory_.data());
  controller& of = slot_.of();
  std::memset(base, 0, memory_.bytes());
  const wire::fabrics::connect_data data = of.connect_data();
  const std::size_t at = queue_bytes_of(depth_) + state_bytes_of(depth_, asynchronous_);
  std::memcpy(base + at, &data, sizeof data);
  slot_.join(base, depth_);
  const auto patience = std::chrono::nanoseconds(of.options().timeout).count();
  std::uint32_t value = 0;
  const gnstor::status outcome =
      channel_.connect(slot_.connect(registered_->buffer.slice(at, sizeof data), depth_),
                       simt::within(static_cast<std::uint64_t>(patience)), &value);
  if (outcome.ok()) return;
  throw io_error(
      connect_words({of.peer(), of.options().subsystem, of.host().nqn, queue_id()}, outcome, value),
      outcome);
}

void io_channel::reopen(std::chrono::milliseconds timeout) {
  if (ended()) slot_.renew(timeout, [this] { open(); });
}

}  // namespace gnstor::host::fabrics

#include "io_channel.hpp"

#include "words.hpp"
#include <gnstor/core/bounded.hpp>
#include <gnstor/host/error.hpp>
#include <gnstor/simt/clock.hpp>

#include <fmt/format.h>

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

/// Writes what a Connect says of the present association, and says where.
io_buffer io_channel::write_connect_data() const {
  const wire::fabrics::connect_data data = slot_.of().connect_data();
  const std::size_t at = queue_bytes_of(depth_) + state_bytes_of(depth_, asynchronous_);
  std::memcpy(static_cast<unsigned char*>(memory_.data()) + at, &data, sizeof data);
  return registered_->buffer.slice(at, sizeof data);
}

void io_channel::open() {
  auto* base = static_cast<unsigned char*>(memory_.data());
  controller& of = slot_.of();
  std::memset(base, 0, memory_.bytes());
  const io_buffer data = write_connect_data();
  slot_.join(base, depth_);
  const auto patience = std::chrono::nanoseconds(of.options().timeout).count();
  std::uint32_t value = 0;
  const gnstor::status outcome = channel_.connect(
      slot_.connect(data, depth_), simt::within(static_cast<std::uint64_t>(patience)), &value);
  if (outcome.ok()) return;
  throw io_error(
      connect_words({of.peer(), of.options().subsystem, of.host().nqn, queue_id()}, outcome, value),
      outcome);
}

void io_channel::reopen(std::chrono::milliseconds timeout) {
  if (ended()) slot_.renew(timeout, [this] { open(); });
}

void io_channel::restart(const restart_lanes& lanes, deadline d) {
  lanes(restart_step::bar, {});
  const channel_state& state = channel_.counters();
  const auto word = [](const std::uint64_t& w) {
    return device_word<std::uint64_t>(const_cast<std::uint64_t&>(w)).load(relaxed);
  };
  bool discarded = false;
  for (until more{d}; !discarded && more;) discarded = slot_.discard(word(state.barred_end));
  if (!discarded) {
    throw io_error(
        fmt::format("queue {}: a lane holds a request that it does not write", queue_id()),
        gnstor::status::make(status_code::timed_out, reporter::channel));
  }
  const std::uint64_t next = word(state.barred_first);
  // The association has ended, with all that was sent: nobody writes completions any more.
  lanes(restart_step::settle, {});
  slot_.skip_to(next);
  slot_.resume(static_cast<unsigned char*>(memory_.data()), depth_);
  try {
    lanes(restart_step::connect, slot_.connect(write_connect_data(), depth_));
  } catch (...) {
    slot_.leave_resumed();
    throw;
  }
}

}  // namespace gnstor::host::fabrics

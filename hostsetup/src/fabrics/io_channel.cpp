#include "io_channel.hpp"

#include "words.hpp"
#include <gnstor/host/error.hpp>
#include <gnstor/simt/clock.hpp>

#include <cstring>

namespace gnstor::host::fabrics {
namespace {

constexpr std::size_t align(std::size_t n) { return (n + 4095) / 4096 * 4096; }
std::size_t queue_bytes(std::uint32_t depth) { return align(proxy_queue_layout::of(depth).bytes); }
std::size_t state_bytes(std::uint32_t depth) { return align(proxy_channel::bytes(depth)); }

}  // namespace

io_channel::io_channel(controller& of, place where)
    : controller_(of),
      depth_(of.limits().depth),
      queue_id_(of.take_queue_id()),
      memory_(where, queue_bytes(depth_) + state_bytes(depth_) + 4096),
      channel_(proxy_queue_pair<>(static_cast<unsigned char*>(memory_.data()), depth_),
               static_cast<unsigned char*>(memory_.data()) + queue_bytes(depth_)) {
  try {
    registered_ = of.register_memory(memory_.data(), memory_.bytes());
    association_ = of.association();
    open();
  } catch (...) {
    of.give_queue_id(queue_id_);
    throw;
  }
}

io_channel::~io_channel() {
  link_.reset();
  controller_.give_queue_id(queue_id_);
}

void io_channel::open() {
  auto* base = static_cast<unsigned char*>(memory_.data());
  std::memset(base, 0, memory_.bytes());
  const wire::fabrics::connect_data data = controller_.connect_data();
  const std::size_t at = queue_bytes(depth_) + state_bytes(depth_);
  std::memcpy(base + at, &data, sizeof data);
  link_ = controller_.open_link(queue_id_, base, depth_);
  connect_options said;
  said.data = registered_->buffer.slice(at, sizeof data);
  said.queue_id = queue_id_;
  said.queue_entries = static_cast<std::uint16_t>(depth_);
  const auto patience = std::chrono::nanoseconds(controller_.options().timeout).count();
  std::uint32_t value = 0;
  const gnstor::status outcome =
      channel_.connect(said, simt::within(static_cast<std::uint64_t>(patience)), &value);
  if (outcome.ok()) return;
  link_.reset();
  throw io_error(connect_words({controller_.peer(), controller_.options().subsystem,
                                controller_.host().nqn, queue_id_},
                               outcome, value),
                 outcome);
}

void io_channel::reopen(std::chrono::milliseconds timeout) {
  if (!ended()) return;
  link_.reset();
  const std::uint64_t fresh = controller_.wait_ready(timeout, association_);
  open();
  association_ = fresh;
}

}  // namespace gnstor::host::fabrics

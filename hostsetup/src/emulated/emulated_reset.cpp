/// How a client of the emulated array brings a dead channel back.

#include "emulated_client.hpp"
#include <base/cuda_support.hpp>
#include <gnstor/host/error.hpp>
#include <gnstor/simt/clock.hpp>
#include <link/restart_channel.hpp>

#include <fmt/format.h>

namespace gnstor::host {
namespace {

std::uint64_t left_of(deadline d) {
  const std::uint64_t now = simt::now_ns();
  return d.expired(now) ? 0 : d.at_ns() - now;
}

}  // namespace

void emulated_client::reset(std::uint32_t k, std::uint64_t timeout_ns) {
  if (!array_->resident()) {
    throw input_error(
        "with resident=no the array node runs only beside kernels: a channel cannot be reset; "
        "leave resident=no away");
  }
  const std::lock_guard one_at_a_time(reset_use_);
  const deadline d = simt::within(timeout_ns);
  const std::uint32_t index = kernels_.queues[k];
  restart(k, restart_step::bar, d);
  std::uint64_t first = 0;
  if (!engines_.empty()) first = discard_relayed(k, d);
  array_->drain_queue(index);
  await_drained(index, d);
  restart(k, restart_step::settle, d);
  if (!engines_.empty()) renew_relay(k, first);
  array_->serve_queue(index);
  restart(k, restart_step::connect, d);
}

/// Lets the device of the channel's lanes take one step.
void emulated_client::restart(std::uint32_t k, restart_step step, deadline d) {
  restart_request e;
  e.channel = kernels_.channels + k;
  e.step = step;
  e.options = connecting(kernels_, static_cast<std::uint16_t>(1 + host_.count + k));
  e.timeout_ns = left_of(d);
  e.outcome = reinterpret_cast<std::uint64_t*>(kernels_.outcome) + k;
  if (options_.client == machine::gpu) {
    restart_on_gpu(e, options_.device);
  } else {
    drive([&] {
      simt::lane<> lane;
      restart_channel{}(lane, e);
    });
  }
  std::uint64_t packed = 0;
  copy_out(kernels_.block.where(), options_.device, &packed, e.outcome, sizeof packed);
  const status s = status::unpack(packed);
  if (s.ok()) return;
  throw io_error(fmt::format("resetting channel {}: {}: {}", k, to_text(step), to_string(s)), s);
}

void emulated_client::await_drained(std::uint32_t index, deadline d) {
  bool drained = false;
  const std::function<void()> look = [&] {
    for (until more{d}; !drained && more && !array_->has_failed();)
      drained = array_->is_drained(index);
  };
  drive_in(simt::domain::nic, look);
  if (drained) return;
  throw io_error("resetting a channel: the array did not take back its commands in time",
                 status::make(status_code::timed_out, reporter::nic));
}

/// Takes the channel from the proxy's thread, with all that its lanes have written; the index that
/// they go on with.
std::uint64_t emulated_client::discard_relayed(std::uint32_t k, deadline d) {
  proxy_->remove(*engines_[k]);
  channel_state& state = kernels_.channels[k].counters();
  const std::uint64_t end = device_word<std::uint64_t>(state.barred_end).load(relaxed);
  for (until more{d}; more;) {
    if (engines_[k]->discard(end))
      return device_word<std::uint64_t>(state.barred_first).load(relaxed);
  }
  const status late = status::make(status_code::timed_out, reporter::channel);
  throw io_error(fmt::format("resetting channel {}: {}", k, to_text(restart_step::bar)), late);
}

/// Gives the channel back to the proxy's thread, over an empty queue of the emulated NIC.
void emulated_client::renew_relay(std::uint32_t k, std::uint64_t first) {
  const std::size_t each = kernels_.relay.bytes() / kernels_.count;
  mlx5_format_queue(static_cast<unsigned char*>(kernels_.relay.data()) + k * each, kernels_.depth,
                    emulated_port::queue_type::blocks);
  engines_[k]->restart(first, emulated_port(relays_[k]));
  proxy_->add(*engines_[k]);
}

}  // namespace gnstor::host

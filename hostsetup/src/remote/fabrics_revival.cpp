/// How a session behind RDMA outlives its connection: queues of this CPU and of its kernels are
/// made again.

#include "fabrics_link.hpp"

#if defined(GNSTOR_WITH_RDMA)

#include <base/log.hpp>
#include <gnstor/core/bounded.hpp>
#include <gnstor/host/error.hpp>
#include <gnstor/simt/clock.hpp>
#include <link/restart_channel.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace gnstor::host {
namespace {

constexpr std::chrono::milliseconds longest_wait{60'000};  ///< for a lost association
constexpr std::uint64_t step_timeout_ns = 2'000'000'000;   ///< of a channel's reset
constexpr std::chrono::milliseconds restore_pause{100};    ///< after one that failed

}  // namespace

void fabrics_link::drive(const std::function<void()>& work) {
  using clock = std::chrono::steady_clock;
  const auto until = clock::now() + std::min(controller_->options().loss_timeout, longest_wait);
  for (; !try_drive(work);) {
    // Nothing is held meanwhile: others may go on, or find out that they cannot.
    if (clock::now() > until) throw controller_->loss();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

bool fabrics_link::try_drive(const std::function<void()>& work) {
  if (reviver_ == std::this_thread::get_id()) {
    work();  // it is part of making queues anew
    return true;
  }
  const bool returns = controller_->options().loss_timeout.count() != 0;
  bool left = false;
  for (bounded rounds{3}; rounds;) {
    {
      const std::shared_lock use(queue_use_);
      if (!returns || !queues_->host_ended()) {
        work();
        return true;
      }
      left = queues_->host_left();
      if (!queues_->host_may_return()) break;
    }
    revive([this] { return queues_->revive_host(); });
  }
  if (left) return false;
  const std::unique_lock alone(queue_use_);
  if (queues_->host_ended()) queues_->leave_host();
  return false;
}
void fabrics_link::attach(simt::host::executor&) { revive_all(); }
void fabrics_link::attach(simt::cuda::executor&) { revive_all(); }

/// Makes lost queues again while no other thread uses them.
void fabrics_link::revive(const std::function<bool()>& make) {
  if (reviver_ == std::this_thread::get_id()) return;
  const std::unique_lock alone(queue_use_);
  struct scope {
    explicit scope(std::atomic<std::thread::id>& of) : id(of) { id = std::this_thread::get_id(); }
    ~scope() { id = std::thread::id{}; }
    std::atomic<std::thread::id>& id;
  } const reviving(reviver_);
  if (make()) check_namespaces();
}

std::uint64_t fabrics_link::fresh_starts() const { return queues_->fresh_starts(); }

/// Not of kernels on a GPU: a step would be a kernel beside theirs, for which there need be no
/// room.
bool fabrics_link::restores_channels() const {
  return options_.client == machine::cpu && queues_->restarts_kernels() && controller_->restores();
}

/// Takes one step of a channel's reset.
void fabrics_link::restart(const remote_channel& channel, restart_step step,
                           const connect_options& said) {
  restart_request e;
  e.channel = &channel;
  e.step = step;
  e.options = said;
  e.timeout_ns = std::min(options_.timeout.ns(), step_timeout_ns);
  e.outcome = static_cast<std::uint64_t*>(step_outcome_.data());
  simt::lane<> lane;
  restart_channel{}(lane, e);
  const status s = status::unpack(*e.outcome);
  if (s.ok()) return;
  throw io_error(
      fmt::format("making a kernels' channel again: {}: {}", to_text(step), to_string(s)), s);
}

void fabrics_link::restore_channels() {
  using clock = std::chrono::steady_clock;
  if (!restores_channels() || reviver_ == std::this_thread::get_id()) return;
  {
    const std::shared_lock use(queue_use_);
    if (clock::now() < next_restore_ || !queues_->may_restart_kernels()) return;
  }
  const std::unique_lock alone(queue_use_);
  next_restore_ = clock::now() + restore_pause;  // where it fails
  queues_->restart_kernels([this](const auto& channel, restart_step step,
                                  const auto& said) { restart(channel, step, said); },
                           simt::within(step_timeout_ns));
  next_restore_ = {};
}

/// Has lost channels of the kernels' made again beside those who may use them, where that can be.
void fabrics_link::await_channels() {
  using clock = std::chrono::steady_clock;
  const auto until = clock::now() + std::min(controller_->options().loss_timeout, longest_wait);
  for (; clock::now() < until; std::this_thread::sleep_for(std::chrono::milliseconds(1))) {
    try {
      restore_channels();
    } catch (const error& e) {
      log(log_level::warning, e.what());
      return;
    }
    const std::shared_lock use(queue_use_);
    if (queues_->kernels_work() || queues_->kernels_only_anew()) return;
  }
}

/// There are no queues yet while lanes connect the first.
void fabrics_link::revive_all() {
  if (queues_ && restores_channels()) await_channels();
  if (queues_) revive([this] { return queues_->revive_all(); });
}

void fabrics_link::reset(std::uint32_t k, std::uint64_t) {
  {
    const std::shared_lock use(queue_use_);
    if (queues_->works(k)) {
      throw input_error(fmt::format(
          "channel {} of an rdma:// session works, and cannot be reset by itself: what was given "
          "up on it may still happen until the session ends. What it held, and frames of arrays "
          "that were set aside, come back with the next session",
          k));
    }
  }
  throw input_error(fmt::format(
      "channel {} of an rdma:// session cannot be reset by itself: its association, lost as a "
      "whole, is made again as a whole. End the kernels and attach the next ones to the session",
      k));
}

/// Behind a new association another disk may stand: writing to it would destroy it.
void fabrics_link::check_namespaces() {
  for (const fabrics::namespace_info& was : identities_) {
    const fabrics::namespace_info is = controller_->find_namespace(was.nsid);
    if (is.same_disk(was)) continue;
    queues_->end();
    throw error(
        fmt::format("namespace {} of {} is another one since the connection was lost (its "
                    "size, block size or identifier changed): open the session again",
                    was.nsid, controller_->options().subsystem));
  }
}

}  // namespace gnstor::host

#endif

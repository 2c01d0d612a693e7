#if defined(GNSTOR_WITH_RDMA)

#include "fabrics_queues.hpp"

#include <fabrics/io_channel.hpp>
#include <gnstor/core/bounded.hpp>
#include <gnstor/host/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <exception>

namespace gnstor::host {

fabrics_queues::fabrics_queues(fabrics::controller& of, mlx5::nic_transport& way,
                               const mlx5::kernel_queues_wanted& kernels)
    : patience_(of.options().loss_timeout) {
  const std::uint32_t granted = of.limits().queues;
  const std::uint32_t count = std::min(granted, kernels.count + 1);
  const std::uint32_t shared = count == 1 && kernels.count != 0 ? 1 : 0;
  if (shared != 0 && kernels.transport == transport_kind::nic) {
    throw error(
        "transport=nic: the target grants one I/O queue, which this CPU needs too: let it grant 2 "
        "or more, or use transport=proxy");
  }
  queues_.push_back(
      std::make_unique<fabrics::io_channel>(of, kernels.proxy_reach, kernels.asynchronous));
  mlx5::kernel_queues_wanted rest = kernels;
  rest.count = count - 1;
  mlx5::kernel_queues made = mlx5::kernel_queues::make(of, way, rest);
  for (auto& queue : made.queues) queues_.push_back(std::move(queue));
  if (!made.note.empty()) notes_.push_back(made.note);
  by_nic_ = made.lanes.home != nullptr;
  objects_ = memory_block(made.lanes.home != nullptr ? made.lanes.reach : kernels.proxy_reach,
                          count * sizeof(remote_channel), made.lanes.device);
  for (std::size_t k = 0; k < count; ++k) publish(k);
  if (kernels.count == 0) return;
  kernels_ = static_cast<const remote_channel*>(objects_.data()) + (1 - shared);
  kernel_count_ = count - (1 - shared);
  if (kernel_count_ < kernels.count) {
    notes_.push_back(
        fmt::format("kernels get {} channels instead of {}: the target grants {} I/O "
                    "queues",
                    kernel_count_, kernels.count, granted));
  }
}

/// Tells the users of a queue that has been made, or made again, of its channel.
void fabrics_queues::publish(std::size_t queue) {
  const remote_channel channel = queues_[queue]->channel();
  if (queue == 0) host_ = channel;
  objects_.write(queue * sizeof channel, &channel, sizeof channel);
}

bool fabrics_queues::revive_host() {
  if (kernel_count_ == queues_.size()) return false;
  try {
    return revive(1, {});
  } catch (const io_error&) {
    if (host_may_return()) throw;
    return false;  // lost once more meanwhile
  }
}

bool fabrics_queues::revive_once(std::size_t count, std::chrono::milliseconds patience) {
  bool lost = false;
  for (std::size_t k = 0; k < count; ++k) {
    if (!queues_[k]->ended()) continue;
    if (k == 0) leave_host();  // also where it fails: its memory is empty then
    queues_[k]->reopen(patience);
    if (k == 0) host_left_ = false;
    publish(k);
    lost = true;
  }
  return lost;
}

void fabrics_queues::leave_host() {
  if (host_left_) return;
  queues_.front()->end();
  host_left_ = true;
  ++host_lives_;
}

bool fabrics_queues::revive(std::size_t count, std::chrono::milliseconds patience) {
  // A lane that connects a queue is attached to the session as any kernel is.
  if (reviving_) return false;
  struct scope {
    explicit scope(bool& f) : flag(f) { flag = true; }
    ~scope() { flag = false; }
    bool& flag;
  } const reviving(reviving_);
  // A queue that dies alone takes the association with it, so that those before it follow.
  bool lost = false;
  for (bounded rounds{3}; rounds && revive_once(count, patience);) lost = true;
  return lost;
}

bool fabrics_queues::may_restart_kernels() const {
  return std::any_of(queues_.begin() + static_cast<std::ptrdiff_t>(first_of_kernels()),
                     queues_.end(), [](const auto& queue) { return queue->may_restart(); });
}

bool fabrics_queues::kernels_only_anew() const {
  return std::any_of(queues_.begin() + static_cast<std::ptrdiff_t>(first_of_kernels()),
                     queues_.end(), [](const auto& queue) {
                       return queue->ended() && queue->may_reopen() && !queue->may_restart();
                     });
}

bool fabrics_queues::kernels_work() const {
  return std::none_of(queues_.begin() + static_cast<std::ptrdiff_t>(first_of_kernels()),
                      queues_.end(), [](const auto& queue) { return queue->ended(); });
}

void fabrics_queues::restart_kernels(const restart_kernels_lanes& lanes, deadline d) {
  std::exception_ptr first;
  for (std::size_t k = first_of_kernels(); k < queues_.size(); ++k) {
    if (!queues_[k]->may_restart()) continue;
    const remote_channel& channel = static_cast<const remote_channel*>(objects_.data())[k];
    try {
      queues_[k]->restart(
          [&](restart_step step, const connect_options& said) { lanes(channel, step, said); }, d);
    } catch (const error&) {  // the others may go on
      if (!first) first = std::current_exception();
    }
  }
  if (first) std::rethrow_exception(first);
}

void fabrics_queues::end() {
  for (const auto& queue : queues_) queue->end();
}

}  // namespace gnstor::host

#endif

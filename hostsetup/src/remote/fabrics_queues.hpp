#pragma once

#include <mlx5/kernel_queues.hpp>

#include <atomic>
#include <optional>
#include <string>
#include <vector>

namespace gnstor::host {

/// The I/O queues of a session behind RDMA, with the channels that their users take: the first
/// queue is this CPU's and the proxy's, the others are the kernels'. The only one is shared.
class fabrics_queues {
 public:
  /// Makes as many queues as the controller grants, at most one for this CPU and `kernels.count`.
  /// Throws what `mlx5::kernel_queues::make` throws. Controller and transport outlive the queues.
  fabrics_queues(fabrics::controller& of, mlx5::nic_transport& way,
                 const mlx5::kernel_queues_wanted& kernels);

  const remote_channel& host() const { return *host_; }
  /// In memory that kernels reach; null if there are none for kernels.
  const remote_channel* kernels() const { return kernels_; }
  std::uint32_t kernel_count() const { return kernel_count_; }
  /// Where memory for kernels has to lie: where their channels lie.
  place kernel_reach() const { return objects_.where(); }
  /// What was granted or done otherwise than asked.
  const std::vector<std::string>& notes() const { return notes_; }

  /// Makes lost queues again: all of them, or this CPU's if kernels do not use it and it needs not
  /// wait. True if there were any. Throws what `io_queue::reopen` throws.
  /// @par Callers while nobody uses the queues in question
  bool revive_all() { return revive(queues_.size(), patience_); }
  bool revive_host();
  /// True if `revive_host` would find that one ended.
  bool host_ended() const { return kernel_count_ != queues_.size() && queues_.front()->ended(); }
  /// True if `revive_host` would not wait. Throws `io_error` once the controller has given up.
  bool host_may_return() const { return queues_.front()->may_reopen(); }
  /// Ends this CPU's queue, which has ended, for those who do not wait for another: nothing of what
  /// was sent by it happens any more. @par Callers those of `revive_host`
  void leave_host();
  bool host_left() const { return host_left_; }
  /// Of this CPU's queue: `io_queue::fresh_starts`.
  std::uint64_t fresh_starts() const { return queues_.front()->fresh_starts(); }
  /// How often what was sent by this CPU's queue was given up. Any thread may ask.
  std::uint64_t host_lives() const { return host_lives_; }
  /// True if channel `k` of the kernels' takes requests.
  bool works(std::uint32_t k) const { return !queues_[k + first_of_kernels()]->ended(); }
  /// True if those are made again beside those who use them: the proxy's are.
  bool restarts_kernels() const { return kernel_count_ != 0 && !by_nic_; }
  /// Runs one step for a kernels' channel. Throws `io_error`.
  using restart_kernels_lanes =
      std::function<void(const remote_channel&, restart_step, const connect_options&)>;
  /// True if some queue of the kernels' has ended and `restart_kernels` would make it again.
  bool may_restart_kernels() const;
  /// Makes lost queues of the kernels' again while their lanes use them. Throws the first `error`
  /// when it has tried all.
  void restart_kernels(const restart_kernels_lanes& lanes, deadline d);
  /// True if some have ended that can be made again now, and not beside those who use them.
  bool kernels_only_anew() const;
  /// True if all of them take requests.
  bool kernels_work() const;
  /// Ends all queues for good.
  void end();

 private:
  std::size_t first_of_kernels() const { return queues_.size() - kernel_count_; }
  bool revive(std::size_t count, std::chrono::milliseconds patience);
  bool revive_once(std::size_t count, std::chrono::milliseconds patience);
  void publish(std::size_t queue);

  std::chrono::milliseconds patience_;
  std::vector<std::unique_ptr<fabrics::io_queue>> queues_;
  memory_block objects_;  ///< what kernels read: a `remote_channel` for each queue
  std::optional<remote_channel> host_;
  const remote_channel* kernels_ = nullptr;
  std::uint32_t kernel_count_ = 0;
  bool by_nic_ = false;  ///< kernels' queues are the NIC's own
  std::vector<std::string> notes_;
  bool reviving_ = false;
  std::atomic<std::uint64_t> host_lives_{0};
  bool host_left_ = false;
};

}  // namespace gnstor::host

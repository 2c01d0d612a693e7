#pragma once

#include <gnstor/wire/nvme/arbitration.hpp>

#include <cuda/std/bit>

#include <type_traits>

namespace gnstor::fw {

using wire::nvme::arbitration;
using wire::nvme::queue_class;

/// Decides from which submission queue the next command is fetched: weighted round robin with
/// urgent priority class. NVMe Base 2.3, 3.4.4.2.
///
/// The admin queue comes first, then urgent queues in turn, then the high, medium and low class,
/// each as many commands a round as its weight says; within a class queues take turns, a burst
/// each. A class that runs out of commands loses what is left of its round. Where all queues always
/// have commands, class c gets weight(c) of the sum of weights, and its queues get equal shares;
/// with bursts without limit the queue that has its turn keeps it while it has commands.
/// @par Callers one owner
class queue_arbiter {
 public:
  static constexpr std::uint32_t most_queues = 64;
  static constexpr std::uint32_t none = ~0u;

  GNSTOR_HD explicit queue_arbiter(const arbitration& a = {}) : rules_(a) {}

  /// New weights: a round begins.
  GNSTOR_HD void set(const arbitration& a) {
    rules_ = a;
    for (std::uint32_t& c : credit_) c = 0;
    for (turn& t : turn_) t.left = 0;
  }
  GNSTOR_HD const arbitration& rules() const { return rules_; }
  /// @param queue below `most_queues`
  GNSTOR_HD void add(std::uint32_t queue, queue_class c) {
    remove(queue);
    members_[static_cast<std::uint32_t>(c)] |= bit(queue);
  }
  GNSTOR_HD void remove(std::uint32_t queue) {
    for (std::uint64_t& m : members_) m &= ~bit(queue);
  }

  /// The queue whose command is next, or `none`.
  /// @param waiting a bit for each queue that has commands
  GNSTOR_HD std::uint32_t next(std::uint64_t waiting) {
    for (const queue_class strict : {queue_class::admin, queue_class::urgent}) {
      const auto c = static_cast<std::uint32_t>(strict);
      if ((members_[c] & waiting) != 0) return of_class(c, waiting);
    }
    for (int round = 0; round < 2; ++round) {
      for (std::uint32_t c = 1; c < classes; ++c) {
        if ((members_[c] & waiting) == 0) {
          credit_[c] = 0;
        } else if (credit_[c] != 0) {
          --credit_[c];
          return of_class(c, waiting);
        }
      }
      for (std::uint32_t c = 1; c < classes; ++c)
        credit_[c] = rules_.weight(static_cast<queue_class>(c));
    }
    return none;
  }

 private:
  static constexpr std::uint32_t classes = 4;  ///< urgent, high, medium, low

  GNSTOR_HD static constexpr std::uint64_t bit(std::uint32_t queue) {
    return std::uint64_t{1} << queue;
  }
  /// The queue whose turn it is within a class: the present one until its burst is over.
  GNSTOR_HD std::uint32_t of_class(std::uint32_t c, std::uint64_t waiting) {
    const std::uint64_t here = members_[c] & waiting;
    turn& t = turn_[c];
    if (t.left != 0 && (here & bit(t.queue)) != 0) {
      --t.left;
      return t.queue;
    }
    const std::uint64_t behind = t.queue + 1 < most_queues ? here >> (t.queue + 1) : 0;
    t.queue = behind != 0 ? t.queue + 1 + static_cast<std::uint32_t>(cuda::std::countr_zero(behind))
                          : static_cast<std::uint32_t>(cuda::std::countr_zero(here));
    t.left = rules_.burst() - 1;
    return t.queue;
  }

  struct turn {
    std::uint32_t queue = most_queues - 1;
    std::uint32_t left = 0;  ///< of its burst
  };
  arbitration rules_;
  std::uint64_t members_[classes + 1] = {};  ///< queues of each class, then the admin queue
  std::uint32_t credit_[classes] = {};
  turn turn_[classes + 1];
};

static_assert(std::is_trivially_copyable_v<queue_arbiter>);

}  // namespace gnstor::fw

#pragma once

#include <gnstor/qp/nvme_striped_rings.hpp>
#include <gnstor/qp/restartable_queue_pair.hpp>
#include <gnstor/qp/ring_queue_pair.hpp>
#include <gnstor/qp/sharing/shared.hpp>

namespace gnstor::inline v0 {

/// One queue pair over the queues of several local NVMe controllers, driven by any number of lanes:
/// commands go to the controller that their NSID names (`member_nsid`), completions come from all.
///
/// So a channel has one table of requests, one life and one deadline for all of them, and nothing
/// above it knows how many there are.
class nvme_striped_queue_pair {
  using indices = detail::ring_queue_pair<detail::nvme_striped_rings, sharing::shared>;

 public:
  /// As of `nvme_striped_rings`.
  GNSTOR_HD nvme_striped_queue_pair(unsigned char* memory, std::uint32_t depth, std::uint32_t count)
      : indices_(detail::nvme_striped_rings(memory, depth, count)) {}

  GNSTOR_HD const detail::nvme_striped_rings& rings() const { return indices_.rings(); }
  GNSTOR_HD std::uint32_t depth() const { return indices_.depth(); }

  GNSTOR_HD result<std::uint64_t> try_reserve(std::uint32_t n) const {
    return indices_.try_reserve(n);
  }
  GNSTOR_HD void write_send(std::uint64_t index,
                            const wire::nvme::submission_entry& command) const {
    indices_.write_send(index, command);
  }
  GNSTOR_HD void write_nop(std::uint64_t index) const { indices_.write_nop(index); }
  /// As of `nvme_pcie_queue_pair`; what is published is retired, as each command has its entry in a
  /// controller's queue by then.
  GNSTOR_HD void publish(std::uint64_t first, std::uint32_t n) const {
    indices_.publish(first, n);
    retire(first + n - 1);
  }

  /// Rings the doorbell of each controller that does not know of everything.
  /// @par Callers one lane of a group
  GNSTOR_HD void ring() const {
    const std::uint64_t known = word(state().published).load(acquire);
    bool all = true;
    for (std::uint32_t k = 0; k < rings().count(); ++k) {
      const auto& q = rings().at(k);
      // In this order: what was reserved when `known` was published is published, or is not
      // announced.
      const std::uint64_t reserved = rings().reserved(k).load(relaxed);
      const std::uint64_t published = q.published();
      all = all && published >= reserved;
      if (q.announced() != published) q.ring();
    }
    if (all) word(state().announced).fetch_max(known, relaxed);
  }

  /// Takes up to one completion a lane, all of one controller: that whose turn it is, or the next
  /// that has any.
  /// @par Callers, Result, Order as of `nvme_pcie_queue_pair`
  /// @par Bound one look at each controller
  GNSTOR_HD completion poll(const simt::group& g) const {
    const std::uint32_t count = rings().count();
    std::uint32_t turn = 0;
    if (g.leads()) turn = device_word<std::uint32_t>(state().turn).load(relaxed);
    turn = g.broadcast(turn);
    for (std::uint32_t from = 0; from < count; from += g.size()) {
      const std::uint32_t mine = from + g.thread_rank();
      const std::uint32_t ready = g.ballot(mine < count && has_any((turn + mine) % count));
      if (ready == 0) continue;
      const auto first = static_cast<std::uint32_t>(cuda::std::countr_zero(ready));
      const std::uint32_t k = (turn + from + first) % count;
      if (g.leads()) device_word<std::uint32_t>(state().turn).store((k + 1) % count, relaxed);
      return rings().at(k).poll(g);
    }
    return completion{};
  }

  /// Frees every index that is published: controllers answer in any order, so that an answer says
  /// nothing of the commands before it. Not those of a life that is yet to be opened: that is what
  /// retiring the index before it, or its first one, does.
  GNSTOR_HD void retire(std::uint64_t index) const {
    // Paired with the exchange of a restart, which comes after it has closed the life.
    const std::uint64_t published = word(state().published).load(acquire);
    const std::uint64_t closed = word(state().closed).load(relaxed);
    if (closed != 0 && index + 1 >= closed) {
      word(state().closed).store(0, relaxed);
    } else if (closed != 0 && published >= closed) {
      return;
    }
    indices_.retire(published - 1);
  }
  GNSTOR_HD command_id sent_id(std::uint64_t index) const { return indices_.sent_id(index); }
  GNSTOR_HD std::uint64_t published() const { return indices_.published(); }
  GNSTOR_HD std::uint64_t announced() const { return word(state().announced).load(relaxed); }
  /// Nothing: every completion queue entry is the controllers' from the beginning.
  GNSTOR_HD void post_receives() const {}

  GNSTOR_HD queue_bar bar() const { return indices_.bar(); }
  GNSTOR_HD bool is_written(std::uint64_t end) const { return indices_.is_written(end); }
  /// Completions taken, of all controllers.
  GNSTOR_HD std::uint64_t taken() const {
    std::uint64_t all = 0;
    for (std::uint32_t k = 0; k < rings().count(); ++k) all += rings().at(k).taken();
    return all;
  }
  GNSTOR_HD bool restart(std::uint64_t next) const { return indices_.restart(next); }
  GNSTOR_HD bool open(std::uint64_t next) const { return indices_.open(next); }

 private:
  GNSTOR_HD nvme_striped_state& state() const { return rings().state(); }
  GNSTOR_HD static device_word<std::uint64_t> word(std::uint64_t& w) {
    return device_word<std::uint64_t>(w);
  }
  /// True if controller `k` has a completion that nobody has taken.
  GNSTOR_HD bool has_any(std::uint32_t k) const {
    const auto& q = rings().at(k);
    const std::uint64_t at = q.taken();
    return q.rings().is_valid(q.rings().tail(at), at);
  }

  indices indices_;
};

static_assert(restartable_queue_pair<nvme_striped_queue_pair>);
static_assert(std::is_trivially_copyable_v<nvme_striped_queue_pair> &&
              sizeof(nvme_striped_queue_pair) == 16);

}  // namespace gnstor::inline v0

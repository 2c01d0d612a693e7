#pragma once

#include <gnstor/channel/channel.hpp>
#include <gnstor/channel/response_status.hpp>
#include <gnstor/core/deadline.hpp>
#include <gnstor/qp/nvme_pcie_queue_pair.hpp>
#include <gnstor/simt/clock.hpp>
#include <gnstor/wire/nvme/read_write.hpp>

#include <type_traits>

namespace gnstor::inline v0 {

/// What the threads of a block share to drive a queue of their own: in the block's shared memory,
/// as a kernel's `struct shared`, or part of it.
/// @tparam Threads of the block, a power of two up to 1024
template <std::uint32_t Threads>
struct nvme_block_words {
  static_assert(Threads <= 1024 && (Threads & (Threads - 1)) == 0);
  std::uint64_t sent;              ///< submission entries written, all lives together
  std::uint64_t taken;             ///< completion entries taken
  std::uint64_t given;             ///< of those, given back
  std::uint64_t slot[Threads];     ///< generation, id and state of each thread's request
  std::uint64_t outcome[Threads];  ///< `status::pack()`
  std::uint32_t count;             ///< requests that this round submits
  std::uint32_t left;              ///< that are not answered
  std::uint32_t missing;           ///< `Threads` less the completions that are there
  std::uint32_t over;
};

/// A local controller's queue that one block owns: every thread has one request under way, all of
/// them up to 1,024, and nothing of it needs an atomic beyond the block.
///
/// The block goes through four stages together: commands are written, one thread rings once for
/// all, completions are taken as they come, and each goes to the thread whose command id it has. It
/// is faster than a shared channel where whole blocks ask at once, and of no use where single lanes
/// do (AiSIO's `cmd_io`, with statuses by id and with deadlines).
///
/// A request that its deadline ends keeps its thread's slot, and its buffer, until its late answer
/// was taken: until then that thread's next requests end with `would_block`.
/// @tparam Threads of the block
template <std::uint32_t Threads>
class nvme_block_queue {
 public:
  using words_type = nvme_block_words<Threads>;
  using queue_type = nvme_pcie_queue_pair<>;

  /// Takes a channel over, which nobody else uses until `release`. Its depth is `Threads` at least.
  /// @par Callers every thread of the block
  template <class Lane>
  GNSTOR_HD nvme_block_queue(Lane& lane, words_type& words, const queue_type& queue)
      : words_(&words), queue_(queue) {
    GNSTOR_VERIFY(queue.depth() >= Threads && lane.block_threads() == Threads);
    if (lane.thread() == 0) {
      const nvme_pcie_queue_state& s = queue.rings().state();
      words_->sent =
          device_word<std::uint64_t>(const_cast<std::uint64_t&>(s.reserved)).load(acquire);
      words_->taken = words_->given =
          device_word<std::uint64_t>(const_cast<std::uint64_t&>(s.consumed)).load(acquire);
    }
    words_->slot[lane.thread()] = 0;
    lane.sync_block();
  }

  /// Sends a command for each thread that `wants`, and waits for all answers.
  /// @par Callers every thread of the block
  /// @par Result each thread its own; ok for one that wants nothing
  /// @par Order as `channel::wait`
  /// @par Bound `d`, which is thread 0's
  /// @par Errors nvme_error with the controller's status; timed_out; would_block: see above
  template <class Lane>
  GNSTOR_HD status execute(Lane& lane, const wire::nvme::submission_entry& command, bool wants,
                           deadline d) {
    const bool sent = submit(lane, command, wants);
    commit(lane);
    for (until more{d}; reap(lane, more);) continue;
    return dispatch(lane, wants, sent);
  }

  /// Hands the channel back: to a shared user, or to the next block. False if a request that was
  /// given up is not answered yet: its late answer could be taken for another's, so that the
  /// channel has to be reset first.
  /// @par Callers every thread of the block
  template <class Lane>
  GNSTOR_HD bool release(Lane& lane) {
    if (lane.thread() == 0) words_->left = 0;
    lane.sync_block();
    if ((words_->slot[lane.thread()] & state_bits) != idle)
      word<std::uint32_t>(words_->left).fetch_add(1, relaxed);
    lane.sync_block();
    if (lane.thread() != 0) return words_->left == 0;
    nvme_pcie_queue_state& s = queue_.rings().state();
    queue_.rings().announce(words_->sent, words_->taken);
    put(s.published, words_->sent);
    put(s.retired, words_->sent);
    put(s.consumed, words_->taken);
    put(s.reserved, words_->sent);
    return words_->left == 0;
  }

 private:
  static constexpr std::uint32_t late_at_once = 32;
  enum : std::uint64_t { idle = 0, pending = 1, answered = 2, abandoned = 3, state_bits = 3 };
  template <class T>
  using word = atomic_ref<T, thread_scope_block>;

  GNSTOR_HD static void put(std::uint64_t& to, std::uint64_t value) {
    device_word<std::uint64_t>(to).store(value, gnstor::release);
  }

  /// The id of a thread's request: its slot, and a generation that tells a late answer.
  GNSTOR_HD static std::uint16_t id_of(std::uint64_t slot, std::uint32_t thread) {
    return static_cast<std::uint16_t>((slot >> 2) * Threads + thread);
  }

  /// Writes the thread's command. True if it was written.
  template <class Lane>
  GNSTOR_HD bool submit(Lane& lane, wire::nvme::submission_entry command, bool wants) {
    const std::uint32_t me = lane.thread();
    if (me == 0) {
      words_->count = 0;
      words_->missing = 0;
    }
    lane.sync_block();
    const std::uint64_t before = words_->slot[me];
    const bool sends = wants && (before & state_bits) == idle;
    if (sends) {
      const std::uint64_t next = ((before >> 2) + 1) << 2 | pending;
      words_->slot[me] = next;
      const std::uint32_t rank = word<std::uint32_t>(words_->count).fetch_add(1, relaxed);
      command.command_id = id_of(next, me);
      queue_.write_send(words_->sent + rank, command);
    }
    lane.sync_block();
    return sends;
  }

  /// Rings once for all.
  template <class Lane>
  GNSTOR_HD void commit(Lane& lane) {
    if (lane.thread() == 0) {
      words_->sent += words_->count;
      words_->left = words_->count;
      words_->given = words_->taken;
      queue_.rings().announce(words_->sent, words_->given);
    }
    lane.sync_block();
  }

  /// Takes the completions that are there, each by a thread of its own. False when all requests are
  /// answered, or their time is over.
  template <class Lane>
  GNSTOR_HD bool reap(Lane& lane, until& more) {
    const std::uint32_t me = lane.thread();
    const auto rings = queue_.rings();
    const std::uint64_t at = words_->taken + me;
    // Of those behind what is under way, a few: answers that come late.
    const bool looks = me < words_->left + late_at_once;
    const std::uint32_t tail = looks ? rings.tail(at) : 0;
    if (!looks || !rings.is_valid(tail, at))
      word<std::uint32_t>(words_->missing).fetch_max(Threads - me, relaxed);
    lane.sync_block();
    const std::uint32_t ready = Threads - words_->missing;
    if (me < ready) deliver(rings.decode(at, tail).response);
    lane.sync_block();
    if (me == 0) {
      words_->taken += ready;
      if (words_->taken - words_->given >= nvme_pcie_queue_layout::entries_kept(queue_.depth())) {
        words_->given = words_->taken;
        rings.announce(words_->sent, words_->given);
      }
      words_->missing = 0;
      if (ready != 0) more.progressed();
      words_->over = words_->left == 0 || !more ? 1 : 0;
    }
    lane.sync_block();
    return words_->over == 0;
  }

  /// Gives a completion to the thread whose command it answers; to nobody if that gave it up.
  GNSTOR_HD void deliver(const wire::nvme::completion_entry& response) {
    const std::uint32_t owner = response.command_id & (Threads - 1);
    const std::uint64_t slot = words_->slot[owner];
    if (id_of(slot, owner) != response.command_id) return;
    if ((slot & state_bits) == abandoned) {
      words_->slot[owner] = slot & ~std::uint64_t{state_bits};
    } else if ((slot & state_bits) == pending) {
      words_->outcome[owner] = detail::response_status(response).pack();
      words_->slot[owner] = (slot & ~std::uint64_t{state_bits}) | answered;
      word<std::uint32_t>(words_->left).fetch_sub(1, relaxed);
    }
  }

  /// What became of the thread's request.
  template <class Lane>
  GNSTOR_HD status dispatch(Lane& lane, bool wants, bool sent) {
    const std::uint32_t me = lane.thread();
    if (!wants) return status{};
    if (!sent) return status::make(status_code::would_block, reporter::channel);
    const std::uint64_t slot = words_->slot[me];
    const bool here = (slot & state_bits) == answered;
    words_->slot[me] = (slot & ~std::uint64_t{state_bits}) | (here ? idle : abandoned);
    return here ? status::unpack(words_->outcome[me])
                : status::make(status_code::timed_out, reporter::channel);
  }

  words_type* words_;
  queue_type queue_;
};

}  // namespace gnstor::inline v0

#pragma once

#include <gnstor/qp/mlx5_queue_pair.hpp>
#include <gnstor/qp/owned_queue.hpp>

namespace gnstor::inline v0 {

/// An mlx5 reliable connection that one warp drives alone: no index is asked for, none is claimed.
///
/// What every lane may call alone says so; all else is the whole group's, converged, with the same
/// arguments, so that each lane counts the same. A copy goes its own way: use one.
template <thread_scope Scope = thread_scope_system, capsule_placement Capsule = capsule::by_pointer>
class mlx5_owned_queue {
 public:
  using shared_type = mlx5_queue_pair<Scope, sharing::shared, Capsule>;

  /// Takes `shared` over, as far as it has come. Nobody else uses it until `save`.
  GNSTOR_HD_INLINE explicit mlx5_owned_queue(const shared_type& shared) : rings_(shared.rings()) {
    mlx5_queue_state& state = rings_.state();
    reserved_ = word(state.reserved).load(relaxed);
    retired_ = word(state.retired).load(relaxed);
    consumed_ = word(state.consumed).load(relaxed);
    received_ = word(state.received).load(relaxed);
    given_ = rings_.given(received_);
    announced_ = rings_.announced(reserved_);
  }

  GNSTOR_HD_INLINE std::uint32_t depth() const { return rings_.depth(); }

  /// Hands out `n` consecutive send indices, or would_block.
  GNSTOR_HD_INLINE result<std::uint64_t> try_reserve(std::uint32_t n) {
    if (n == 0 || n > depth())
      return status::make(status_code::invalid_argument, reporter::queue_pair);
    if (reserved_ + n - retired_ > depth())
      return status::make(status_code::would_block, reporter::queue_pair);
    const std::uint64_t first = reserved_;
    reserved_ += n;
    return first;
  }

  /// Writes the send entry `index` for a 64-byte command capsule.
  /// @par Callers the lane whose index it is
  GNSTOR_HD_INLINE void write_send(std::uint64_t index,
                                   const wire::nvme::submission_entry& capsule) const {
    rings_.write_send(index, capsule);
  }

  /// Tells the NIC of everything reserved, which is written by now, and gives receives back.
  /// @par Order entries before the doorbell record, the record before the register
  GNSTOR_HD_INLINE void ring(const simt::group& g) {
    g.sync();
    if (g.leads()) rings_.announce(reserved_, received_);
    announced_ = reserved_;
    given_ = received_;
  }
  GNSTOR_HD_INLINE std::uint64_t reserved() const { return reserved_; }
  GNSTOR_HD_INLINE std::uint64_t announced() const { return announced_; }

  /// Takes up to one completion a lane, the lowest ranks first; how many, the same in every lane.
  /// @param mine the lane's, or kind `none`; untouched if there was none for any lane
  /// @par Order acquires what the NIC wrote before the entry, for the lane that has it; for others
  /// after `g.sync()`
  /// @par Bound one look
  GNSTOR_HD_INLINE std::uint32_t poll(const simt::group& g, completion& mine) {
    const std::uint64_t at = consumed_ + g.thread_rank();
    const std::uint32_t tail = rings_.tail(at);
    const bool valid = rings_.is_valid(tail, at);
    if (!g.any(valid)) return 0;  // the usual answer: nothing else is computed for it
    mine = completion{};
    const std::uint32_t ready = g.leading(valid);
    if (ready == 0) return 0;
    if (g.thread_rank() < ready) mine = rings_.decode(at, tail, [this] { return reserved_; });
    consumed_ += ready;
    count_receives(g, g.count(mine.kind == completion_kind::response));
    return ready;
  }

  /// Request `index` and all before it have left the send queue.
  GNSTOR_HD_INLINE void retire(std::uint64_t index) {
    if (retired_ <= index) retired_ = index + 1;
  }

  /// As `mlx5_queue_pair::sent_id`.
  /// @par Callers any lane of the group
  GNSTOR_HD_INLINE command_id sent_id(std::uint64_t index) const { return rings_.sent_id(index); }

  /// Writes down how far the queue pair has come.
  /// @par Order none: whoever hands the queue pair over releases
  GNSTOR_HD_INLINE void save(const simt::group& g) const {
    if (!g.leads()) return;
    mlx5_queue_state& state = rings_.state();
    word(state.reserved).store(reserved_, relaxed);
    word(state.published).store(reserved_, relaxed);
    word(state.retired).store(retired_, relaxed);
    word(state.consumed).store(consumed_, relaxed);
    word(state.received).store(received_, relaxed);
  }

 private:
  GNSTOR_HD_INLINE static device_word<std::uint64_t> word(std::uint64_t& w) {
    return device_word<std::uint64_t>(w);
  }

  /// As `mlx5_queue_pair`: with the next doorbell, or when half of the ring is used.
  GNSTOR_HD_INLINE void count_receives(const simt::group& g, std::uint32_t n) {
    received_ += n;
    if (received_ - given_ < mlx5_queue_layout::receives_kept(depth())) return;
    g.sync();  // all have read what lay in them
    if (g.leads()) rings_.give_receives(received_);
    given_ = received_;
  }

  detail::mlx5_rings<Scope, Capsule> rings_;
  std::uint64_t reserved_;
  std::uint64_t announced_;
  std::uint64_t retired_;
  std::uint64_t consumed_;
  std::uint64_t received_;
  std::uint64_t given_;  ///< of these, the receives given back
};

static_assert(owned_queue<mlx5_owned_queue<>>);

}  // namespace gnstor::inline v0

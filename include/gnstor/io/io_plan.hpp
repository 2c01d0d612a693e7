#pragma once

#include <gnstor/core/bounded.hpp>
#include <gnstor/core/deadline.hpp>
#include <gnstor/core/divisor.hpp>
#include <gnstor/core/hash.hpp>
#include <gnstor/core/status.hpp>
#include <gnstor/io/epoch_board.hpp>
#include <gnstor/io/io_step.hpp>
#include <gnstor/io/memory_cursor.hpp>
#include <gnstor/io/placement.hpp>
#include <gnstor/io/round_robin_placement.hpp>
#include <gnstor/io/volume_info.hpp>
#include <gnstor/wire/afa/slba.hpp>

#include <cuda/std/bit>

namespace gnstor::detail {

/// How a request to a volume becomes commands: pieces within stripes and transfer limits, and for
/// each piece the commands to the SSDs that the placement names. Sends nothing.
template <placement Placement>
class io_plan {
  using opcode = wire::nvme::nvm_opcode;

 public:
  GNSTOR_HD io_plan(const volume_info& info, Placement where)
      : info_(info),
        placement_(where),
        stripe_(info.stripe_blocks),
        lbas_(info.plain() ? info.unit_bytes() / info.lba_bytes : 1) {}

  GNSTOR_HD const volume_info& info() const { return info_; }
  /// The same, reading from another SSD than `ssd` wherever a replica in sync is on another.
  GNSTOR_HD io_plan avoiding(ssd_index ssd) const {
    io_plan other = *this;
    if (!info_.plain() && ssd.value < 64) other.info_.filling |= std::uint64_t{1} << ssd.value;
    return other;
  }

  /// The same in another epoch of the array.
  GNSTOR_HD io_plan in(const array_epoch& now) const {
    io_plan other = *this;
    other.info_.epoch = now.number;
    if constexpr (std::is_same_v<Placement, rendezvous_placement>) {
      if (now.ssd_count != 0) other.placement_ = Placement(now.ssd_count);
      if (now.ssd_count != 0) other.info_.ssd_count = now.ssd_count;
    }
    other.info_.set_membership(now.absent, now.filling, now.others);
    return other;
  }

  /// What is asked: a range of blocks, until when, and which of its pieces are this lane's.
  struct range {
    vba first{};
    std::uint32_t blocks = 0;
    deadline ends;
    std::uint32_t mine = 0;
    std::uint32_t of = 1;
  };
  /// Blocks of one stripe, one command per replica.
  struct piece {
    vba first{};  ///< where the SSD has it: of a striped volume another than the volume's address
    std::uint32_t blocks = 0;
    io_buffer buffer{};
    replica_set where{};
  };

  /// What is wrong with a range, before anything is sent.
  template <class Data>
  GNSTOR_HD status checked(const range& r, const Data& data) const {
    if (std::uint64_t{r.first.value} + r.blocks > info_.capacity_blocks) {
      return status::make(status_code::out_of_range, reporter::volume);
    }
    if (r.blocks == 0 || data.total() < std::uint64_t{r.blocks} << info_.unit_shift ||
        !data.whole(info_.unit_bytes())) {
      return status::make(status_code::invalid_argument, reporter::volume);
    }
    return status{};
  }

  /// A walk over the pieces of a range.
  template <class Data>
  struct walk {
    range of{};
    Data data;
    std::uint32_t done = 0;    ///< blocks; the last block of the largest volume has the last
                               ///< address there is, so that the end has none
    std::uint32_t number = 0;  ///< pieces
  };
  /// The next piece that is this lane's. False at the end.
  template <class Data>
  GNSTOR_HD bool next(opcode op, walk<Data>& at, piece& p) const {
    const range& r = at.of;
    for (bounded left{r.blocks}; left && at.done < r.blocks;) {
      const std::uint32_t first = r.first.value + at.done;
      const std::uint32_t n =
          at.data.blocks(piece_blocks(op, first, r.blocks - at.done), info_.unit_shift);
      const io_buffer part = at.data.take(n, info_.unit_shift);
      at.done += n;
      if (at.number++ % r.of != r.mine) continue;
      p = make_piece(op, first, n, part);
      return true;
    }
    return false;
  }
  /// Calls `visit` with each piece of the range that is this lane's.
  template <class Data, class Visit>
  GNSTOR_HD void for_pieces(opcode op, const range& r, const Data& data, const Visit& visit) const {
    walk<Data> at{r, data};
    piece p;
    for (bounded left{r.blocks}; left && next(op, at, p);) visit(p);
  }

  /// Commands of a piece: one for each replica, but one read for all of them.
  GNSTOR_HD static std::uint32_t steps(opcode op, const piece& p) {
    return op == opcode::read ? 1 : p.where.count;
  }
  GNSTOR_HD io_step step(opcode op, const piece& p, std::uint32_t k) const {
    return op == opcode::read ? reading(p) : writing(op, p, k);
  }
  /// A read by any replica, balanced by address.
  GNSTOR_HD io_step reading(const piece& p) const {
    io_step s = step_of(opcode::read, p);
    s.candidates = static_cast<std::uint8_t>(p.where.count);
    const std::uint64_t drawn = mix32(p.first.value);
    const auto turn = static_cast<std::uint32_t>(drawn * p.where.count >> 32);
    s.ssds = p.where.ssd.rotated(turn, p.where.count);
    return s;
  }
  /// A write of replica `k`.
  GNSTOR_HD io_step writing(opcode op, const piece& p, std::uint32_t k) const {
    io_step s = step_of(op, p);
    s.ssds = p.where.ssd[k].value;
    return s;
  }

  /// All commands of a range, one after another.
  template <class Data>
  struct range_steps {
    const io_plan& plan;
    opcode op;
    walk<Data> at;
    piece now{};
    std::uint32_t left = 0;  ///< of the piece

    /// The next one. False at the end.
    GNSTOR_HD bool operator()(io_step& s) {
      if (left == 0) {
        if (!plan.next(op, at, now)) return false;
        left = steps(op, now);
      }
      s = plan.step(op, now, steps(op, now) - left--);
      return true;
    }
  };
  template <class Data>
  GNSTOR_HD range_steps<Data> steps_of(opcode op, const range& r, const Data& data) const {
    return {*this, op, {r, data}};
  }

  /// Commands of a flush: one for each SSD that is not absent.
  GNSTOR_HD std::uint32_t flush_steps() const {
    if (info_.plain() && !info_.striped()) return 1;
    if (!info_.others.any())
      return info_.ssd_count - static_cast<std::uint32_t>(cuda::std::popcount(info_.absent));
    return static_cast<std::uint32_t>(cuda::std::popcount(info_.ssds() & ~info_.absent));
  }
  GNSTOR_HD io_step flush_step(std::uint32_t k) const {
    io_step s;
    s.opcode = opcode::flush;
    s.namespace_id = info_.namespace_id;
    s.ssds = present(k);
    return s;
  }
  /// The commands of a flush, as `range_steps`.
  struct all_flush_steps {
    const io_plan& plan;
    std::uint32_t done = 0;

    GNSTOR_HD bool operator()(io_step& s) {
      if (done == plan.flush_steps()) return false;
      s = plan.flush_step(done++);
      return true;
    }
  };

 private:
  /// The `k`-th SSD that is not absent.
  GNSTOR_HD std::uint32_t present(std::uint32_t k) const {
    if (info_.absent == 0 && !info_.others.any()) return k;
    const std::uint64_t serve = info_.ssds() & ~info_.absent;
    std::uint32_t ssd = 0;
    for (std::uint32_t left = k; ssd < max_ssds; ++ssd) {
      if ((serve >> ssd & 1) != 0 && left-- == 0) break;
    }
    return ssd;
  }
  /// Blocks of the piece that starts at `at`: up to the stripe's end, the transfer limit, or the
  /// request's end.
  GNSTOR_HD std::uint32_t piece_blocks(opcode op, std::uint32_t at, std::uint32_t left) const {
    std::uint32_t n = info_.stripe_blocks - stripe_.remainder(at);
    const std::uint32_t most =
        op == opcode::write_zeroes
            ? wire::nvme::max_command_blocks * info_.lba_bytes >> info_.unit_shift
            : info_.max_transfer_blocks;
    if (n > most) n = most;
    return n < left ? n : left;
  }

  GNSTOR_HD piece make_piece(opcode op, std::uint32_t at, std::uint32_t n,
                             const io_buffer& buffer) const {
    piece p;
    p.first = vba(at);
    p.blocks = n;
    p.buffer = buffer;
    if (info_.striped()) {
      const dealt d = dealt_out(stripe_.quotient(at), info_.ssd_count);
      p.where = d.where;
      p.first = vba(d.row * stripe_.value() + stripe_.remainder(at));
      return p;
    }
    p.where =
        placement_.replicas(info_.vid, info_.hash_factor, stripe_.quotient(at), info_.replicas);
    if ((info_.absent | info_.filling | info_.others.bits) != 0)
      p.where =
          serving(p.where, info_.others, info_.absent, op == opcode::read ? info_.filling : 0);
    return p;
  }
  /// Stripe `stripe` of a striped volume: its SSD, and which of that one's stripes it is.
  struct dealt {
    replica_set where{};
    std::uint32_t row = 0;
  };
  GNSTOR_HD_SLOW static dealt dealt_out(std::uint32_t stripe, std::uint32_t ssd_count) {
    const round_robin_placement turns(ssd_count);
    return {turns.replicas(volume_id(0), 0, stripe, 1), turns.row(stripe)};
  }
  /// The replicas that take part in this epoch: reads go to those in sync. Where nobody is left
  /// they go to who is avoided or being filled, else to who is absent; who is filled or absent
  /// answers with an error.
  /// By value, so that kernels need not keep in memory what they hold in registers.
  GNSTOR_HD_SLOW static replica_set serving(const replica_set placed,
                                            const wire::afa::stand_ins others, std::uint64_t absent,
                                            std::uint64_t unread) {
    replica_set kept = placed.served(others, absent | unread);
    if (kept.count == 0) kept = placed.served(others, absent);
    return kept.count != 0 ? kept : placed;
  }

  /// The command of a piece, for SSDs yet to be named.
  GNSTOR_HD io_step step_of(opcode op, const piece& p) const {
    io_step s;
    s.opcode = op;
    s.may_deallocate = op == opcode::write_zeroes;
    s.blocks = p.blocks * lbas_;
    s.slba = info_.plain() ? std::uint64_t{p.first.value} * lbas_
                           : wire::afa::pack_slba(info_.vid, info_.client, p.first);
    s.namespace_id = info_.namespace_id;
    s.epoch = info_.plain() ? 0 : info_.epoch;
    s.buffer = p.buffer;
    return s;
  }

  volume_info info_;
  Placement placement_;
  divisor stripe_;
  std::uint32_t lbas_;  ///< logical blocks in a block of the volume
};

}  // namespace gnstor::detail

#pragma once

#include <gnstor/channel/channel_set.hpp>
#include <gnstor/channel/ticket.hpp>
#include <gnstor/core/result.hpp>
#include <gnstor/memory/io_buffer.hpp>
#include <gnstor/simt/clock.hpp>
#include <gnstor/volume/placement.hpp>
#include <gnstor/volume/volume_info.hpp>
#include <gnstor/wire/afa/slba.hpp>
#include <gnstor/wire/nvme/read_write.hpp>
#include <gnstor/wire/nvme/status.hpp>

namespace gnstor::inline v0 {

/// A volume of the array, read and written by block address from any lane (a reference, passed by
/// value).
///
/// I/O is split at stripes, sent to the SSDs that the placement names, all replicas for a write,
/// one for a read; a read whose SSD fails goes on to the next replica.
template <class Channel, placement Placement = rendezvous_placement>
class volume_ref {
 public:
  GNSTOR_HD volume_ref(const volume_info& info, channel_set<Channel> channels, Placement where)
      : info_(info), channels_(channels), placement_(where) {}

  GNSTOR_HD const volume_info& info() const { return info_; }
  GNSTOR_HD const channel_set<Channel>& channels() const { return channels_; }

  /// Reads `blocks` blocks from `first` on into `buffer` (registered memory, at least blocks * 4096
  /// bytes).
  /// @par Callers any lane, in any company
  /// @par Order on success the data is visible to the caller, and to its group after `sync`
  /// @par Bound `d`
  /// @par Errors out_of_range, invalid_argument (nothing was sent); otherwise the last replica's
  /// status: nvme_error with the SSD's index, timed_out, transport_error, flushed. A status,
  /// success included, that is `left_behind()` says that a silent replica may still write the
  /// buffer
  GNSTOR_HD status read(vba first, std::uint32_t blocks, io_buffer buffer, deadline d) const {
    return pieces(wire::nvme::nvm_opcode::read, first, blocks, buffer, d, 0, 1);
  }

  /// Writes `blocks` blocks from `first` on to every replica; succeeds when all have acknowledged.
  /// @par Errors as `read`; the first replica's that failed, or that may still read the buffer
  GNSTOR_HD status write(vba first, std::uint32_t blocks, io_buffer buffer, deadline d) const {
    return pieces(wire::nvme::nvm_opcode::write, first, blocks, buffer, d, 0, 1);
  }

  /// The same by all lanes of `g`: lane k transfers every g.size()-th piece, the k-th first.
  /// @par Callers every lane of `g`, converged, with the same arguments
  /// @par Result every lane the same status, as if one lane had done it all
  template <simt::warp_group G>
  GNSTOR_HD status read(const G& g, vba first, std::uint32_t blocks, io_buffer buffer,
                        deadline d) const {
    return together(g, pieces(wire::nvme::nvm_opcode::read, first, blocks, buffer, d,
                              g.thread_rank(), g.size()));
  }
  template <simt::warp_group G>
  GNSTOR_HD status write(const G& g, vba first, std::uint32_t blocks, io_buffer buffer,
                         deadline d) const {
    return together(g, pieces(wire::nvme::nvm_opcode::write, first, blocks, buffer, d,
                              g.thread_rank(), g.size()));
  }

 private:
  struct piece {
    vba first{};
    std::uint32_t blocks = 0;
    io_buffer buffer{};
    replica_set where{};
  };
  struct in_flight {
    ticket sent{};
    ssd_index ssd{};
  };

  /// Blocks of the piece that starts at `at`: up to the stripe's end, the transfer limit, or the
  /// request's end.
  GNSTOR_HD std::uint32_t piece_blocks(std::uint32_t at, std::uint32_t left) const {
    std::uint32_t n = info_.stripe_blocks - at % info_.stripe_blocks;
    if (n > info_.max_transfer_blocks) n = info_.max_transfer_blocks;
    return n < left ? n : left;
  }

  GNSTOR_HD status pieces(wire::nvme::nvm_opcode op, vba first, std::uint32_t blocks,
                          const io_buffer& buffer, deadline d, std::uint32_t mine,
                          std::uint32_t of) const {
    if (std::uint64_t{first.value} + blocks > info_.capacity_blocks) {
      return status::make(status_code::out_of_range, reporter::volume);
    }
    if (blocks == 0 || buffer.bytes < std::uint64_t{blocks} * block_bytes) {
      return status::make(status_code::invalid_argument, reporter::volume);
    }
    status outcome;
    std::uint64_t silent = 0;
    std::uint32_t number = 0;
    // Counted from the start: the last block of the largest volume has the last address there is.
    for (std::uint32_t done = 0, n = 0; done < blocks; done += n) {
      n = piece_blocks(first.value + done, blocks - done);
      if (number++ % of == mine) {
        const io_buffer part =
            buffer.slice(std::uint64_t{done} * block_bytes, std::uint64_t{n} * block_bytes);
        const piece p = make_piece(first.value + done, n, part);
        const status s =
            op == wire::nvme::nvm_opcode::read ? read_any(p, d, silent) : write_all(p, d);
        outcome = both(outcome, s);
      }
    }
    return outcome;
  }

  GNSTOR_HD piece make_piece(std::uint32_t at, std::uint32_t n, const io_buffer& buffer) const {
    piece p;
    p.first = vba(at);
    p.blocks = n;
    p.buffer = buffer;
    p.where =
        placement_.replicas(info_.vid, info_.hash_factor, at / info_.stripe_blocks, info_.replicas);
    return p;
  }

  /// Reads from one replica, balanced by address; goes on to the next where another replica may do
  /// better.
  /// @param silent the SSDs that did not answer an earlier piece, by bit: they are asked last
  GNSTOR_HD status read_any(const piece& p, deadline d, std::uint64_t& silent) const {
    auto turn = static_cast<std::uint32_t>(mix64(p.first.value)) % p.where.count;
    for (std::uint32_t k = 0; k < p.where.count && (silent >> p.where.ssd[turn].value & 1) != 0;
         ++k) {
      turn = (turn + 1) % p.where.count;
    }
    status outcome;
    bool left_behind = false;
    for (std::uint32_t k = 0; k < p.where.count; ++k) {
      const ssd_index ssd = p.where.ssd[(turn + k) % p.where.count];
      const auto c = command(wire::nvme::nvm_opcode::read, p, ssd);
      outcome = named(channels_.mine().execute(c, share(d, k, p.where.count)), ssd);
      if (!another_replica_may_help(outcome)) break;
      left_behind = left_behind || outcome.left_behind();
      if (outcome.code == status_code::timed_out) silent |= std::uint64_t{1} << ssd.value;
    }
    if (!left_behind || outcome.left_behind()) return outcome;
    return status::make(outcome.ok() ? status_code::ok : status_code::timed_out, reporter::volume);
  }

  /// Writes to every replica at once, as far as the channel has room.
  GNSTOR_HD status write_all(const piece& p, deadline d) const {
    const Channel& channel = channels_.mine();
    in_flight sent[max_replicas];
    std::uint32_t count = 0;
    std::uint32_t settled = 0;
    status outcome;
    for (std::uint32_t k = 0; k < p.where.count; ++k) {
      const auto c = command(wire::nvme::nvm_opcode::write, p, p.where.ssd[k]);
      result<ticket> t = channel.submit(c);
      for (until more{d}; more && t.status.code == status_code::would_block;) {
        // A lane that waits for a slot holds none: lanes with one slot each would wait for each
        // other.
        if (settled < count) {
          outcome = both(outcome, answer(channel, sent[settled++], d));
        } else {
          (void)channel.poll();
        }
        t = channel.submit(c);
      }
      if (t) {
        sent[count++] = in_flight{t.value, p.where.ssd[k]};
      } else {
        const bool late = t.status.code == status_code::would_block;
        outcome =
            both(outcome, late ? status::make(status_code::timed_out, reporter::volume) : t.status);
      }
    }
    for (; settled < count; ++settled) outcome = both(outcome, answer(channel, sent[settled], d));
    return outcome;
  }

  GNSTOR_HD static status answer(const Channel& channel, const in_flight& request, deadline d) {
    return named(channel.wait(request.sent, d), request.ssd);
  }

  /// The outcome of two parts of one operation: the first failure, unless it would hide that the
  /// buffer may still be used.
  GNSTOR_HD static constexpr status both(status a, status b) {
    const status late = a.left_behind() ? a : b;
    if (a.ok() && b.ok()) return late;
    const status failed = a.ok() ? b : a;
    if (failed.left_behind() || !late.left_behind()) return failed;
    return late.ok() ? status::make(status_code::timed_out, reporter::volume) : late;
  }

  GNSTOR_HD wire::nvme::submission_entry command(wire::nvme::nvm_opcode op, const piece& p,
                                                 ssd_index ssd) const {
    const auto sgl = wire::nvme::make_keyed_sgl(
        p.buffer.address, static_cast<std::uint32_t>(p.buffer.bytes), p.buffer.rkey);
    if (info_.plain()) {
      const std::uint32_t lbas = block_bytes / info_.lba_bytes;
      return wire::nvme::make_read_write(op, 0, info_.namespace_id,
                                         std::uint64_t{p.first.value} * lbas, p.blocks * lbas, sgl);
    }
    auto c = wire::nvme::make_read_write(op, 0, ssd.value + 1u,
                                         wire::afa::pack_slba(info_.vid, info_.client, p.first),
                                         p.blocks, sgl);
    c.cdw2 = info_.epoch;
    return c;
  }

  GNSTOR_HD static status named(status s, ssd_index ssd) {
    if (s.code == status_code::nvme_error) s.ssd = ssd.value;
    return s;
  }

  /// Each replica gets its share of the time that is left, the last one all of it.
  GNSTOR_HD static deadline share(deadline d, std::uint32_t k, std::uint32_t count) {
    const std::uint64_t now = simt::now_ns();
    if (k + 1 >= count || d.expired(now) || d.at_ns() == deadline::never().at_ns()) return d;
    return deadline::after(now, (d.at_ns() - now) / (count - k));
  }

  /// Media errors, a dying SSD and silence may be this SSD's own trouble; a refusal is the same
  /// everywhere.
  GNSTOR_HD static bool another_replica_may_help(status s) {
    if (s.code == status_code::timed_out) return true;
    if (s.code != status_code::nvme_error) return false;
    switch (static_cast<wire::nvme::status_code_type>(s.nvme_type)) {
      case wire::nvme::status_code_type::media:
      case wire::nvme::status_code_type::path: return true;
      case wire::nvme::status_code_type::generic:
        return s.nvme_code ==
                   static_cast<std::uint8_t>(wire::nvme::generic_status::internal_error) ||
               s.nvme_code ==
                   static_cast<std::uint8_t>(wire::nvme::generic_status::namespace_not_ready);
      default: return false;
    }
  }

  template <simt::warp_group G>
  GNSTOR_HD static status together(const G& g, status mine) {
    const std::uint32_t failed = g.ballot(!mine.ok());
    const std::uint32_t late = g.ballot(mine.left_behind());
    g.sync();  // the data that other lanes received
    if ((failed | late) == 0) return mine;
    const std::uint32_t first_failed = failed != 0 ? failed : late;
    const std::uint32_t first_late = (failed & late) != 0 ? failed & late
                                     : late != 0          ? late
                                                          : failed;
    const status a =
        status::unpack(g.shfl(mine.pack(), static_cast<int>(cuda::std::countr_zero(first_failed))));
    const status b =
        status::unpack(g.shfl(mine.pack(), static_cast<int>(cuda::std::countr_zero(first_late))));
    return both(a, b);
  }

  volume_info info_;
  channel_set<Channel> channels_;
  Placement placement_;
};

}  // namespace gnstor::inline v0

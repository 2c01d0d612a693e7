#pragma once

#include <afa/node.hpp>
#include <gnstor/wire/afa/slba.hpp>
#include <gnstor/wire/afa/status.hpp>
#include <gnstor/wire/nvme/lba_status.hpp>

namespace gnstor::fw {

/// Executes Get LBA Status: which blocks of a range an SSD has. Its shards know that, each of its
/// stripes; the command goes from one to the next, and so is behind every write that was
/// acknowledged before.
///
/// An SSD answers for blocks that lie on it; one that is being filled refuses, as it does reads. A
/// shard that may have lost some says that all are there: what is not sure counts as data.
class lba_status {
 public:
  /// Blocks of one command at most: a bit each in `io_command::page`.
  static constexpr std::uint32_t most_blocks = 32 * max_transfer_blocks;

  /// @par Callers the owner of shard `shard` of the SSD, one lane
  /// @param again set if it is the next shard's turn
  GNSTOR_HD_SLOW static std::uint16_t visit(const node::ssd& drive, std::uint32_t shard,
                                            io_command& c, bool& again) {
    const std::uint32_t blocks = wire::nvme::lba_status_blocks(c.entry);
    if (blocks == 0 || blocks > most_blocks ||
        c.entry.cdw13 >> 24 != wire::nvme::lba_status_allocated)
      return wire::nvme::make_status(wire::nvme::generic_status::invalid_field, true);
    const auto at = wire::afa::slba::unpack(wire::nvme::slba_of(c.entry));
    request r;
    r.vid = at.volume;
    r.client = at.client;
    r.bound_client = c.client;
    r.epoch = c.entry.cdw2;
    r.first = at.block;
    r.blocks = 1;
    known_grant known{};
    const admission first = drive.check_block(r, known);
    if (!first.ok()) return first.status;
    r.first = vba(at.block.value + blocks - 1);
    if (r.first.value < at.block.value)
      return wire::afa::make_status(wire::afa::status::beyond_capacity);
    const admission last = drive.check_block(r, known);
    if (!last.ok()) return last.status;
    if (shard == 0) {
      for (std::uint32_t k = 0; k < max_transfer_blocks; ++k) c.page[k] = 0;
      c.where = first;
    } else if (c.where.generation != first.generation) {
      return wire::afa::make_status(wire::afa::status::unknown_volume);
    }
    mark(drive, shard, blocks, known.stripe, c);
    again = shard + 1 < drive.shape().shards;
    if (!again) write(blocks, c);
    return 0;
  }

 private:
  /// Marks the blocks that this shard has.
  GNSTOR_HD static void mark(const node::ssd& drive, std::uint32_t shard, std::uint32_t blocks,
                             const divisor& stripe, io_command& c) {
    const std::uint32_t from = c.where.first.value;
    for (std::uint32_t k = 0; k < blocks;) {
      const std::uint32_t of = stripe.quotient(from + k);
      const std::uint32_t end = (of + 1) * stripe.value() - from;
      if (drive.shard_of(c.where.vid, of) != shard) {
        k = end;
        continue;
      }
      admission one = c.where;
      one.shard = static_cast<std::uint16_t>(shard);
      const bool all = drive.is_doubtful(one);
      for (; k < blocks && k < end; ++k) {
        if (all || drive.has(one, k)) c.page[k / 32] |= 1u << k % 32;
      }
    }
  }
  /// Writes the runs of marked blocks, as many as there is room for.
  GNSTOR_HD static void write(std::uint32_t blocks, const io_command& c) {
    const std::uint64_t length = wire::nvme::lba_status_bytes(c.entry);
    auto& list = *reinterpret_cast<wire::nvme::lba_status_list*>(c.entry.dptr.address);
    auto* out = reinterpret_cast<wire::nvme::lba_status_descriptor*>(&list + 1);
    const std::uint64_t room = (length - sizeof list) / sizeof *out;
    std::uint32_t n = 0;
    std::uint8_t why = wire::nvme::lba_status_whole;
    for (std::uint32_t k = 0; k < blocks;) {
      const std::uint32_t run = run_from(c, k, blocks);
      if (run != 0 && n == room) {
        why = wire::nvme::lba_status_full;
        break;
      }
      if (run != 0) out[n++] = {wire::nvme::slba_of(c.entry) + k, run, 0, 0, 0};
      k += run != 0 ? run : 1;
    }
    list = {n, why, {}};
  }
  GNSTOR_HD static std::uint32_t run_from(const io_command& c, std::uint32_t k,
                                          std::uint32_t blocks) {
    std::uint32_t run = 0;
    for (; k + run < blocks && (c.page[(k + run) / 32] >> (k + run) % 32 & 1) != 0;) ++run;
    return run;
  }
};

}  // namespace gnstor::fw

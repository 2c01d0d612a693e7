#pragma once

#include <daemon/repair_work.hpp>
#include <daemon/ssd_absences.hpp>
#include <daemon/ssd_report.hpp>
#include <gnstor/wire/afa/volume_chmod.hpp>
#include <gnstor/wire/afa/volume_record.hpp>

#include <cstdint>
#include <optional>
#include <vector>

namespace gnstor::daemon {

/// What a `manager` is doing, or is to do: what was asked for, and how far it is.
struct operation {
  enum class action : std::uint8_t {
    create,
    open,
    close,
    expel,
    leave,
    remove,
    fail,
    replace,
    settle,
    adopt,
    spread,
    forget,
    move_on,
    rename,
    mend,
    narrow
  };

  action what{};
  std::uint64_t request = 0;
  std::uint16_t vid = 0;
  std::uint16_t client = 0;
  bool write = false;          ///< of an open
  std::uint16_t admitted = 0;  ///< of an open: only where this client has a right; 0: anyway
  bool admits = false;         ///< of an open: also from now on
  bool levels = false;         ///< of an open: nobody gets the right, only replicas are made equal
  bool clean = false;          ///< of a close
  bool all = false;            ///< of a leave: also what the client was admitted to
  bool reads_on = false;       ///< of a leave: it loses the right to write alone
  bool in_use = false;         ///< of a removal: whoever may write it, not the client alone
  bool drops = false;          ///< of an adoption: not all have the volume, or it goes
  /// Likewise: an SSD has refused it. Of a removal: a manager before began it.
  bool again = false;
  bool zeroes = false;   ///< of a volume that becomes narrower: it was spread before
  bool begun = false;    ///< likewise: some SSD may know of it
  bool cleared = false;  ///< SSDs that a volume does not lie on have lost it
  std::uint32_t ssd = 0;
  std::optional<std::uint32_t> place{};  ///< of a replacement: not the SSD's present one
  wire::afa::volume_record r{};
  // How far it is:
  std::uint32_t step = 0;
  bool gone = false;              ///< the SSD that was to replace another has failed
  bool sent = false;              ///< this step's orders are out
  std::uint64_t first_order = 0;  ///< older ones are forgotten
  std::uint64_t pending = 0;      ///< SSDs that have not answered, by bit
  bool current = false;           ///< it has begun, and stands aside for no other
  std::uint64_t repair = 0;       ///< that it waits for; 0: none
  std::uint16_t refusal = 0;      ///< the first SSD's that refused
  std::uint64_t refused = 0;      ///< SSDs that did, by bit
  /// By bit: SSDs that have taken a volume that is created; else that do not know yet.
  std::uint64_t added = 0;
  std::vector<std::uint64_t> also{};    ///< further requests that ask the same
  std::vector<std::uint32_t> blocks{};  ///< of a mend
  std::vector<std::uint16_t> left{};    ///< volumes that are still to be dealt with
  std::uint64_t until = 0;              ///< of a failure that is planned: its end; 0: it is none
  wire::afa::volume_chmod change{};     ///< of a rename

  // Of a volume that moves while somebody writes it:
  bool live = false;                 ///< it does
  bool asks = false;                 ///< SSDs are asked where it was written
  bool watched = false;              ///< some SSD may know what was asked for, in its marks
  bool held = false;                 ///< some SSD may let nobody write it
  bool put_off = false;              ///< too much of it is written: it is tried again later
  std::uint32_t held_in = 0;         ///< the epoch in which all do
  wire::afa::dirty_regions marks{};  ///< that were written since they were copied
  std::uint64_t round_began = 0;     ///< ns
  std::uint64_t round_took = 0;      ///< ns

  // Of a replacement:
  std::vector<std::uint16_t> learnt{};  ///< volumes that its SSD is to know behind those `left`
  std::vector<std::uint16_t> has{};     ///< that it knows
  std::optional<ssd_report> says{};     ///< what it says of itself
  ssd_absences::absence counts{};       ///< what of its data does
  std::vector<std::uint16_t> kept{};    ///< volumes of which it has what others have
  regions_by_volume partly{};  ///< likewise, but for what lies in these regions: it has lost that
  std::uint32_t known_epoch = 0;  ///< the latest one that the SSD was informed of
  bool attached = false;          ///< its front end lets commands pass
  std::size_t asks_of = 0;        ///< volumes whose changes are asked for
  // And of both:
  std::uint32_t rounds = 0;     ///< in which it has lost what others have changed, or was given it
  std::uint32_t attempts = 0;   ///< of that which came to nothing, or to copy
  std::uint64_t fenced_at = 0;  ///< ns: since then nobody writes
};

/// The steps of a volume that moves while somebody writes it, between those of a spread, or of one
/// that becomes narrower. Up to `copying` they go on beside all else.
struct moving {
  static constexpr std::uint32_t watching = 11;  ///< SSDs are asked where it was written
  static constexpr std::uint32_t copying = 12;   ///< that is copied; at first, everything
  static constexpr std::uint32_t holding = 13;   ///< every SSD learns that nobody may write it
  static constexpr std::uint32_t watching_last = 14;
  static constexpr std::uint32_t copying_last = 15;
};

/// The steps of a replacement.
struct replacing {
  static constexpr std::uint32_t telling = 1;    ///< the SSD learns that it is absent in this epoch
  static constexpr std::uint32_t attaching = 2;  ///< it does again, behind its front end
  /// It loses what others have changed since it left. This goes on beside all else.
  static constexpr std::uint32_t forgetting = 3;
  static constexpr std::uint32_t counting = 4;  ///< what it has is looked at, and
  static constexpr std::uint32_t losing = 5;    ///< it loses volumes that do not count
  static constexpr std::uint32_t learning = 6;  ///< and learns of those that it is to have
  /// The others learn of the epoch in which it takes writes, and refuse those of before: now it
  /// loses what was changed since it was asked. Nobody writes meanwhile.
  static constexpr std::uint32_t fencing = 7;
  static constexpr std::uint32_t forgetting_last = 8;
  static constexpr std::uint32_t taking = 9;      ///< it is to take writes
  static constexpr std::uint32_t informing = 10;  ///< all learn of that
  /// It does not: the others, who may know of it, learn of another epoch.
  static constexpr std::uint32_t withdrawing = 11;
  static constexpr std::uint32_t withdrawn = 12;
};

}  // namespace gnstor::daemon

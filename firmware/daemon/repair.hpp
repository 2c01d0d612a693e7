#pragma once

#include <daemon/manager.hpp>
#include <gnstor/core/units.hpp>
#include <gnstor/io/placement.hpp>
#include <gnstor/wire/afa/dirty_regions.hpp>

#include <cstdint>
#include <optional>
#include <vector>

namespace gnstor::daemon {

/// One command of a repair. Its data lies in the repair's buffers.
struct repair_step {
  enum class kind : std::uint8_t {
    read,  ///< with FUA
    write,
    fill,     ///< FILL
    spoil,    ///< FILL of what nobody has any more: the blocks read as errors
    regions,  ///< DIRTY REGIONS, as whose data one block of memory is kept
    forget,   ///< FORGET, without data
    /// DIRTY REGIONS since it was asked so the last time, likewise.
    regions_since,
  };
  kind what{};
  std::uint32_t ssd = 0;
  std::uint16_t vid = 0;
  vba first{};
  std::uint32_t blocks = 0;
  std::uint32_t buffer = 0;  ///< block of the repair's memory where its data begins
  std::uint32_t epoch = 0;   ///< CDW2
};

/// How a step ended.
enum class step_end : std::uint8_t {
  done,
  damaged,  ///< Unrecovered Read Error: the SSD's data is not what was written
  gone,     ///< the volume has been deleted meanwhile
  failed,   ///< the SSD does not answer, or another epoch has begun
};

/// Carries out a `repair_order`, command after command (a pure state machine over memory).
///
/// By placement alone it knows which SSDs must hold what; there is no table of blocks. To converge,
/// it first asks every SSD of the volume where that may have changed since its replicas were equal:
/// a write that reached some of them has left its mark there, and no other is compared. Reads are
/// with FUA, so that they see every write committed before. What it gives to an SSD under filling
/// or to one whose data is damaged goes by FILL, which undoes nothing that a writer has written
/// meanwhile; only converging, when nobody may write, and what moves a volume write over what is
/// there, the latter where no client writes yet.
/// A scrub only finds damage: what it has read may be older than a write that is under way, which
/// the damaged replica may have had already. In a later epoch every such write has ended.
/// Blocks of which no replica is sound read as errors afterwards, not as zeroes.
///
/// Where a volume moves that clients write, what they have written meanwhile is moved again: the
/// SSDs are asked for that (watch).
///
/// An SSD that is back loses what others say has changed since it left (forget), and is filled
/// where it has. What lies on it alone among those that were there is not theirs to judge: nobody
/// wrote it if they all left with it, else nobody knows, and it loses that, too.
class repair {
 public:
  static constexpr std::uint32_t most_blocks = 32;  ///< of one command
  /// Blocks of memory it works in.
  static constexpr std::uint32_t memory_blocks = most_blocks * max_replicas;

  /// @param volumes as they are: of one that is being spread, before
  /// @param memory `memory_blocks` blocks; those who read and write it for a step name them by
  /// number
  repair(const repair_order& order, const membership& serving, std::uint32_t ssds,
         std::vector<wire::afa::volume_record> volumes, char* memory);

  const repair_order& order() const { return order_; }
  /// The next command, or nothing: it is over. The same until it was `answered`.
  const std::optional<repair_step>& step() const { return step_; }
  void answered(step_end how);
  /// Takes up what another part of the same work has come to, once both are over.
  void join(const repair& part);
  /// Once it is over: nothing is left to do.
  bool ok() const { return ok_; }
  std::uint64_t compared() const { return compared_; }  ///< blocks of which replicas were read
  std::uint64_t mended() const { return mended_; }      ///< blocks written or filled
  /// Of a scrub: blocks some of whose replicas are damaged and some are sound, the first
  /// `most_damaged`.
  const std::vector<std::uint32_t>& damaged() const { return damaged_; }
  static constexpr std::size_t most_damaged = 65536;
  std::uint64_t lost() const { return lost_; }  ///< blocks of which no replica was sound
  /// Of forget: of each volume that is there, the regions of which its SSD has lost what it had; of
  /// watch, those that were written.
  const regions_by_volume& forgotten() const { return forgotten_; }
  /// Blocks of volumes that it has dealt with, and that there are; those of other parts too.
  std::uint64_t looked_at() const;
  std::uint64_t to_look_at() const;

 private:
  /// What a replica of the present piece is.
  enum class sight : std::uint8_t { unread, sound, damaged };
  /// What an SSD that was away has of a stripe.
  enum class left : std::uint8_t {
    marked,   ///< what others have: where it was changed, one of them has marked the region
    latest,   ///< what nobody has changed
    unknown,  ///< it may be older than what was lost meanwhile
  };

  void go_on();
  void begin_piece();
  bool begin_volume();
  void end_volume();
  void leave_volume();
  bool asks_regions();
  void note_regions();
  void compare_regions();
  void begin_listed();
  void place(const wire::afa::volume_record& r, std::uint32_t stripe);
  void unseen();
  bool look();
  bool decide();
  void next_piece();
  void end(bool ok);
  std::uint64_t clean_until(const wire::afa::volume_record& r, std::uint64_t stripe) const;
  bool is_others(std::uint64_t stripe) const { return stripe % order_.parts != order_.part; }
  bool concerns(const wire::afa::volume_record& r, std::uint32_t stripe) const;
  left what_is_left() const;
  bool lacks(std::uint32_t region) const;
  bool waits_for_source() const;
  bool ask(repair_step::kind what, std::uint32_t replica, std::uint32_t from);
  bool ask_ssd(repair_step::kind what, std::uint32_t ssd, std::uint32_t from);
  char* data(std::uint32_t replica) {
    return memory_ + std::uint64_t{replica} * most_blocks * block_bytes;
  }
  bool in_sync(std::uint32_t ssd) const {
    return ((serving_.absent | serving_.filling) >> ssd & 1) == 0;
  }
  bool is_filling(std::uint32_t ssd) const { return (serving_.filling >> ssd & 1) != 0; }
  bool moves() const {
    return order_.kind == repair_kind::spread || order_.kind == repair_kind::drain;
  }
  bool watches() const { return order_.kind == repair_kind::watch; }
  std::uint32_t heir() const;
  bool is_zero(std::uint32_t replica) const;
  bool differs(std::uint32_t a, std::uint32_t b) const;

  repair_order order_;
  membership serving_;
  std::uint32_t ssds_;  ///< of the array
  std::vector<wire::afa::volume_record> volumes_;
  char* memory_;
  std::optional<repair_step> step_;
  bool over_ = false;
  bool ok_ = false;
  std::uint64_t compared_ = 0;
  std::uint64_t mended_ = 0;
  std::uint64_t lost_ = 0;
  std::vector<std::uint32_t> damaged_;
  std::uint64_t unasked_ = 0;  ///< SSDs, by bit, whose dirty regions are to be asked
  bool asking_ = false;        ///< one of them is
  bool begun_ = false;         ///< the present volume has
  /// Of the present volume: regions that something may be to do in; of converge and forget what all
  /// SSDs together say.
  wire::afa::dirty_regions dirty_{};
  bool by_region_ = false;             ///< it counts
  bool again_ = false;                 ///< of forget: the volume has been dealt with before
  wire::afa::dirty_regions marked_{};  ///< of forget: with those of before
  regions_by_volume forgotten_{};
  // Where it is:
  std::size_t volume_ = 0;
  std::uint64_t first_ = 0;        ///< block of the volume
  std::uint32_t blocks_ = 0;       ///< of the piece
  std::uint64_t alone_until_ = 0;  ///< block by block up to here, as a replica has damage
  std::size_t listed_ = 0;         ///< of `repair_order::blocks`
  replica_set placed_;             ///< places of its replicas
  replica_set where_;              ///< SSDs that serve there
  sight seen_[max_replicas] = {};
  std::uint32_t base_ = 0;  ///< the replica that the others are compared with
  std::uint32_t turn_ = 0;  ///< the replica that is dealt with
  bool deciding_ = false;
  bool spoiling_ = false;
};

}  // namespace gnstor::daemon

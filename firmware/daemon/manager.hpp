#pragma once

#include <daemon/membership.hpp>
#include <daemon/operation.hpp>
#include <daemon/orders.hpp>
#include <daemon/ssd_absences.hpp>
#include <daemon/ssd_plans.hpp>
#include <daemon/ssd_report.hpp>

#include <cstdint>
#include <list>
#include <map>
#include <optional>
#include <string>

namespace gnstor::daemon {

/// What a manager is given once.
struct manager_options {
  std::uint32_t ssds = 1;
  std::uint16_t client = 1;  ///< as whom its repairs read and fill
  std::uint64_t lease_ns = 300'000'000'000;
  /// What an SSD has that failed still counts if it begins to come back within this; 0: it is
  /// filled whole.
  std::uint64_t keeps_ns = 3'600'000'000'000;
  std::uint64_t try_again_ns = 1'000'000'000;  ///< after that what an SSD refused half-way
};

/// The array's manager: volumes, write leases, epochs, and who is in sync (a pure state machine).
///
/// It has no threads, clock or connections: requests and events go in, `take_orders` gives what is
/// to be done, and `answered` and `finished` say how that ended. One operation is carried out after
/// another; an SSD's failure interrupts, and what it interrupted is asked again of all that are
/// left. All of its state is in the SSDs' permission tables and memberships, too.
///
/// What it promises: nobody gets the write right of a volume before whoever had it is fenced on
/// every SSD and all replicas are equal; an SSD is read only when it has every acknowledged write.
class manager {
 public:
  explicit manager(const manager_options& o) : options_(o) {}

  /// Takes over an array from its SSDs' own tables, after a crash of another manager or a restart.
  /// Nothing of the former manager's may arrive any more once the reports are made: its connections
  /// have ended.
  /// @param reports of each SSD, nothing where it does not answer: it has failed
  /// @param now nanoseconds of any clock that does not go back
  void recover(const std::vector<std::optional<ssd_report>>& reports, std::uint64_t now);

  // ---- requests; each gets one `reply` in a later `take_orders`
  /// @param r with VID 0: the first that no volume has
  void create(std::uint64_t request, wire::afa::volume_record r);
  /// Gives a volume another name, other labels, more blocks, or another owner. @param change of
  /// which `sets` and `owner` count
  void rename(std::uint64_t request, std::uint16_t vid, const wire::afa::volume_chmod& change);
  /// Gives `client` the right to read a volume, or also to write it.
  /// @param admitted `not_admitted` unless this client has a right to it when its turn comes: the
  /// same, or the host that it is a session of; 0: nobody need have
  void open(std::uint64_t request, std::uint16_t vid, std::uint16_t client, bool write,
            std::uint16_t admitted = 0);
  /// Makes the replicas of a volume equal that nobody may write, as an open would; `busy` if
  /// somebody may.
  void make_equal(std::uint64_t request, std::uint16_t vid);
  /// Extends a write lease that has not passed to somebody else.
  void renew(std::uint64_t request, std::uint16_t vid, std::uint16_t client);
  /// Lets a client read a volume, and open it from now on whenever it wants to.
  void admit(std::uint64_t request, std::uint16_t vid, std::uint16_t client);
  /// Gives every right to a volume back; who was admitted may read it on. The client has no write
  /// under way.
  /// @param clean every write was acknowledged, so that all replicas are equal
  void close(std::uint64_t request, std::uint16_t vid, std::uint16_t client, bool clean);
  /// Takes every right to a volume from a client, whatever it is doing: it is not admitted any
  /// more.
  void expel(std::uint64_t request, std::uint16_t vid, std::uint16_t client);
  /// The same of all volumes; those that it owns stay its own.
  void dismiss(std::uint64_t request, std::uint16_t client);
  /// @param of hash factor of the volume that is meant, not a later one of its VID; 0: any
  /// @param in_use also if somebody else than `client` may write it by then, which else is `busy`
  void remove(std::uint64_t request, std::uint16_t vid, std::uint64_t of = 0, bool in_use = true,
              std::uint16_t client = 0);
  /// Spreads a volume over the next SSD of the array that it is not spread over yet: that SSD is
  /// given its share, no more, and the others drop it. Nobody may open it for writing meanwhile;
  /// who writes it already goes on, but for a second at most at the end, and `busy` if so much is
  /// written that this does not suffice. Readers go on, too, by the new placement in the next
  /// epoch.
  void spread(std::uint64_t request, std::uint16_t vid);
  /// Has a volume no longer lie on the last SSD that it is spread over: the others are given that
  /// one's share first. Who writes or reads it meanwhile goes on as for a spread.
  /// @param last that SSD; `refused` if another one is, or as many SSDs are left as it has replicas
  void narrow(std::uint64_t request, std::uint16_t vid, std::uint32_t last);
  /// What is to become of an SSD from now on: volumes are moved one after another, those of which
  /// too much is written later. `none`: they stay where they are by then. No reply:
  /// `plan_of` says how far it is.
  void set_aim(std::uint32_t ssd, ssd_aim aim);

  // ---- events
  void tick(std::uint64_t now);
  /// The manager did nothing for so long before the tick that follows, as where its machine was
  /// stopped: nobody could renew a lease, so that each goes on for that much longer.
  void stood_still(std::uint64_t ns);
  /// How an SSD answered an order. @param status NVMe status field
  void answered(std::uint64_t order, std::uint16_t status);
  /// An order was not answered, or a client says that an SSD fails.
  void ssd_failed(std::uint32_t ssd);
  /// An SSD is taken out for planned work, as if it had failed. If it is back before `until`, what
  /// it has of volumes that nobody was let write meanwhile counts as it is.
  void ssd_leaves(std::uint32_t ssd, std::uint64_t until);
  /// The manager before this one took an SSD out for planned work. What of its data counts still is
  /// what no SSD has been informed of since.
  /// @param away as that one knew it @par Callers right after `recover`
  void restore_absence(std::uint32_t ssd, ssd_absences::absence away);
  /// A formatted SSD is in the place of one that had failed, or that one again.
  /// @param has the volumes that it knows: of those nothing counts but what `ssd_absences` says
  /// @param says of itself; nothing: it is not the one that was there
  void ssd_replaced(std::uint32_t ssd, std::vector<std::uint16_t> has = {},
                    std::optional<ssd_report> says = {});
  /// The same at a place that is not its own: of an SSD that has failed, or of one that serves,
  /// which goes on until this one is in sync, and is detached then.
  /// @param place of which the SSD is absent, or in sync; see `may_stand_in`
  void ssd_stands_in(std::uint32_t ssd, std::uint32_t place, std::vector<std::uint16_t> has = {},
                     std::optional<ssd_report> says = {});
  /// Why an absent SSD cannot stand in at a place now.
  enum class hindrance : std::uint8_t {
    none,
    used,         ///< volumes lie on the SSD's own place
    no_room,      ///< `stand_ins::most` stand in already
    under_way,    ///< another SSD is about to serve at the place
    many_copies,  ///< a volume has so many replicas that no SSD can have them beside those
    absent_self,  ///< the SSD takes part in the array
  };
  hindrance may_stand_in(std::uint32_t ssd, std::uint32_t place) const;
  /// False: a volume has so many replicas that no SSD can serve at a place beside those that do.
  bool has_room_at(std::uint32_t place) const;
  /// The SSD that is being filled to serve at a place at which another one does; nothing: none is.
  std::optional<std::uint32_t> successor_at(std::uint32_t place) const;
  /// True if volumes lie on a place.
  bool is_used(std::uint32_t place) const;
  /// What of a volume is away: places, by bit, at which no SSD in sync serves.
  std::uint64_t behind(const wire::afa::volume_record& r) const {
    return places(r) & ~now_serving_.sound_places();
  }
  /// The last connection of a client is gone: it is as if it had closed all volumes, not cleanly,
  /// and whoever wants to write in its place need not wait for the lease.
  /// @param reads_on others read by its rights, which are a whole host's
  void client_gone(std::uint16_t client, bool reads_on = false);
  /// How a repair ended. @param damaged what a scrub found: it is mended in the next epoch, which
  /// begins for that
  /// @param forgotten of each volume, what was taken from an SSD
  void finished(std::uint64_t repair, bool ok, std::vector<std::uint32_t> damaged = {},
                const regions_by_volume& forgotten = {});
  /// Asks for a scrub of a volume. No reply: what it finds is nobody's request.
  void scrub(std::uint16_t vid);

  /// What is to be done now.
  orders take_orders();

  /// The epoch that every SSD in it knows, once `knows_epoch`: clients may use it.
  const membership& published() const { return published_; }
  /// What SSDs are being informed of, or know already.
  const membership& serving() const { return now_serving_; }
  /// False after `recover`, until the SSDs agree on an epoch.
  bool knows_epoch() const { return knows_epoch_; }
  /// What is being done and what waits, for logs.
  std::string standing() const;
  /// True if nothing is under way but fills.
  bool idle() const { return queue_.empty(); }
  std::uint32_t ssds() const { return options_.ssds; }
  std::uint16_t client() const { return options_.client; }
  /// The volumes that there are, for repairs and for who opens them.
  /// @param going_too also those whose removal is under way
  std::vector<wire::afa::volume_record> volumes(bool going_too = false) const;

  /// Who may write a volume, and until when.
  struct lease {
    std::uint16_t vid = 0;
    std::uint16_t client = 0;
    std::uint64_t until = 0;  ///< ns, as `tick` counts; 0: it does not know that it may write
  };
  std::vector<lease> leases() const;
  /// Nothing where nobody may write it.
  std::optional<lease> lease_of(std::uint16_t vid) const;
  /// A volume that without an SSD would have blocks on none that is in sync, and now has not; null:
  /// there is none.
  const wire::afa::volume_record* torn_without(std::uint32_t ssd) const;
  /// Null if there is no such volume.
  const wire::afa::volume_record* record_of(std::uint16_t vid) const;
  /// Volumes that nobody may write, and whose replicas may differ.
  std::vector<std::uint16_t> unequal() const;
  struct ssd_plan {
    ssd_aim aim = ssd_aim::none;
    std::uint32_t volumes = 0;    ///< that lie on it
    std::uint32_t left = 0;       ///< that are to be moved
    std::uint16_t waits_for = 0;  ///< one of those of which too much is written now; 0: none
  };
  std::vector<ssd_plan> plans() const;  ///< of each SSD
  ssd_aim aim_of(std::uint32_t ssd) const { return plans_.of(ssd); }
  /// SSDs that a volume is spread over that is created now.
  std::uint32_t width() const;
  /// SSDs that are away, and what of theirs counts.
  const ssd_absences& absences() const { return absences_; }

 private:
  struct volume {
    wire::afa::volume_record r{};
    std::uint16_t writer = 0;       ///< 0: nobody
    std::uint64_t lease_until = 0;  ///< 0: it does not know that it may write, but some SSDs do
    bool unequal = false;           ///< its replicas may differ, though nobody may write
    std::uint32_t changed_in = 0;   ///< latest epoch of a change that an SSD knew at `recover`
    bool going = false;             ///< it is being removed: nobody repairs it any more
  };
  using operation = daemon::operation;
  using action = operation::action;
  static constexpr std::uint32_t converging = 2;  ///< likewise of an open
  static constexpr std::uint32_t cleaning = 3;    ///< of an open
  static constexpr std::uint32_t granting = 4;    ///< likewise
  static constexpr std::uint32_t gathering = 3;   ///< of a volume that becomes narrower
  static constexpr std::uint32_t copying = 5;
  static constexpr std::uint32_t copied = 6;
  static constexpr std::uint32_t telling = 7;
  static constexpr std::uint32_t moving_on = 8;
  static constexpr std::uint32_t releasing = 16;  ///< clients may write, in the next epoch
  static constexpr std::uint32_t giving_up = 20;
  /// What the SSDs say of a volume when an array is taken over. SSDs by bit.
  struct finding {
    std::uint64_t holders = 0;
    std::uint64_t claimed = 0;  ///< of those: SSDs that only keep a place for it
    std::uint64_t joined = 0;   ///< of those: SSDs that do not know its clients yet
    bool confirmed = false;     ///< some SSD knows that all have it
    std::uint64_t goes = 0;     ///< SSDs that know that it is to be deleted
    bool differs = false;       ///< two SSDs know different things of it
    /// By client: SSDs that let it write.
    std::map<std::uint16_t, std::uint64_t> writers{};
  };

  static std::uint64_t bit(std::uint32_t ssd) { return std::uint64_t{1} << ssd; }
  std::uint64_t everyone() const {
    return options_.ssds == 64 ? ~std::uint64_t{0} : bit(options_.ssds) - 1;
  }
  std::uint64_t present() const { return everyone() & ~now_serving_.absent; }
  /// Places, by bit, at which no SSD takes writes.
  std::uint64_t empty_places() const;
  /// Places that a volume is spread over.
  static std::uint64_t places(const wire::afa::volume_record& r) {
    return r.ssd_count == 0 || r.ssd_count >= 64 ? ~std::uint64_t{0} : bit(r.ssd_count) - 1;
  }
  /// SSDs that have it, unless they are absent.
  std::uint64_t own(const wire::afa::volume_record& r) const {
    return places(r) | now_serving_.others.of(places(r));
  }
  std::uint32_t place_for(const operation& op) const {
    return op.place.value_or(now_serving_.others.place_of(op.ssd));
  }
  void attach_unreleased(std::uint64_t answering, std::uint64_t but);
  std::map<std::uint16_t, finding> learn(const std::vector<std::optional<ssd_report>>& reports);
  std::uint64_t adopt(std::uint16_t vid, const finding& f, std::uint64_t here);
  bool is_settled(const volume& v) const;
  bool is_held(const wire::afa::volume_record& r) const;
  std::uint16_t writer_of(const finding& f, std::uint64_t should) const;
  void run();
  operation* next_operation();
  operation* current_operation();
  /// True while an open waits for its volume's replicas, a spread for its copy, or an SSD that is
  /// back until it has lost what others have changed: everything else does not.
  static bool stands_aside(const operation& op) {
    const bool opens = op.what == action::open && op.step == converging;
    const bool forgets = op.what == action::replace && op.step == replacing::forgetting;
    const bool moves =
        moves_data(op) && op.step != moving::watching_last && op.step != moving::copying_last;
    return op.repair != 0 && (opens || forgets || moves);
  }
  static bool moves_data(const operation& op) {
    return op.what == action::spread || op.what == action::narrow;
  }
  bool leaves_later(const operation& open) const;
  void end_opens_of(std::uint16_t client, verdict said);
  static bool conflict(const operation& earlier, const operation& later);
  bool advance(operation& op);
  bool begins_create(operation& op);
  bool advance_create(operation& op);
  bool advance_open(operation& op);
  bool advance_close(operation& op);
  bool advance_leave(operation& op);
  bool advance_remove(operation& op);
  bool stays(operation& op);
  std::uint32_t begins_to_go(operation& op);
  bool repairs_end(operation& op);
  bool advance_fail(operation& op);
  bool advance_replace(operation& op);
  bool fits(const operation& op) const;
  bool unfit(const operation& op);
  bool gives_up(operation& op);
  void begins_to_forget(operation& op);
  bool forgets(operation& op);
  static std::uint64_t known_capacity(const operation& op, std::uint16_t vid);
  void order_to_forget(operation& op, bool last);
  void has_forgotten(operation& op, bool ok, const regions_by_volume& forgotten);
  void begins_to_lose(operation& op);
  bool takes_volumes(operation& op);
  bool loses_name(operation& op, std::uint16_t vid);
  void note_sent(operation& op, const wire::afa::volume_chmod& change);
  static void note_said(operation& op, const wire::afa::volume_chmod& change);
  void forget_said(operation& op, std::uint16_t vid);
  static bool waits_for_marks(const operation& op);
  bool fences(operation& op);
  bool forgets_last(operation& op);
  void takes_place(operation& op);
  std::uint64_t released_by(std::uint32_t ssd);
  std::uint64_t side_by_side() const;
  /// True while two SSDs serve at one place: nothing moves to another one meanwhile.
  bool is_exchanging() const { return side_by_side() != 0; }
  bool is_crowded(const wire::afa::volume_record& r, std::uint64_t also) const;
  wire::afa::array_membership present_membership() const;
  void begin_absence(std::uint32_t ssd, ssd_absences::absence away);
  bool keeps_partly(std::uint32_t ssd) const;
  bool has_joined(std::uint32_t ssd, std::uint16_t vid) const;
  ssd_absences::absence absence_of(const operation& fails) const;
  ssd_absences::absence still_counts(const operation& op) const;
  std::optional<wire::afa::volume_chmod> kept_by(const operation& op, std::uint16_t vid) const;
  bool advance_settle(operation& op);
  bool advance_mend(operation& op);
  bool advance_adopt(operation& op);
  bool again_later(operation op);
  void drops_later(const wire::afa::volume_record& r, std::uint64_t confirmed = 0);
  bool advance_spread(operation& op);
  bool begins_spread(operation& op);
  bool needs_no_marks(std::uint16_t vid) const;
  bool begins_beside_writer(operation& op);
  void moves_beside_writer(operation& op, repair_kind kind);
  void moved_some(operation& op, bool ok, const regions_by_volume& written);
  void gives_move_up(operation& op);
  bool is_waited_for(const operation& move) const;
  void gives_moves_up_for(std::uint16_t vid);
  bool hold_is_over(const operation& op) const;
  bool is_unfinished(std::uint16_t vid) const;
  void takes_over_hold(operation& op);
  bool lets_write(operation& op);
  bool lets_write_where_it_was(operation& op);
  /// True until all of a volume that moves is copied: it can be given up.
  static bool is_copying(const operation& op) {
    return op.step < telling || (op.step >= moving::watching && op.step <= moving::copying_last);
  }
  bool joins(operation& op);
  bool advance_narrow(operation& op);
  bool begins_narrow(operation& op);
  bool announced(operation& op);
  void pursue_aims();
  bool lacks_heir(const operation& op) const;
  void note_move(const operation& op, verdict said);
  bool advance_forget(operation& op);
  bool advance_rename(operation& op);
  bool is_taken(const wire::afa::volume_name& name, std::uint16_t vid) const;
  std::uint16_t free_vid() const;
  bool moved_on(operation& op);
  bool cleared(operation& op);
  bool left_behind_is_gone(operation& op);
  bool fenced(operation& op);
  void order_repair(operation& op, repair_kind kind);
  bool all_informed(operation& op, std::uint64_t whom, const ssd_order& order);
  bool all_informed_of_epoch(operation& op);
  bool chmod(operation& op, const wire::afa::volume_chmod& change);
  bool chmod(operation& op, const std::vector<wire::afa::volume_client>& changes);
  static bool is_refused(const operation& op);
  bool withdrawn(operation& op, bool clean, bool all);
  void answer(const operation& op, verdict said, std::uint64_t lease_until = 0);
  void publish();
  void change_epoch(std::uint64_t absent, std::uint64_t filling);
  void start_fill(std::uint32_t ssd);
  void order_mend(std::uint16_t vid, std::vector<std::uint32_t> blocks);
  void cancel(std::uint64_t repair);
  void give_up_repairs();
  void refill();
  void end_fills_of(std::uint64_t ssds);
  /// @param also SSDs, by bit, as if they were away, too
  bool is_torn(const wire::afa::volume_record& r, std::uint64_t also = 0) const;
  volume* find(std::uint16_t vid);
  manager_options options_;
  std::uint64_t now_ = 0;
  membership now_serving_;  ///< that SSDs are being informed of
  membership published_;
  bool knows_epoch_ = true;
  std::map<std::uint16_t, volume> volumes_;
  std::list<operation> queue_;
  std::uint32_t begun_ = 0;  ///< of those: `current` ones
  ssd_absences absences_;
  ssd_plans plans_;
  std::map<std::uint16_t, operation> unadopted_;  ///< by VID: what an SSD refused, to be repeated
  bool at_rest_ = false;  ///< nobody plans anything for SSDs, and no volume is between two places
  std::map<std::uint32_t, std::uint64_t> fills_;  ///< by SSD: the repair
  struct kept_data {
    std::vector<std::uint16_t> whole{};  ///< volumes that no fill concerns
    blocks_kept partly{};
  };
  std::map<std::uint32_t, kept_data> kept_;        ///< by SSD that is filled
  std::map<std::uint64_t, std::uint16_t> scrubs_;  ///< by repair: the volume
  std::map<std::uint64_t, repair_order> mends_;    ///< likewise
  std::map<std::uint64_t, std::uint32_t> asked_;   ///< by order: the SSD
  std::uint64_t next_id_ = 1;
  orders out_;
};

}  // namespace gnstor::daemon

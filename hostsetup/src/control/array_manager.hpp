#pragma once

#include "array_client.hpp"
#include "array_control.hpp"
#include "array_front_end.hpp"
#include "host_session.hpp"
#include "host_watch.hpp"
#include "manager_journal.hpp"
#include "repair_worker.hpp"
#include "return_watch.hpp"
#include "room_survey.hpp"
#include "scrub_schedule.hpp"
#include "standstill_watch.hpp"
#include <daemon/manager.hpp>
#include <gnstor/host/error.hpp>
#include <link/array_link.hpp>

#include <array>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <thread>
#include <vector>

namespace gnstor::host {

/// How an array is managed.
struct manager_settings {
  std::chrono::milliseconds lease{300'000};      ///< of a write right
  std::chrono::milliseconds ssd_timeout{300};    ///< without an answer an SSD has failed
  std::chrono::milliseconds look_every{250};     ///< at each SSD, to see whether it serves
  std::chrono::milliseconds flash_every{5000};   ///< likewise, to see how its flash is used
  std::chrono::milliseconds room_every{10'000};  ///< at volumes, to see how much holds data
  std::uint32_t room_parts = 256;  ///< of 4 MiB, that are looked at of a volume: it has 1 GiB
  std::chrono::milliseconds request_timeout{30'000};  ///< of one request
  std::uint64_t repair_bytes_per_s = 0;               ///< that repairs write or fill; 0: no limit
  std::chrono::seconds scrub_every{0};                ///< all volumes; 0: never
  /// How long a place may be without an SSD before a spare takes it; nothing: for ever.
  std::optional<std::chrono::milliseconds> spare_after;
  /// How long an SSD that failed must have answered again until it is taken back; nothing: never.
  std::optional<std::chrono::milliseconds> back_after;
  /// What a manager before this one has left, and this one leaves; null: nothing.
  std::shared_ptr<manager_journal> journal;
  /// A target elsewhere answers for its SSDs, also for those that are silent, and within
  /// `ssd_timeout`: what it does not answer says that the connection with it is lost. It also says
  /// which hosts there are: who may write and is gone loses the right.
  bool remote = false;
  /// Says whether to take over from a manager that is there: whoever chooses has chosen this one.
  /// Nothing: never.
  std::function<bool()> takes_over;
};

/// Another manager is in charge of the array.
class deposed_error : public error {
 public:
  using error::error;
};

/// The manager of an array, inside this process: it carries out by admin commands and repairs what
/// `daemon::manager` orders, and answers requests of any thread.
///
/// It is the only one that changes volumes, rights and epochs: all state is in the SSDs, from which
/// it is rebuilt when this is made. No I/O of clients passes it.
class array_manager {
 public:
  /// Takes the array over. Throws `io_error` if no SSD answers.
  /// @param link the manager's own association, of which the SSDs know that it is the manager's
  /// @param front_end of the SSDs; it uses the link
  array_manager(std::unique_ptr<array_link> link, std::unique_ptr<array_front_end> front_end,
                manager_settings settings);
  ~array_manager();
  array_manager(const array_manager&) = delete;
  array_manager& operator=(const array_manager&) = delete;

  // ---- volumes. Each throws `control_error`; then nothing has changed, unless it says otherwise.
  volume_state create(const new_volume& wanted);
  std::vector<volume_state> volumes() const;
  volume_state find(std::uint16_t vid) const;
  volume_state find(std::string_view name) const;
  void rename(std::uint16_t vid, const wire::afa::volume_name& name);
  void set_labels(std::uint16_t vid, const wire::afa::volume_labels& labels);
  /// Gives a volume more blocks, which read as zeroes; whoever has it open goes on.
  void grow(std::uint16_t vid, std::uint64_t capacity_blocks);
  /// Deletes a volume that nobody holds a lease to write.
  /// @param force although somebody does
  /// @param of hash factor of the volume that is meant; 0: whichever has this VID now
  /// @param by whose own lease does not count
  void remove(std::uint16_t vid, bool force, std::uint64_t of = 0, client_id by = {});
  /// Lets a client read a volume, or also write it, for as long as its lease.
  /// @param admitted `not_allowed` unless this one has a right to the volume when its turn comes;
  /// 0: nobody need have
  volume_state open(std::uint16_t vid, client_id client, bool write, client_id admitted = {});
  /// The same for a host, or for a session of it. One that wants to write waits while who may now
  /// has lost its connection: its former self, above all.
  /// @param admitted_only `not_allowed` if its host has no right to the volume when its turn comes
  volume_state open(std::uint16_t vid, const host_session& who, bool write, bool admitted_only);
  volume_state renew(std::uint16_t vid, client_id client);
  volume_state renew(std::uint16_t vid, const host_session& who);
  /// Takes a client's rights; who was admitted may read on. @param clean every write of its was
  /// acknowledged
  void close(std::uint16_t vid, client_id client, bool clean);
  /// The same of a session, or of a host as one client: its sessions go on.
  void close(std::uint16_t vid, const host_session& who, bool clean);
  /// The same of a host with all its sessions, whatever they are doing.
  void revoke(std::uint16_t vid, const std::string& nqn);
  /// Lets a client read a volume, and open it whenever it wants to; or takes every right from it.
  volume_state admit(std::uint16_t vid, client_id client);
  void expel(std::uint16_t vid, client_id client);
  void expel(std::uint16_t vid, const std::string& nqn);  ///< of a host, with all its sessions
  /// Takes every right to every volume from a client, whatever it is doing. What it owns stays its
  /// own: see `set_owner`.
  void dismiss(client_id client);
  void dismiss(const std::string& nqn);  ///< of a host, with all its sessions
  /// Throws `control_error` if some client that may write is not connected just now, so that nobody
  /// can say whether it is a session of a host that is to lose its rights.
  void need_known_writers(const std::string& nqn);
  /// As whom a host or a session writes. `unavailable`: it is no session that is connected.
  client_id writer_id(const host_session& who);
  /// Throws `control_error` if a host's client id is that of another one that is connected, or of a
  /// session: volumes know hosts by it alone, so that one would be given this one's rights.
  /// @param what is done, for the message
  void need_own_id(const std::string& nqn, const std::string& what);
  /// Gives a volume to another host. @param owner as in `volume_record`; not 0
  void set_owner(std::uint16_t vid, std::uint64_t owner);
  /// A client's last connection is gone: its leases end, as if it had closed all volumes at once.
  /// @param reads_on others read by its rights, which are a whole host's
  void client_gone(client_id client, bool reads_on = false);
  /// Has all replicas of a volume read and those that are damaged mended, soon: returns at once.
  void scrub(std::uint16_t vid);
  void spread(std::uint16_t vid);

  // ---- SSDs
  /// Takes an SSD out of the array, as if it had failed; returns when every other one knows.
  /// @param force although blocks of a volume are on no other one that is in sync
  /// @param maintenance how long it is out for planned work: back by then, with what it had, it is
  /// filled with those volumes alone that somebody could write meanwhile. 0: it has failed.
  void detach(std::uint32_t ssd, bool force = false, std::chrono::milliseconds maintenance = {});
  /// Puts a formatted SSD, or the same one again, in the place of an absent one; returns when it is
  /// being filled, or takes part already. Who stands in for it leaves when it is in sync.
  void replace(std::uint32_t ssd);
  /// Has another SSD, on which no volume lies, serve at the place of one, which may have failed;
  /// else it serves until the other one is in sync, and is taken out then. I/O goes on, and at no
  /// time has a block fewer replicas in sync. Returns when the other one is being filled.
  void exchange(std::uint32_t ssd, std::uint32_t with);
  /// Empties an SSD, and at no time has a block fewer replicas in sync. The last one of all volumes
  /// that lie on it: the others are given its share, volume by volume; a volume that a host may
  /// write waits. Another one is exchanged for a spare. Returns when that has begun: `state` says
  /// how far it is. New volumes do not lie on it.
  void drain(std::uint32_t ssd);
  /// Spreads every volume over an SSD that lies on all those before it; likewise. An absent one is
  /// put in its place first.
  void add(std::uint32_t ssd);
  /// Takes an SSD on which no volume lies out, to serve at the place of another one some day:
  /// where `drain` wants one, or where an SSD has been absent for `spare_after`.
  void add_spare(std::uint32_t ssd);
  /// Calls off what was asked for: volumes stay where they are by then, an exchange ends, a spare
  /// is none any more.
  void keep(std::uint32_t ssd);

  /// A host says that an SSD does not serve it: the SSD is looked at, at once. No host takes one
  /// out: what this manager sees itself counts. Throws `control_error` if there is none.
  /// @param ssd nothing: some SSD @param host its NQN @param words how it fails
  void reported(std::optional<std::uint32_t> ssd, const std::string& host,
                const std::string& words);

  /// The number of its rule: each manager of an array has a later one than all before.
  std::uint64_t term() const { return term_; }
  /// Throws if this one does nothing any more: `deposed_error` if another manager has taken the
  /// array over, `error` if the connection with it is lost.
  void check() const;

  /// The hosts that are connected. Throws `control_error`.
  std::vector<connected_host> hosts();
  /// What hosts do with each volume, since its target began to serve it. Throws `control_error`.
  std::vector<wire::afa::traffic_record> traffic();

  array_state state() const;
  /// Events from number `from` on, the last 1,000 at most.
  std::vector<array_event> events(std::uint64_t from) const;
  /// How many there have been.
  std::uint64_t events_seen() const;
  client_id client() const { return client_id(options_.client); }

 private:
  /// Before something that did not work is tried again.
  static constexpr std::chrono::milliseconds retry_pause{100};
  struct look {
    bool answers = true;
    wire::afa::array_description said{};
    wire::afa::ssd_description flash{};                ///< zeroes where it did not say
    std::chrono::steady_clock::time_point flash_at{};  ///< when it was asked for that
    std::chrono::steady_clock::time_point ended{};     ///< when it was looked at last
  };
  /// What hosts say of an SSD.
  struct complaint {
    std::uint64_t count = 0;
    std::string last{};  ///< to be said beside what the next look sees; empty: nothing
  };
  struct front_end_change {
    std::uint32_t ssd;
    bool detached;
  };
  void claim();
  void take_over();
  repair_worker::employer employer();
  bool may_send_many() const;
  std::array<repair_worker*, 4> workers() {
    return {&repairs_, &converging_, &forgetting_, &following_};
  }
  repair_worker& worker_of(const daemon::repair_order& r);
  void run();
  void obey(daemon::orders&& out);
  void carry_out(std::unique_lock<std::mutex>& lock);
  void change_front_end(std::unique_lock<std::mutex>& lock);
  bool look_at_ssd(std::uint32_t ssd, bool takes_part, look& now, status& outcome);
  void look_at_flash(std::uint32_t ssd, look& now);
  void look_at(std::uint32_t ssd, std::unique_lock<std::mutex>& lock);
  void look_at_ssds(std::unique_lock<std::mutex>& lock);
  bool looks_for_hosts(std::unique_lock<std::mutex>& lock);
  void note_complaint(std::uint32_t ssd, bool serves);
  void take_up_scrubs();
  bool begins_scrub(std::chrono::steady_clock::time_point now);
  void note_repair(const daemon::repair& done);
  status send(const daemon::ssd_order& o);
  daemon::reply ask(const std::string& what, const std::function<void(std::uint64_t)>& post);
  void await(std::unique_lock<std::mutex>& lock, const std::string& what,
             const std::function<bool()>& holds);
  volume_state state_of(const wire::afa::volume_record& r) const;
  wire::afa::volume_record known(std::uint16_t vid) const;
  void promise(const std::string& what, const wire::afa::volume_record& r, std::uint64_t blocks);
  std::uint64_t provisioned() const;
  std::uint64_t capacity() const;
  void make_equal(std::uint32_t ssd);
  void need_drainable(std::uint32_t ssd) const;
  void need_exchangeable(std::uint32_t ssd) const;
  void need_fit(std::uint32_t ssd, std::uint32_t with) const;
  std::optional<std::uint32_t> spare_for(std::uint32_t place, std::uint64_t but = 0) const;
  std::vector<std::uint32_t> empty_places(std::chrono::steady_clock::time_point now);
  daemon::ssd_report asked(std::uint32_t ssd);
  void note_places(ssd_state& s) const;
  void hand_over(std::uint32_t place, std::uint32_t to, daemon::ssd_report says);
  void use_spares(std::unique_lock<std::mutex>& lock);
  bool may_come_back(std::uint32_t ssd) const;
  std::uint64_t needed_before(std::uint32_t ssd) const;
  void take_back(std::unique_lock<std::mutex>& lock);
  std::string why_absent(std::uint32_t ssd) const;
  void take_up_absences();
  void note_absence(std::uint32_t ssd);
  bool is_out(std::uint32_t ssd) const { return (core_.serving().absent >> ssd & 1) != 0; }
  void plan_for(std::uint32_t ssd, daemon::ssd_aim aim);
  void take_up_plans();
  void note_aims();
  void need_ssd(std::uint32_t ssd) const;
  void need_other(client_id client, std::uint16_t vid) const;
  void need_rule(const std::string& what) const;
  void check_rule(const std::string& what) const;
  bool is_lost(status s) const;
  bool notices_end(status s);
  template <class Answer>
  Answer from_front_end(const char* what, Answer (array_front_end::*question)());
  void look_at_hosts(std::unique_lock<std::mutex>& lock);
  array_front_end::connected connected();
  array_front_end::connected await_former(std::uint16_t vid, const host_session& who);
  void forget_who_is_gone(std::uint16_t vid, const array_front_end::connected& there);
  void need_known_writer(std::uint16_t vid, const std::string& nqn,
                         const array_front_end::connected& there) const;
  void expel_unknown(std::uint16_t vid, const array_front_end::connected& there);
  void end_rule(std::string why);
  void say(std::string words);
  std::uint64_t now() const;
  void count_time();

  std::unique_ptr<array_link> link_;
  std::unique_ptr<array_front_end> front_end_;
  manager_settings settings_;
  std::shared_ptr<manager_journal> journal_;
  array_client client_;
  daemon::manager_options options_;
  std::mutex host_looks_;     ///< one after another; before `guard_`
  mutable std::mutex guard_;  ///< of all that follows
  daemon::manager core_;
  std::vector<look> looks_;
  std::vector<complaint> complaints_;
  std::uint64_t reported_ = 0;  ///< SSDs that are to be looked at for that, by bit
  std::optional<std::chrono::steady_clock::time_point> complained_at_;  ///< that was an event
  std::deque<front_end_change> front_ends_;
  std::deque<daemon::ssd_order> orders_;
  std::map<std::uint64_t, std::optional<daemon::reply>> requests_;  ///< that somebody waits for
  std::condition_variable answered_;
  std::condition_variable work_;
  std::uint64_t last_request_ = 0;
  std::uint64_t promised_blocks_ = 0;  ///< to volumes that are being created
  std::uint64_t known_absent_ = 0;     ///< for events
  std::uint64_t known_filling_ = 0;
  std::uint64_t unfit_ = 0;   ///< SSDs that could not take their places, by bit
  std::uint64_t moving_ = 0;  ///< SSDs that are being emptied, or given their share, by bit
  standstill_watch still_;
  std::chrono::steady_clock::time_point look_next_;
  std::map<std::uint32_t, std::chrono::steady_clock::time_point> empty_since_;  ///< places
  scrub_schedule scrubs_;
  scrub_tally scrubbed_;
  bool stopping_ = false;
  std::string ended_;     ///< why it does nothing any more; empty: it does
  bool deposed_ = false;  ///< then: another manager has taken over
  host_watch host_watch_;
  return_watch returns_;
  std::uint64_t waiting_ = 0;      ///< SSDs, by bit, of which was said that they wait for others
  std::uint64_t term_ = 0;         ///< constant once it has taken over
  std::uint64_t former_term_ = 0;  ///< likewise: the latest that its SSDs knew before
  repair_worker repairs_;          ///< one after another, but for
  repair_worker converging_;       ///< what somebody waits for who wants to write, and
  repair_worker forgetting_;       ///< what an SSD that is back waits for
  repair_worker following_;  ///< what was written of a volume that moves: its writer waits for it
  room_survey room_;
  std::thread thread_;
};

}  // namespace gnstor::host

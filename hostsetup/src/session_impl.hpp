#pragma once

#include <base/log_limit.hpp>
#include <gnstor/host/error.hpp>
#include <gnstor/host/session.hpp>
#include <gnstor/wire/afa/admin_command.hpp>
#include <gnstor/wire/afa/array_description.hpp>
#include <gnstor/wire/afa/status.hpp>
#include <gnstor/wire/afa/volume_chmod.hpp>
#include <link/array_link.hpp>

#include <control/agreed_epoch.hpp>
#include <control/array_control.hpp>
#include <control/embedded_manager.hpp>
#include <control/epoch_watcher.hpp>
#include <control/in_epochs.hpp>
#include <control/lease_keeper.hpp>
#include <control/ssd_reporter.hpp>

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <utility>
#include <vector>

namespace gnstor::host {

/// The options with their former names' values under the present ones.
inline session_options settled(session_options o) {
  o.timeout = std::exchange(o.timeout_ns, {}).or_else(o.timeout);
  return o;
}

/// What a session holds. `link` is declared first: whatever reads this memory is stopped before the
/// memory is freed.
struct session::impl {
  impl(const endpoint& e, const session_options& o);
  /// A session of the array that an endpoint names, with its manager where that has one.
  static std::unique_ptr<impl> open(endpoint where, const session_options& o);
  /// Connects a session of a managed array anew for as long as some volume knows its id: it would
  /// have what somebody else has left there.
  static void take_unknown_id(std::unique_ptr<impl>& made);
  /// A session over a connection that is there already.
  impl(const endpoint& e, const session_options& o, std::unique_ptr<array_link> connected);
  ~impl();

  static constexpr std::uint64_t staging_bytes = 1 << 20;

  /// Executes an admin command on SSD `ssd`, in the session's epoch; its payload begins at
  /// `page()`.
  void need_own_places() const;
  status attempt(wire::afa::admin_command c, std::uint32_t ssd, std::uint32_t payload_bytes = 0);
  /// The same with a payload elsewhere, in the epoch that `c` names.
  status ask(wire::afa::admin_command c, std::uint32_t ssd, const io_buffer& payload,
             duration patience) const;
  /// The same; throws `io_error` that names `what`.
  void admin(wire::afa::admin_opcode op, std::uint32_t ssd, volume_id vid,
             std::uint32_t payload_bytes, const char* what);
  void execute(const wire::nvme::submission_entry& command, std::uint32_t ssd,
               const std::string& what);

  /// Asks the array for its epoch, and what that says of its SSDs. Throws `io_error` if no SSD
  /// answers.
  void learn();

  // ---- an array with a manager (session_managed.cpp)

  /// Volumes are the manager's from now on: the SSDs get no VOLUME commands.
  void manage(std::unique_ptr<array_control> manager);
  /// Asks for it while kernels run, for them; nothing if no SSD answers.
  /// @par Callers the watcher's thread
  std::optional<wire::afa::array_description> look(std::uint32_t ssd_count);
  template <class Payload>
  status look(const wire::afa::admin_command& c, std::uint32_t ssd, Payload& one);
  void renew_look_page();
  void say_whether_channels_return();
  void watch_epochs();
  /// A volume in the epoch that was learned last.
  volume_info present(volume_info v) const;
  volume_info placed(volume_info v);
  volume_info renewed(volume_info v);
  /// Carries out an operation on a volume; where a manager may help, again in each new epoch, until
  /// the time for a command is over.
  status follow(const volume_info& v, const std::function<status(const volume_info&)>& operation);
  volume_info create_managed(const wire::afa::volume_record& wanted);
  /// @param write where nobody else does
  volume_info open_managed(volume_id vid, bool write);
  void close_managed(volume_id vid);
  void give_up(volume_id vid) noexcept;
  std::function<void(volume_id)> before_right;
  void leave_managed() noexcept;

  // ---- an array without one: what becomes of volumes on the SSDs (session_volumes.cpp)

  /// The SSD that says which volumes there are: the first one present.
  std::uint32_t arbiter() const;
  /// Volumes on that SSD, in order of VID; also those of creations that have not ended.
  std::vector<wire::afa::volume_record> list();
  /// @param also_deleting although its deletion has begun, and did not end
  wire::afa::volume_record find(volume_id vid, bool also_deleting = false);
  wire::afa::volume_record find(const wire::afa::volume_name& name);
  /// Creates a volume on every SSD present, under the first VID that nobody has. The arbiter is
  /// informed first, so that of two hosts one gets the VID, and last, so that a creation that ends
  /// half-way is on no list. Throws `io_error`; takes back what it had done, and touches nothing
  /// else.
  void create(wire::afa::volume_record& r);
  /// Deletes a volume on every SSD present; on the arbiter last, so that its VID is free only when
  /// all is gone.
  void remove(const wire::afa::volume_record& r);
  /// Gives a volume another name on every SSD: on the arbiter first, which knows the names that are
  /// taken. Throws `input_error` if this one is.
  void rename(const wire::afa::volume_record& r, const wire::afa::volume_name& name);
  void grow(const wire::afa::volume_record& r, std::uint64_t blocks);
  /// Who is informed first: of two who want the same the arbiter chooses, so it is the first to
  /// hear what is taken; and the last to hear what is given, so that nobody takes it too early and
  /// who did not come to the end repeats it.
  enum class turn : std::uint8_t { arbiter_first, arbiter_last };
  /// Changes one client's rights on every SSD of a volume. The first refusal; what is given goes
  /// to the others all the same.
  status set_rights(const wire::afa::volume_record& r, client_id whose, std::uint16_t rights,
                    turn order);
  status change(const wire::afa::volume_record& r, wire::afa::volume_chmod wanted, turn order);
  /// Takes the right to write a volume, on all of its SSDs or on none; who had it has it still.
  /// @param r as it was before
  status take_write(const wire::afa::volume_record& r);
  /// Lets this client read a volume, and no more.
  status only_read(const wire::afa::volume_record& r);
  /// The rights of a client that reads a volume, and stays admitted where it was.
  static std::uint16_t without_write(const wire::afa::volume_record& r, client_id whose);
  /// Lets a host read a volume and take the right to write it where that is free, or ends that.
  /// Throws `io_error` where the volume belongs to somebody else.
  void allow(volume_id vid, std::string_view host, bool allowed);
  /// Gives back the right to write what this session opened, at its end.
  void give_back_rights() noexcept;

  /// Takes a plain namespace of at least `bytes` bytes as a volume, where the endpoint says that
  /// they may be overwritten; gives it back. Throws `input_error`.
  volume_info take_namespace(std::uint64_t bytes);
  void give_namespace(volume_id vid);
  volume_info describe(const wire::afa::volume_record& r) const;
  /// The admin payload's page, at the start of the staging buffer. Makes a buffer if there is none:
  /// throws `error` if it cannot.
  unsigned char* page();
  /// Leaves the staging buffer where it is: a request given up may still use it. The next command
  /// gets another.
  void abandon_staging();
  /// The phase of channel `k` of the kernels'. Throws `input_error` if there is none.
  channel_phase phase(std::uint32_t k) const;
  /// Reads or writes what the staging buffer holds at most. Reads again into another one where a
  /// silent SSD may still write the first: what that one holds could change while it is copied.
  status read_some(remote_volume volume, vba first, unsigned char* to, std::uint64_t bytes);
  status write_some(const remote_volume& volume, vba first, const unsigned char* from,
                    std::uint64_t bytes);
  void transfer(bool write, const volume_info& v, std::uint64_t offset, void* memory,
                std::uint64_t bytes);

  endpoint where;
  session_options options;
  std::shared_ptr<embedded_manager> embedded;  ///< where `control` is a part of this process
  std::unique_ptr<array_link> link;
  std::unique_ptr<array_control> control;  ///< null: the array has no manager
  std::unique_ptr<lease_keeper> leases;    ///< with `control`
  std::unique_ptr<ssd_reporter> reporter;  ///< likewise
  memory_block staging;                    ///< admin payload page, then the host's I/O buffer
  io_buffer staging_buffer{};
  std::vector<memory_block> retired;  ///< former staging buffers
  memory_block boards;                ///< of epochs, where kernels may follow them
  bool channels_return = false;       ///< as the boards say
  log_limit restores{1};              ///< of lost channels, that failed
  struct {
    memory_block memory;
    io_buffer buffer{};
    std::vector<memory_block> retired;
  } look_page;                             ///< the watcher's: what SSDs describe
  std::unique_ptr<epoch_watcher> watcher;  ///< with `boards`
  /// By VID and hash factor: SSDs that a volume is spread over, and in which epoch.
  std::map<std::pair<std::uint16_t, std::uint64_t>, std::pair<std::uint32_t, std::uint32_t>> lies;
  wire::afa::array_description array{};  ///< what the array said of itself
  std::uint64_t driven_in = 0;  ///< `array_link::fresh_starts` of what this session did last
  client_id client{};           ///< this session's own, by which it writes
  client_id as_host{};  ///< that of its whole host, by which it reads; the same without a manager
  std::set<std::uint16_t> taken;    ///< plain namespaces in use as scratch volumes
  std::size_t created = 0;          ///< volume ids that this session has tried
  std::set<std::uint16_t> written;  ///< volumes that this session has the right to write

 private:
  enum class claim : std::uint8_t { taken, mine };
  claim claim_vid(const wire::afa::volume_record& r);
  status add(const wire::afa::volume_record& r, std::uint32_t ssd, wire::afa::volume_spread spread);
  void take_back(const wire::afa::volume_record& r) noexcept;
  bool is_present(std::uint32_t ssd) const { return (array.absent >> ssd & 1) == 0; }
};

/// Reaches inside sessions. Makes them over connections that are there already: for who serves an
/// array itself.
struct session_access {
  using impl = session::impl;  ///< for its own tests

  static array_link& link(const session& s) { return *s.impl_->link; }
  /// True if its array has a manager, which brings it to another epoch when an SSD fails.
  static bool managed(const session& s) { return s.impl_->control != nullptr; }
  /// Has `call` be made before a manager is asked for a right to write that the session does not
  /// hold: others may have written since it held it. Empty: no more.
  static void before_right(session& s, std::function<void(volume_id)> call) {
    s.impl_->before_right = std::move(call);
  }
  /// Follows the array's epochs, for who reads and writes beside the session; null for plain
  /// namespaces, which have none.
  static epoch_watcher* follow_epochs(session& s) {
    if (!s.impl_->link->namespaces().empty()) return nullptr;
    if (!s.impl_->watcher) s.impl_->watch_epochs();
    return s.impl_->watcher.get();
  }

  static session over(const endpoint& e, const session_options& o,
                      std::unique_ptr<array_link> connected) {
    auto made = std::make_unique<session::impl>(e, o, std::move(connected));
    made->need_own_places();
    return session(std::move(made));
  }
  /// The same of an array that has a manager.
  static session over(const endpoint& e, const session_options& o,
                      std::unique_ptr<array_link> connected,
                      std::unique_ptr<array_control> manager) {
    auto made = std::make_unique<session::impl>(e, o, std::move(connected));
    made->manage(std::move(manager));
    return session(std::move(made));
  }
};

}  // namespace gnstor::host

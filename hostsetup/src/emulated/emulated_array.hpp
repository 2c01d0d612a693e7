#pragma once

#include "flash_file.hpp"
#include "flash_syncer.hpp"
#include "flushed_flash.hpp"
#include <afa/firmware_failure.hpp>
#include <afa/node.hpp>
#include <afa/node_rest.hpp>
#include <afa/node_runner.hpp>
#include <deengine/layout.hpp>
#include <deengine/mount_status.hpp>
#include <gnstor/host/endpoint.hpp>
#include <gnstor/host/machine.hpp>
#include <gnstor/host/memory_block.hpp>
#include <gnstor/host/session.hpp>
#include <link/client_identity.hpp>

#include <control/array_front_end.hpp>
#include <timing/paced_ssd.hpp>
#include <timing/stream_sender.hpp>

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace gnstor::host {

/// The NQN of the emulated subsystem.
inline constexpr const char* emulated_nqn = "nqn.2026-11.io.gnstor:emulated-array";

/// As whom an array knows its manager: no host may call itself so.
inline constexpr const char* manager_name = "gnstor-manager";

/// What an emulated NIC does for tests: its queue pairs break and stay so, or nothing of theirs
/// goes on until it is well again.
enum class nic_fault : std::uint8_t { none, dead, silent };

/// An array node inside this process: memory, SSDs, NIC tables, and whoever runs the firmware.
///
/// It plays the part of the daemon and of the kernel driver: it admits hosts, registers memory and
/// creates queue pairs. Every function may be called from several threads at once.
class emulated_array : public std::enable_shared_from_this<emulated_array> {
 public:
  /// @param queues queue pairs it must hold
  emulated_array(const endpoint& where, machine client, int client_device, std::uint32_t queues,
                 std::uint32_t depth);
  ~emulated_array();
  emulated_array(const emulated_array&) = delete;
  emulated_array& operator=(const emulated_array&) = delete;

  const endpoint& where() const { return endpoint_; }
  runner_kind runner() const { return runner_; }
  /// True if the node runs from `start` to `stop`; false if only while something uses it.
  bool resident() const { return !on_gpu() || endpoint_.resident; }
  /// True if a power cut may lose what was acknowledged, until a Flush: CPU threads serve files.
  bool has_write_cache() const { return node_.medium != nullptr; }
  /// What of the flash ends with this process, or with the machine's power. Empty: what is flushed
  /// survives both.
  std::string what_survives() const;
  const fw::node& node() const { return node_; }
  const fw::geometry& geometry() const { return geometry_; }

  /// Makes ready for one more session. Throws `input_error` where it cannot join: there is no room,
  /// or its GPU and the node's do not reach each other.
  void welcome(const session_options& options);

  /// A host that the array knows.
  struct admitted {
    std::uint16_t controller = 0;  ///< its controller id, and the number of its protection domain
    client_id client{};            ///< that no other host or session has meanwhile
    client_id host{};              ///< that of its whole host; the same unless it is a session
  };
  /// Admits a host until it leaves. Throws `error` if `max_hosts` are here. Where the sessions have
  /// a manager of their own each one gets an id to write by; `input_error` where a host has no id
  /// that follows from its name.
  /// @param manager it may do what is nobody else's, such as give a volume another owner
  admitted admit(const client_identity& who, bool manager);
  /// Ends what `admit` began: forgets the host, takes back every region of the domain, and ends the
  /// firmware if no other host is left. Memory that the NIC's queues lie in goes to `keep` before.
  /// @param queues indices of its queue pairs
  /// @param drained all of them are, so that other hosts may have their room; else nobody takes
  /// over what the host has left behind
  void leave(std::uint32_t domain, const std::vector<std::uint32_t>& queues, bool drained) noexcept;
  /// True while CPU threads run the firmware.
  bool runs() const {
    const std::lock_guard lock(guard_);
    return running_ != nullptr;
  }
  /// Where its SSDs' files are; empty: they are in memory.
  const std::string& folder() const { return endpoint_.flash; }
  /// True if its sessions have a manager of their own.
  bool is_managed() const { return endpoint_.managed; }
  /// Its hosts and sessions, but for the manager, in order of the ids by which they write.
  std::vector<connected_host> hosts() const;
  /// True if a host or a session has this id, or has left without its queue pairs.
  bool has(client_id who) const;
  /// How many connections a host has.
  std::uint32_t connections(std::string_view nqn) const;
  /// Takes memory that the firmware may read for as long as it runs, such as that of queues: they
  /// are never taken off the NIC. It is freed with the array, after the firmware has ended: giving
  /// back pinned memory waits for a kernel that never ends. For each host, up to `kept_each`.
  void keep(memory_block block) noexcept;
  static constexpr std::uint32_t kept_each = 4;
  /// The same of something else.
  void keep(std::shared_ptr<const void> object) noexcept;
  /// Registers memory for protection domain `domain`; returns its key. Throws `error` if the table
  /// is full. A GPU's kernel does not see mappings made after its launch, so a running one is ended
  /// and started again: all of the firmware's state lies in memory, and I/O in flight only waits.
  std::uint32_t register_region(std::uint64_t base, std::uint64_t bytes, std::uint32_t domain);
  void unregister_region(std::uint32_t key) noexcept;
  /// A number for a new queue pair.
  std::uint32_t next_queue_number();
  /// Creates a queue pair; returns its index. Throws `error` if there is no room.
  std::uint32_t create_queue(const fw::queue_attributes& at);
  /// Has the firmware take back every command of queue pair `index`, without answers, and
  /// forget it. It looks at the queue pair's memory no more.
  void drain_queue(std::uint32_t index);
  /// True when it has: nothing of the queue pair's earlier requests can happen any more.
  bool is_drained(std::uint32_t index) const;
  /// Serves a drained queue pair again, from its first entries on.
  void serve_queue(std::uint32_t index);
  void set_fault(std::uint32_t ssd, fw::ssd_fault fault);
  /// Refuses an SSD's I/O from now on, whatever state it is in itself; also what it has not
  /// answered yet. Or no longer. An array that is opened again refuses that of SSDs which are
  /// absent in its latest epoch: they know an earlier one, and would serve who does, too.
  void detach(std::uint32_t ssd, bool detached);
  /// For the queue pairs that NIC `nic` has and gets. Those that were broken stay broken until they
  /// are drained.
  void set_nic_fault(std::uint32_t nic, nic_fault fault);
  /// Allocates memory that the node is to reach. Pinning memory waits for a kernel that never ends,
  /// and so does giving it back: a running one is ended meanwhile, or the memory kept until it
  /// ends.
  memory_block allocate(place where, std::size_t bytes);
  /// Starts the firmware, unless it runs or is not resident. Memory it is to reach should be
  /// registered before.
  void start();
  /// Calls `work` while the firmware runs. For a node that is not resident, one caller at a time:
  /// `work` must not wait for another thread that calls this array. Throws `error` with the reason
  /// where the firmware has failed: what `work` waited for has ended by then.
  void run_beside(const std::function<void()>& work);
  /// Somebody uses the array, as long as this lives, beside `run_beside`: its firmware does not
  /// rest for long meanwhile.
  std::unique_ptr<fw::node_rest::use> use() { return std::make_unique<fw::node_rest::use>(rest_); }
  /// True if the firmware has ended by an assertion: nothing is answered any more.
  bool has_failed() const { return failure_.raised(); }
  /// Throws `error` with the reason if it has.
  void check() const;
  /// The node for kernels that somebody else starts and ends, before the array's own end.
  fw::node attached();
  /// Ends the firmware; for files, brings everything back to them. Throws what went wrong.
  void stop();
  /// Takes back the files that this array has made: of an array that could not be opened after all.
  void remove_new_files() noexcept;

 private:
  struct drive {
    memory_block staging;  ///< metadata as it is formatted or recovered, unless it lies in the file
    memory_block metadata;  ///< on the GPU
    memory_block pages;     ///< unless they lie in the file
    std::unique_ptr<flash_file> file;
    std::unique_ptr<flushed_flash> flushed;  ///< where a Flush brings the file to its disk
    memory_block pinned;                     ///< the file, where a GPU stores to it
    void* host_metadata = nullptr;
    bool fresh = true;      ///< formatted now
    bool reported = false;  ///< that its file is lost
  };

  // With `guard_` held:
  void launch();
  void suspend();
  void free_when_ended(memory_block block) noexcept;
  void rest() const;
  void withdraw(std::uint32_t region) noexcept;

  void choose_shape(std::uint32_t queues, std::uint32_t depth);
  void lay_out();
  void reserve_tables();
  void pace();
  void mount(std::uint32_t index);
  void reach(std::uint32_t index);
  void install(std::uint32_t index);
  std::string path_of(std::uint32_t index) const;
  std::string log_of(std::uint32_t index) const;
  std::string explain(std::uint32_t index, fw::mount_status outcome) const;
  void refuse_gaps() const;
  void name_array() const;
  fw::membership_record latest_membership() const;
  void forget_unconfirmed() const;
  bool syncs() const { return !endpoint_.flash.empty() && endpoint_.sync.value_or(true); }
  void refuse_sync() const;
  void prepare_files();
  void report_lost();
  std::string explain_lost(std::uint32_t index) const;
  bool is_lost(std::uint32_t index) const {
    const drive& d = drives_[index];
    return d.file && d.file->error() != 0;
  }
  void open_flash();
  void close_flash();
  std::size_t metadata_bytes() const {
    return (fw::layout::of(geometry_).bytes + 4095) / 4096 * 4096;
  }
  void save(drive& d);
  template <class T>
  void poke(T* to, const T& value) const {
    copy_in(control_.where(), endpoint_.device, to, &value, sizeof value);
  }
  /// Stores a word that the firmware may be reading; what was stored before is complete for who
  /// sees it.
  void publish(std::uint32_t* to, std::uint32_t value) const;
  void publish(std::uint64_t* to, std::uint64_t value) const;
  void publish(std::uint32_t index, fw::queue_life life) const {
    publish(&node_.queues[index].active, static_cast<std::uint32_t>(life));
  }
  bool on_gpu() const { return runner_ == runner_kind::gpu; }

  endpoint endpoint_;
  runner_kind runner_;
  fw::geometry geometry_;
  fw::node node_;
  memory_block control_;
  memory_block stop_word_;  ///< pinned, for a GPU's kernel
  std::vector<drive> drives_;
  std::vector<std::unique_ptr<fw::paced_ssd>> pacers_;       ///< where SSDs take their time
  std::vector<std::unique_ptr<fw::stream_sender>> senders_;  ///< and where NICs do
  std::vector<fw::memory_region> regions_;
  std::uint32_t region_changes_ = 0;
  std::uint32_t queue_count_ = 0;
  std::uint32_t queue_number_ = 0;
  bool started_ = false;
  bool attached_ = false;  ///< kernels may run that only their executor knows
  /// Who has an entry of `node_.hosts`; nobody: key 0.
  struct host_slot {
    std::uint64_t key = 0;
    client_id client{};   ///< of the whole host
    client_id session{};  ///< as in `client_identity`
    bool left = false;    ///< its queue pairs stay
    std::string nqn{};
    std::uint32_t life = 0;  ///< as in `known_host::admitted`
    bool manager = false;
  };
  client_id free_client(const client_identity& who) const;
  client_id free_session(const client_identity& who) const;
  std::vector<host_slot> host_slots_;
  static constexpr std::uint32_t no_nic = ~0u;
  fw::queue_life life_on(std::uint32_t nic) const;
  void tell_of(std::uint32_t ssd) const;
  std::vector<std::uint32_t> free_queues_;
  std::vector<std::uint32_t> queue_nics_;  ///< of each queue pair that somebody has; else `no_nic`
  std::vector<nic_fault> nic_faults_;
  std::vector<fw::ssd_fault> ssd_faults_;
  std::uint64_t detached_ = 0;  ///< SSDs, by bit
  std::uint32_t lives_ = 0;     ///< of hosts, for `known_host::admitted`
  std::uint32_t present_ = 0;   ///< hosts that were admitted and have not left
  /// Of the tables and of `running_`. Recursive: what runs in `run_beside` may register memory.
  mutable std::recursive_mutex guard_;
  std::vector<memory_block> kept_;
  std::vector<std::shared_ptr<const void>> kept_objects_;
  std::vector<memory_block> given_back_;  ///< and freed when the GPU's node ends
  std::unique_ptr<flash_syncer> syncer_;  ///< where files are flash
  fw::firmware_failure failure_;
  fw::node_rest rest_;
  mutable std::atomic<bool> reported_ = false;  ///< somebody knows of the failure
  std::unique_ptr<fw::node_runner> running_;    ///< last: it reads all of the above
};

}  // namespace gnstor::host

#pragma once

#include <gnstor/core/duration.hpp>
#include <gnstor/host/array_health.hpp>
#include <gnstor/host/endpoint.hpp>
#include <gnstor/host/former_timeout.hpp>
#include <gnstor/host/machine.hpp>
#include <gnstor/host/memory_block.hpp>
#include <gnstor/volume/remote_volume.hpp>
#include <gnstor/wire/afa/volume_record.hpp>
#include <gnstor/wire/nvme/arbitration.hpp>

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace gnstor::simt::host {
class executor;
}
namespace gnstor::simt::cuda {
class executor;
}

namespace gnstor::host {

class session_pool;
struct session_pool_options;

/// How a session is set up.
struct session_options {
  machine client = this_machine;            ///< where the kernels that use it run
  int device = 0;                           ///< the client's GPU
  std::uint32_t channels = usual_channels;  ///< for kernels; 0: this CPU alone reads and writes
  std::uint32_t depth = 128;                ///< requests in flight per channel, a power of two
  /// Kernels may begin I/O and go on (what ends in `_async`): 136 bytes more per request in flight,
  /// 17 KiB per channel of depth 128.
  bool asynchronous = false;
  /// Class of the session's queues: urgent, high, medium or low. It matters where several sessions
  /// share SSDs that arbitrate (`set_arbitration`).
  wire::nvme::queue_class priority = wire::nvme::queue_class::medium;
  /// Who connects: sessions of the same name have the same rights, and are one client, but where a
  /// manager is: each of them writes there as one of its own.
  std::string host_name = "default";
  duration timeout =
      std::chrono::seconds(10);  ///< of set-up commands and of `read`/`write` of this class
  former_timeout timeout_ns{};   ///< now `timeout`
};

/// What a new volume should be.
struct volume_options {
  std::uint64_t bytes = 0;           ///< rounded up to whole 4 KiB blocks
  std::uint32_t replicas = 0;        ///< 0: the endpoint's default
  std::uint32_t stripe_blocks = 16;  ///< 4 KiB blocks, at most 256; 16 is 64 KiB
  std::string name{};                ///< 1 to 64 bytes that no other volume is called by; or none
  std::string labels{};              ///< `key=value,...`, 128 bytes at most: nothing looks at them
};

/// Which SSDs of an array serve, as it says itself. By bit.
struct ssd_service {
  std::uint32_t epoch = 0;    ///< of the array: one more with each change
  std::uint64_t absent = 0;   ///< SSDs that failed, or were taken out
  std::uint64_t filling = 0;  ///< SSDs that are written, and not read until they have everything
};

/// Blocks of 4 KiB of one SSD.
struct ssd_usage {
  std::uint64_t capacity_blocks;  ///< that volumes may hold
  std::uint64_t free_blocks;      ///< erased, of all flash: may be more than volumes may hold; few
                                  ///< are left where garbage is collected
  std::uint64_t moved_blocks;     ///< that garbage collection has moved since it was formatted
};

/// A connection to an array: volumes, channels for kernels, and registered memory. Move-only owner.
///
/// Everything it hands out (volume references, memory keys) is valid while it lives. While a
/// session with a GPU array node is open, wait for streams or events, never for the whole device:
/// the node's kernel does not end
/// (`cudaDeviceSynchronize`, `cudaFree` and a first kernel launch under lazy loading would wait for
/// it).
class session {
 public:
  /// Connects. Throws `input_error` for a bad endpoint or option, `error` with the remedy
  /// otherwise.
  explicit session(std::string_view endpoint_text, const session_options& options = {});
  ~session();
  session(session&&) noexcept;
  session& operator=(session&&) noexcept;

  /// Connects once more with the same array: for the kernels of another GPU, or as another host. An
  /// emulated array runs by itself then (not with `runner=sim` or `resident=no`), and has room for
  /// as many sessions as `sessions=` says; it ends with the last of them. Throws `input_error`
  /// where it cannot be joined, otherwise as the constructor.
  session join(const session_options& options) const;

  const endpoint& where() const;
  const session_options& options() const;
  /// As whom the array knows it: this session alone where a manager is, else its whole host.
  client_id client() const;
  /// What was granted or done otherwise than asked, a sentence each: fewer queues than channels,
  /// say. And by how many paths the array is reached, where there are several.
  std::vector<std::string> notes() const;

  /// Creates a volume that this host owns, and may read and write. Hosts that create at once get
  /// different volumes; of two that use the same name one is refused. Throws `input_error` if it
  /// cannot fit, or its name is taken or none, `io_error` otherwise: nothing has been created then.
  volume_info create_volume(const volume_options& wanted);
  /// Opens a volume that this host owns or was admitted to, and takes the right to write it where
  /// nobody holds that: `volume_info::writable` says whether it was granted, `writer` who holds it.
  /// Where the array has a manager the right belongs to this session, is refused to others of its
  /// host, and goes back with `close_volume` and the session's end; one whose holder has lost its
  /// connection is waited for, five seconds at most. Else it belongs to the host, and goes back
  /// when its last session ends in order. Throws `input_error` if there is no such volume,
  /// `io_error` where this host may not open it, naming the remedy.
  volume_info open_volume(volume_id vid);
  volume_info open_volume(std::string_view name);
  /// Opens a volume as `open_volume` does, but to read it: it takes no right to write. Any number
  /// of hosts may, also while one of them writes it; what they have in arrays' frames does not
  /// change then. A write through what this returns is refused by the SSDs (`nvme_error`, not
  /// permitted) unless this host holds the right in another session.
  volume_info open_read_only(volume_id vid);
  volume_info open_read_only(std::string_view name);
  /// Gives back the right to write a volume, so that another host that was admitted can take it.
  /// Nothing of this host's may be under way there. `read` goes on; kernels read by what
  /// `open_read_only` returns.
  void close_volume(volume_id vid);
  /// Lets another host open a volume that this one owns: to read it, and to write it while nobody
  /// else does. Throws `io_error` where it belongs to somebody else, or as many hosts have been
  /// admitted as there is room for: 30.
  /// @param host its NQN, or its `session_options::host_name`
  void admit(volume_id vid, std::string_view host);
  /// Takes all rights to a volume that this host owns from another one.
  void expel(volume_id vid, std::string_view host);
  /// Deletes a volume that this host owns. Throws `io_error` where another one does.
  void delete_volume(volume_id vid);
  void delete_volume(std::string_view name);
  /// Calls a volume that this host owns by another name. Throws `input_error` if there is no such
  /// volume, or the name is taken or none, `io_error` where it belongs to another host.
  void rename_volume(volume_id vid, std::string_view name);
  /// Gives a volume that this host owns more bytes, which read as zeroes. Kernels that run know the
  /// former size; others see the new one with `refresh`, or when they open it. Throws `input_error`
  /// if there is no such volume, it would shrink, or it cannot fit, `io_error` where it belongs to
  /// another host.
  /// @param bytes from now on; rounded up to whole blocks
  void grow_volume(volume_id vid, std::uint64_t bytes);
  /// The volumes of the array, in order of VID; where it has a manager, those that this host may
  /// open.
  std::vector<wire::afa::volume_record> volumes();
  /// The same volume as it is now, in the array's present epoch: what kernels that are started from
  /// now on use it by, after an SSD has failed or come back. `read` and `write` of this class look
  /// themselves; so do kernels of an array that has a manager, after one attempt in vain. Throws
  /// `io_error` if no SSD answers.
  volume_info refresh(const volume_info& volume);
  /// Which SSDs serve now; of namespaces and disks nothing is known. Throws `io_error` if none
  /// answers.
  ssd_service ssds();
  /// How the array is, as its manager says: of `gnstor://`, and of `emu:?manager=yes`. Throws
  /// `input_error` where there is none, `control_error` where it does not answer.
  array_health health();
  /// How SSD `ssd` of the array is doing. Of `n` blocks written to it, write amplification is 1
  /// plus the growth of `moved_blocks` over `n`. Throws `input_error` for an SSD that is not there,
  /// `io_error` otherwise.
  ssd_usage usage(std::uint32_t ssd);
  /// Sets weights (minus 1) and burst of weighted round robin, by which the array's SSDs fetch
  /// commands from queues of the classes high, medium and low; urgent ones go before, whatever the
  /// weights. For all users of the SSDs, until the SSDs are restarted. `session_options::priority`
  /// is the class of a session's own queues, all alike: to see classes at work, serve one array to
  /// several sessions by `gnstor-target`. Emulated SSDs arbitrate where they take their time
  /// (`timing=table2`); elsewhere it is accepted and changes nothing. Throws `input_error` for a
  /// burst beyond 2^7, `io_error` where the controller cannot change it.
  void set_arbitration(const wire::nvme::arbitration& rules);

  /// The volume for kernels: uses all channels of the session.
  remote_volume ref(const volume_info& volume) const;
  /// The channels for kernels.
  channel_set<remote_channel> channels() const;

  /// What became of channel `k` of the kernels': the phase that its lanes see.
  channel_phase phase(std::uint32_t k) const;
  /// Brings channel `k` of the kernels' back to `ready`, while kernels use this one and others.
  ///
  /// Its lanes see `flushed` and then `not_ready` meanwhile. Requests that wait for their answer
  /// end with `reset`: they may have been executed, and may be tried again (`status::retry_safe`).
  /// When this returns, nothing of any earlier request of the channel can happen any more: buffers
  /// that were left behind by `flushed` or `timed_out` are free too. A channel that is not dead is
  /// ended first. Throws `io_error` if that takes longer than `timeout`, with lanes in the way
  /// or no answer (it may be tried again), or if the channel's owner has closed it; `input_error`
  /// where it cannot be done: with `resident=no`, and for `rdma://`, whose queues come back
  /// together when kernels are attached next. With `runner=sim` no kernel may run meanwhile. A GPU
  /// needs room for one more block beside the kernels that run. The owner of an
  /// `exclusive_channel` has to release it first: its indices are plain stores.
  void reset_channel(std::uint32_t k, duration timeout = std::chrono::seconds(10));
  [[deprecated("give a duration: reset_channel(k, 3_s)")]] void reset_channel(
      std::uint32_t k, std::uint64_t timeout_ns);

  /// Moves bytes between this CPU's memory and a volume. `offset` and `bytes` are multiples of
  /// 4096.
  void write(const volume_info& volume, std::uint64_t offset, const void* from,
             std::uint64_t bytes);
  void read(const volume_info& volume, std::uint64_t offset, void* to, std::uint64_t bytes);

  /// Lets the array node read and write memory that kernels use. Returns it as a buffer with its
  /// keys. `registered_memory` allocates, registers and gives back by itself.
  io_buffer register_memory(void* address, std::uint64_t bytes);
  /// Ends that: requests sent from now on fail. One that was given up (`left_behind()`) may use the
  /// memory still: free it after its channel was reset, or the session has closed.
  void unregister_memory(const io_buffer& buffer) noexcept;

  /// Memory that kernels of this session and the array reach, for `register_memory` and for
  /// whatever kernels share with this CPU's copies. Throws `error`. May wait for running kernels.
  memory_block allocate(std::size_t bytes);

  /// Registered memory from which kernels take buffers themselves, and which grows while they run.
  /// Include <gnstor/host/session_pool.hpp>. Throws what `session_pool`'s constructor throws.
  session_pool pool();
  session_pool pool(const session_pool_options& options);

  /// Where memory for kernels of this session has to lie.
  place client_place() const;

  /// Adds to an executor what has to run beside its kernels: the array node's lanes with
  /// `runner=sim`, its kernel with `resident=no`. They end with the executor's other grids.
  /// Otherwise nothing.
  void attach(simt::host::executor& executor) const;
  void attach(simt::cuda::executor& executor) const;

  /// Makes SSD `ssd` faulty, for tests: "none", "media_error", "dead" or "silent".
  void inject_fault(std::uint32_t ssd, std::string_view fault);
  /// Makes NIC `nic` of an emulated array faulty, for tests: "dead" breaks its channels, also those
  /// that are reset meanwhile; "silent" holds them up; "none" ends both, and channels that broke
  /// have to be reset then.
  void inject_nic_fault(std::uint32_t nic, std::string_view fault);

 private:
  friend struct session_access;
  struct impl;
  enum class rights : std::uint8_t { all_that_are_free, reading };
  volume_info open(volume_id vid, rights wanted);
  volume_id named(std::string_view name);
  explicit session(std::unique_ptr<impl> i);
  std::unique_ptr<impl> impl_;
};

}  // namespace gnstor::host

#pragma once

#include <gnstor/channel/remote_channel.hpp>
#include <gnstor/host/memory_block.hpp>
#include <gnstor/io/volume_info.hpp>

#include <functional>
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

struct endpoint;
struct session_options;

/// How a session reaches its array: everything that differs between an array emulated in this
/// process and one behind a network.
///
/// It owns the connection, its channels and its registrations. Channels lie where their users reach
/// them: `host` on this CPU, `kernels` where kernels run.
class array_link {
 public:
  array_link() = default;
  array_link(const array_link&) = delete;
  array_link& operator=(const array_link&) = delete;
  virtual ~array_link() = default;

  /// Another connection with the same array. Throws `input_error` where there can be none.
  /// @param where what this one was opened by
  virtual std::unique_ptr<array_link> another(const endpoint& where,
                                              const session_options& options) const = 0;

  /// Memory that this CPU and the array reach, and memory that kernels and the array reach.
  virtual place node_reach() const = 0;
  virtual place kernel_reach() const = 0;
  /// Allocates memory that is to be registered.
  virtual memory_block allocate(place where, std::size_t bytes) = 0;
  /// Lets the array read and write memory. Throws `error` with the limit that was hit.
  virtual io_buffer register_memory(void* address, std::uint64_t bytes) = 0;
  virtual void unregister_memory(const io_buffer& buffer) noexcept = 0;

  /// Sends an admin command and waits for its answer. On this CPU; inside `drive`.
  virtual status execute_admin(const wire::nvme::submission_entry& command, deadline d) = 0;
  /// The channel for this CPU's own reads and writes.
  virtual const remote_channel& host() const = 0;
  /// Of several such channels, for several threads, the one for the `turn`-th.
  virtual const remote_channel& host_of(std::uint32_t turn) const {
    (void)turn;
    return host();
  }
  /// How threads sleep until such a channel has completions, instead of polling. False: not here.
  virtual bool can_wake() const { return false; }
  /// Has `event_fd` written when channel `turn` was armed and has completions since; or no longer.
  /// Any number may be.
  virtual void wake(std::uint32_t turn, int event_fd, bool on);
  /// Asks for that once. The channel is to be polled afterwards, before one sleeps: what came
  /// before wakes nobody.
  virtual void arm(std::uint32_t turn) const { (void)turn; }
  /// The channels for kernels, in memory that kernels reach; none if the session has none.
  virtual const remote_channel* kernels() const = 0;
  virtual std::uint32_t kernel_count() const = 0;

  /// Brings channel `k` of the kernels' back to `ready`, whatever state it is in, while lanes may
  /// use it and others. When this returns nothing of its earlier requests can happen any more.
  /// Throws `io_error` if that takes longer than `timeout_ns` (it may be tried again),
  /// `input_error` where it cannot be done.
  virtual void reset(std::uint32_t k, std::uint64_t timeout_ns) = 0;

  /// True if kernels' channels that die with their connection are made again beside those who use
  /// them, by `restore_channels`; it may become false, and true again.
  virtual bool restores_channels() const { return false; }
  /// Makes those again whose connection can be made again by now. Throws `error`: some are dead
  /// still. @par Callers not in `drive`
  virtual void restore_channels() {}

  /// Plain namespaces, instead of an array with volumes: empty for an array.
  virtual const std::vector<volume_info>& namespaces() const = 0;

  /// True if this is the array's only connection of this host, or of a session that writes by an id
  /// of its own, as far as can be seen from here: what it holds nobody else uses.
  virtual bool last_of_host() const { return false; }

  /// True if whoever had this id has left for good, with all that it had sent: every client of the
  /// array is in this process.
  virtual bool has_left(client_id) const { return false; }

  /// Grows when this CPU's connection was made again and nothing of what was sent before is under
  /// way any more. It changes when a `drive` begins, in whatever thread: what is asked by `work` is
  /// of the connection that `work` uses.
  virtual std::uint64_t fresh_starts() const { return 0; }

  /// Grows when the channels for this CPU are made anew: nothing is known there of what was sent
  /// before. It changes when a `drive` or a `try_drive` begins, also one that throws or is false;
  /// any thread may ask.
  virtual std::uint64_t lives() const { return 0; }
  /// As long as what this returns lives, commands are under way though nobody is in `drive`.
  virtual std::shared_ptr<void> use() { return nullptr; }

  /// What was granted or done otherwise than asked, a sentence each.
  virtual std::vector<std::string> notes() const { return {}; }

  /// Runs `work` on this CPU so that the array makes progress beside it.
  virtual void drive(const std::function<void()>& work) = 0;
  /// The same, but waits for no connection that is lost: false if there is none now. Throws as
  /// `drive` does where there will be none any more.
  virtual bool try_drive(const std::function<void()>& work) {
    drive(work);
    return true;
  }
  /// Adds to an executor what has to run beside its kernels, if anything.
  virtual void attach(simt::host::executor& executor) = 0;
  virtual void attach(simt::cuda::executor& executor) = 0;

  /// Makes an SSD faulty, for tests. Throws `input_error` where that cannot be done.
  virtual void inject_fault(std::uint32_t ssd, std::string_view fault) = 0;
  /// The same of a NIC.
  virtual void inject_nic_fault(std::uint32_t nic, std::string_view fault) = 0;
};

inline void array_link::wake(std::uint32_t, int, bool) {}

}  // namespace gnstor::host

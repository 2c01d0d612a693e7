#pragma once

#include "event_channel.hpp"
#include "protection_domain.hpp"

#include <atomic>
#include <span>

namespace gnstor::host::verbs {

/// The size and the patience of a connection.
struct connection_options {
  std::uint32_t send_depth = 128;     ///< requests in the send queue
  std::uint32_t receive_depth = 128;  ///< receives
  std::uint32_t inline_bytes = 64;    ///< wanted; `connection::inline_bytes()` is what there is
  std::uint8_t responder_resources =
      16;                             ///< RDMA READs of the peer in flight, at most the device's
  std::uint8_t initiator_depth = 16;  ///< own RDMA READs in flight, likewise
  std::uint8_t retry_count = 7;
  std::uint8_t rnr_retry_count = 7;  ///< 7: for ever
};

/// One request for a connection's send or receive queue.
struct work {
  std::uint64_t id = 0;  ///< comes back as `ibv_wc::wr_id`
  std::uint64_t address = 0;
  std::uint32_t bytes = 0;
  std::uint32_t lkey = 0;            ///< not looked at if `inlined`
  std::uint64_t remote_address = 0;  ///< of reads and writes
  std::uint32_t rkey = 0;            ///< of reads and writes; of an invalidating send, the key
  bool signalled = true;
  bool inlined = false;  ///< the bytes are copied at once; at most `inline_bytes()` of them
};

/// What a request of a chain does.
enum class work_kind : std::uint8_t { send, send_invalidate, read, write };
/// One request of a chain.
struct chained_work {
  work_kind kind = work_kind::send;
  work what;
};

/// Owns one reliable connection: a queue pair with a completion queue of its own, joined by the
/// RDMA connection manager. Move-only.
///
/// One thread at a time posts and polls. `disconnect` and `alive` may be called from any thread.
class connection {
 public:
  connection();
  /// The active side: joins a queue pair on `domain` to whoever listens at `peer`. Throws
  /// `connect_error` with the cause in words.
  static connection connect(const protection_domain& domain, const net_address& peer,
                            std::span<const unsigned char> private_data,
                            const connection_options& options, std::chrono::milliseconds timeout);
  /// The passive side: a queue pair for the request `id`, which the connection then owns: it is
  /// null afterwards, unless what was thrown left it with the caller. Receives can be posted at
  /// once; `accept` joins it.
  static connection prepare(const protection_domain& domain, rdma_cm_id*& id,
                            const cm_event& request, const connection_options& options);
  connection(connection&& other) noexcept;
  connection& operator=(connection&& other) noexcept;
  /// Disconnects and frees the queue pair: afterwards the peer reaches none of its memory.
  ~connection();

  /// Joins a prepared connection. Throws `connect_error`.
  void accept(std::span<const unsigned char> private_data, std::chrono::milliseconds timeout);
  /// Refuses a prepared connection.
  void reject(std::span<const unsigned char> private_data);

  /// Each puts a request into a queue. False: there is no room now. Throws `error` if the device
  /// refuses it. `SEND`, `SEND with invalidate`, RDMA READ, RDMA WRITE, receive.
  bool post_send(const work& w);
  bool post_send_invalidate(const work& w);
  bool post_read(const work& w);
  bool post_write(const work& w);
  bool post_receive(const work& w);
  /// Puts requests into the send queue in order, by one call: on soft-RoCE each call is one of the
  /// system's. False: there was no room for all; some may have been taken.
  bool post_chain(std::span<const chained_work> all);

  /// Takes completions; never waits. On a lost connection everything posted comes back flushed.
  std::uint32_t poll(std::span<ibv_wc> out);
  /// Sleeps until there may be completions or the connection is lost, at most for `timeout`.
  void wait(std::chrono::milliseconds timeout);
  /// A descriptor that is readable when `arm` was called and a completion has come since.
  int completion_fd() const;
  /// A descriptor that is readable when the connection manager has something to say: call `alive`.
  int event_fd() const;
  /// Asks for a wake-up at the next completion. Poll once more afterwards.
  void arm();
  /// Takes the wake-ups that have come.
  void drain_wakeups();

  /// False once the peer, this side or the device has ended the connection. A system call: not for
  /// every request.
  bool alive();
  /// Ends the connection: everything posted comes back flushed.
  void disconnect();

  explicit operator bool() const { return state_ != nullptr; }
  std::uint32_t inline_bytes() const;
  /// What the peer said when it accepted, or when it asked.
  const std::vector<unsigned char>& peer_data() const;
  net_address peer() const;
  net_address local() const;
  ibv_qp* queue_pair() const;

 private:
  struct state;
  explicit connection(std::unique_ptr<state> s);
  bool post(work_kind kind, const work& w);
  std::unique_ptr<state> state_;
};

}  // namespace gnstor::host::verbs

#pragma once

#include <gnstor/qp/completion.hpp>
#include <gnstor/qp/proxy_request.hpp>

#include <concepts>

namespace gnstor::host {

/// What carries the requests of one proxy queue pair: a verbs connection, an emulated NIC, a
/// script.
///
/// Called by one thread at a time, by `proxy_engine` alone; no call waits.
///
/// - `post(r)` takes request `r`, or answers false when there is no room now: then nothing of `r`
///   was taken, and the engine offers it again. It copies what it needs. Requests come in the order
///   of their index and are carried out in that order.
/// - `flush()` sends off everything posted since the last call. The engine calls it after each run
///   of posts, so a port may chain work requests and ring one doorbell. Others do nothing.
/// - `poll(out, most)` writes up to `most` completions and returns how many.
///
/// What `poll` reports, in the words of `completion`:
/// - `response`: a response capsule. The port keeps receives posted for these, at least as many as
///   the queue is deep, from before the connection is made.
/// - `sent`: one-sided transfer or NOP `index` is done, and every request before it has reached the
///   peer. A port without a NOP of its own sends an empty RDMA WRITE. Never for a capsule.
/// - `failed`: request `index` failed, `outcome` says why: transport_error for the one that broke
///   the connection, flushed for those behind it. `syndrome` is the mlx5 code of the same meaning.
/// - `broken`: the connection is dead without a request to blame.
///
/// The first word of a dead connection is a transport_error: a lane that only gets `flushed`
/// does not know why. A dead port still reports what was posted, and takes no new request: once it
/// has seen `failed` or `broken`, the engine posts nothing more and flushes what comes later by
/// itself. A port that throws is dead too, and is not called again: the engine reports `broken`.
template <class P>
concept proxy_port = requires(P& p, const proxy_request& r, completion* out, std::uint32_t most) {
  { p.post(r) } -> std::same_as<bool>;
  { p.flush() } -> std::same_as<void>;
  { p.poll(out, most) } -> std::same_as<std::uint32_t>;
};

}  // namespace gnstor::host

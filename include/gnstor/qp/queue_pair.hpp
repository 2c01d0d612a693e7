#pragma once

#include <gnstor/core/result.hpp>
#include <gnstor/core/units.hpp>
#include <gnstor/qp/completion.hpp>
#include <gnstor/qp/one_sided.hpp>
#include <gnstor/simt/group.hpp>
#include <gnstor/wire/nvme/submission_entry.hpp>

#include <concepts>

namespace gnstor::inline v0 {

/// What a channel needs from a transport: command capsules out, responses back.
///
/// A reserved index is always published: a lane that gives up in between writes a NOP. Nothing here
/// waits: "would block" is an answer. `retire(i)` tells that request `i`, and with it every earlier
/// one, has left the send queue. Indices below `published()` are complete, those below
/// `announced()` are known to the peer.
template <class Q>
concept queue_pair = requires(const Q& q, std::uint32_t n, std::uint64_t i, const simt::group& g,
                              const wire::nvme::submission_entry& capsule) {
  { q.depth() } -> std::same_as<std::uint32_t>;
  { q.try_reserve(n) } -> std::same_as<result<std::uint64_t>>;
  { q.write_send(i, capsule) } -> std::same_as<void>;
  { q.write_nop(i) } -> std::same_as<void>;
  { q.publish(i, n) } -> std::same_as<void>;
  { q.ring() } -> std::same_as<void>;
  { q.published() } -> std::same_as<std::uint64_t>;
  { q.announced() } -> std::same_as<std::uint64_t>;
  { q.post_receives() } -> std::same_as<void>;
  { q.poll(g) } -> std::same_as<completion>;
  { q.retire(i) } -> std::same_as<void>;
  { q.sent_id(i) } -> std::same_as<command_id>;
};

/// A queue pair that also moves data itself, by RDMA READ and WRITE.
template <class Q>
concept one_sided_queue_pair = queue_pair<Q> &&
    requires(const Q& q, std::uint64_t i, const one_sided& transfer) {
  { q.write_one_sided(i, transfer) } -> std::same_as<void>;
};

}  // namespace gnstor::inline v0

#pragma once

#include <gnstor/core/result.hpp>
#include <gnstor/core/units.hpp>
#include <gnstor/qp/completion.hpp>
#include <gnstor/simt/group.hpp>
#include <gnstor/wire/nvme/submission_entry.hpp>

#include <concepts>

namespace gnstor::inline v0 {

/// A queue pair that one warp has to itself. How far it has come the warp keeps in registers, the
/// same in every lane: `save` writes it down for whoever uses the queue pair next.
template <class Q>
concept owned_queue = requires(Q& q, const Q& queue, const simt::group& g, std::uint64_t index,
                               std::uint32_t n, const wire::nvme::submission_entry& capsule,
                               completion& mine) {
  typename Q::shared_type;
  { queue.depth() } -> std::same_as<std::uint32_t>;
  { q.try_reserve(n) } -> std::same_as<result<std::uint64_t>>;
  queue.write_send(index, capsule);
  q.ring(g);
  { queue.reserved() } -> std::same_as<std::uint64_t>;
  { queue.announced() } -> std::same_as<std::uint64_t>;
  { q.poll(g, mine) } -> std::same_as<std::uint32_t>;
  q.retire(index);
  { queue.sent_id(index) } -> std::same_as<command_id>;
  queue.save(g);
};

}  // namespace gnstor::inline v0

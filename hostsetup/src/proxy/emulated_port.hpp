#pragma once

#include "proxy_port.hpp"
#include <gnstor/qp/mlx5_queue_pair.hpp>

#include <vector>

namespace gnstor::host {

/// A port that passes requests on to an mlx5 queue pair, for example of the array emulated in this
/// process.
///
/// It has the queue pair to itself and posts its receives. A capsule is not reported when it is
/// sent, so every half queue a NOP of the port's own tells which entries are free again.
class emulated_port {
 public:
  /// Capsules by pointer: such a queue pair also carries out the one-sided transfers of a proxy's.
  using queue_type = mlx5_queue_pair<>;

  /// @param queue a queue pair whose memory this CPU reaches, not used before; at least as deep as
  /// the proxy queue pair
  explicit emulated_port(queue_type queue);

  bool post(const proxy_request& r);
  void flush();
  std::uint32_t poll(completion* out, std::uint32_t most);

 private:
  static constexpr std::uint64_t own = ~std::uint64_t{0};  ///< the port's NOP has no index

  std::uint64_t& index_at(std::uint64_t slot) { return indices_[slot & (queue_.depth() - 1)]; }
  bool translate(completion& c);

  queue_type queue_;
  std::vector<std::uint64_t> indices_;  ///< by slot of `queue_`: the request's index
  std::uint32_t unmarked_ = 0;          ///< requests since the last NOP
};

static_assert(proxy_port<emulated_port>);

}  // namespace gnstor::host

#pragma once

#include <gnstor/qp/proxy_queue_pair.hpp>
#include <gnstor/qp/restartable_queue_pair.hpp>

namespace gnstor::inline v0 {

/// The queue pair of whichever transport an endpoint asked for: a NIC's own rings, or the proxy's.
///
/// It lets one compiled kernel serve every endpoint, for one branch per operation that all lanes of
/// a group take alike. Kernels that know their transport use its model directly.
/// @tparam Nic the queue pair of a NIC whose doorbell the lanes ring
template <restartable_queue_pair Nic>
class either_queue_pair {
 public:
  GNSTOR_HD either_queue_pair(Nic queue) : mlx5_(queue), proxied_(false) {}
  GNSTOR_HD either_queue_pair(proxy_queue_pair<> queue) : proxy_(queue), proxied_(true) {}

  /// The NIC's own rings, for kernels that know their transport; null where a proxy drives them.
  GNSTOR_HD const Nic* nic() const { return proxied_ ? nullptr : &mlx5_; }

  /// Every operation does what the chosen model's does, under the same contract.
  GNSTOR_HD std::uint32_t depth() const { return proxied_ ? proxy_.depth() : mlx5_.depth(); }
  GNSTOR_HD result<std::uint64_t> try_reserve(std::uint32_t n) const {
    return proxied_ ? proxy_.try_reserve(n) : mlx5_.try_reserve(n);
  }
  GNSTOR_HD void write_send(std::uint64_t index,
                            const wire::nvme::submission_entry& capsule) const {
    proxied_ ? proxy_.write_send(index, capsule) : mlx5_.write_send(index, capsule);
  }
  GNSTOR_HD void write_one_sided(std::uint64_t index, const one_sided& transfer) const requires
      one_sided_queue_pair<Nic> {
    proxied_ ? proxy_.write_one_sided(index, transfer) : mlx5_.write_one_sided(index, transfer);
  }
  GNSTOR_HD void write_nop(std::uint64_t index) const {
    proxied_ ? proxy_.write_nop(index) : mlx5_.write_nop(index);
  }
  GNSTOR_HD void publish(std::uint64_t first, std::uint32_t n) const {
    proxied_ ? proxy_.publish(first, n) : mlx5_.publish(first, n);
  }
  GNSTOR_HD void ring() const { proxied_ ? proxy_.ring() : mlx5_.ring(); }
  GNSTOR_HD std::uint64_t published() const {
    return proxied_ ? proxy_.published() : mlx5_.published();
  }
  GNSTOR_HD std::uint64_t announced() const {
    return proxied_ ? proxy_.announced() : mlx5_.announced();
  }
  GNSTOR_HD void post_receives() const {
    proxied_ ? proxy_.post_receives() : mlx5_.post_receives();
  }
  GNSTOR_HD completion poll(const simt::group& g) const {
    return proxied_ ? proxy_.poll(g) : mlx5_.poll(g);
  }
  GNSTOR_HD void retire(std::uint64_t index) const {
    proxied_ ? proxy_.retire(index) : mlx5_.retire(index);
  }
  GNSTOR_HD command_id sent_id(std::uint64_t index) const {
    return proxied_ ? proxy_.sent_id(index) : mlx5_.sent_id(index);
  }
  GNSTOR_HD queue_bar bar() const { return proxied_ ? proxy_.bar() : mlx5_.bar(); }
  GNSTOR_HD bool is_written(std::uint64_t end) const {
    return proxied_ ? proxy_.is_written(end) : mlx5_.is_written(end);
  }
  GNSTOR_HD std::uint64_t taken() const { return proxied_ ? proxy_.taken() : mlx5_.taken(); }
  GNSTOR_HD bool restart(std::uint64_t next) const {
    return proxied_ ? proxy_.restart(next) : mlx5_.restart(next);
  }
  GNSTOR_HD bool open(std::uint64_t next) const {
    return proxied_ ? proxy_.open(next) : mlx5_.open(next);
  }

 private:
  union {
    Nic mlx5_;
    proxy_queue_pair<> proxy_;
  };
  bool proxied_;
};

}  // namespace gnstor::inline v0

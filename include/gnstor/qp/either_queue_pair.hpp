#pragma once

#include <gnstor/qp/proxy_queue_pair.hpp>
#include <gnstor/qp/restartable_queue_pair.hpp>

#include <concepts>

namespace gnstor::detail {

/// Stands for the queue pair of a local controller where there is none, and for that of several.
struct no_local_queue_pair {};
struct no_striped_queue_pair {};

}  // namespace gnstor::detail

namespace gnstor::inline v0 {

/// The queue pair of whichever transport an endpoint asked for: a NIC's own rings, the proxy's, or
/// those of a controller on this machine's bus, or of several.
///
/// It lets one compiled kernel serve every endpoint, for one branch per operation that all lanes of
/// a group take alike. Kernels that know their transport use its model directly.
/// @tparam Nic the queue pair of a NIC whose doorbell the lanes ring
/// @tparam Local that of a local controller, if endpoints may ask for one
/// @tparam Striped that of several of them, likewise
template <restartable_queue_pair Nic, class Local = detail::no_local_queue_pair,
          class Striped = detail::no_striped_queue_pair>
class either_queue_pair {
  static constexpr bool has_local = !std::same_as<Local, detail::no_local_queue_pair>;
  static constexpr bool has_striped = !std::same_as<Striped, detail::no_striped_queue_pair>;

 public:
  GNSTOR_HD either_queue_pair(Nic queue) : nic_(queue), kind_(kind::nic) {}
  GNSTOR_HD either_queue_pair(proxy_queue_pair<> queue) : proxy_(queue), kind_(kind::proxy) {}
  GNSTOR_HD either_queue_pair(Local queue) requires has_local : local_(queue), kind_(kind::local) {}
  GNSTOR_HD either_queue_pair(Striped queue) requires has_striped : striped_(queue),
                                                                    kind_(kind::striped) {}

  /// The NIC's own rings, for kernels that know their transport; null where it is another one.
  GNSTOR_HD const Nic* nic() const { return kind_ == kind::nic ? &nic_ : nullptr; }
  /// Those of a local controller, likewise, and of several.
  GNSTOR_HD const Local* local() const { return kind_ == kind::local ? &local_ : nullptr; }
  GNSTOR_HD const Striped* striped() const { return kind_ == kind::striped ? &striped_ : nullptr; }

  /// Every operation does what the chosen model's does, under the same contract.
  GNSTOR_HD std::uint32_t depth() const {
    return visit([](const auto& q) { return q.depth(); });
  }
  GNSTOR_HD result<std::uint64_t> try_reserve(std::uint32_t n) const {
    return visit([=](const auto& q) { return q.try_reserve(n); });
  }
  GNSTOR_HD void write_send(std::uint64_t index,
                            const wire::nvme::submission_entry& capsule) const {
    visit([=](const auto& q) { q.write_send(index, capsule); });
  }
  GNSTOR_HD void write_one_sided(std::uint64_t index, const one_sided& transfer) const requires
      one_sided_queue_pair<Nic> &&(!has_local) {
    visit([&](const auto& q) { q.write_one_sided(index, transfer); });
  }
  GNSTOR_HD void write_nop(std::uint64_t index) const {
    visit([=](const auto& q) { q.write_nop(index); });
  }
  GNSTOR_HD void publish(std::uint64_t first, std::uint32_t n) const {
    visit([=](const auto& q) { q.publish(first, n); });
  }
  GNSTOR_HD void ring() const {
    visit([](const auto& q) { q.ring(); });
  }
  GNSTOR_HD std::uint64_t published() const {
    return visit([](const auto& q) { return q.published(); });
  }
  GNSTOR_HD std::uint64_t announced() const {
    return visit([](const auto& q) { return q.announced(); });
  }
  GNSTOR_HD void post_receives() const {
    visit([](const auto& q) { q.post_receives(); });
  }
  GNSTOR_HD completion poll(const simt::group& g) const {
    return visit([=](const auto& q) { return q.poll(g); });
  }
  GNSTOR_HD void retire(std::uint64_t index) const {
    visit([=](const auto& q) { q.retire(index); });
  }
  GNSTOR_HD command_id sent_id(std::uint64_t index) const {
    return visit([=](const auto& q) { return q.sent_id(index); });
  }
  GNSTOR_HD queue_bar bar() const {
    return visit([](const auto& q) { return q.bar(); });
  }
  GNSTOR_HD bool is_written(std::uint64_t end) const {
    return visit([=](const auto& q) { return q.is_written(end); });
  }
  GNSTOR_HD std::uint64_t taken() const {
    return visit([](const auto& q) { return q.taken(); });
  }
  GNSTOR_HD bool restart(std::uint64_t next) const {
    return visit([=](const auto& q) { return q.restart(next); });
  }
  GNSTOR_HD bool open(std::uint64_t next) const {
    return visit([=](const auto& q) { return q.open(next); });
  }

 private:
  enum class kind : std::uint8_t { nic, proxy, local, striped };

  /// Calls `operation` with the queue pair that it is.
  ///
  /// A NIC's is asked for first, and those of local controllers are called, not copied to where
  /// they are used: kernels of all endpoints are compiled with all of them, and on an H200 writes
  /// over a NIC took 1.1 times as long with another model's code between.
  template <class Operation>
  GNSTOR_HD_INLINE auto visit(const Operation& operation) const {
    if (kind_ == kind::nic) return operation(nic_);
    if constexpr (has_local) {
      if (kind_ == kind::local) return called(local_, operation);
    }
    if constexpr (has_striped) {
      if (kind_ == kind::striped) return called(striped_, operation);
    }
    return operation(proxy_);
  }
  template <class Queue, class Operation>
  GNSTOR_HD_SLOW static auto called(Queue queue, Operation operation) {
    return operation(queue);
  }

  union {
    Nic nic_;
    proxy_queue_pair<> proxy_;
    Local local_;
    Striped striped_;
  };
  kind kind_;
};

}  // namespace gnstor::inline v0

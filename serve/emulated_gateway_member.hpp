#pragma once
/// The gateway's hosts, and how each of them reaches the array.

#include "emulated_gateway.hpp"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <set>

namespace gnstor::serve {

/// The name by which the target is a host of its own array.
inline constexpr const char* own_name = "gnstor-target";

/// How a target connects with its own array, for itself and for each of its hosts.
inline host::session_options plain_options(std::uint64_t timeout_ns, bool asynchronous = false) {
  constexpr std::uint32_t queue_depth = 128;
  host::session_options o;
  o.client = host::machine::cpu;
  o.channels = 0;
  o.depth = queue_depth;
  o.host_name = own_name;
  o.timeout = duration::of_ns(timeout_ns);
  o.asynchronous = asynchronous;
  return o;
}

/// A host of the array subsystem, or one session of a host, as long as an association of its lives,
/// and a little longer.
struct emulated_gateway::member {
  host_identity who;
  client_id as{};                  ///< of a session: its own id, once it is chosen
  std::mutex connecting;           ///< of what `connect` makes, and of what `let_go` does
  std::uint32_t associations = 0;  ///< under the gateway's lock, as are `as` and the next four
  bool in_order = true;            ///< all associations that ended said that they go
  std::chrono::steady_clock::time_point lost_at{};  ///< when one ended that did not
  bool leaving = false;
  std::atomic<std::uint32_t> left_in{0};  ///< the last epoch in which an SSD did not answer in time
  std::set<std::uint16_t> written;        ///< volumes that it has taken the right to write
  lost_memory lost;                       ///< of engines
  std::unique_ptr<ssd_shares> shares;     ///< of the link's channel, among these
  std::unique_ptr<host::emulated_client> link;  ///< goes before the buffers: a late answer may
  std::unique_ptr<host::array_client> client;   ///< still be on its way to one

  ~member() { link.reset(); }
  /// Notes that an SSD may still execute a command of epoch `sent`.
  void note_left(std::uint32_t sent) {
    std::uint32_t before = left_in.load();
    for (; before < sent && !left_in.compare_exchange_weak(before, sent);) {
    }
  }
};

struct emulated_gateway::association final : array_gateway::membership {
  association(emulated_gateway& g, std::shared_ptr<member> m) : gateway(g), of(std::move(m)) {}
  ~association() override {
    const std::lock_guard lock(gateway.guard_);
    --of->associations;
    of->in_order = of->in_order && said;
    if (!said) of->lost_at = std::chrono::steady_clock::now();
  }
  void goes_in_order() override { said = true; }
  bool left_behind() const override {
    return std::max(of->left_in.load(), gateway.left_by_forgotten_.load()) >= gateway.about_.epoch;
  }

  emulated_gateway& gateway;
  std::shared_ptr<member> of;
  std::atomic<bool> said{false};
};

}  // namespace gnstor::serve

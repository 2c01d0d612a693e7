#pragma once

#include "rdma_queue.hpp"
#include <base/log_limit.hpp>
#include <serve/connection_check.hpp>
#include <serve/worker_pool.hpp>
#include <verbs/listener.hpp>

#include <atomic>
#include <map>

namespace gnstor::serve {

/// How an RDMA server is set up.
struct rdma_server_options {
  connection_limits limits;   ///< and memory of all connections, which is pinned
  std::uint32_t workers = 4;  ///< threads that wait for the array
  bool sends_parts = false;   ///< long reads leave part by part, as they come from the array
  /// Called about once a second, for what changes behind the target's back, by a thread of its own.
  std::function<void()> every_second = [] {};
};

/// Serves a target over RDMA: checks connection requests, and runs a thread for each
/// queue. NVMe RDMA Transport 1.1.
class rdma_server {
 public:
  /// @param listener made before the array that is served: what nobody can reach is not made
  rdma_server(target_model& target, host::verbs::listener listener, rdma_server_options options);
  /// Ends every association and waits for the threads.
  ~rdma_server();
  rdma_server(const rdma_server&) = delete;
  rdma_server& operator=(const rdma_server&) = delete;

  std::uint16_t port() const { return listener_.port(); }
  /// Serves for about `wait`: accepts, and looks after what has ended.
  void run_for(std::chrono::milliseconds wait);
  std::size_t connections() const { return queues_.size(); }

 private:
  void greet(host::verbs::incoming request);
  void admit(host::verbs::incoming& request, const connection_check& c);
  std::size_t staging_bytes(std::uint16_t qid) const;
  const host::verbs::protection_domain& domain_of(const host::verbs::incoming& request);
  void look_after();

  target_model* target_;
  rdma_server_options options_;
  host::verbs::listener listener_;
  target_workers workers_;
  std::map<ibv_context*, std::unique_ptr<host::verbs::protection_domain>> domains_;
  std::vector<std::unique_ptr<rdma_queue>> queues_;
  std::chrono::steady_clock::time_point last_second_;
  std::chrono::steady_clock::time_point last_look_;
  host::log_limit refusals_{10};        ///< anybody can be refused, as often as they like
  std::atomic<bool> following_{false};  ///< `every_second` is under way
  worker_pool chores_{1};               ///< goes first: what it does uses the rest
};

}  // namespace gnstor::serve

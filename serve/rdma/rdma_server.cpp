#include "rdma_server.hpp"

#include <base/log.hpp>
#include <gnstor/host/error.hpp>
#include <gnstor/wire/fabrics/connection_reject.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace gnstor::serve {
namespace {

using namespace std::chrono_literals;
using wire::fabrics::reject_reason;

// Staging memory of a queue.
constexpr std::size_t some_transfers = 4;       ///< of the largest size
constexpr std::size_t some_io_bytes = 2 << 20;  ///< of I/O queues
constexpr std::size_t least_bytes = 512 << 10;  ///< or two transfers, where that is more

void reject(host::verbs::incoming request, reject_reason why) {
  wire::fabrics::connection_reject said{};
  said.status = static_cast<std::uint16_t>(why);
  std::move(request).reject({reinterpret_cast<const unsigned char*>(&said), sizeof said});
}

}  // namespace

rdma_server::rdma_server(target_model& target, host::verbs::listener listener,
                         rdma_server_options options)
    : target_(&target),
      options_(std::move(options)),
      listener_(std::move(listener)),
      workers_(options_.workers),
      last_second_(std::chrono::steady_clock::now()),
      last_look_(last_second_) {}

rdma_server::~rdma_server() {
  target_->end_all("the target stops");
  for (const auto& q : queues_) q->stop();
  queues_.clear();
}

void rdma_server::run_for(std::chrono::milliseconds wait) {
  const auto end = std::chrono::steady_clock::now() + wait;
  for (;;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        end - std::chrono::steady_clock::now());
    if (left <= 0ms) return;
    if (auto request = listener_.next(std::min(left, std::chrono::milliseconds(100)))) {
      greet(std::move(*request));
    }
    look_after();
  }
}

void rdma_server::look_after() {
  std::erase_if(queues_, [](const auto& q) { return q->finished(); });
  const auto now = std::chrono::steady_clock::now();
  const auto since_epoch =
      std::chrono::duration_cast<std::chrono::milliseconds>(now.time_since_epoch());
  const auto ms = static_cast<std::uint64_t>(since_epoch.count());
  // While this process stood still it could hear nobody: that is no silence of its hosts.
  if (now - last_look_ > 1s) target_->excuse_silence(ms);
  last_look_ = now;
  // Both may ask a manager elsewhere, which may be about to connect here: nobody waits for them.
  if (auto gone = target_->tick(ms); !gone.empty())
    chores_.submit([gone = std::move(gone)]() mutable { gone.clear(); });
  if (now - last_second_ < 1s || following_) return;
  last_second_ = now;
  following_ = true;
  chores_.submit([this] {
    try {
      options_.every_second();
    } catch (const std::exception& e) {
      host::log(host::log_level::warning, e.what());
    }
    following_ = false;
  });
}

void rdma_server::greet(host::verbs::incoming request) {
  const std::string peer = request.peer().text();
  const connection_check c = connection_check::of(request.private_data(), target_->limits());
  if (c.rejected) {
    refusals_.log(host::log_level::info,
                  fmt::format("{}: refused, reason {}", peer, static_cast<int>(*c.rejected)));
    reject(std::move(request), *c.rejected);
    return;
  }
  std::vector<known_connection> there;
  for (const auto& q : queues_) there.push_back(q->known());
  if (const char* why = options_.limits.refusal(there, request.peer().host, c.request.qid)) {
    refusals_.log(host::log_level::info, fmt::format("{}: refused, {}", peer, why));
    reject(std::move(request), reject_reason::no_resources);
    return;
  }
  try {
    admit(request, c);
  } catch (const std::exception& e) {
    refusals_.log(host::log_level::info, fmt::format("{}: {}", peer, e.what()));
    if (request) reject(std::move(request), reject_reason::no_resources);
  }
}

void rdma_server::admit(host::verbs::incoming& request, const connection_check& c) {
  const host::verbs::protection_domain& domain = domain_of(request);
  queue_memory memory(domain, target_->limits(), c.entries, staging_bytes(c.request.qid));
  host::verbs::connection_options size;
  size.send_depth = rdma_queue::send_depth(c.entries);
  size.receive_depth = c.entries;
  size.inline_bytes = 0;
  host::verbs::connection connection = std::move(request).prepare(domain, size);
  auto queue = std::make_unique<rdma_queue>(std::move(connection), std::move(memory), *target_,
                                            c.request.qid, workers_, options_.sends_parts);
  queues_.reserve(queues_.size() + 1);
  queue->start();
  queues_.push_back(std::move(queue));
}

/// Of a connection that comes: less, where many are there.
std::size_t rdma_server::staging_bytes(std::uint16_t qid) const {
  const target_limits& limits = target_->limits();
  connection_limits::memory m;
  m.capsules = queue_memory::capsule_bytes(limits, limits.queue_entries);
  m.least = std::max<std::size_t>(least_bytes, 2 * std::size_t{limits.transfer_bytes});
  m.wanted = std::max(some_transfers * limits.transfer_bytes, qid == 0 ? 0 : some_io_bytes);
  std::size_t taken = 0;
  for (const auto& q : queues_) taken += q->memory_bytes();
  const std::size_t bytes = options_.limits.staging_bytes(queues_.size(), taken, m);
  if (bytes == 0) throw host::error("there is no memory for the buffers of another connection");
  return bytes;
}

const host::verbs::protection_domain& rdma_server::domain_of(const host::verbs::incoming& request) {
  std::unique_ptr<host::verbs::protection_domain>& domain = domains_[request.context()];
  if (domain == nullptr) {
    domain = std::make_unique<host::verbs::protection_domain>(request.device());
  }
  return *domain;
}

}  // namespace gnstor::serve

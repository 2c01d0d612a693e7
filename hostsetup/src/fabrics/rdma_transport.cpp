#include "rdma_transport.hpp"

#include <gnstor/wire/fabrics/connection_request.hpp>
#include <proxy/proxy_engine.hpp>
#include <verbs/verbs_port.hpp>

#include <atomic>
#include <cstring>

namespace gnstor::host::fabrics {
namespace {

struct rdma_memory final : registered_memory {
  rdma_memory(const verbs::protection_domain& domain, void* address, std::uint64_t bytes)
      : region(domain, address, bytes, {.remote_read = true, .remote_write = true}) {
    buffer = region.buffer();
  }
  verbs::memory_region region;
};

verbs::connection joined(const verbs::protection_domain& domain, const verbs::net_address& target,
                         const queue_request& request, std::chrono::milliseconds timeout) {
  wire::fabrics::connection_request said{};
  said.qid = request.queue_id;
  said.hrqsize = static_cast<std::uint16_t>(request.depth);
  said.hsqsize = static_cast<std::uint16_t>(request.entries - 1);
  said.cntlid = request.controller;
  unsigned char bytes[sizeof said];
  std::memcpy(bytes, &said, sizeof said);
  verbs::connection_options options;
  options.send_depth = request.depth;
  options.receive_depth = request.depth;
  return verbs::connection::connect(domain, target, bytes, options, timeout);
}

class rdma_link final : public restartable_link {
 public:
  rdma_link(proxy_thread& thread, const queue_request& r, const verbs::protection_domain& domain,
            const verbs::net_address& target, std::chrono::milliseconds timeout)
      : thread_(thread),
        domain_(domain),
        target_(target),
        engine_(r.memory, r.depth, domain, joined(domain, target, r, timeout), r.depth) {
    thread_.add(engine_);
  }
  ~rdma_link() override { leave(); }
  bool ended() const override { return !served_ || engine_.port().ended(); }
  void disconnect() override { engine_.port().joined().disconnect(); }
  bool discard(std::uint64_t end) override {
    leave();
    return engine_.discard(end);
  }
  void skip_to(std::uint64_t next) override { engine_.skip_to(next); }
  void restart(const queue_request& r, std::chrono::milliseconds timeout) override {
    engine_.restart(engine_.forwarded(),
                    verbs::verbs_port(domain_, joined(domain_, target_, r, timeout), r.depth));
    thread_.add(engine_);
    served_ = true;
  }

 private:
  void leave() {
    if (served_) thread_.remove(engine_);
    served_ = false;
  }

  proxy_thread& thread_;
  const verbs::protection_domain& domain_;
  const verbs::net_address& target_;
  /// The port's `ended` and the connection's `disconnect` may be called beside a tick.
  mutable proxy_engine<verbs::verbs_port> engine_;
  std::atomic<bool> served_{true};  ///< by the thread
};

}  // namespace

rdma_transport::rdma_transport(const verbs::net_address& target, proxy_thread_options thread,
                               std::chrono::milliseconds timeout)
    : target_(target), domain_(verbs::device::towards(target, timeout)), thread_(thread) {}

std::unique_ptr<registered_memory> rdma_transport::register_memory(void* address,
                                                                   std::uint64_t bytes) {
  return std::make_unique<rdma_memory>(domain_, address, bytes);
}

std::unique_ptr<queue_link> rdma_transport::open(const queue_request& request,
                                                 std::chrono::milliseconds timeout) {
  return std::make_unique<rdma_link>(thread_, request, domain_, target_, timeout);
}

}  // namespace gnstor::host::fabrics

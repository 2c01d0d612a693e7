#include "rdma_transport.hpp"

#include <gnstor/wire/fabrics/connection_request.hpp>
#include <proxy/proxy_engine.hpp>
#include <verbs/verbs_port.hpp>

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

class rdma_link final : public queue_link {
 public:
  rdma_link(proxy_thread& thread, const queue_request& r, const verbs::protection_domain& domain,
            verbs::connection joined)
      : thread_(thread), engine_(r.memory, r.depth, domain, std::move(joined), r.depth) {
    thread_.add(engine_);
  }
  ~rdma_link() override { thread_.remove(engine_); }
  bool ended() const override { return engine_.port().ended(); }
  void disconnect() override { engine_.port().joined().disconnect(); }

 private:
  proxy_thread& thread_;
  /// The port's `ended` and the connection's `disconnect` may be called beside a tick.
  mutable proxy_engine<verbs::verbs_port> engine_;
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
  return std::make_unique<rdma_link>(
      thread_, request, domain_,
      verbs::connection::connect(domain_, target_, bytes, options, timeout));
}

}  // namespace gnstor::host::fabrics

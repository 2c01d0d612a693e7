#pragma once

#include "connection.hpp"
#include "memory_region.hpp"
#include "request_ledger.hpp"
#include <gnstor/host/memory_block.hpp>
#include <proxy/proxy_port.hpp>

namespace gnstor::host::verbs {

/// A `proxy_port` over an RDMA connection: capsules as SENDs, responses from receives that it keeps
/// posted, RDMA READ and WRITE for one-sided transfers. Works on any libibverbs device. Move-only.
class verbs_port {
 public:
  /// @param domain of the connection; outlives the port
  /// @param joined a connection with room for `depth` sends and as many receives, to which nothing
  /// has been posted yet
  verbs_port(const protection_domain& domain, connection joined, std::uint32_t depth);

  bool post(const proxy_request& r);
  void flush() {}
  std::uint32_t poll(completion* out, std::uint32_t most);

  connection& joined() { return connection_; }
  /// True once the connection is dead. @par Callers any thread
  bool ended() const { return *ended_; }

 private:
  bool post_capsule(const proxy_request& r);
  bool take(const ibv_wc& c, completion& out);
  bool take_response(const ibv_wc& c, completion& out);
  void post_receive(std::uint64_t slot);
  void die(gnstor::status why);
  unsigned char* response(std::uint64_t slot) const;

  memory_block memory_;  ///< capsules that cannot be inlined, then responses
  memory_region region_;
  connection connection_;
  std::uint32_t depth_;
  bool inline_;
  request_ledger ledger_;
  ibv_wc batch_[16];
  std::uint32_t batch_size_ = 0;
  std::uint32_t batch_at_ = 0;
  std::uint32_t idle_ = 0;  ///< polls without a completion since the last look at the connection
  std::unique_ptr<std::atomic<bool>> ended_;
};

static_assert(proxy_port<verbs_port>);

}  // namespace gnstor::host::verbs

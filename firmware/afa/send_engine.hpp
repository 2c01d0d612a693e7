#pragma once

#include <afa/node.hpp>
#include <gnstor/simt/group.hpp>

namespace gnstor::fw {

/// Sends the data of reads as one NIC's `stream_sender` says: out of flash into the NIC's memory,
/// and from there into the client's. The pages were looked up and are pinned when a command comes
/// here.
class send_engine {
 public:
  send_engine(const node& n, std::uint32_t nic)
      : node_(&n), nic_(nic), sender_(n.stream_senders[nic]) {}

  /// One round. True while reads are under way, so that the owner does not sleep.
  /// @par Callers every lane of `g`, converged; always the same owner
  bool tick(const simt::group& g) const {
    const bool busy = g.leads() && round();
    return g.broadcast(static_cast<std::uint32_t>(busy)) != 0;
  }

 private:
  class data;

  bool round() const;
  void take(std::uint64_t now) const;
  void end(std::uint32_t handle) const;

  const node* node_;
  std::uint32_t nic_;
  stream_sender* sender_;
};

}  // namespace gnstor::fw

#pragma once

#include "verbs/device.hpp"
#include "verbs/event_channel.hpp"

#include <chrono>
#include <span>
#include <vector>

namespace gnstor::host::mlx5 {

/// Owns the connection manager's end of a connection whose queue pair it does not know: it carries
/// the messages and says what the queue pair's states need, and the caller moves the queue pair.
/// Move-only.
class cm_link {
 public:
  using clock = std::chrono::steady_clock;

  /// Finds the way to `peer`, which must be through `through`. Throws `verbs::connect_error`.
  cm_link(const verbs::device& through, const verbs::net_address& peer, clock::time_point end);
  cm_link(cm_link&& other) noexcept;
  cm_link& operator=(cm_link&& other) noexcept;
  ~cm_link();

  /// Asks the peer to join its queue pair to `number`; what the peer says with its yes. The peer
  /// waits for `establish`. Throws `verbs::connect_error`.
  /// @param reads RDMA READs of the peer that this side serves at once
  std::vector<unsigned char> ask(std::uint32_t number, std::span<const unsigned char> private_data,
                                 std::uint8_t reads, clock::time_point end);
  /// What the queue pair's change to `state` needs.
  ibv_qp_attr attributes(ibv_qp_state state) const;
  /// Tells the peer that this side's queue pair is ready.
  void establish();

  /// True if the peer, this side or the device has ended the connection. A system call.
  bool ended();
  /// Tells the peer, once.
  void disconnect() noexcept;

 private:
  verbs::cm_event expect(rdma_cm_event_type wanted, clock::time_point end, const char* doing) const;

  verbs::event_channel events_;
  rdma_cm_id* id_ = nullptr;
  std::string peer_;
  bool joined_ = false;
  bool ended_ = false;
};

}  // namespace gnstor::host::mlx5

#include "nic_link.hpp"

#include <gnstor/host/error.hpp>

namespace gnstor::host::mlx5 {

bool nic_link::ended() const {
  const std::lock_guard lock(use_);
  if (ended_) return true;
  try {
    ended_ = !queue_.alive();
  } catch (const error&) {
    ended_ = true;  // a connection that cannot be watched is as good as none
  }
  return ended_;
}

void nic_link::disconnect() {
  const std::lock_guard lock(use_);
  ended_ = true;
  try {
    queue_.disconnect();
  } catch (const error&) {
    // A NIC that was removed takes no command; lanes that wait have their deadlines.
  }
}

}  // namespace gnstor::host::mlx5

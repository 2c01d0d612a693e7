/// What an emulated array does on purpose that healthy NICs and SSDs do not, and how it keeps SSDs
/// from serving that no longer take part.

#include "emulated_array.hpp"

#include <cuda/std/atomic>

namespace gnstor::host {

/// What becomes of a queue pair that begins on a NIC, as that NIC is now.
fw::queue_life emulated_array::life_on(std::uint32_t nic) const {
  switch (nic_faults_[nic]) {
    case nic_fault::dead: return fw::queue_life::cut;
    case nic_fault::silent: return fw::queue_life::absent;
    case nic_fault::none: break;
  }
  return fw::queue_life::serving;
}

void emulated_array::set_nic_fault(std::uint32_t nic, nic_fault fault) {
  const std::lock_guard lock(guard_);
  nic_faults_[nic] = fault;
  for (std::uint32_t k = 0; k < queue_count_; ++k) {
    if (queue_nics_[k] == nic) publish(k, life_on(nic));
  }
}

void emulated_array::set_fault(std::uint32_t ssd, fw::ssd_fault fault) {
  const std::lock_guard lock(guard_);
  ssd_faults_[ssd] = fault;
  tell_of(ssd);
}

void emulated_array::detach(std::uint32_t ssd, bool detached) {
  const std::lock_guard lock(guard_);
  detached_ =
      detached ? detached_ | std::uint64_t{1} << ssd : detached_ & ~(std::uint64_t{1} << ssd);
  tell_of(ssd);
}

/// Has the front end of the SSDs serve one as it is now. A file that is lost meanwhile says so
/// before or after: one of both has the last word.
void emulated_array::tell_of(std::uint32_t ssd) const {
  const auto dead = static_cast<std::uint32_t>(fw::ssd_fault::dead);
  const bool refused = (detached_ >> ssd & 1) != 0;
  publish(node_.faults + ssd, refused ? dead : static_cast<std::uint32_t>(ssd_faults_[ssd]));
  cuda::std::atomic_thread_fence(cuda::std::memory_order_seq_cst);
  if (is_lost(ssd)) publish(node_.faults + ssd, dead);
}

}  // namespace gnstor::host

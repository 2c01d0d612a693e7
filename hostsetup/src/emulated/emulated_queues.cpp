/// The queue pairs of an emulated array's NIC.

#include "emulated_array.hpp"
#include <base/cuda_support.hpp>
#include <gnstor/host/error.hpp>

namespace gnstor::host {

std::uint32_t emulated_array::next_queue_number() {
  const std::lock_guard lock(guard_);
  return ++queue_number_;
}

std::uint32_t emulated_array::create_queue(const fw::queue_attributes& at) {
  const std::lock_guard lock(guard_);
  if (free_queues_.empty() && queue_count_ == node_.shape.max_queues)
    throw error("the emulated NIC has no queue pair left");
  const bool again = !free_queues_.empty();
  const std::uint32_t index = again ? free_queues_.back() : queue_count_;
  fw::queue_context& c = node_.queues[index];
  poke(&c.at, at);
  if (!again) poke(&c.free_commands, node_.shape.max_depth);  // its engine has counted them since
  queue_nics_[index] = at.nic;
  publish(index, life_on(at.nic));
  if (again) {
    free_queues_.pop_back();
  } else {
    ++queue_count_;
  }
  return index;
}

void emulated_array::drain_queue(std::uint32_t index) { publish(index, fw::queue_life::draining); }

bool emulated_array::is_drained(std::uint32_t index) const {
  std::uint32_t* word = &node_.queues[index].active;
  std::uint32_t life = 0;
  if (on_gpu()) {
    copy_out(control_.where(), endpoint_.device, &life, word, sizeof life);
  } else {
    life = device_word<std::uint32_t>(*word).load(acquire);
  }
  return life == static_cast<std::uint32_t>(fw::queue_life::drained);
}

void emulated_array::serve_queue(std::uint32_t index) {
  const std::lock_guard lock(guard_);
  publish(index, life_on(queue_nics_[index]));
}

}  // namespace gnstor::host

#include "doorbell_relay.hpp"

#include <base/start_thread.hpp>
#include <gnstor/host/error.hpp>
#include <gnstor/simt/atomic_ref.hpp>
#include <gnstor/simt/clock.hpp>

#include <chrono>

namespace gnstor::host {

doorbell_relay::doorbell_relay(std::uint32_t queues)
    : most_(2 * queues), boxes_(place::host, std::size_t{most_} * box_bytes), own_(most_) {
  for (std::uint32_t k = 0; k < most_; ++k) box(k) = empty;
  thread_ = start_thread("doorbells", "ringing doorbells", [this] { run(); });
}

doorbell_relay::~doorbell_relay() {
  stop_ = true;
  thread_.join();
}

std::uint32_t& doorbell_relay::box(std::uint32_t k) const {
  return *reinterpret_cast<std::uint32_t*>(static_cast<unsigned char*>(boxes_.data()) +
                                           std::size_t{k} * box_bytes);
}

nvme_pcie_doorbells doorbell_relay::add(std::uint32_t* own, std::uint32_t stride_bytes) {
  const std::uint32_t k = count_.load();
  if (k + 2 > most_) throw error("a queue has no doorbells in memory: more than were announced");
  own_[k] = own;
  own_[k + 1] = own + stride_bytes / 4;
  count_.store(k + 2, std::memory_order_release);
  return {&box(k), box_bytes, false};
}

/// Passes on what is in box `k`. True if there was something.
bool doorbell_relay::pass(std::uint32_t k) {
  const system_word<std::uint32_t> word(box(k));
  if (word.load(relaxed) == empty) return false;
  // Paired with the release of who rang: what it says is in the queue is there before the register
  // says so.
  const std::uint32_t value = word.exchange(empty, acq_rel);
  if (value == empty) return false;
  system_word<std::uint32_t>(*own_[k]).store(value, release);
  passed_.fetch_add(1, std::memory_order_relaxed);
  return true;
}

void doorbell_relay::run() {
  constexpr std::uint32_t patience = 4096;  // rounds, some hundred microseconds
  std::uint32_t quiet = 0;
  while (!stop_.load(std::memory_order_relaxed)) {
    bool busy = false;
    const std::uint32_t count = count_.load(std::memory_order_acquire);
    for (std::uint32_t k = 0; k < count; ++k) busy = pass(k) || busy;
    quiet = busy ? 0 : quiet + 1;
    if (quiet < patience) {
      simt::pause();
    } else {
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
  }
}

}  // namespace gnstor::host

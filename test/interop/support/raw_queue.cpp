#include "raw_queue.hpp"

#include <cstring>

namespace gnstor::interop {
namespace {

constexpr std::uint32_t receive_bytes = 64;
constexpr std::uint64_t send_mark = 1u << 16;  ///< in the id of a send
constexpr std::size_t memory_bytes =
    raw_queue::slots * (receive_bytes + std::size_t{raw_queue::slot_bytes});

}  // namespace

raw_queue::raw_queue(const host::verbs::protection_domain& domain,
                     const host::verbs::net_address& target,
                     std::span<const unsigned char> private_data)
    : memory_(host::place::host, memory_bytes),
      region_(domain, memory_.data(), memory_.bytes(), {}),
      joined_(host::verbs::connection::connect(domain, target, private_data,
                                               {.send_depth = slots, .receive_depth = slots},
                                               std::chrono::seconds(10))) {
  for (std::uint32_t slot = 0; slot < slots; ++slot) post_receive(slot);
}

void raw_queue::post_receive(std::uint32_t slot) {
  const auto base = reinterpret_cast<std::uint64_t>(memory_.data());
  (void)joined_.post_receive({.id = slot,
                              .address = base + slot * receive_bytes,
                              .bytes = receive_bytes,
                              .lkey = region_.lkey()});
}

bool raw_queue::send(std::span<const unsigned char> capsule) {
  if (broken_ || sent_ - gone_ == slots || capsule.size() > slot_bytes) return false;
  const std::size_t at = slots * receive_bytes + sent_ % slots * slot_bytes;
  auto* slot = static_cast<unsigned char*>(memory_.data()) + at;
  std::memcpy(slot, capsule.data(), capsule.size());
  if (!joined_.post_send({.id = send_mark,
                          .address = reinterpret_cast<std::uint64_t>(slot),
                          .bytes = static_cast<std::uint32_t>(capsule.size()),
                          .lkey = region_.lkey()})) {
    return false;
  }
  ++sent_;
  return true;
}

std::optional<wire::nvme::completion_entry> raw_queue::answer(std::chrono::milliseconds timeout) {
  const auto last = std::chrono::steady_clock::now() + timeout;
  for (; !broken_ && std::chrono::steady_clock::now() < last;) {
    ibv_wc one;
    if (joined_.poll({&one, 1}) == 0) {
      joined_.wait(std::chrono::milliseconds(2));
      continue;
    }
    broken_ = one.status != IBV_WC_SUCCESS;
    if (broken_) break;
    if (one.wr_id == send_mark) {
      ++gone_;
      continue;
    }
    wire::nvme::completion_entry entry{};
    const auto slot = static_cast<std::uint32_t>(one.wr_id);
    std::memcpy(&entry, static_cast<unsigned char*>(memory_.data()) + slot * receive_bytes,
                sizeof entry);
    post_receive(slot);
    return entry;
  }
  return std::nullopt;
}

}  // namespace gnstor::interop

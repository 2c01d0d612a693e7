#include "traffic.hpp"

#include <gnstor/host/error.hpp>

#include <fmt/format.h>

#include <cstring>

namespace gnstor::interop {

using host::fabrics::controller;
using host::fabrics::io_channel;
using host::fabrics::namespace_info;

namespace {

constexpr std::uint32_t most_losses = 8;  ///< in one pass

/// The connection ended under the command, or before it: it can be sent again.
bool is_lost(status s) {
  return s.code == status_code::transport_error || s.code == status_code::flushed ||
         s.code == status_code::closed;
}

}  // namespace

traffic::traffic(controller& of, std::uint32_t nsid, std::uint64_t bytes, std::uint64_t seed)
    : limits_(of.limits()), patience_(of.options().timeout), nsid_(nsid), random_(seed) {
  const namespace_info space = of.find_namespace(nsid);
  block_bytes_ = space.block_bytes;
  if (bytes > space.bytes() || bytes % 4096 != 0) {
    throw host::input_error(fmt::format(
        "--bytes {}: namespace {} has {} bytes; a multiple of 4096 up to that is wanted", bytes,
        nsid, space.bytes()));
  }
  image_ = host::memory_block(host::place::host, bytes);
  seen_ = host::memory_block(host::place::host, bytes);
  image_keys_ = of.register_memory(image_.data(), bytes);
  seen_keys_ = of.register_memory(seen_.data(), bytes);
  for (std::uint32_t k = 0; k < limits_.queues; ++k) {
    queues_.push_back(std::make_unique<io_channel>(of));
    channels_.push_back(queues_.back()->ref());
  }
}

void traffic::run() {
  pass(direction::write);
  pass(direction::both);
  pass(direction::read);
}

/// New bytes for an extent: no two 8-byte words of a run are alike, so misplaced data shows.
void traffic::renew(const extent& e) {
  auto* words = static_cast<std::uint64_t*>(image_.data()) + e.offset / 8;
  for (std::uint32_t k = 0; k < e.bytes / 8; ++k) words[k] = random_();
}

void traffic::pass(direction way) {
  std::vector<extent> extents = cut_randomly(image_.bytes(), limits_.max_transfer_bytes, random_);
  for (std::size_t k = 0; k < extents.size(); ++k) {
    extents[k].write = way == direction::write || (way == direction::both && k % 2 == 0) ? 1 : 0;
    if (extents[k].write != 0) renew(extents[k]);
  }
  std::memset(seen_.data(), 0xee, seen_.bytes());
  for (std::uint32_t left = most_losses; !extents.empty(); --left) {
    const std::vector<std::uint64_t> outcomes = run_kernels(extents);
    std::vector<extent> again;
    for (std::size_t k = 0; k < extents.size(); ++k) {
      const status outcome = status::unpack(outcomes[k]);
      if (loss_patience_.count() != 0 && left != 0 && is_lost(outcome)) {
        again.push_back(extents[k]);
      } else {
        check(extents[k], outcome);
      }
    }
    commands_ += extents.size() - again.size();
    sent_again_ += again.size();
    if (!again.empty()) reopen_queues();
    extents = std::move(again);
  }
}

void traffic::reopen_queues() {
  for (const auto& queue : queues_) queue->reopen(loss_patience_);
}

std::vector<std::uint64_t> traffic::run_kernels(const std::vector<extent>& extents) {
  std::vector<std::uint64_t> outcomes(
      extents.size(), status::make(status_code::not_ready, reporter::caller).pack());
  random_io_work work;
  work.extents = extents.data();
  work.count = static_cast<std::uint32_t>(extents.size());
  work.nsid = nsid_;
  work.block_bytes = block_bytes_;
  work.image = image_keys_->buffer;
  work.seen = seen_keys_->buffer;
  work.outcomes = outcomes.data();
  work.timeout_ns = static_cast<std::uint64_t>(patience_.count());

  host::executor kernels;
  kernels.spawn(queues(), 32, random_io<host::fabrics::proxy_channel>{channels_.data(), queues()},
                &work);
  kernels.run();
  most_in_flight_ = std::max(most_in_flight_, work.highest);
  return outcomes;
}

void traffic::check(const extent& e, status outcome) const {
  const char* what = e.write != 0 ? "writing" : "reading";
  if (!outcome.ok()) {
    throw host::io_error(
        fmt::format("{} {} bytes at {}: {}", what, e.bytes, e.offset, host::to_string(outcome)),
        outcome);
  }
  const auto* image = static_cast<const unsigned char*>(image_.data()) + e.offset;
  const auto* seen = static_cast<const unsigned char*>(seen_.data()) + e.offset;
  if (e.write == 0 && std::memcmp(image, seen, e.bytes) != 0) {
    throw host::error(
        fmt::format("reading {} bytes at {}: not what was written", e.bytes, e.offset));
  }
}

}  // namespace gnstor::interop

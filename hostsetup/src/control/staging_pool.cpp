#include "staging_pool.hpp"

#include <gnstor/host/error.hpp>

#include <algorithm>
#include <exception>
#include <utility>

namespace gnstor::host {

staging_pool::staging_pool(array_link& link, std::uint32_t count, std::uint64_t bytes_each)
    : link_(&link), count_(count), bytes_each_(bytes_each) {
  add(count);
}

void staging_pool::add(std::uint32_t count) {
  // Whatever can throw comes before the registration, so that none is lost.
  free_.reserve(count_);
  regions_.reserve(count_ + 1);
  late_.reserve(most_late + 1);
  abandoned_.reserve(abandoned_.size() + late_.size() + count_ + 1);
  region r;
  r.block = link_->allocate(link_->node_reach(), count * bytes_each_);
  r.all = registered(r.block.data(), r.block.bytes());
  r.usable = count;
  for (std::uint32_t k = 0; k < count; ++k)
    free_.push_back(r.all.slice(k * bytes_each_, bytes_each_));
  usable_ += count;
  regions_.push_back(std::move(r));
}

/// Registers memory; where there is no room, in place of what was given up longest ago.
io_buffer staging_pool::registered(void* memory, std::uint64_t bytes) {
  for (; !late_.empty(); forget_oldest()) {
    try {
      return link_->register_memory(memory, bytes);
    } catch (const error&) {
      continue;
    }
  }
  return link_->register_memory(memory, bytes);
}

void staging_pool::forget_oldest() noexcept {
  link_->unregister_memory(late_.front().all);
  abandoned_.push_back(std::move(late_.front().block));
  late_.erase(late_.begin());
}

/// Brings the pool back to its size, as far as there is memory.
void staging_pool::replace_lost() noexcept {
  try {
    for (; usable_ < count_;) add(1);
  } catch (const std::exception&) {
    // There are fewer buffers. The next who borrows tries again.
  }
}

staging_pool::loan staging_pool::borrow() {
  std::unique_lock lock(guard_);
  if (usable_ < count_) replace_lost();
  freed_.wait(lock, [this] { return !free_.empty() || usable_ == 0; });
  if (free_.empty()) {
    throw error(
        "borrowing a staging buffer: the array left all of them unanswered, and there is no memory "
        "for more; restart the target");
  }
  const io_buffer buffer = free_.back();
  free_.pop_back();
  return {*this, buffer};
}

std::optional<staging_pool::loan> staging_pool::try_borrow() {
  const std::lock_guard lock(guard_);
  if (usable_ < count_) replace_lost();
  if (free_.empty()) return std::nullopt;
  const io_buffer buffer = free_.back();
  free_.pop_back();
  return std::optional<loan>(std::in_place, *this, buffer);
}

/// Takes a buffer out of use for good.
void staging_pool::abandon(const io_buffer& buffer) noexcept {
  --usable_;
  const auto at = std::find_if(regions_.begin(), regions_.end(),
                               [&](const region& r) { return r.has(buffer); });
  if (at == regions_.end() || --at->usable != 0) return;
  late_.push_back(std::move(*at));
  regions_.erase(at);
  if (late_.size() > most_late) forget_oldest();
}

void staging_pool::give_back(io_buffer buffer, bool left_behind) noexcept {
  const std::lock_guard lock(guard_);
  if (!left_behind) {
    free_.push_back(buffer);
  } else {
    abandon(buffer);
    replace_lost();
  }
  freed_.notify_all();
}

}  // namespace gnstor::host

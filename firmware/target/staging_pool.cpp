#include <gnstor/host/error.hpp>
#include <target/staging_pool.hpp>

#include <exception>

namespace gnstor::fw {

staging_pool::staging_pool(host::array_link& link, std::uint32_t count, std::uint64_t bytes_each)
    : link_(&link), bytes_each_(bytes_each) {
  add(count);
}

void staging_pool::add(std::uint32_t count) {
  host::memory_block block = link_->allocate(link_->node_reach(), count * bytes_each_);
  const io_buffer all = link_->register_memory(block.data(), block.bytes());
  blocks_.push_back(std::move(block));
  for (std::uint32_t k = 0; k < count; ++k)
    free_.push_back(all.slice(k * bytes_each_, bytes_each_));
  usable_ += count;
}

staging_pool::loan staging_pool::borrow() {
  std::unique_lock lock(guard_);
  freed_.wait(lock, [this] { return !free_.empty() || usable_ == 0; });
  if (free_.empty()) {
    throw host::error(
        "borrowing a staging buffer: the array left all of them unanswered, and there is no memory "
        "for more; restart the target");
  }
  const io_buffer buffer = free_.back();
  free_.pop_back();
  return {*this, buffer};
}

void staging_pool::give_back(io_buffer buffer, bool left_behind) noexcept {
  const std::lock_guard lock(guard_);
  if (!left_behind) {
    free_.push_back(buffer);
  } else {
    --usable_;
    try {
      add(1);
    } catch (const std::exception&) {
      // There is one buffer less. Whoever waits finds out when none is left.
    }
  }
  freed_.notify_all();
}

}  // namespace gnstor::fw

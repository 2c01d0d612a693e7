#pragma once

#include <gnstor/host/memory_block.hpp>
#include <gnstor/memory/io_buffer.hpp>
#include <link/array_link.hpp>

#include <deque>
#include <mutex>
#include <utility>
#include <vector>

namespace gnstor::serve {

/// Memory that silent SSDs may use still, after its owner has gone. It lives as long as this.
///
/// A command that found the key of its memory gone would break a queue pair, and with it all that
/// others have there: of what was lost the last few stay registered. Any thread may call.
class lost_memory {
 public:
  void keep(host::array_link& link, const io_buffer& buffer, host::memory_block memory) {
    const std::lock_guard lock(guard_);
    lost_.emplace_back(buffer, std::move(memory));
    if (lost_.size() <= most_registered) return;
    link.unregister_memory(lost_.front().first);
    forgotten_.push_back(std::move(lost_.front().second));
    lost_.pop_front();
  }

 private:
  static constexpr std::size_t most_registered = 16;

  std::mutex guard_;
  std::deque<std::pair<io_buffer, host::memory_block>> lost_;  ///< the oldest first
  std::vector<host::memory_block> forgotten_;                  ///< which are registered no more
};

}  // namespace gnstor::serve

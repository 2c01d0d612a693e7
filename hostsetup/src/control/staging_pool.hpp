#pragma once

#include <gnstor/core/status.hpp>
#include <link/array_link.hpp>

#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

namespace gnstor::host {

/// Buffers of equal size that an array reaches, lent one at a time to any thread.
///
/// A buffer whose command was given up is never lent again, because the late answer may still use
/// it: another takes its place. Its memory stays, and so does its registration for as long as
/// `most_late` further ones are given up: a command that finds its buffer's key gone breaks the
/// queue pair, and with it everybody's. Only then it goes, or where there is no room for another,
/// so that the array's table of registrations does not fill up.
class staging_pool {
 public:
  /// Registrations that are kept though nobody uses their buffers any more.
  static constexpr std::size_t most_late = 16;

  staging_pool(array_link& link, std::uint32_t count, std::uint64_t bytes_each);

  /// A borrowed buffer. Gives it back when it goes.
  class loan {
   public:
    loan(staging_pool& from, io_buffer buffer) : from_(&from), buffer_(buffer) {}
    loan(loan&& other) noexcept
        : from_(std::exchange(other.from_, nullptr)),
          buffer_(other.buffer_),
          left_behind_(other.left_behind_) {}
    loan& operator=(loan&&) = delete;
    ~loan() {
      if (from_ != nullptr) from_->give_back(buffer_, left_behind_);
    }
    std::byte* data() const { return static_cast<std::byte*>(buffer_.data()); }
    /// Its first `bytes` bytes.
    io_buffer part(std::uint64_t bytes) const { return buffer_.slice(0, bytes); }
    /// Notes how a command that used the buffer ended.
    status note(status s) {
      left_behind_ = left_behind_ || s.left_behind();
      return s;
    }
    /// Notes that an SSD may still use the buffer.
    void leave_behind() { left_behind_ = true; }

   private:
    staging_pool* from_;
    io_buffer buffer_;
    bool left_behind_ = false;
  };
  /// Waits until a buffer is free: as long as the commands of others take. Throws `error` if every
  /// buffer was left behind and there is no memory for another.
  loan borrow();
  /// A buffer if one is free: for who holds others, and so must not wait.
  std::optional<loan> try_borrow();
  std::uint64_t bytes_each() const { return bytes_each_; }

 private:
  /// Memory that was registered in one piece.
  struct region {
    memory_block block;
    io_buffer all;
    std::uint32_t usable = 0;  ///< buffers that are free or lent

    bool has(const io_buffer& b) const { return b.address - all.address < all.bytes; }
  };
  void add(std::uint32_t count);
  io_buffer registered(void* memory, std::uint64_t bytes);
  void forget_oldest() noexcept;
  void replace_lost() noexcept;
  void abandon(const io_buffer& buffer) noexcept;
  void give_back(io_buffer buffer, bool left_behind) noexcept;

  array_link* link_;
  std::uint32_t count_;  ///< buffers wanted
  std::uint64_t bytes_each_;
  std::mutex guard_;
  std::condition_variable freed_;
  std::vector<io_buffer> free_;
  std::uint32_t usable_ = 0;  ///< free or lent
  std::vector<region> regions_;
  std::vector<region> late_;  ///< all of whose buffers were given up; the oldest first
  std::vector<memory_block> abandoned_;
};

}  // namespace gnstor::host

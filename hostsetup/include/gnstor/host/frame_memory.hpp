#pragma once

#include <gnstor/array/frame_ring.hpp>
#include <gnstor/host/array_ground.hpp>
#include <gnstor/host/memory_block.hpp>
#include <gnstor/memory/io_buffer.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace gnstor::detail {

/// Frames of one array, or of several that share them, with what kernels need to find them.
struct frame_memory {
  /// An array that shares the frames.
  struct sharer {
    const void* uses = nullptr;  ///< what `simt::array_uses` calls it; null: the number is free
    std::uint32_t least = 0;
    std::string name;
    std::shared_ptr<host::memory_block> faults;  ///< its `fault_ring`, if it has one
    host::memory_block words;  ///< of an array that ended while a kernel could still see its pages
  };
  static constexpr std::uint32_t most_sharers = 64;
  static constexpr std::size_t sharer_bytes = 512;  ///< room for an array's pages as kernels see it

  host::memory_block frames;
  host::memory_block words;  ///< a `frame_ring`'s, and what its array's pages keep behind it
  host::memory_block list;   ///< the sharers' pages as kernels see them, by their numbers
  io_buffer buffer{};
  std::uint32_t count = 0;
  std::uint32_t page_bytes = 0;
  gnstor::eviction eviction = gnstor::eviction::fifo;
  array_ground ground;
  std::vector<sharer> sharers;  ///< empty where one array has the frames alone
  mutable std::mutex guard;     ///< of `sharers`

  /// Allocates and registers. Throws what they throw.
  /// @param shared with `list`
  frame_memory(const array_ground& on, std::uint32_t page_bytes, std::uint32_t frames,
               gnstor::eviction how, bool shared);
  frame_memory(const frame_memory&) = delete;
  frame_memory& operator=(const frame_memory&) = delete;
  ~frame_memory();

  bool is_shared() const { return !sharers.empty(); }
  frame_ring ring() const { return {words.data(), count, eviction}; }
  /// Adds an array. Throws `host::input_error` if there is no room for it, or a kernel uses
  /// another.
  frame_share join(sharer who, std::uint32_t most);
  /// The memory of an array's pager.
  void note_pager(std::uint32_t array, const std::shared_ptr<host::memory_block>& faults);
  /// Takes the page words of an array that ends while one that shares its frames is in use, whose
  /// kernels may look there. Logs that.
  void keep_if_used(std::uint32_t array, host::memory_block& words) noexcept;
  /// Frees the frames of an array that ends, unless its words were kept.
  void leave(std::uint32_t array) noexcept;
  /// The name of an array that an executor's kernel uses, or that has a pager; empty if there is
  /// none.
  /// @param pagers whether pagers count
  std::string in_use(bool pagers) const;
  /// Throws `host::input_error` while one of the arrays is in use.
  /// @param what "close it"
  void require_unused(const std::string& what) const;

 private:
  std::string in_use_unlocked(bool pagers) const;
};

/// True while pagers serve the `fault_ring` in `faults`, or are to; null: none.
bool has_servers(const std::shared_ptr<host::memory_block>& faults);

/// Throws `host::input_error` unless arrays on `on` can have pages of that size.
void check_page_size(std::uint64_t page, const array_ground& on);
/// Memory for frames where nobody says how much: all that is free but a reserve for what else the
/// program needs.
std::uint64_t free_for_frames(const array_ground& on);

}  // namespace gnstor::detail

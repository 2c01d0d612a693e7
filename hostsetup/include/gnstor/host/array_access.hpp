#pragma once
/// How the host touches the elements of an array, also by way of files.

#include <gnstor/host/array_kernels.hpp>

#include <cstdint>
#include <functional>
#include <string>

namespace gnstor::host {

/// Called while a file is loaded or saved, after each piece: bytes done, and all of them.
using progress_call = std::function<void(std::uint64_t done, std::uint64_t total)>;

}  // namespace gnstor::host

namespace gnstor::detail {

struct array_memory;

/// Elements of an array that its host touches.
struct element_range {
  std::uint64_t first = 0;
  std::uint64_t count = 0;

  /// Throws `host::input_error` that names array, element and remedy if it is not within `size`.
  void check(const std::string& array, std::uint64_t size) const;
  /// The pages that it lies on; none of no elements.
  page_range pages(std::uint32_t element_bytes, std::uint32_t page_bytes) const;
};

/// Blocks of 128 threads with a thread per page of `pages`, as far as that is useful.
std::uint32_t grid_for(const page_range& pages);

/// Throws `host::io_error` (would_block): kernels that have not ended use the array.
[[noreturn]] void refuse_access(const std::string& array);
/// The same if `left`, of `flush_pages`, says so, or what could not be written back.
void check_settled(const std::string& array, const flush_record& left);

/// Moves a piece of an array's bytes, from `offset` on.
using piece_reader = std::function<void(std::uint64_t offset, void* to, std::uint64_t bytes)>;
using piece_writer =
    std::function<void(std::uint64_t offset, const void* from, std::uint64_t bytes)>;

/// Writes the first `bytes` of the file `path` by `write`. Throws `host::input_error` if there is
/// no such file, or it is shorter: nothing is written then.
void load_file(const std::string& path, const std::string& array, std::uint64_t bytes,
               const piece_writer& write, const host::progress_call& progress);
/// Lets `read` fill a file of `bytes` beside `path`, which takes its name when it is complete.
/// Throws `host::input_error` if it cannot be written: what was there stays then.
void save_file(const std::string& path, std::uint64_t bytes, const piece_reader& read,
               const host::progress_call& progress);

}  // namespace gnstor::detail

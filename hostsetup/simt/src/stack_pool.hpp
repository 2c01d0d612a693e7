#pragma once

#include <cstddef>
#include <vector>

namespace gnstor::simt::host {

/// The lane stacks of one thread, kept between runs: mapping 64 KiB costs far more than a small
/// kernel.
///
/// Stacks are reserved address space, committed page by page. The first `guarded_limit` have a
/// guard page below them; further ones do without, because each guard page costs two of the
/// kernel's 65,530 mappings.
class stack_pool {
 public:
  static constexpr std::size_t guarded_limit = 8192;
  static constexpr std::size_t page_bytes = 4096;

  /// The pool of the calling thread.
  static stack_pool& mine();

  stack_pool() = default;
  stack_pool(const stack_pool&) = delete;
  stack_pool& operator=(const stack_pool&) = delete;
  ~stack_pool();

  /// The lowest usable byte of a stack of `bytes` (a multiple of the page size). Throws
  /// std::bad_alloc.
  char* take(std::size_t bytes);
  /// Returns a stack that `take(bytes)` gave.
  void give(char* stack, std::size_t bytes);

 private:
  struct shelf {
    std::size_t bytes;
    std::vector<char*> free;
  };
  struct mapping {
    void* at;
    std::size_t bytes;
  };
  shelf& shelf_of(std::size_t bytes);
  void grow(shelf& to);

  std::vector<shelf> shelves_;
  std::vector<mapping> mappings_;
  std::size_t guarded_ = 0;
};

}  // namespace gnstor::simt::host

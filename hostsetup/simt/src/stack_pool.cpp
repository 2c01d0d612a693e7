#include "stack_pool.hpp"

#include "sanitizer.hpp"

#include <sys/mman.h>

#include <new>

namespace gnstor::simt::host {

namespace {
constexpr std::size_t stacks_a_mapping = 64;
}

stack_pool& stack_pool::mine() {
  static thread_local stack_pool pool;
  return pool;
}

stack_pool::~stack_pool() {
  for (const mapping& m : mappings_) {
    asan_forget(m.at, m.bytes);  // whoever maps these addresses next must not find them poisoned
    munmap(m.at, m.bytes);
  }
}

stack_pool::shelf& stack_pool::shelf_of(std::size_t bytes) {
  for (shelf& s : shelves_) {
    if (s.bytes == bytes) return s;
  }
  shelves_.push_back({bytes, {}});
  return shelves_.back();
}

void stack_pool::grow(shelf& to) {
  const std::size_t stride = to.bytes + page_bytes;
  const std::size_t total = stride * stacks_a_mapping;
  void* at = mmap(nullptr, total, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (at == MAP_FAILED) throw std::bad_alloc();
  mappings_.push_back({at, total});
  for (std::size_t k = 0; k < stacks_a_mapping; ++k) {
    char* slot = static_cast<char*>(at) + k * stride;
    if (guarded_ < guarded_limit && mprotect(slot, page_bytes, PROT_NONE) == 0) ++guarded_;
    to.free.push_back(slot + page_bytes);
  }
}

char* stack_pool::take(std::size_t bytes) {
  shelf& from = shelf_of(bytes);
  if (from.free.empty()) grow(from);
  char* stack = from.free.back();
  from.free.pop_back();
  asan_forget(stack, bytes);
  return stack;
}

void stack_pool::give(char* stack, std::size_t bytes) { shelf_of(bytes).free.push_back(stack); }

}  // namespace gnstor::simt::host

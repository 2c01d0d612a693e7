#pragma once

#include "fiber.hpp"
#include "stack_pool.hpp"

#include <memory>
#include <vector>

namespace gnstor::simt::host {

/// The idle fibers of one thread, kept between runs: a fiber costs far more than a small kernel,
/// under ThreadSanitizer more than a millisecond.
class fiber_pool {
 public:
  /// The pool of the calling thread.
  static fiber_pool& mine() {
    static thread_local fiber_pool pool;
    return pool;
  }

  std::unique_ptr<fiber> take(std::size_t stack_bytes) {
    std::vector<std::unique_ptr<fiber>>& idle = shelf_of(stack_bytes).idle;
    if (idle.empty()) return std::make_unique<fiber>(stack_bytes);
    std::unique_ptr<fiber> f = std::move(idle.back());
    idle.pop_back();
    return f;
  }
  /// Takes back a fiber whose body is done.
  void give(std::unique_ptr<fiber> f) { shelf_of(f->stack_bytes()).idle.push_back(std::move(f)); }

 private:
  struct shelf {
    std::size_t stack_bytes;
    std::vector<std::unique_ptr<fiber>> idle;
  };

  fiber_pool() { stack_pool::mine(); }  // which must outlive the fibers

  shelf& shelf_of(std::size_t stack_bytes) {
    for (shelf& s : shelves_) {
      if (s.stack_bytes == stack_bytes) return s;
    }
    shelves_.push_back({stack_bytes, {}});
    return shelves_.back();
  }

  std::vector<shelf> shelves_;
};

}  // namespace gnstor::simt::host

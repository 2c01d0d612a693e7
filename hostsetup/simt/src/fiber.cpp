#include "fiber.hpp"

#include "stack_pool.hpp"

#include <cxxabi.h>

namespace gnstor::simt::host {

namespace context = boost::context::detail;

fiber::fiber() : thread_exceptions_(reinterpret_cast<exception_state*>(abi::__cxa_get_globals())) {
#if defined(__SANITIZE_THREAD__)
  tsan_fiber_ = __tsan_get_current_fiber();
#endif
}

fiber::fiber(std::size_t stack_bytes)
    : thread_exceptions_(reinterpret_cast<exception_state*>(abi::__cxa_get_globals())),
      stack_(stack_pool::mine().take(stack_bytes)),
      bottom_(stack_),
      bytes_(stack_bytes) {
  context_ = context::make_fcontext(stack_ + bytes_, bytes_, &fiber::first_entry);
#if defined(__SANITIZE_THREAD__)
  tsan_fiber_ = __tsan_create_fiber(0);
#endif
}

fiber::~fiber() {
  if (stack_ == nullptr) return;
  visit(nullptr, true);
  stack_pool::mine().give(stack_, bytes_);
}

void fiber::release_to(const void* edge) { visit(edge, false); }

/// Tells ThreadSanitizer something in the name of this suspended fiber. A fiber is suspended inside
/// one `quiet`, and ThreadSanitizer ends the process if it is destroyed before that is undone.
#if defined(__SANITIZE_THREAD__)
__attribute__((noinline, no_sanitize("thread")))
#endif
void fiber::visit([[maybe_unused]] const void* edge, [[maybe_unused]] bool last) {
#if defined(__SANITIZE_THREAD__)
  void* self = __tsan_get_current_fiber();
  __tsan_switch_to_fiber(tsan_fiber_, __tsan_switch_to_fiber_no_sync);
  if (edge != nullptr) __tsan_release(const_cast<void*>(edge));
  if (last && entered_) {
    AnnotateIgnoreWritesEnd(__FILE__, __LINE__);
    AnnotateIgnoreReadsEnd(__FILE__, __LINE__);
  }
  __tsan_switch_to_fiber(self, __tsan_switch_to_fiber_no_sync);
  if (last) __tsan_destroy_fiber(tsan_fiber_);
#endif
}

#if defined(__SANITIZE_THREAD__)
__attribute__((noinline, no_sanitize("thread")))
#endif
void fiber::first_entry(context::transfer_t t) {
  fiber* self = static_cast<passage*>(t.data)->to;
  self->entered_ = true;
  arrived(t);
  for (;;) self->entry_(self->argument_);
}

}  // namespace gnstor::simt::host

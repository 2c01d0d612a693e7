#include "fiber.hpp"

#include <cxxabi.h>
#include <exception>

namespace gnstor::simt::host {

namespace context = boost::context::detail;

void fiber::prepare(char* stack, std::size_t bytes, body entry, void* argument) {
  stack_ = stack;
  bottom_ = stack;
  bytes_ = bytes;
  entry_ = entry;
  argument_ = argument;
  entered_ = false;
  exceptions_ = {};
  thread_exceptions_ = reinterpret_cast<exception_state*>(abi::__cxa_get_globals());
  context_ = context::make_fcontext(stack + bytes, bytes, &fiber::first_entry);
#if defined(__SANITIZE_THREAD__)
  tsan_fiber_ = __tsan_create_fiber(0);
#endif
}

void fiber::adopt_thread() {
  thread_exceptions_ = reinterpret_cast<exception_state*>(abi::__cxa_get_globals());
#if defined(__SANITIZE_THREAD__)
  tsan_fiber_ = __tsan_get_current_fiber();
#endif
}

#if defined(__SANITIZE_THREAD__)
// A lane is suspended inside one `quiet`; ThreadSanitizer ends the process if a fiber is destroyed before that is undone.
__attribute__((noinline, no_sanitize("thread")))
#endif
void fiber::discard([[maybe_unused]] fiber& running, [[maybe_unused]] const void* edge) {
#if defined(__SANITIZE_THREAD__)
  __tsan_switch_to_fiber(tsan_fiber_, __tsan_switch_to_fiber_no_sync);
  __tsan_release(const_cast<void*>(edge));
  if (entered_) {
    AnnotateIgnoreWritesEnd(__FILE__, __LINE__);
    AnnotateIgnoreReadsEnd(__FILE__, __LINE__);
  }
  __tsan_switch_to_fiber(running.tsan_fiber_, __tsan_switch_to_fiber_no_sync);
  __tsan_destroy_fiber(tsan_fiber_);
  tsan_fiber_ = nullptr;
#endif
}

#if defined(__SANITIZE_THREAD__)
__attribute__((noinline, no_sanitize("thread")))
#endif
void fiber::first_entry(context::transfer_t t) {
  fiber* self = static_cast<passage*>(t.data)->to;
  self->entered_ = true;
  arrived(t);
  self->entry_(self->argument_);
  std::terminate();
}

}  // namespace gnstor::simt::host

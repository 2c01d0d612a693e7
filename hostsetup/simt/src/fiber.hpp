#pragma once

#include "sanitizer.hpp"

#include <boost/context/detail/fcontext.hpp>
#include <cstddef>
#include <exception>

namespace gnstor::simt::host {

/// A stack that can be left and resumed: a lane's, or the runner's own.
///
/// A suspended fiber is simply dropped, never unwound: boost::context::fiber would unwind by an exception, which ends
/// the process below a noexcept frame.
class fiber {
 public:
  using body = void (*)(void* argument);  ///< never returns

  /// Makes this fiber start at `entry(argument)` on the given stack when it is first switched to.
  void prepare(char* stack, std::size_t bytes, body entry, void* argument);
  /// Makes this fiber stand for the calling thread's own stack.
  void adopt_thread();
  /// Ends this suspended fiber; the stack may be reused. For ThreadSanitizer, all it did comes before an acquire of
  /// `edge`.
  void discard(fiber& running, const void* edge);

  /// Leaves this running fiber and continues `to`; returns when something switches back. Inline, because each return
  /// on a new stack is one the processor predicts wrongly.
  void switch_to(fiber& to) { change(*this, to, false); }
  /// Leaves this fiber for ever.
  [[noreturn]] void finish_into(fiber& to) {
    change(*this, to, true);
    std::terminate();
  }

  char* stack() const { return stack_; }

 private:
  /// The C++ runtime's per-thread exception state; a switch inside a catch handler would mix it up.
  struct exception_state {
    void* caught = nullptr;
    unsigned uncaught = 0;
  };
  struct passage {
    fiber* from;
    fiber* to;
  };

  static void first_entry(boost::context::detail::transfer_t t);
  static void arrived(boost::context::detail::transfer_t t);
  static void change(fiber& from, fiber& to, bool last);

  boost::context::detail::fcontext_t context_ = nullptr;
  exception_state* thread_exceptions_ = nullptr;
  exception_state exceptions_;
  body entry_ = nullptr;
  void* argument_ = nullptr;
  char* stack_ = nullptr;
  const void* bottom_ = nullptr;  ///< as AddressSanitizer knows the stack
  std::size_t bytes_ = 0;
  void* fake_stack_ = nullptr;
  void* tsan_fiber_ = nullptr;
  bool entered_ = false;
};

/// On the stack that was switched to: notes where the other fiber stopped.
#if defined(__SANITIZE_THREAD__)
__attribute__((noinline, no_sanitize("thread")))
#endif
inline void fiber::arrived(boost::context::detail::transfer_t t) {
  auto* way = static_cast<passage*>(t.data);
  way->from->context_ = t.fctx;
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(way->to->fake_stack_, &way->from->bottom_, &way->from->bytes_);
#endif
}

#if defined(__SANITIZE_THREAD__)
__attribute__((noinline, no_sanitize("thread")))
#endif
inline void fiber::change(fiber& from, fiber& to, [[maybe_unused]] bool last) {
  from.exceptions_ = *from.thread_exceptions_;
  *from.thread_exceptions_ = to.exceptions_;
  passage way{&from, &to};
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_start_switch_fiber(last ? nullptr : &from.fake_stack_, to.bottom_, to.bytes_);
#endif
#if defined(__SANITIZE_THREAD__)
  __tsan_switch_to_fiber(to.tsan_fiber_, __tsan_switch_to_fiber_no_sync);
#endif
  arrived(boost::context::detail::jump_fcontext(to.context_, &way));
}

}  // namespace gnstor::simt::host

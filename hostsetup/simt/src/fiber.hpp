#pragma once

#include "sanitizer.hpp"

#include <boost/context/detail/fcontext.hpp>

#include <cstddef>

namespace gnstor::simt::host {

/// A stack that can be left and resumed: a lane's, or the runner's own.
///
/// A suspended fiber is simply dropped, never unwound: boost::context::fiber would unwind by an
/// exception, which ends the process below a noexcept frame. A fiber whose body has returned is
/// idle and takes another body.
class fiber {
 public:
  using body = void (*)(void* argument);

  /// Stands for the calling thread's own stack.
  fiber();
  /// An idle fiber on a stack of the thread's `stack_pool`.
  explicit fiber(std::size_t stack_bytes);
  fiber(const fiber&) = delete;
  fiber& operator=(const fiber&) = delete;
  /// Drops the fiber where it stands.
  ~fiber();

  std::size_t stack_bytes() const { return bytes_; }

  /// Makes this idle fiber call `entry(argument)` when it is next switched to. In its last act
  /// `entry` switches to another fiber; when that call returns, the fiber has been given new work,
  /// and `entry` must return.
  void prepare(body entry, void* argument) {
    entry_ = entry;
    argument_ = argument;
  }

  /// Leaves this running fiber and continues `to`; returns when something switches back. Inline,
  /// because each return on a new stack is one the processor predicts wrongly.
  void switch_to(fiber& to) { change(*this, to); }

  /// For ThreadSanitizer: all that this suspended fiber did comes before an acquire of `edge`.
  void release_to(const void* edge);

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
  static void change(fiber& from, fiber& to);
  void visit(const void* edge, bool last);

  boost::context::detail::fcontext_t context_ = nullptr;
  exception_state* thread_exceptions_;
  exception_state exceptions_;
  body entry_ = nullptr;
  void* argument_ = nullptr;
  char* stack_ = nullptr;         ///< null for the thread's own
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
inline void
fiber::arrived(boost::context::detail::transfer_t t) {
  auto* way = static_cast<passage*>(t.data);
  way->from->context_ = t.fctx;
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(way->to->fake_stack_, &way->from->bottom_, &way->from->bytes_);
#endif
}

#if defined(__SANITIZE_THREAD__)
__attribute__((noinline, no_sanitize("thread")))
#endif
inline void
fiber::change(fiber& from, fiber& to) {
  from.exceptions_ = *from.thread_exceptions_;
  *from.thread_exceptions_ = to.exceptions_;
  passage way{&from, &to};
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_start_switch_fiber(&from.fake_stack_, to.bottom_, to.bytes_);
#endif
#if defined(__SANITIZE_THREAD__)
  __tsan_switch_to_fiber(to.tsan_fiber_, __tsan_switch_to_fiber_no_sync);
#endif
  arrived(boost::context::detail::jump_fcontext(to.context_, &way));
}

}  // namespace gnstor::simt::host

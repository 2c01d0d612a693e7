#pragma once

#include <gnstor/simt/lane.hpp>

#include <tuple>
#include <type_traits>

namespace gnstor::simt::host {

/// The body of a spawned grid as the compiled runtime sees it: something each lane runs once.
class kernel {
 public:
  virtual ~kernel() = default;
  /// Runs the body as the current lane; `shared` is the block's shared memory.
  virtual void run(void* shared) const = 0;
};

}  // namespace gnstor::simt::host

namespace gnstor::detail {

template <class Functor>
struct shared_of {
  using type = simt::no_shared;
};
template <class Functor>
  requires requires { typename Functor::shared; }
struct shared_of<Functor> {
  using type = typename Functor::shared;
};

/// A functor with its arguments. Every lane gets its own copies, as every thread of a CUDA kernel
/// does.
template <class Functor, class... Args>
class bound_kernel final : public simt::host::kernel {
 public:
  using shared = typename shared_of<Functor>::type;
  static_assert(std::is_trivially_default_constructible_v<shared>,
                "nothing initialises shared memory");
  static_assert(std::is_trivially_copyable_v<Functor>, "a kernel functor is copied to the device");
  static_assert((std::is_trivially_copyable_v<Args> && ...),
                "kernel arguments are copied to the device");

  explicit bound_kernel(Functor functor, Args... args) : functor_(functor), args_(args...) {}

  void run(void* memory) const override {
    simt::lane<shared> self(static_cast<shared*>(memory));
    Functor functor = functor_;
    std::tuple<Args...> args = args_;
    std::apply([&](Args&... each) { functor(self, each...); }, args);
  }

 private:
  Functor functor_;
  std::tuple<Args...> args_;
};

}  // namespace gnstor::detail

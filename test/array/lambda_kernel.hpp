#pragma once

namespace gnstor::test {

/// A kernel of the host runtime from a lambda that takes the lane, and a view where there is one.
template <class Body>
struct lambda_kernel {
  Body body;
  template <class Lane, class... View>
  void operator()(Lane& lane, View... view) const {
    body(lane, view...);
  }
};

}  // namespace gnstor::test

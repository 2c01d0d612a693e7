#pragma once

#include <functional>

namespace gnstor::host {

/// A kernel of one lane that calls a host function: this CPU's work beside simulated firmware.
struct call_back {
  template <class Lane>
  void operator()(Lane&, const std::function<void()>* work) const {
    (*work)();
  }
};

}  // namespace gnstor::host

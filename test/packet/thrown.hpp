#pragma once

#include <gnstor/host/error.hpp>

#include <string>

namespace gnstor::test {

/// What is said of bad input; empty if nothing is.
template <class Work>
std::string thrown(const Work& work) {
  try {
    work();
    return {};
  } catch (const gnstor::host::input_error& e) {
    return e.what();
  }
}

}  // namespace gnstor::test

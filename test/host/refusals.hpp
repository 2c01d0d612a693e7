#pragma once
/// What the host side says where it refuses something.

#include <gnstor/host/error.hpp>

#include <doctest/doctest.h>

#include <string>

namespace gnstor::test {

/// What `action` threw.
/// @tparam Error the least that it has to be; anything else passes through
template <class Error = gnstor::host::error, class Action>
std::string refusal_of(const Action& action) {
  try {
    action();
  } catch (const Error& e) {
    return e.what();
  }
  return "nothing was refused";
}
/// True if `text` has `part`; a check that fails shows the text.
inline bool says(const std::string& text, const std::string& part) {
  CAPTURE(text);
  return text.find(part) != std::string::npos;
}

}  // namespace gnstor::test

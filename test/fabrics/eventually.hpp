#pragma once

#include <chrono>
#include <thread>

namespace gnstor::test {

/// True as soon as `claim()` holds; false if it does not within 20 s.
template <class Claim>
bool eventually(const Claim& claim) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  for (bool held = claim(); std::chrono::steady_clock::now() < end; held = claim()) {
    if (held) return true;
    std::this_thread::yield();
  }
  return claim();
}

}  // namespace gnstor::test

#pragma once

#include <cstddef>
#include <string>

namespace gnstor::host {

/// A text in UTF-8 of which there may be as many bytes; else as many whole characters of its
/// beginning as there is room for, and three dots.
inline std::string clipped(const std::string& text, std::size_t most) {
  if (text.size() <= most) return text;
  std::size_t end = most - 3;
  while (end != 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
  return text.substr(0, end) + "...";
}

}  // namespace gnstor::host

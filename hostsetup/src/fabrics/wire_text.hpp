#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace gnstor::host::fabrics {

/// A text field of a target's: up to its first zero, without the blanks at its end. It ends up in
/// messages and on terminals, so control characters, which no target has a use for, become '?'.
inline std::string wire_text(const char* text, std::size_t bytes) {
  std::string_view view(text, bytes);
  view = view.substr(0, view.find('\0'));
  const auto end = view.find_last_not_of(' ');
  std::string said(end == std::string_view::npos ? std::string_view{} : view.substr(0, end + 1));
  for (char& c : said) {
    const auto code = static_cast<unsigned char>(c);
    if (code < 0x20 || code == 0x7f) c = '?';
  }
  return said;
}

}  // namespace gnstor::host::fabrics

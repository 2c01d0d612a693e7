#pragma once

#include <fmt/format.h>

#include <string>

namespace gnstor::tools {

/// 12.3k, 4.56M.
inline std::string short_number(double n) {
  if (n >= 1e6) return fmt::format("{:.3g}M", n / 1e6);
  if (n >= 1e3) return fmt::format("{:.3g}k", n / 1e3);
  return fmt::format("{:.3g}", n);
}

}  // namespace gnstor::tools

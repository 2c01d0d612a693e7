#pragma once
/// What the target says of itself, to Identify and in its logs.

#include <gnstor/version.hpp>

#include <cstdint>
#include <string_view>

namespace gnstor::serve {

inline constexpr std::string_view product_name = "gnstor-target";
inline constexpr std::string_view product_version = version_text;

// It has no sensor: it is never warm.
inline constexpr std::uint16_t present_kelvin = 300;
inline constexpr std::uint16_t warning_kelvin = 343;
inline constexpr std::uint16_t critical_kelvin = 353;

}  // namespace gnstor::serve

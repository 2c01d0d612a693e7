#pragma once
/// What the tables of options share: values as members take them.

#include "endpoint_option.hpp"

namespace gnstor::host {

inline constexpr std::uint64_t most_capacity = std::uint64_t{8} << 40;  ///< bytes

/// The member that `v` sets, from a number that the syntax has bounded.
template <class Number>
void set(Number& member, const option_value& v) {
  member = static_cast<Number>(v.number);
}

inline option_syntax yes_or_no() { return option_syntax::one_of({"yes", "no"}); }
inline bool is_yes(const option_value& v) { return v.text == "yes"; }

}  // namespace gnstor::host

#pragma once
/// Reads what stands behind an endpoint's question mark.

#include "endpoint_option.hpp"
#include <gnstor/host/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gnstor::host {

/// What a value should have been, for the end of a message.
std::string wanted(const option_syntax& s);
/// Reads what stands behind an option's `=`; empty if its syntax does not allow it.
std::optional<option_value> read_value(const option_syntax& s, std::string_view text);

template <class Endpoint>
std::string names_of(std::span<const endpoint_option<Endpoint>> options) {
  std::string names;
  for (const auto& o : options) names.append(names.empty() ? "" : ", ").append(o.name);
  return names;
}

/// Applies one "name=value".
template <class Endpoint>
void apply(Endpoint& e, std::string_view name, std::string_view text,
           std::span<const endpoint_option<Endpoint>> options) {
  const auto option =
      std::find_if(options.begin(), options.end(), [&](const auto& o) { return o.name == name; });
  if (option == options.end()) {
    throw input_error(
        fmt::format("endpoint option '{}' is unknown; these exist: {}", name, names_of(options)));
  }
  const std::optional<option_value> value = read_value(option->syntax, text);
  if (!value) {
    throw input_error(fmt::format("endpoint option {}={}: {}", name, text, wanted(option->syntax)));
  }
  option->apply(e, *value);
}

/// Applies "name=value&name=value". Throws `input_error`. No name comes twice: which one was meant?
template <class Endpoint>
void apply_all(Endpoint& e, std::string_view rest,
               std::span<const endpoint_option<Endpoint>> options) {
  std::vector<std::string_view> given;
  for (; !rest.empty();) {
    const auto end = rest.find('&');
    const std::string_view item = rest.substr(0, end);
    const auto equals = item.find('=');
    if (equals == std::string_view::npos) {
      throw input_error(fmt::format("endpoint option '{}': expected name=value; these exist: {}",
                                    item, names_of(options)));
    }
    const std::string_view name = item.substr(0, equals);
    apply(e, name, item.substr(equals + 1), options);
    if (std::find(given.begin(), given.end(), name) != given.end())
      throw input_error(fmt::format("endpoint option '{}' is given twice: give it once", name));
    given.push_back(name);
    rest = end == std::string_view::npos ? std::string_view{} : rest.substr(end + 1);
  }
}

}  // namespace gnstor::host

#pragma once

#include <string>

namespace gnstor::host {

/// How `endpoint_help` writes.
enum class help_format {
  plain,     ///< lines of at most 100 columns, for a terminal
  markdown,  ///< lists, as in docs/endpoints.md
};

/// What an endpoint string may say: each scheme and each option, its values, its default and its
/// meaning, from the table that `endpoint::parse` reads by.
std::string endpoint_help(help_format format = help_format::plain);

}  // namespace gnstor::host

#pragma once

#include <gnstor/host/error.hpp>

#include <fmt/format.h>

#include <fstream>
#include <iterator>
#include <string>

namespace gnstor::host {

/// The content of a file in PEM: a certificate, a key or who signs certificates. Throws
/// `input_error`.
/// @param option that names the file, for the message; empty: none does
inline std::string pem_in(const std::string& path, const std::string& option = {}) {
  std::ifstream file(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  if (file && text.find("-----BEGIN") != std::string::npos) return text;
  throw input_error(fmt::format("{}\"{}\": not a file in PEM that this process may read",
                                option.empty() ? option : option + " ", path));
}

}  // namespace gnstor::host

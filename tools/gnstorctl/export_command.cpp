#include "export_command.hpp"

#include <gnstor/host/control_error.hpp>
#include <gnstor/host/text_values.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <string_view>
#include <system_error>

namespace gnstor::tools {
namespace {

/// A word as a POSIX shell reads it back.
std::string quoted(const std::string& word) {
  const auto plain = [](unsigned char c) {
    return std::isalnum(c) != 0 ||
           std::string_view("_-./:=,@%+").find(static_cast<char>(c)) != std::string_view::npos;
  };
  if (!word.empty() && std::all_of(word.begin(), word.end(), plain)) return word;
  std::string all = "'";
  for (const char c : word) all += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return all + "'";
}

/// The plugin of the build, or the installation, that this program is of; else the one that nbdkit
/// finds by name.
std::string plugin() {
  namespace fs = std::filesystem;
  std::error_code problem;
  const fs::path here = fs::read_symlink("/proc/self/exe", problem).parent_path();
  for (const char* from_here :
       {"../nbd/gnstor-plugin.so", "../lib/nbdkit/plugins/nbdkit-gnstor-plugin.so",
        "../lib64/nbdkit/plugins/nbdkit-gnstor-plugin.so"}) {
    const fs::path file = (here / from_here).lexically_normal();
    if (!here.empty() && fs::exists(file, problem)) return file.string();
  }
  return "gnstor";
}

std::string listening(const export_wanted& w) {
  const std::string at = w.listen.empty() ? "unix:/tmp/" + w.volume + ".sock" : w.listen;
  if (at.starts_with("unix:")) return "-U " + quoted(at.substr(5));
  const auto where = host::parse_host_port(at);
  if (!where || !where->port) {
    throw host::control_error(host::control_reason::bad_request, "listening at " + at,
                              "say --listen unix:PATH or --listen HOST:PORT");
  }
  return fmt::format("-i {} -p {}", quoted(where->host), *where->port);
}

std::string endpoint(const export_wanted& w) {
  if (w.server.starts_with("unix:")) {
    throw host::control_error(
        host::control_reason::bad_request, "exporting a volume of the array at " + w.server,
        "nbdkit reaches arrays by gnstor://HOST: name the manager's HOST:PORT as --server");
  }
  std::string all = "gnstor://" + w.server;
  char joint = '?';
  for (const auto& [name, file] :
       {std::pair("tls_cert", &w.tls.certificate), std::pair("tls_key", &w.tls.key),
        std::pair("tls_ca", &w.tls.authority)}) {
    if (file->empty()) continue;
    all += fmt::format("{}{}={}", joint, name, *file);
    joint = '&';
  }
  return all;
}

}  // namespace

std::string export_command(const export_wanted& w) {
  return fmt::format("nbdkit {} --threads 64 {} {} {}{}", listening(w), quoted(plugin()),
                     quoted("endpoint=" + endpoint(w)), quoted("volume=" + w.volume),
                     w.read_only ? " readonly=yes" : "");
}

}  // namespace gnstor::tools

#include "program_log.hpp"

#include "command_line.hpp"
#include "repeated_messages.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <memory>

namespace gnstor::tools {
namespace {

constexpr std::array<const char*, 4> names{"debug", "info", "warning", "error"};
constexpr std::array<int, 4> priorities{7, 6, 4, 3};  // of syslog, and so of the journal

std::size_t number(host::log_level level) {
  const auto n = static_cast<std::size_t>(level);
  return n < names.size() ? n : names.size() - 1;
}

/// As `2026-11-29T10:20:30.456Z`.
std::string written(program_log::clock::time_point when) {
  using namespace std::chrono;
  const auto ms = duration_cast<milliseconds>(when.time_since_epoch()).count();
  const std::time_t seconds = static_cast<std::time_t>(ms / 1000);
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  char text[40];
  const std::size_t n = std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &parts);
  std::snprintf(text + n, sizeof text - n, ".%03dZ", static_cast<int>(ms % 1000));
  return text;
}

/// A JSON string.
std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      char code[8];
      std::snprintf(code, sizeof code, "\\u%04x", static_cast<unsigned char>(c));
      out += code;
    } else {
      out += c;
    }
  }
  return out + '"';
}

}  // namespace

void program_log::add_to(command_line& line) {
  line.option("--log-level", level, "the least that is said")
      .one_of({"debug", "info", "warning", "error"})
      .show_default();
  line.option("--log-format", format,
              "of what is said on stderr: plain, time (with the time and the level), journal (with "
              "the level as systemd reads it), json (an object per line); auto: journal under "
              "systemd, else plain")
      .one_of({"auto", "plain", "time", "journal", "json"})
      .show_default();
  line.flag("--quiet", quiet, "as --log-level warning");
}

std::string program_log::line(std::string_view format, std::string_view program,
                              host::log_level level, std::string_view message,
                              clock::time_point now) {
  const std::string what(message);
  const std::string who(program);
  const std::string how = names[number(level)];
  if (format == "json") {
    return "{\"time\":\"" + written(now) + "\",\"level\":\"" + how +
           "\",\"program\":" + quoted(program) + ",\"message\":" + quoted(message) + "}";
  }
  if (format == "time") return written(now) + ' ' + how + ' ' + who + ": " + what;
  const std::string plain = who + ": " + what;
  if (format != "journal") return plain;
  return '<' + std::to_string(priorities[number(level)]) + '>' + plain;
}

std::string program_log::format_for_stderr() {
  const char* const stream = std::getenv("JOURNAL_STREAM");  // device:inode of what it reads
  struct stat here {};
  if (stream == nullptr || fstat(fileno(stderr), &here) != 0) return "plain";
  const std::string mine = std::to_string(here.st_dev) + ':' + std::to_string(here.st_ino);
  return mine == stream ? "journal" : "plain";
}

void program_log::start(const std::string& program) const {
  auto least = quiet ? host::log_level::warning : host::log_level::debug;
  for (std::size_t k = 0; k < names.size(); ++k) {
    if (level == names[k]) least = std::max(least, static_cast<host::log_level>(k));
  }
  host::set_log_level(least);
  const std::string chosen = format == "auto" ? format_for_stderr() : format;
  host::set_log_sink([program, chosen, repeated = std::make_shared<repeated_messages>()](
                         host::log_level how, std::string_view words) {
    repeated->pass(how, words, [&](host::log_level its, const std::string& message) {
      std::fprintf(stderr, "%s\n", line(chosen, program, its, message).c_str());
    });
  });
}

}  // namespace gnstor::tools

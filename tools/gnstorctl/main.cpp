/// gnstorctl: what an operator does with an array. It asks gnstord, `api/gnstor/v1/control.proto`;
/// `local` is about this machine, and asks nobody.
///
/// Exit code 0: done; 1: refused, or no daemon answers, with the reason and the remedy on stderr;
/// 3: `array health` found something; others: the command line is wrong.

#include "commands.hpp"
#include "completion.hpp"
#include <gnstor/host/control_error.hpp>

#include <command_line/command_line.hpp>
#include <fmt/format.h>
#include <managed/daemon_connection.hpp>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string_view>
#include <thread>
#include <vector>

namespace {

using namespace gnstor::tools;
namespace host = gnstor::host;
using connection = gnstor::host::daemon_connection;

/// `gnstorctl complete WORD...`: what may stand in the place of the last word.
int completed(const command_line& line, command_words& w, std::vector<std::string> typed) {
  if (typed.empty()) typed.emplace_back();
  for (std::size_t k = 0; k + 1 < typed.size(); ++k) {
    if (typed[k] == "--server") w.server = typed[k + 1];
  }
  complete(line, typed, [&] {
    return std::make_unique<connection>(w.server, std::chrono::milliseconds(1000), w.tls);
  });
  return 0;
}

/// Does a command again and again, at a terminal always at the top of the screen.
int watch(const commands& all, connection& daemon, const command_words& w) {
  const bool terminal = isatty(STDOUT_FILENO) != 0;
  for (std::uint32_t k = 1;; ++k) {
    if (terminal) std::fputs("\x1b[H\x1b[2J", stdout);
    const int code = all.run(daemon);
    std::fflush(stdout);
    if (k == w.times) return code;
    std::this_thread::sleep_for(std::chrono::duration<double>(w.watch_s));
  }
}

}  // namespace

int main(int argc, char** argv) try {
  command_words w;
  if (const char* server = std::getenv("GNSTOR_SERVER")) w.server = server;
  command_line line("Operates an array: asks the gnstord that manages it");
  line.option("--server", w.server,
              "HOST:PORT or unix:PATH of gnstord, several with commas; else GNSTOR_SERVER")
      .show_default();
  line.option("--tls-cert", w.tls.certificate,
              "FILE in PEM: who is asking, for admin:WHO or host:NAME");
  line.option("--tls-key", w.tls.key, "FILE in PEM: its key");
  line.option("--tls-ca", w.tls.authority, "FILE in PEM: who signs the daemon's certificate");
  line.option("--format", w.format, "text or json").one_of({"text", "json"}).show_default();
  line.option("--timeout", w.timeout_ms, "milliseconds that a call may take")
      .range(1, 600'000)
      .show_default();
  line.option("--watch", w.watch_s,
              "do it again after so many seconds, until interrupted: volume traffic says rates "
              "then, and array show how fast repairs are")
      .positive();
  line.option("--times", w.times, "with --watch: end after so many times");
  const commands all(line, w);
  if (argc > 1 && std::string_view(argv[1]) == "complete")
    return completed(line, w, {argv + 2, argv + argc});
  if (const auto code = line.parse(argc, argv)) return *code;
  if (const auto text = all.without_daemon()) {
    std::fputs(text->c_str(), stdout);
    return 0;
  }
  connection daemon(w.server, std::chrono::milliseconds(w.timeout_ms), w.tls);
  return w.watch_s > 0 ? watch(all, daemon, w) : all.run(daemon);
} catch (const host::control_error& e) {
  const char* line = e.remedy().empty() ? "" : "\n  ";
  fmt::print(stderr, "gnstorctl: {}{}{}\n", e.complaint(), line, e.remedy());
  return 1;
} catch (const std::exception& e) {
  fmt::print(stderr, "gnstorctl: {}\n", e.what());
  return 1;
}

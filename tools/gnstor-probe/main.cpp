/// Tells what this machine can do: its GPUs, RDMA devices and kernel, and for each endpoint scheme
/// "works" or the one thing to change next.

#include "gather.hpp"
#include "json_report.hpp"
#include "report.hpp"
#include "try_devices.hpp"
#include <gnstor/host/endpoint_help.hpp>

#include <command_line/command_line.hpp>
#include <nlohmann/json.hpp>

#include <cstdio>

namespace probe = gnstor::host::probe;

int main(int argc, char** argv) try {
  std::string root = "/";
  bool json = false;
  std::string endpoints;
  gnstor::tools::command_line line(
      "Tells which gnstor endpoints work on this machine, and what to change for others");
  line.flag("--json", json, "the same, with every fact, for a program");
  line.option("--endpoints", endpoints, "what an endpoint string may say: as text, or as markdown")
      .one_of({"text", "markdown"});
  line.option("--root", root, "judge the machine whose /proc, /sys and /dev lie below this folder")
      .existing_folder()
      .hidden();
  if (const auto code = line.parse(argc, argv)) return *code;

  if (!endpoints.empty()) {
    const auto format = endpoints == "text" ? gnstor::host::help_format::plain
                                            : gnstor::host::help_format::markdown;
    std::fputs(gnstor::host::endpoint_help(format).c_str(), stdout);
    return 0;
  }
  auto facts = probe::gather(probe::file_tree(root));
  if (root == "/") probe::try_devices(facts);
  const auto verdicts = probe::judge(facts);
  const std::string text =
      json ? probe::json_report(facts, verdicts).dump(2) + "\n" : probe::report(facts, verdicts);
  std::fputs(text.c_str(), stdout);
  return 0;
} catch (const std::exception& e) {
  std::fprintf(stderr, "gnstor-probe: %s\n", e.what());
  return 2;
}

#include "options.hpp"

#include <CLI/CLI.hpp>

namespace gnstor::tools {

std::optional<int> parse(int argc, char** argv, target_options& options) {
  CLI::App app(
      "Serves an emulated array as an NVMe-oF target over RDMA: GNStor's own protocol, and each "
      "volume as a plain namespace.\n"
      "A plain host: nvme connect -t rdma -a ADDRESS -s 4420 -n nqn.2026-11.io.gnstor:volume.1");
  app.add_option("--listen", options.listen, "ADDRESS:PORT; [ADDRESS]:PORT for IPv6")
      ->capture_default_str();
  app.add_option("--array", options.array,
                 "the array's endpoint: emu:?ssds=4&capacity=1G&flash=DIR")
      ->capture_default_str();
  app.add_option("--volume", options.volumes,
                 "a volume of this size (takes K, M, G, T); the K-th --volume says the least size "
                 "of volume K, which is made where it does not exist")
      ->transform(CLI::AsSizeValue(false));
  app.add_option("--allow-host", options.hosts,
                 "NQN of a host that may connect; without this option every host may");
  app.add_option("--timeout", options.timeout_s, "seconds that a command to the array may take")
      ->check(CLI::Range(1, 600))
      ->capture_default_str();
  app.add_flag("--quiet", options.quiet, "say nothing of single connections");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e);
  }
  return std::nullopt;
}

}  // namespace gnstor::tools

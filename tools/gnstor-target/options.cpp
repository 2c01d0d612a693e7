#include "options.hpp"

#include <command_line/command_line.hpp>

namespace gnstor::tools {

std::optional<int> parse(int argc, char** argv, target_options& options) {
  command_line line(
      "Serves an emulated array as an NVMe-oF target over RDMA: GNStor's own protocol, and each "
      "volume as a plain namespace.\n"
      "Examples:\n"
      "  gnstor-target --array 'emu:?ssds=4&capacity=1G&flash=/srv/array' --volume 1G\n"
      "  nvme connect -t rdma -a ADDRESS -s 4420 -n nqn.2026-11.io.gnstor:volume.1  # of Linux\n"
      "  gnstor-target --array 'emu:?capacity=1G&flash=/srv/array' --manage   # and gnstorctl\n"
      "  gnstor-target --array 'emu:?capacity=1G' --manager-secret /etc/gnstor/secret");
  line.option("--listen", options.listen, "ADDRESS:PORT; [ADDRESS]:PORT for IPv6").show_default();
  line.option("--array", options.array, "the array's endpoint: emu:?ssds=4&capacity=1G&flash=DIR")
      .show_default();
  line.option("--volume", options.volumes,
              "a volume of this size (takes K, M, G, T); the K-th --volume says the size of "
              "volume K, which is made where it does not exist; one of another size is an error")
      .size();
  line.option("--allow-host", options.hosts,
              "NQN of a host that may connect; without this option every host may");
  line.option("--reassign", options.reassigned,
              "VID=NQN: volume VID belongs to this host from now on, which may write it; who could "
              "before may read it. For what a host has left that does not come back");
  line.option("--timeout", options.timeout_s, "seconds that a command to the array may take")
      .range(1, 600)
      .show_default();
  line.option(
          "--send", options.send,
          "stored: a volume's reads leave as a whole; synchronised: long ones part by part, while "
          "the array still delivers the rest, for NICs that move data themselves")
      .one_of({"stored", "synchronised"})
      .show_default();
  line.option("--max-transfer", options.max_transfer,
              "data of one command of a host; each of its queues has four times that as registered "
              "memory, and 2M at least; twice that, and 512K, where many are connected")
      .one_of({"128K", "256K", "512K", "1M"})
      .show_default();
  line.flag("--manage", options.manages,
            "manage the array, too: volumes by name, leases, failed SSDs and their replacement; "
            "gnstorctl and gnstor:// endpoints ask at --control");
  line.option(
      "--manager-secret", options.manager_secret,
      "FILE of 32 hexadecimal digits: gnstord elsewhere manages the array, if it knows them "
      "(openssl rand -hex 16)");
  line.option("--managers", options.managers,
              "HOST:PORT,...: where those gnstord answer, of whom the target asks rights for plain "
              "hosts; without it these only read");
  line.option("--faults", options.faults,
              "FILE, looked at every second: faults of the emulated SSDs, to rehearse what becomes "
              "of them. A line each: an SSD, and dead, silent or media_error");
  options.manager.add_to(line, "--control");
  line.config_file();
  options.log.add_to(line);
  return line.parse(argc, argv);
}

}  // namespace gnstor::tools

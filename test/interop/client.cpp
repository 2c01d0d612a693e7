/// gnstor's NVMe over RDMA host as a program: what the interop tests run against other targets.
#include "support/traffic.hpp"
#include <fabrics/discovery.hpp>
#include <fabrics/rdma_transport.hpp>

#include <command_line/command_line.hpp>
#include <unistd.h>

#include <cstdio>
#include <fstream>

namespace {

namespace host = gnstor::host;
namespace fabrics = gnstor::host::fabrics;

struct client_options {
  host::verbs::net_address address;
  fabrics::controller_options controller;
  std::uint32_t nsid = 1;
  std::uint64_t mib = 64;
  std::uint64_t seed = 1;
  std::uint32_t timeout_ms = 20'000;
  std::string image;
  std::uint32_t uid = 0;
  std::uint32_t rounds = 1;
  std::uint32_t loss_timeout_ms = 0;
};

void list_subsystems(fabrics::rdma_transport& way, const client_options& o) {
  for (const fabrics::discovered& d :
       fabrics::discover(way, o.controller.host_nqn, o.controller.host_id)) {
    std::printf("%s %s:%s %s%s\n", d.transport.c_str(), d.address.c_str(), d.port.c_str(),
                d.nqn.c_str(), d.discovery ? " (discovery)" : "");
  }
}

void describe(const fabrics::controller& controller) {
  const fabrics::controller_limits limits = controller.limits();
  std::printf("controller %u: model '%s', serial '%s', firmware '%s'\n", limits.controller_id,
              limits.model.c_str(), limits.serial.c_str(), limits.firmware.c_str());
  std::printf("queues %u, depth %u, transfers up to %u bytes\n", limits.queues, limits.depth,
              limits.max_transfer_bytes);
  for (const fabrics::namespace_info& space : controller.namespaces()) {
    std::printf("namespace %u: %llu blocks of %u bytes%s%s\n", space.nsid,
                static_cast<unsigned long long>(space.blocks), space.block_bytes,
                space.problem.empty() ? "" : ", ", space.problem.c_str());
  }
}

void exchange(fabrics::controller& controller, const client_options& o) {
  gnstor::interop::traffic traffic(controller, o.nsid, o.mib << 20, o.seed);
  traffic.outlive_losses(std::chrono::milliseconds(o.loss_timeout_ms));
  for (std::uint32_t left = o.rounds; left != 0; --left) traffic.run();
  const auto number = [](std::uint64_t n) { return static_cast<unsigned long long>(n); };
  std::printf("%llu commands on %u queues, at most %u in flight, all bytes right (seed %llu)\n",
              number(traffic.commands()), traffic.queues(), traffic.most_in_flight(),
              number(o.seed));
  if (o.loss_timeout_ms != 0)
    std::printf("%llu commands sent again\n", number(traffic.sent_again()));
  if (o.image.empty()) return;
  std::ofstream file(o.image, std::ios::binary);
  file.write(static_cast<const char*>(traffic.image()), static_cast<std::streamsize>(o.mib << 20));
  if (!file.flush()) throw host::error("cannot write " + o.image);
}

void add_options(gnstor::tools::command_line& line, client_options& o) {
  line.option("--address", o.address.host).required();
  line.option("--port", o.address.port).show_default();
  line.option("--nqn", o.controller.subsystem, "the subsystem");
  line.option("--host-nqn", o.controller.host_nqn);
  line.option("--host-id", o.controller.host_id);
  line.option("--queues", o.controller.queues).show_default();
  line.option("--depth", o.controller.depth).show_default();
  line.option("--nsid", o.nsid).show_default();
  line.option("--mib", o.mib, "how much of the namespace is used").show_default();
  line.option("--seed", o.seed).show_default();
  line.option("--timeout", o.timeout_ms, "ms of each command").show_default();
  line.option("--rounds", o.rounds, "of the traffic").show_default();
  line.option("--loss-timeout", o.loss_timeout_ms,
              "ms that a lost association may take to come back; 0: a loss is a failure");
  line.option("--uid", o.uid, "become this user first");
  line.option("--image", o.image, "gets what the namespace holds in the end");
}

int run(int argc, char** argv) {
  client_options o;
  std::string command;
  gnstor::tools::command_line line("An NVMe over RDMA host of gnstor");
  add_options(line, o);
  line.commands(command, {{"discover", "list the subsystems of an address"},
                          {"identify", "describe a controller"},
                          {"traffic", "random writes and reads by kernels, compared"}});
  if (const auto code = line.parse(argc, argv)) return *code;

  if (o.uid != 0 && setuid(o.uid) != 0) throw host::error("setuid failed");
  o.controller.timeout = std::chrono::milliseconds(o.timeout_ms);
  o.controller.loss_timeout = std::chrono::milliseconds(o.loss_timeout_ms);
  o.controller.say = [](const std::string& text) { std::printf("said: %s\n", text.c_str()); };
  fabrics::rdma_transport way(o.address);
  if (command == "discover") {
    list_subsystems(way, o);
    return 0;
  }
  fabrics::controller controller(way, o.controller);
  if (command == "identify") {
    describe(controller);
  } else {
    exchange(controller, o);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) try { return run(argc, argv); } catch (const std::exception& e) {
  std::fprintf(stderr, "interop_client: %s\n", e.what());
  return 1;
}

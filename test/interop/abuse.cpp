/// A host that keeps to no rule, against an NVMe over RDMA target.
#include "support/abuser.hpp"
#include <gnstor/host/error.hpp>

#include <command_line/command_line.hpp>

#include <cstdio>

namespace {

void run(gnstor::interop::abuser& abuser, std::uint64_t first, std::uint64_t count) {
  std::uint64_t seed = first;
  try {
    for (; seed < first + count; ++seed) abuser.run(seed);
  } catch (const std::exception& e) {
    throw gnstor::host::error("sequence " + std::to_string(seed) + ": " + e.what());
  }
}

void print(const gnstor::interop::abuse_tally& t) {
  const auto number = [](std::uint64_t n) { return static_cast<unsigned long long>(n); };
  std::printf(
      "%llu sequences: %llu queues refused, %llu connects, %llu connects refused, %llu commands, "
      "%llu answers, %llu of them errors, %llu connections broken\n",
      number(t.sequences), number(t.queues_refused), number(t.connects), number(t.connects_refused),
      number(t.commands), number(t.answers), number(t.errors), number(t.broken));
}

}  // namespace

int main(int argc, char** argv) try {
  gnstor::host::verbs::net_address target;
  std::vector<std::string> subsystems;
  std::uint64_t seed = 1;
  std::uint64_t count = 500;
  gnstor::tools::command_line line("Malformed NVMe over RDMA traffic");
  line.option("--address", target.host).required();
  line.option("--port", target.port).show_default();
  line.option("--nqn", subsystems, "the subsystems").required();
  line.option("--seed", seed, "of the first sequence").show_default();
  line.option("--count", count, "of sequences").show_default();
  if (const auto code = line.parse(argc, argv)) return *code;

  gnstor::interop::abuser abuser(target, subsystems);
  run(abuser, seed, count);
  print(abuser.tally());
  return 0;
} catch (const std::exception& e) {
  std::fprintf(stderr, "interop_abuse: %s\n", e.what());
  return 1;
}

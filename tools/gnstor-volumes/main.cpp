/// Lists the volumes of an array: what they are, and who may read and write them.

#include "table.hpp"
#include <gnstor/host/error.hpp>
#include <gnstor/host/session.hpp>

#include <command_line/command_line.hpp>
#include <fmt/format.h>

#include <cstdio>
#include <filesystem>

namespace host = gnstor::host;

namespace {

/// Refuses an emulated array that is not there: opening it would make it.
void check_is_there(const host::endpoint& where) {
  if (where.rdma) return;
  if (where.flash.empty()) {
    throw host::input_error(
        "an emulated array without flash= is new in each process and has no volumes: give the "
        "flash=DIR of one, or rdma://HOST/NQN of an array that is served");
  }
  if (!std::filesystem::exists(where.flash + "/ssd0.flash")) {
    throw host::input_error(fmt::format(
        "flash={}: there is no array, as there is no ssd0.flash; check the folder", where.flash));
  }
}

}  // namespace

int main(int argc, char** argv) try {
  std::string endpoint;
  gnstor::tools::command_line line("Lists the volumes of an array");
  line.option("ENDPOINT", endpoint,
              "where the array is: rdma://HOST/NQN, or emu:?flash=DIR with the options it was "
              "made with")
      .required();
  if (const auto code = line.parse(argc, argv)) return *code;

  check_is_there(host::endpoint::parse(endpoint));
  host::session session(endpoint, {.channels = 0});
  const auto volumes = session.volumes();
  if (volumes.empty()) {
    std::puts("no volumes");
  } else {
    std::fputs(gnstor::tools::volume_table(volumes, session.client()).c_str(), stdout);
  }
  return 0;
} catch (const std::exception& e) {
  std::fprintf(stderr, "gnstor-volumes: %s\n", e.what());
  return 2;
}

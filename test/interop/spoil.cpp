/// Makes the firmware of a running array on flash files end by an assertion at its next overwrite.
#include "../host/spoiled_flash.hpp"
#include <emulated/emulation_rules.hpp>

#include <command_line/command_line.hpp>

#include <cstdio>

int main(int argc, char** argv) {
  using namespace gnstor;
  std::string array;
  tools::command_line line("Makes the counts of an array's files wrong under its firmware");
  line.option("ARRAY", array, "its endpoint: emu:?flash=DIR with the options it was made with")
      .required();
  if (const auto code = line.parse(argc, argv)) return *code;
  try {
    const host::endpoint where = host::endpoint::parse(array);
    test::spoil_counts(where.flash, host::geometry_for(where, host::runner_kind::cpu));
  } catch (const std::exception& e) {
    std::fprintf(stderr, "interop_spoil: %s\n", e.what());
    return 1;
  }
  return 0;
}

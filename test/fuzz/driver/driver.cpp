// What libFuzzer calls for one parser, which GNSTOR_FUZZ_PARSER names. scripts/fuzz builds and runs
// it; a demand that does not hold ends it, and the input is kept.
#define DOCTEST_CONFIG_IMPLEMENT
#include "fuzz/parsers.hpp"

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string_view>

namespace {

const gnstor::test::fuzzed_parser& chosen() {
  const char* name = std::getenv("GNSTOR_FUZZ_PARSER");
  for (const auto& p : gnstor::test::fuzzed_parsers) {
    if (name != nullptr && std::string_view(name) == p.name) return p;
  }
  std::fprintf(stderr, "GNSTOR_FUZZ_PARSER names no parser\n");
  std::exit(2);
}

/// The sound inputs, a file each, where a fuzzer begins.
void write_seeds(const gnstor::test::fuzzed_parser& p, const std::filesystem::path& folder) {
  if (p.seeds == nullptr) return;
  int number = 0;
  for (const auto& seed : p.seeds()) {
    std::ofstream out(folder / ("seed" + std::to_string(number++)), std::ios::binary);
    out.write(reinterpret_cast<const char*>(seed.data()),
              static_cast<std::streamsize>(seed.size()));
  }
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  static doctest::Context context;
  context.setAsDefaultForAssertsOutOfTestCases();
  context.setAssertHandler([](const doctest::AssertData& a) {
    std::fprintf(stderr, "%s:%d: %s\n", a.m_file, a.m_line, a.m_expr);
    std::abort();
  });
  if (const char* folder = std::getenv("GNSTOR_FUZZ_SEEDS")) write_seeds(chosen(), folder);
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t bytes) {
  static const auto& parser = chosen();
  try {
    parser.run(gnstor::test::fuzz_input({data, bytes}));
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
    std::abort();
  }
  return 0;
}

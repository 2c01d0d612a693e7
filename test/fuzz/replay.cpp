/// Every input that a fuzzer has found worth keeping, again, and some drawn from seeds.
#include "parsers.hpp"
#include "qp/seeds.hpp"

#include <fstream>

using namespace gnstor;
using namespace gnstor::test;

namespace {

std::vector<std::uint8_t> bytes_of(const std::string& hex) {
  std::vector<std::uint8_t> bytes;
  for (std::size_t k = 0; k + 1 < hex.size(); k += 2)
    bytes.push_back(static_cast<std::uint8_t>(std::stoul(hex.substr(k, 2), nullptr, 16)));
  return bytes;
}

void try_input(const fuzzed_parser& p, const std::vector<std::uint8_t>& bytes) {
  try {
    p.run(fuzz_input(bytes));
  } catch (const std::exception& e) {
    FAIL_CHECK(std::string(p.name) << ": " << std::string(e.what()));
  }
}

/// A sound input with some bytes changed, or any bytes.
std::vector<std::uint8_t> drawn(const std::vector<std::vector<std::uint8_t>>& seeds,
                                std::uint64_t number) {
  std::uint64_t state = mix64(number + 1);
  const auto next = [&state] { return state = mix64(state + 0x9e3779b97f4a7c15); };
  std::vector<std::uint8_t> bytes;
  if (seeds.empty() || next() % 8 == 0) {
    bytes.resize(next() % 512);
    for (auto& b : bytes) b = static_cast<std::uint8_t>(next());
  } else {
    for (std::uint64_t k = 1 + next() % 3; k > 0; --k) {
      const auto& one = seeds[next() % seeds.size()];
      bytes.insert(bytes.end(), one.begin(), one.end());
    }
    for (std::uint64_t k = next() % 8; k > 0; --k)
      bytes[next() % bytes.size()] ^= static_cast<std::uint8_t>(1u << (next() % 8));
  }
  return bytes;
}

}  // namespace

TEST_CASE("no input that was ever found worth keeping harms a parser") {
  for (const fuzzed_parser& p : fuzzed_parsers) {
    CAPTURE(p.name);
    std::ifstream corpus(std::string(GNSTOR_FUZZ_CORPUS) + "/" + p.name + ".hex");
    REQUIRE(corpus.good());
    std::uint32_t inputs = 0;
    for (std::string line; std::getline(corpus, line); ++inputs) try_input(p, bytes_of(line));
    CHECK(inputs > 0);
  }
}

TEST_CASE("sound inputs with some bytes changed harm no parser") {
  for (const fuzzed_parser& p : fuzzed_parsers) {
    CAPTURE(p.name);
    const auto seeds = p.seeds == nullptr ? std::vector<std::vector<std::uint8_t>>{} : p.seeds();
    for (const auto& seed : seeds) try_input(p, seed);
    for (std::uint64_t k = 0; k < seeds_of(300); ++k) try_input(p, drawn(seeds, k));
  }
}

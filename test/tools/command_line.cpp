#include <gnstor/version.hpp>

#include <command_line/command_line.hpp>
#include <doctest/doctest.h>

#include <cstdio>
#include <iostream>
#include <sstream>

namespace {

using gnstor::tools::command_line;

/// What became of a command line, and what it printed.
struct outcome {
  std::optional<int> code;
  std::string said;

  bool went_on() const { return !code; }
  bool refused(const char* why) const { return code.value_or(0) != 0 && says(why); }
  bool says(const std::string& text) const { return said.find(text) != said.npos; }
};

outcome parse(command_line& line, std::vector<std::string> words) {
  words.insert(words.begin(), "program");
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  std::ostringstream said;
  std::streambuf* const out = std::cout.rdbuf(said.rdbuf());
  std::streambuf* const err = std::cerr.rdbuf(said.rdbuf());
  const auto code = line.parse(static_cast<int>(argv.size()), argv.data());
  std::cout.rdbuf(out);
  std::cerr.rdbuf(err);
  return {code, said.str()};
}

/// Parses "--value `word`" for a value of type T that starts as `value`.
template <class T>
outcome parse_value(T& value, const std::string& word) {
  command_line line("A test");
  line.option("--value", value);
  return parse(line, {"--value", word});
}

TEST_CASE("a value is read in full, whatever its type") {
  std::string text;
  CHECK(parse_value(text, "a b").went_on());
  CHECK(text == "a b");
  double real = 0;
  CHECK(parse_value(real, "-0.25").went_on());
  CHECK(real == -0.25);
  std::int64_t large = 0;
  CHECK(parse_value(large, "-9223372036854775808").went_on());
  CHECK(large == INT64_MIN);
  std::uint64_t larger = 0;
  CHECK(parse_value(larger, "18446744073709551615").went_on());
  CHECK(larger == UINT64_MAX);
}

TEST_CASE("what is no number of its type is refused") {
  std::uint16_t shorter = 0;
  CHECK(parse_value(shorter, "65536").refused("--value"));
  std::uint32_t natural = 0;
  CHECK(parse_value(natural, "-1").refused("--value"));
  CHECK(parse_value(natural, "1x").refused("--value"));
  std::uint64_t large = 7;
  CHECK(parse_value(large, "-1").refused("--value: -1 is less than 0"));
  CHECK(parse_value(large, "18446744073709551616").refused("64 bits"));
  CHECK(parse_value(large, "0x10000000000000000").refused("64 bits"));
  CHECK(parse_value(large, "+18446744073709551616").refused("64 bits"));
  CHECK(parse_value(large, " -1").refused("less than 0"));
  CHECK(large == 7);
  std::vector<std::uint64_t> several;
  CHECK(parse_value(several, "-1").refused("--value"));
  std::int32_t whole = 0;
  CHECK(parse_value(whole, "2147483648").refused("--value"));
}

TEST_CASE("a list takes words until the next option, and units where it holds sizes") {
  std::vector<std::string> names;
  std::vector<std::uint64_t> sizes;
  bool quiet = false;
  command_line line("A test");
  line.option("--name", names);
  line.option("--bytes", sizes).size();
  line.flag("--quiet", quiet, "say less");
  CHECK(parse(line, {"--name", "a", "b", "--bytes", "3", "2K", "--quiet", "--bytes", "1T"})
            .went_on());
  CHECK(names == std::vector<std::string>{"a", "b"});
  CHECK(sizes == std::vector<std::uint64_t>{3, 2048, std::uint64_t{1} << 40});
  CHECK(quiet);
}

TEST_CASE("each rule refuses what breaks it") {
  std::string from, to, kind = "double", root = "/";
  std::uint32_t trials = 1, block = 32;
  std::int64_t source = -1;
  command_line line("A test");
  line.option("FROM", from).required();
  const auto other = line.option("--to", to);
  line.option("--kind", kind).one_of({"double", "float"}).excludes(other);
  line.option("--trials", trials).positive();
  line.option("--source", source).non_negative();
  line.option("--block", block).range(32, 1024, 32);
  line.option("--root", root).existing_folder();
  CHECK(parse(line, {"a"}).went_on());
  CHECK(parse(line, {}).refused("FROM is required"));
  CHECK(parse(line, {"a", "b"}).refused("b"));
  CHECK(parse(line, {"a", "--kind", "half"}).refused("half not in {double,float}"));
  CHECK(parse(line, {"a", "--kind", "float", "--to", "b"}).refused("excludes"));
  CHECK(parse(line, {"a", "--trials", "0"}).refused("--trials"));
  CHECK(parse(line, {"a", "--source", "-1"}).refused("--source"));
  CHECK(parse(line, {"a", "--source", "0"}).went_on());
  CHECK(parse(line, {"a", "--block", "0"}).refused("not in range"));
  CHECK(parse(line, {"a", "--block", "1056"}).refused("not in range"));
  CHECK(parse(line, {"a", "--block", "33"}).refused("33 is no multiple of 32"));
  CHECK(parse(line, {"a", "--block", "1024"}).went_on());
  CHECK(parse(line, {"a", "--root", "/nonexistent"}).refused("/nonexistent"));
}

TEST_CASE("help ends the program well and shows the defaults that it is to show") {
  std::string endpoint = "emu:", root = "/somewhere";
  std::uint32_t grid = 528, frames = 77;
  command_line line("Sums a volume");
  line.option("--endpoint", endpoint, "where the array is").show_default();
  line.option("--grid", grid, "blocks of a kernel").range(1, 65535).show_default();
  line.option("--frames", frames, "memory for pages");
  line.option("--root", root).hidden();
  const outcome help = parse(line, {"--help"});
  CHECK(help.code == 0);
  for (const char* text : {"Sums a volume", "where the array is", "=emu:", "[1 - 65535]=528"}) {
    CHECK_MESSAGE(help.says(text), help.said);
  }
  CHECK(help.says("--frames"));
  for (const char* text : {"77", "--root"}) CHECK_FALSE(help.says(text));
}

TEST_CASE("every program says its version, which is the number that sources compare") {
  std::string endpoint;
  command_line line("Sums a volume");
  line.option("--endpoint", endpoint).required();
  const outcome said = parse(line, {"--version"});
  CHECK(said.code == 0);
  int major = 0, minor = 0, patch = 0;
  REQUIRE(std::sscanf(gnstor::version_text, "%d.%d.%d", &major, &minor, &patch) == 3);
  CHECK(major * 10000 + minor * 100 + patch == GNSTOR_VERSION);
  CHECK(said.says(std::string("gnstor ") + gnstor::version_text));
}

TEST_CASE("one of several commands is given, with options on either side") {
  const std::vector<std::vector<std::string>> fine = {{"read", "--seed", "5"},
                                                      {"--seed", "5", "read"}};
  const std::vector<std::vector<std::string>> wrong = {{}, {"erase"}, {"read", "write"}};
  for (const auto* words : {&fine, &wrong}) {
    for (const auto& each : *words) {
      std::string command;
      std::uint64_t seed = 1;
      command_line line("A test");
      line.option("--seed", seed);
      line.commands(command, {{"write", "writes"}, {"read", "reads"}});
      const outcome o = parse(line, each);
      CHECK(o.went_on() == (words == &fine));
      if (words == &fine) CHECK((command == "read" && seed == 5));
    }
  }
}

}  // namespace

/// What programs that serve say on stderr, and how.
#include <command_line/program_log.hpp>
#include <command_line/repeated_messages.hpp>
#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <string>
#include <string_view>
#include <vector>

using namespace gnstor::tools;
using gnstor::host::log_level;

namespace {

const program_log::clock::time_point noon{std::chrono::milliseconds(1'795'953'600'045)};

std::string line(const char* format, log_level level, const char* message) {
  return program_log::line(format, "gnstord", level, message, noon);
}

}  // namespace

TEST_CASE("a message is a line in each format") {
  CHECK(line("plain", log_level::info, "SSD 1 is back") == "gnstord: SSD 1 is back");
  CHECK(line("time", log_level::warning, "SSD 1 failed") ==
        "2026-11-29T12:00:00.045Z warning gnstord: SSD 1 failed");
  CHECK(line("journal", log_level::error, "lost") == "<3>gnstord: lost");
  CHECK(line("journal", log_level::debug, "step") == "<7>gnstord: step");
  const auto said = nlohmann::json::parse(line("json", log_level::info, "\"a\\b\"\n\x01"));
  CHECK(said.at("time") == "2026-11-29T12:00:00.045Z");
  CHECK(said.at("level") == "info");
  CHECK(said.at("program") == "gnstord");
  CHECK(said.at("message") == "\"a\\b\"\n\x01");
}

TEST_CASE("a message that comes again and again is counted, and others are said") {
  using minutes = std::chrono::minutes;
  repeated_messages log;
  std::vector<std::string> said;
  std::vector<log_level> levels;
  const auto pass = [&](const char* message, int minute) {
    const bool is_later = std::string_view(message) == "later";
    log.pass(
        is_later ? log_level::info : log_level::warning, message,
        [&](log_level level, const std::string& words) {
          said.push_back(words);
          levels.push_back(level);
        },
        repeated_messages::clock::time_point(minutes(minute)));
  };
  for (int k = 0; k < 12; ++k) pass("again", 1);
  CHECK(said == std::vector<std::string>(repeated_messages::most, "again"));
  pass("once", 1);
  CHECK(said.back() == "once");
  said.clear();
  levels.clear();
  pass("later", 2);
  REQUIRE(said.size() == 2);
  CHECK(said[0] == "again (7 times more in a minute)");
  CHECK(said[1] == "later");
  CHECK(levels == std::vector{log_level::warning, log_level::info});  // each its own
  pass("again", 2);
  CHECK(said.back() == "again");
}

TEST_CASE("messages that differ each time are all said, however many") {
  repeated_messages log;
  std::size_t said = 0;
  for (int k = 0; k < 5000; ++k)
    log.pass(log_level::info, "message " + std::to_string(k),
             [&](log_level, const std::string&) { ++said; });
  CHECK(said == 5000);
}

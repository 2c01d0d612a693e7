/// What the library has to say goes where the application chooses, and no flood of it.
#include <base/log.hpp>
#include <base/log_limit.hpp>

#include <doctest/doctest.h>

#include <chrono>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace host = gnstor::host;
using host::log_level;
using namespace std::chrono_literals;

namespace {

/// Takes the library's messages while it is there.
struct listener {
  explicit listener(log_level least) {
    host::set_log_level(least);
    host::set_log_sink([this](log_level level, std::string_view text) {
      heard.emplace_back(level, std::string(text));
    });
  }
  listener(const listener&) = delete;
  ~listener() {
    host::set_log_sink({});
    host::set_log_level(log_level::warning);
  }
  std::vector<std::pair<log_level, std::string>> heard;
};

}  // namespace

TEST_CASE("messages reach the application's function with their level, from the chosen one up") {
  listener l(log_level::info);
  host::log(log_level::debug, "a");
  host::log(log_level::info, "b {} %s");
  host::log(log_level::warning, "c");
  host::log(log_level::error, "d");
  const std::vector<std::pair<log_level, std::string>> expected = {
      {log_level::info, "b {} %s"}, {log_level::warning, "c"}, {log_level::error, "d"}};
  CHECK(l.heard == expected);
  CHECK(host::is_logged(log_level::info));
  CHECK_FALSE(host::is_logged(log_level::debug));
  host::set_log_level(log_level::off);
  host::log(log_level::error, "e");
  CHECK(l.heard.size() == 3);
}

TEST_CASE("a function that throws is the application's affair, and is called again") {
  listener l(log_level::warning);
  int calls = 0;
  host::set_log_sink([&](log_level, std::string_view) {
    if (++calls == 1) throw std::runtime_error("full");
  });
  host::log(log_level::error, "a");
  host::log(log_level::error, "b");
  CHECK(calls == 2);
}

TEST_CASE("threads speak one at a time") {
  listener l(log_level::warning);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([] {
      for (int k = 0; k < 100; ++k) host::log(log_level::warning, "w");
    });
  }
  for (std::thread& t : threads) t.join();
  CHECK(l.heard.size() == 400);
}

TEST_CASE("a limit lets so many messages of a second pass and counts the others") {
  listener l(log_level::info);
  host::log_limit limit(3);
  const std::chrono::steady_clock::time_point start{1h};
  for (int k = 0; k < 10; ++k) limit.log(log_level::info, "x", start + k * 10ms);
  CHECK(l.heard.size() == 3);
  limit.log(log_level::info, "later", start + 1s);
  limit.log(log_level::info, "last", start + 1s);
  REQUIRE(l.heard.size() == 5);
  CHECK(l.heard[3].second == "later (7 messages before it were too many)");
  CHECK(l.heard[4].second == "last");
}

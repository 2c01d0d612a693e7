#include "log.hpp"

#include <spdlog/sinks/base_sink.h>
#include <spdlog/spdlog.h>

#include <cstdio>
#include <memory>
#include <utility>

namespace gnstor::host {
namespace {

constexpr std::pair<log_level, spdlog::level::level_enum> levels[] = {
    {log_level::debug, spdlog::level::debug},
    {log_level::info, spdlog::level::info},
    {log_level::warning, spdlog::level::warn},
    {log_level::error, spdlog::level::err},
    {log_level::off, spdlog::level::off}};

spdlog::level::level_enum theirs(log_level level) {
  return levels[static_cast<std::size_t>(level)].second;
}

/// Gives each message to the application's function, or to stderr.
class chosen_sink final : public spdlog::sinks::base_sink<std::mutex> {
 public:
  void choose(log_sink chosen) {
    const std::lock_guard held(mutex_);
    sink_ = std::move(chosen);
  }

 private:
  void sink_it_(const spdlog::details::log_msg& message) override {
    const std::string_view text(message.payload.data(), message.payload.size());
    if (!sink_) {
      std::fprintf(stderr, "gnstor: %.*s\n", static_cast<int>(text.size()), text.data());
      return;
    }
    for (const auto& [level, their_level] : levels) {
      if (their_level == message.level) sink_(level, text);
    }
  }
  void flush_() override {}

  log_sink sink_;
};

/// Made at first use and never destroyed: what ends after `main` may still have something to say.
struct logging {
  std::shared_ptr<chosen_sink> sink = std::make_shared<chosen_sink>();
  spdlog::logger logger{"gnstor", sink};

  logging() {
    logger.set_level(theirs(log_level::warning));
    logger.set_error_handler([](const std::string&) {});
  }
};

logging& all() {
  static auto* const only = new logging;
  return *only;
}

}  // namespace

void set_log_level(log_level least) { all().logger.set_level(theirs(least)); }

void set_log_sink(log_sink sink) { all().sink->choose(std::move(sink)); }

bool is_logged(log_level level) noexcept { return all().logger.should_log(theirs(level)); }

void log(log_level level, const std::string& message) noexcept {
  all().logger.log(theirs(level), spdlog::string_view_t(message));
}

}  // namespace gnstor::host

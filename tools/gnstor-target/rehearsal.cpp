#include "rehearsal.hpp"

#include <base/log.hpp>
#include <gnstor/host/error.hpp>
#include <gnstor/host/text_values.hpp>

#include <fmt/format.h>

#include <fstream>
#include <iterator>
#include <optional>
#include <sstream>

namespace gnstor::tools {
namespace {

std::optional<std::string> text_of(const std::string& file) {
  std::ifstream in(file);
  if (!in) return std::nullopt;
  return std::string(std::istreambuf_iterator<char>(in), {});
}

}  // namespace

rehearsal::rehearsal(std::string file, serve::emulated_gateway& array)
    : file_(std::move(file)), array_(&array) {
  if (file_.empty()) return;
  const std::optional<std::string> text = text_of(file_);
  if (!text)
    throw host::input_error(
        fmt::format("--faults {}: there is no such file: make it, empty", file_));
  follow(*text);
}

void rehearsal::look() {
  if (file_.empty()) return;
  const std::string text = text_of(file_).value_or("");
  if (text == last_) return;
  try {
    follow(text);
  } catch (const host::error& e) {
    host::log(host::log_level::warning, e.what());
  }
}

void rehearsal::follow(const std::string& text) {
  last_ = text;
  std::map<std::uint32_t, std::string> wanted;
  std::istringstream lines(text);
  std::string line;
  for (std::uint32_t number = 1; std::getline(lines, line); ++number) {
    std::istringstream words(line);
    std::string ssd, fault, more;
    if (!(words >> ssd) || ssd.front() == '#') continue;
    const auto k = host::parse_number(ssd);
    const bool known = words >> fault && !(words >> more) &&
                       (fault == "dead" || fault == "silent" || fault == "media_error");
    if (!k || *k >= array_->ssds() || !known) {
      throw host::input_error(fmt::format(
          "--faults {}, line {}: expected an SSD from 0 to {}, and dead, silent or media_error, "
          "such as \"1 silent\"",
          file_, number, array_->ssds() - 1));
    }
    wanted[static_cast<std::uint32_t>(*k)] = fault;
  }
  for (const auto& [k, fault] : now_) {
    if (wanted.contains(k)) continue;
    array_->inject_fault(k, "none");
    host::log(host::log_level::info, fmt::format("SSD {} is well, as {} says", k, file_));
  }
  for (const auto& [k, fault] : wanted) {
    const auto was = now_.find(k);
    if (was == now_.end() || was->second != fault) array_->inject_fault(k, fault);
  }
  for (const auto& [k, fault] : wanted)
    host::log(host::log_level::warning, fmt::format("SSD {} is {}, as {} says", k, fault, file_));
  now_ = std::move(wanted);
}

}  // namespace gnstor::tools

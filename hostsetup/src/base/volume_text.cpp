#include <gnstor/host/volume_text.hpp>

#include <gnstor/host/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace gnstor::host {
namespace {

/// A text for a message: no more than its beginning, and nothing that a terminal would obey.
std::string shown(std::string_view text) {
  std::string safe(text.substr(0, 40));
  for (char& c : safe) {
    if (static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) >= 0x7f) c = '?';
  }
  return text.size() > safe.size() ? safe + "..." : safe;
}

template <class Text>
Text fixed(std::string_view text, const char* what) {
  if (text.size() > Text::most) {
    throw input_error(fmt::format("{} \"{}\" has {} bytes: use {} at most", what, shown(text),
                                  text.size(), Text::most));
  }
  Text t{};
  std::memcpy(t.bytes, text.data(), text.size());
  if (t.size() != text.size() || !wire::afa::is_text(t)) {
    throw input_error(fmt::format(
        "{} \"{}\" is not UTF-8 text, or has control characters: use letters, digits, and signs",
        what, shown(text)));
  }
  return t;
}

}  // namespace

wire::afa::volume_name volume_name(std::string_view text) {
  if (text.empty()) throw input_error("a volume's name is empty: use 1 to 64 bytes");
  const auto name = fixed<wire::afa::volume_name>(text, "the volume name");
  if (text.front() == ' ' || text.back() == ' ') {
    throw input_error(fmt::format(
        "the volume name \"{}\" begins or ends with a space: nobody would see that", shown(text)));
  }
  if (std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; })) {
    throw input_error(fmt::format(
        "the volume name \"{}\" is a number, which means a volume id: add a letter", shown(text)));
  }
  return name;
}

wire::afa::volume_labels volume_labels(std::string_view text) {
  return fixed<wire::afa::volume_labels>(text, "the labels");
}

}  // namespace gnstor::host

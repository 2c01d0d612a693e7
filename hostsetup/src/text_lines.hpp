#pragma once
/// Text files of lines of words, as users write them: comments, blank lines, and errors that say
/// where.

#include <gnstor/host/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace gnstor::host {

/// A line with something on it.
struct text_line {
  std::string_view file;
  std::uint32_t number = 0;
  std::string_view text;  ///< without its comment
  std::vector<std::string_view> words;

  /// Throws `input_error`: "FILE:LINE: what".
  [[noreturn]] void fail(std::string_view what) const {
    throw input_error(fmt::format("{}:{}: {}", file, number, what));
  }
  /// The same about a part of it.
  [[noreturn]] void fail(std::string_view part, std::string_view what) const {
    constexpr std::size_t most = 80;
    fail(fmt::format("'{}{}': {}", part.substr(0, most), part.size() > most ? "..." : "", what));
  }
};

/// A whole file. Throws `input_error`.
inline std::string text_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  // A file without a byte is no failure, but would look like one.
  const bool is_read = file.is_open() && (file.peek() == EOF || text << file.rdbuf());
  if (!is_read || file.bad()) {
    throw input_error(fmt::format("{}: cannot be read: {}; use a text file that exists", path,
                                  std::strerror(errno)));
  }
  return text.str();
}

/// Calls `each(line)` for lines that have words; what is behind # is no part of them.
template <class Each>
void for_each_line(std::string_view text, std::string_view file, const Each& each) {
  constexpr std::string_view blanks = " \t\r\f\v";
  text_line line{file};
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    line.text = text.substr(0, end);
    line.text = line.text.substr(0, line.text.find('#'));
    text.remove_prefix(std::min(end + 1, text.size()));
    ++line.number;
    line.words.clear();
    for (std::size_t at = line.text.find_first_not_of(blanks); at != std::string_view::npos;) {
      const std::size_t behind = std::min(line.text.find_first_of(blanks, at), line.text.size());
      line.words.push_back(line.text.substr(at, behind - at));
      at = line.text.find_first_not_of(blanks, behind);
    }
    if (!line.words.empty()) each(line);
  }
}

}  // namespace gnstor::host

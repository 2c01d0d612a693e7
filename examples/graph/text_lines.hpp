#pragma once

#include "load_error.hpp"

#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace graph {

/// Walks over the lines of a text, and over the words of the current line.
class text_lines {
 public:
  explicit text_lines(std::string_view text, std::string file)
      : rest_(text), file_(std::move(file)) {}

  /// Steps to the next line; false at the end of the text.
  bool next_line() {
    if (rest_.empty()) return false;
    const std::size_t end = rest_.find('\n');
    line_ = rest_.substr(0, end);
    rest_ = end == std::string_view::npos ? std::string_view{} : rest_.substr(end + 1);
    ++number_;
    return true;
  }

  /// The next word of the line, empty at its end; `peek_word` does not step over it.
  std::string_view next_word() {
    const std::string_view word = peek_word();
    line_.remove_prefix(static_cast<std::size_t>(word.data() + word.size() - line_.data()));
    return word;
  }
  std::string_view peek_word() const {
    std::size_t first = 0;
    while (first < line_.size() && is_blank(line_[first])) ++first;
    std::size_t last = first;
    while (last < line_.size() && !is_blank(line_[last])) ++last;
    return line_.substr(first, last - first);
  }

  /// The next word as a number from 0 on. `name` says in an error what the number is, `remedy` what
  /// the line must be.
  std::uint64_t next_number(const char* name, const char* remedy) {
    const std::string_view word = next_word();
    if (word.empty()) fail(std::string(name) + " is missing", remedy);
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    const bool whole = end == word.data() + word.size();
    if (error == std::errc{} && whole) return value;
    const std::string quoted = std::string(name) + " \"" + std::string(word) + "\"";
    if (word.front() == '-') fail(quoted + " is negative", remedy);
    if (error == std::errc::result_out_of_range) fail(quoted + " is too large", remedy);
    fail(quoted + " is not a whole number", remedy);
  }

  /// Refuses anything but a number as the next word: an edge's weight or a matrix entry's value,
  /// which BFS ignores.
  void skip_value(const char* name, const char* remedy) {
    const std::string_view word = next_word();
    if (word.empty()) fail(std::string(name) + " is missing", remedy);
    double value = 0;
    const char* first = word.data() + (word.front() == '+' ? 1 : 0);
    const auto [end, error] = std::from_chars(first, word.data() + word.size(), value);
    const bool number = error == std::errc{} || error == std::errc::result_out_of_range;
    if (!number || end != word.data() + word.size()) {
      fail(std::string(name) + " \"" + std::string(word) + "\" is not a number", remedy);
    }
  }

  /// Refuses a line that goes on.
  void expect_end(const char* remedy) {
    const std::string_view word = next_word();
    if (!word.empty()) fail("unexpected \"" + std::string(word) + "\"", remedy);
  }

  [[noreturn]] void fail(const std::string& what, const std::string& remedy) const {
    throw load_error::at_line(file_, number_, what, remedy);
  }

 private:
  static bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

  std::string_view rest_;
  std::string_view line_;
  std::string file_;
  std::uint64_t number_ = 0;
};

}  // namespace graph

#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

namespace graph {

/// A graph file that cannot be used: names the file, the position in it, what is wrong and what to
/// do.
class load_error : public std::runtime_error {
 public:
  /// The file as a whole.
  load_error(const std::string& file, const std::string& what, const std::string& remedy)
      : std::runtime_error(file + ": " + what + "; " + remedy) {}

  /// A line of a text file, counted from 1.
  static load_error at_line(const std::string& file, std::uint64_t line, const std::string& what,
                            const std::string& remedy) {
    return load_error(file + ":" + std::to_string(line), what, remedy);
  }

  /// A byte of a binary file, counted from 0.
  static load_error at_byte(const std::string& file, std::uint64_t byte, const std::string& what,
                            const std::string& remedy) {
    return load_error(file + ": byte " + std::to_string(byte), what, remedy);
  }
};

}  // namespace graph

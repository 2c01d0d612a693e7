#pragma once

#include "machine_facts.hpp"

#include <filesystem>
#include <string_view>

namespace gnstor::host::probe {

/// The files of a machine, below a root that need not be "/": a test gives a recorded machine.
///
/// Nothing here throws: a file that is missing or may not be read is empty.
class file_tree {
 public:
  explicit file_tree(std::filesystem::path root);

  const std::filesystem::path& root() const { return root_; }
  /// A file's bytes, at most 64 MiB.
  std::string bytes(std::string_view path) const;
  /// A text file without the white space around it.
  std::string text(std::string_view path) const;
  std::vector<std::string> lines(std::string_view path) const;
  /// The names in a folder, sorted.
  std::vector<std::string> names(std::string_view path) const;
  /// The last part of what a symbolic link names.
  std::string link_name(std::string_view path) const;
  bool exists(std::string_view path) const;
  /// Whether the process that /proc/self describes may read and write `path`.
  device_node node(std::string_view path) const;

 private:
  std::filesystem::path at(std::string_view path) const;

  std::filesystem::path root_;
};

/// The fields of a line, which white space separates.
std::vector<std::string> words_of(std::string_view line);
/// The whole number that `text` begins with; `base` 16 takes a leading 0x. 0 if there is none.
std::uint64_t number_of(std::string_view text, int base = 10);

}  // namespace gnstor::host::probe

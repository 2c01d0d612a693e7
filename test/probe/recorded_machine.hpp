#pragma once

#include "host/temp_folder.hpp"

#include <doctest/doctest.h>
#include <gnstor-probe/gather.hpp>
#include <gnstor-probe/verdict.hpp>

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

namespace gnstor::test {

/// A machine of test/probe/trees/ as files below a folder; a test changes one thing and asks again.
///
/// The tree's format stands at the head of test/probe/record.sh.
class recorded_machine {
 public:
  explicit recorded_machine(const std::string& name) {
    const auto trees = std::filesystem::path(__FILE__).parent_path() / "trees";
    std::ifstream tree(trees / (name + ".tree"));
    REQUIRE(tree);
    std::string path;
    for (std::string line; std::getline(tree, line);) {
      if (line.starts_with("|")) {
        std::ofstream(at(path), std::ios::app) << line.substr(1) << '\n';
      } else if (line.starts_with("/")) {
        path = begin(line);
      }
    }
  }

  /// Replaces or makes a file.
  void set(std::string_view path, std::string_view text) {
    drop(path);
    std::filesystem::create_directories(at(path).parent_path());
    std::ofstream(at(path), std::ios::binary) << text;
  }
  /// Replaces `from`, which must be there, in a file.
  void edit(std::string_view path, std::string_view from, std::string_view to) {
    std::string text = host::probe::file_tree(root_.path()).bytes(path);
    const auto found = text.find(from);
    REQUIRE(found != std::string::npos);
    set(path, text.replace(found, from.size(), to));
  }
  void link(std::string_view path, std::string_view to) {
    std::filesystem::create_directories(at(path).parent_path());
    std::filesystem::create_symlink(to, at(path));
  }
  /// Removes a file or a folder, if it is there.
  void drop(std::string_view path) { std::filesystem::remove_all(at(path)); }
  void mode(std::string_view path, unsigned bits) {
    std::filesystem::permissions(at(path), static_cast<std::filesystem::perms>(bits));
  }

  /// What the files tell, of a build with CUDA and RDMA.
  host::probe::machine_facts facts() const {
    auto facts = host::probe::gather(host::probe::file_tree(root_.path()));
    facts.build = {.cuda = true, .rdma = true};
    return facts;
  }

 private:
  std::filesystem::path at(std::string_view path) const {
    return std::filesystem::path(root_.path()) / path.substr(1);
  }
  /// Makes what the line of a path names, and returns the path.
  std::string begin(const std::string& line) {
    const auto words = host::probe::words_of(line);
    std::filesystem::create_directories(at(words[0]).parent_path());
    if (words.size() == 3 && words[1] == "->") {
      std::filesystem::create_symlink(words[2], at(words[0]));
    } else {
      std::ofstream{at(words[0])};
      if (words.size() == 2)
        mode(words[0], static_cast<unsigned>(std::stoul(words[1], nullptr, 8)));
    }
    return words[0];
  }

  temp_folder root_;
};

}  // namespace gnstor::test

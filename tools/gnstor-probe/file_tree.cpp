#include "file_tree.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <sstream>

namespace gnstor::host::probe {
namespace {

constexpr std::string_view blanks = " \t\r\n";
constexpr std::size_t longest_file = std::size_t{64} << 20;

/// Who the process is, by /proc/self/status.
struct identity {
  std::uint64_t user = 0;
  std::vector<std::uint64_t> groups;
  bool overrides = false;  ///< CAP_DAC_OVERRIDE
};

identity identity_of(const std::vector<std::string>& status) {
  identity who;
  for (const auto& line : status) {
    const auto words = words_of(line);
    if (words.size() < 2) continue;
    if (words[0] == "Uid:") who.user = number_of(words[words.size() > 2 ? 2 : 1]);
    if (words[0] == "Gid:") who.groups.push_back(number_of(words[words.size() > 2 ? 2 : 1]));
    if (words[0] == "Groups:") {
      for (std::size_t k = 1; k < words.size(); ++k) who.groups.push_back(number_of(words[k]));
    }
    if (words[0] == "CapEff:") who.overrides = (number_of(words[1], 16) >> 1 & 1) != 0;
  }
  return who;
}

}  // namespace

file_tree::file_tree(std::filesystem::path root) : root_(std::move(root)) {}

std::filesystem::path file_tree::at(std::string_view path) const {
  return root_ / path.substr(std::min(path.find_first_not_of('/'), path.size()));
}

std::string file_tree::bytes(std::string_view path) const {
  std::ifstream file(at(path), std::ios::binary);
  std::string all;
  for (char piece[65536]; file && all.size() < longest_file;) {
    file.read(piece, sizeof piece);
    all.append(piece, static_cast<std::size_t>(file.gcount()));
  }
  return all;
}

std::string file_tree::text(std::string_view path) const {
  std::string all = bytes(path);
  const auto last = all.find_last_not_of(blanks);
  all.resize(last == std::string::npos ? 0 : last + 1);
  return all.substr(std::min(all.find_first_not_of(blanks), all.size()));
}

std::vector<std::string> file_tree::lines(std::string_view path) const {
  std::vector<std::string> out;
  std::istringstream all(text(path));
  for (std::string line; std::getline(all, line);) out.push_back(line);
  return out;
}

std::vector<std::string> file_tree::names(std::string_view path) const {
  std::vector<std::string> out;
  std::error_code fault;
  for (std::filesystem::directory_iterator entry(at(path), fault), end; !fault && entry != end;
       entry.increment(fault)) {
    out.push_back(entry->path().filename().string());
  }
  std::sort(out.begin(), out.end());
  return out;
}

std::string file_tree::link_name(std::string_view path) const {
  std::error_code fault;
  return std::filesystem::read_symlink(at(path), fault).filename().string();
}

bool file_tree::exists(std::string_view path) const {
  std::error_code fault;
  return std::filesystem::exists(at(path), fault);
}

device_node file_tree::node(std::string_view path) const {
  device_node out{std::string(path), node_access::missing};
  struct stat info {};
  if (::stat(at(path).c_str(), &info) != 0) return out;
  const identity who = identity_of(lines("/proc/self/status"));
  const auto in_group = std::find(who.groups.begin(), who.groups.end(), info.st_gid);
  const unsigned shift = who.user == info.st_uid ? 6 : in_group != who.groups.end() ? 3 : 0;
  const bool both = (info.st_mode >> shift & 6) == 6;
  out.access = both || who.overrides ? node_access::usable : node_access::denied;
  return out;
}

std::vector<std::string> words_of(std::string_view line) {
  std::vector<std::string> out;
  std::istringstream text{std::string(line)};
  for (std::string word; text >> word;) out.push_back(word);
  return out;
}

std::uint64_t number_of(std::string_view text, int base) {
  if (base == 16 && text.starts_with("0x")) text.remove_prefix(2);
  std::uint64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value, base);
  return value;
}

}  // namespace gnstor::host::probe

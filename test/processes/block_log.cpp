#include "block_log.hpp"

#include <gnstor/host/error.hpp>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>
#include <utility>

namespace gnstor::test {
namespace {

constexpr std::uint32_t terms_kept = 24;

}  // namespace

block_log::block_log(std::string path)
    : path_(std::move(path)),
      file_(open(path_.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600)) {
  if (file_ < 0) throw host::error(fmt::format("{}: {}", path_, std::strerror(errno)));
}

block_log::~block_log() { close(file_); }

std::uint32_t block_log::replay() {
  term_ = 0;
  writes_.clear();
  blocks_.clear();
  std::ifstream lines(path_);
  for (std::string line; std::getline(lines, line);) take(line);
  return term_;
}

void block_log::take(const std::string& line) {
  std::istringstream words(line);
  char what = 0;
  std::uint64_t first = 0;
  std::uint64_t second = 0;
  std::uint64_t third = 0;
  words >> what >> first >> second >> third;
  switch (what) {
    case 'o': term_ = static_cast<std::uint32_t>(first); break;
    case 's': {
      if (!possible(second, third))
        throw host::error(fmt::format("{}: block {} held {:#x}", line, second, third));
      block& b = blocks_[second];
      b.last = third;
      b.perhaps.clear();
      b.was_held.insert(third);
      b.found_during = static_cast<std::uint32_t>(first);
      break;
    }
    case 'w':
      writes_[first] = {second, third, term_};
      if (term_of(first) != term_) break;  // it has no right to any more
      for (std::uint64_t k = 0; k < third; ++k) blocks_[second + k].perhaps.insert(first);
      break;
    case 'a': take_acknowledged(first); break;
    default: break;
  }
}

void block_log::take_acknowledged(std::uint64_t mark) {
  const extent& w = writes_.at(mark);
  if (w.during != term_of(mark)) {
    throw host::error(
        fmt::format("write {:#x} was acknowledged, which was begun when writer {} had "
                    "been given the right",
                    mark, w.during));
  }
  for (std::uint64_t k = w.first; k < w.first + w.count; ++k) {
    block& b = blocks_[k];
    if (term_of(mark) == term_) {
      b.last = mark;
      b.perhaps.clear();
    } else if (b.was_held.count(mark) == 0) {
      // Acknowledged in time, noted late: then the next writer has found it.
      throw host::error(
          fmt::format("write {:#x} was acknowledged, but writer {} did not find it in "
                      "block {}",
                      mark, term_, k));
    }
  }
}

bool block_log::possible(std::uint64_t k, std::uint64_t mark) const {
  const auto at = blocks_.find(k);
  if (at == blocks_.end()) return mark == 0;
  return mark == at->second.last || at->second.perhaps.count(mark) != 0;
}

bool block_log::certain(std::uint64_t k) const {
  const auto at = blocks_.find(k);
  return at == blocks_.end() || at->second.perhaps.empty();
}

bool block_log::kept(std::uint64_t first, std::uint64_t count) const {
  for (auto at = blocks_.lower_bound(first); at != blocks_.end() && at->first < first + count; ++at)
    if (at->second.found_during != 0 && at->second.found_during + terms_kept > term_) return true;
  return false;
}

std::string block_log::choices(std::uint64_t k) const {
  const auto at = blocks_.find(k);
  if (at == blocks_.end()) return "0";
  std::string text = fmt::format("{:#x}", at->second.last);
  for (const std::uint64_t mark : at->second.perhaps) text += fmt::format(" or {:#x}", mark);
  return text;
}

void block_log::begin(std::uint32_t term, const std::string& host) {
  append(fmt::format("o {} {}\n", term, host));
}
void block_log::found(std::uint32_t term, std::uint64_t k, std::uint64_t mark) {
  append(fmt::format("s {} {} {}\n", term, k, mark));
}
void block_log::about_to_write(std::uint64_t mark, std::uint64_t first, std::uint64_t count) {
  append(fmt::format("w {} {} {}\n", mark, first, count));
}
void block_log::acknowledged(std::uint64_t mark) { append(fmt::format("a {}\n", mark)); }
void block_log::failed(std::uint64_t mark) { append(fmt::format("e {}\n", mark)); }

void block_log::append(const std::string& line) const {
  if (write(file_, line.data(), line.size()) != static_cast<ssize_t>(line.size()))
    throw host::error(fmt::format("{}: {}", path_, std::strerror(errno)));
}

}  // namespace gnstor::test

#include "target_id.hpp"

#include <gnstor/host/error.hpp>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <optional>
#include <random>

namespace gnstor::serve {
namespace {

constexpr std::size_t digits = 16;

std::uint64_t any_number() {
  std::random_device source;
  return std::uint64_t{source()} << 32 | source();
}

/// What the file holds, up to 64 bytes; nothing if there is none. That it cannot be opened is no
/// sign that it is not there.
std::optional<std::string> contents(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat info {};
  if (file < 0 && errno == ENOENT && ::lstat(path.c_str(), &info) != 0) return std::nullopt;
  char text[64];
  const ssize_t bytes = file < 0 ? -1 : ::read(file, text, sizeof text);
  const int why = errno;
  if (file >= 0) ::close(file);
  if (bytes >= 0) return std::string(text, static_cast<std::size_t>(bytes));
  throw host::error(
      fmt::format("reading the target's id: {}: {}; hosts know volumes by it: make the file "
                  "readable, or delete it, and they see other volumes",
                  path, std::strerror(why)));
}

std::uint64_t read_id(const std::string& path, std::string text) {
  text.resize(std::min(text.find('\n'), text.size()));
  std::uint64_t id = 0;
  const char* end = text.data() + text.size();
  const auto [last, fault] = std::from_chars(text.data(), end, id, 16);
  if (text.size() == digits && fault == std::errc() && last == end) return id;
  throw host::error(
      fmt::format("reading the target's id: {} has no line of {} hexadecimal digits; write the old "
                  "one there, or delete the file, and hosts see other volumes",
                  path, digits));
}

/// Writes a file that is there entirely or not at all, also after a power cut.
void write_whole(const std::string& folder, const std::string& path, const std::string& text) {
  const auto fail = [&](int descriptor) {
    const int why = errno;
    if (descriptor >= 0) ::close(descriptor);
    throw host::error(fmt::format("writing {}: {}; flash= must be a folder that is writable", path,
                                  std::strerror(why)));
  };
  const std::string fresh = path + ".new";
  const int file = ::open(fresh.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (file < 0) fail(file);
  errno = ENOSPC;  // what a short write means
  const bool all = ::write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  if (!all || ::fsync(file) != 0) fail(file);
  ::close(file);
  if (::rename(fresh.c_str(), path.c_str()) != 0) fail(-1);
  const int parent = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (parent < 0 || ::fsync(parent) != 0) fail(parent);
  ::close(parent);
}

}  // namespace

std::uint64_t target_id(const std::string& folder) {
  if (folder.empty()) return any_number();
  const std::string path = folder + "/target.id";
  if (const auto text = contents(path)) return read_id(path, *text);
  const std::uint64_t id = any_number();
  write_whole(folder, path, fmt::format("{:016x}\n", id));
  return id;
}

}  // namespace gnstor::serve

#include <gnstor/host/error.hpp>
#include <target/target_id.hpp>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <random>

namespace gnstor::fw {
namespace {

constexpr std::size_t digits = 16;

std::uint64_t any_number() {
  std::random_device source;
  return std::uint64_t{source()} << 32 | source();
}

std::uint64_t read_id(const std::string& path, std::istream& in) {
  std::string text;
  std::getline(in, text);
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
  if (std::ifstream in(path); in) return read_id(path, in);
  const std::uint64_t id = any_number();
  write_whole(folder, path, fmt::format("{:016x}\n", id));
  return id;
}

}  // namespace gnstor::fw

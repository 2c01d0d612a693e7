/// Reads the files of an XFS from its device, and says of them what the guest's own tools say of
/// the mounted one: `sums` as sha256sum does, `tree` as stat does, `links` as readlink does.
/// Also fills a mounted one with files of every kind, and freezes it.
#include "support/sha256.hpp"
#include "support/tree_of_files.hpp"
#include <gnstor/files/file_source.hpp>
#include <gnstor/files/xfs_file_system.hpp>
#include <gnstor/host/error.hpp>

#include <command_line/command_line.hpp>
#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdio>

namespace {
using namespace gnstor;
using host::files::file_kind;

/// The SHA-256 of a file's bytes, each read from where its extent says.
std::string sum_of(host::files::block_source& device,
                   const std::vector<host::files::file_extent>& extents) {
  test::sha256 sum;
  std::vector<std::byte> buffer(1 << 20);
  for (const host::files::file_extent& e : extents) {
    for (std::uint64_t done = 0; done < e.bytes;) {
      const auto part =
          std::span(buffer).first(std::min<std::uint64_t>(buffer.size(), e.bytes - done));
      if (e.state == host::files::extent_state::data)
        device.read(e.device_offset + done, part);
      else
        std::ranges::fill(part, std::byte{0});
      sum.add(part);
      done += part.size();
    }
  }
  return sum.finish();
}

void print(const std::string& what, const std::string& where) {
  host::files::file_source device(where);
  const host::files::xfs_file_system files(device);
  std::uint64_t count = 0;
  files.walk(files.root(), [&](const std::string& path, const host::files::file_status& s) {
    ++count;
    if (what == "tree") {
      std::printf("%ju %o %ju %u %jd %s\n", static_cast<std::uintmax_t>(value(s.inode)),
                  s.permissions, static_cast<std::uintmax_t>(s.bytes), s.links,
                  static_cast<std::intmax_t>(s.modified.seconds), path.c_str());
    } else if (what == "sums" && s.kind == file_kind::regular) {
      std::printf("%s  %s\n", sum_of(device, files.extents(s.inode)).c_str(), path.c_str());
    } else if (what == "links" && s.kind == file_kind::symlink) {
      std::printf("%s -> %s\n", path.c_str(), files.symlink_target(s.inode).c_str());
    } else if (what == "check") {
      if (s.kind == file_kind::regular) files.extents(s.inode);
      if (s.kind == file_kind::symlink) files.symlink_target(s.inode);
    }
  });
  std::fprintf(stderr, "%ju names\n", static_cast<std::uintmax_t>(count));
}

/// Prints the extents of one file, found by its path.
void print_extents(const std::string& where, const std::string& path) {
  host::files::file_source device(where);
  const host::files::xfs_file_system files(device);
  for (const host::files::file_extent& e : files.extents(files.find(path))) {
    const char* const states[] = {"data", "unwritten", "hole"};
    std::printf("%ju %ju %ju %s\n", static_cast<std::uintmax_t>(e.file_offset),
                static_cast<std::uintmax_t>(e.device_offset), static_cast<std::uintmax_t>(e.bytes),
                states[static_cast<int>(e.state)]);
  }
}

void freeze(const std::string& folder, bool on) {
  const int file = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY);
  if (file < 0 || ::ioctl(file, on ? FIFREEZE : FITHAW, 0) != 0)
    throw host::error(folder + ": it cannot be frozen or thawed");
  ::close(file);
}

/// Fills a device with what no file is made of: nobody takes an unwritten block for zeroes then.
void soil(const std::string& where) {
  const int file = ::open(where.c_str(), O_WRONLY);
  if (file < 0) throw host::error(where + ": it cannot be written");
  const std::vector<unsigned char> pattern(4 << 20, 0xa5);
  for (ssize_t wrote = 1; wrote > 0;) wrote = ::write(file, pattern.data(), pattern.size());
  ::close(file);
}

}  // namespace

int main(int argc, char** argv) {
  std::string command;
  std::string where;
  std::string path;
  std::uint64_t count = 1000;
  std::uint64_t seed = 1;
  tools::command_line line("Reads the files of an XFS from its device");
  line.commands(command, {{"sums", "SHA-256 of each file"},
                          {"tree", "inode, mode, length, links and time of each file"},
                          {"links", "targets of symbolic links"},
                          {"check", "reads all metadata"},
                          {"extents", "where one file lies"},
                          {"soil", "fills a device with a pattern"},
                          {"fill", "makes files of every kind in a folder"},
                          {"freeze", "freezes what is mounted there"},
                          {"thaw", "ends that"}});
  line.option("--at", where, "a device, or a mounted folder").required();
  line.option("--path", path, "of one file");
  line.option("--count", count, "files to make");
  line.option("--seed", seed, "of what is random in them");
  if (const auto code = line.parse(argc, argv)) return *code;
  try {
    if (command == "fill")
      test::make_tree(where, count, seed);
    else if (command == "freeze" || command == "thaw")
      freeze(where, command == "freeze");
    else if (command == "soil")
      soil(where);
    else if (command == "extents")
      print_extents(where, path);
    else
      print(command, where);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "interop_files: %s\n", e.what());
    return 1;
  }
  return 0;
}

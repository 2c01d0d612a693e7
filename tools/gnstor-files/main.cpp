/// gnstor-files: files of a disk that kernels read themselves: what an XFS that is not mounted
/// holds, a file's bytes, and all files of a folder by Linux, this CPU or a kernel.
///
/// Exit code 1: something is refused or wrong, with the reason on stderr.

#include "file_commands.hpp"

#include <command_line/command_line.hpp>
#include <fmt/format.h>

#include <cstdio>
#include <exception>
#include <functional>

namespace {

using gnstor::tools::command_line;
using gnstor::tools::files_wanted;

void add_disk(command_line& verb, files_wanted& w) {
  verb.option("--endpoint", w.endpoint, "the disk: nvme://0000:01:00.0, emu-nvme:?media=file&...")
      .required();
  verb.option("--nsid", w.nsid, "its namespace").range(1, 65535).show_default();
}

void add_iterating(command_line& verb, files_wanted& w) {
  verb.option("--folder", w.folder, "of a file system on the disk that this machine has mounted");
  verb.option("--path", w.path, "or a folder within an XFS there that nobody has mounted")
      .show_default();
  verb.option("--way", w.way, "who reads").one_of({"posix", "cpu", "device"}).show_default();
  verb.option("--batch", w.batch, "files of a batch").range(1, 65536).show_default();
  verb.option("--batch-bytes", w.batch_bytes, "bytes of one (takes K, M, G)").size();
  verb.option("--ahead", w.ahead, "batches read before they are asked for")
      .range(0, 64)
      .show_default();
  verb.option("--seed", w.seed, "of a shuffled order; 0: as they come").show_default();
  verb.option("--passes", w.passes, "through all files").range(1, 1000).show_default();
  verb.flag("--verify", w.verify, "compare each file with what Linux reads");
}

}  // namespace

int main(int argc, char** argv) try {
  files_wanted w;
  std::function<void(const files_wanted&)> chosen;
  command_line line("Reads files from the disk below their file system");
  line.option("--format", w.format, "text or json").one_of({"text", "json"}).show_default();
  const auto verb = [&](const char* word, const char* about, const char* example, auto action) {
    command_line& v = line.verb(word, about);
    v.example(example);
    v.when_given([&chosen, action] { chosen = action; });
    add_disk(v, w);
    return &v;
  };
  verb("list", "names, lengths and pieces of an XFS that is not mounted",
       "gnstor-files list --endpoint nvme://0000:01:00.0 /train", gnstor::tools::list_files)
      ->option("PATH", w.path, "a folder");
  verb("extents", "where a file of it lies",
       "gnstor-files extents --endpoint nvme://0000:01:00.0 /train/0", gnstor::tools::show_extents)
      ->option("PATH", w.path, "a file")
      .required();
  verb("read", "a file of it, read by kernels, to stdout",
       "gnstor-files read --endpoint nvme://0000:01:00.0 /train/0", gnstor::tools::read_file)
      ->option("PATH", w.path, "a file")
      .required();
  add_iterating(*verb("iterate", "all files of a folder in batches, and how long each step took",
                      "gnstor-files iterate --endpoint nvme://0000:01:00.1 --folder /data --verify",
                      gnstor::tools::iterate_files),
                w);
  if (const auto code = line.parse(argc, argv)) return *code;
  if (!chosen) {
    fmt::print(stderr, "gnstor-files: say list, extents, read or iterate (--help)\n");
    return 1;
  }
  chosen(w);
  return std::fflush(stdout) == 0 ? 0 : 1;
} catch (const std::exception& e) {
  fmt::print(stderr, "gnstor-files: {}\n", e.what());
  return 1;
}

#pragma once

#include <cstdint>
#include <string>

namespace gnstor::tools {

/// All that the command line of gnstor-files may say.
struct files_wanted {
  std::string endpoint;
  std::uint32_t nsid = 1;
  std::string path = "/";      ///< within an XFS that is not mounted
  std::string folder;          ///< of a file system that is mounted
  std::string way = "device";  ///< `posix`, `cpu`
  std::uint32_t batch = 32;
  std::uint64_t batch_bytes = 16 << 20;
  std::uint32_t ahead = 1;
  std::uint64_t seed = 0;  ///< 0: as they come
  std::uint32_t passes = 1;
  bool verify = false;  ///< compare with what Linux reads
  std::string format = "text";
};

/// The names below `path`: kind, length, pieces. They throw `error` with the remedy.
void list_files(const files_wanted& w);
/// Where the file `path` lies.
void show_extents(const files_wanted& w);
/// Writes the bytes of the file `path` to stdout, as a kernel has read them.
void read_file(const files_wanted& w);
/// Goes through all files below `folder`, or below `path`, and says how long each step took.
void iterate_files(const files_wanted& w);

}  // namespace gnstor::tools

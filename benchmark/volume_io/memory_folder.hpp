#pragma once

#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>

namespace gnstor::benchmarks {

/// A folder whose files lie in memory; gone with what it holds.
class memory_folder {
 public:
  memory_folder() {
    std::string pattern = "/dev/shm/gnstor-benchmark-XXXXXX";
    if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("no folder in /dev/shm");
    path_ = pattern;
  }
  memory_folder(const memory_folder&) = delete;
  memory_folder& operator=(const memory_folder&) = delete;
  ~memory_folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace gnstor::benchmarks

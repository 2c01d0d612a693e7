#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <string_view>

namespace gnstor::test {

/// Where files lie in memory, so that a GPU can store to them.
inline constexpr const char* in_memory = "/dev/shm";

/// A folder of its own for one test case; removed at the end.
class temp_folder {
 public:
  explicit temp_folder(const std::string& within = std::filesystem::temp_directory_path()) {
    std::string pattern = within + "/gnstor-test-XXXXXX";
    if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("no temporary folder");
    path_ = pattern;
  }
  temp_folder(const temp_folder&) = delete;
  temp_folder& operator=(const temp_folder&) = delete;
  ~temp_folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  const std::string& path() const { return path_; }
  std::string path(const std::string& name) const { return path_ + "/" + name; }
  /// Writes a file and returns its path.
  std::string write(const std::string& name, std::string_view bytes) const {
    std::ofstream out(path(name), std::ios::binary);
    out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    if (!out.flush()) throw std::runtime_error("cannot write " + path(name));
    return path(name);
  }

 private:
  std::string path_;
};

}  // namespace gnstor::test
